//! One direction of a link: serialises, delays, loses.

use base_time::{Duration, Rng, Time};
use rack_model::link::SHORTEST_FRAME;
use rack_model::{End, Link, LinkId};
use std::collections::VecDeque;

/// One direction of a link. Frames arrive in the order they were sent.
pub(crate) struct Wire {
    pub link: LinkId,
    pub from: End,
    pub to: End,
    settings: Link,
    /// The sender can send from then on.
    pub free_at: Time,
    last_arrival: Time,
    flying: VecDeque<Vec<u8>>,
    loss: Rng,
    jitter: Rng,
    pub counts: WireCounts,
}

/// What a wire has seen since the start.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct WireCounts {
    /// Frames that were handed to it.
    pub taken: u64,
    /// Frames sent, those lost included.
    pub frames: u64,
    /// Their bytes, padding included and overhead not.
    pub bytes: u64,
    pub lost: u64,
    pub too_long: u64,
    pub delivered: u64,
    /// How long it was busy sending.
    pub busy: Duration,
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// It arrives then.
    Arrives(Time),
    /// It was sent and is lost.
    Lost,
    /// It is longer than the MTU allows and was not sent.
    TooLong,
}

impl Wire {
    /// Direction `direction` (0 or 1) of a link; `rng` is the root of the run.
    pub fn new(id: LinkId, link: &Link, direction: usize, rng: &Rng) -> Wire {
        let [a, b] = link.ends;
        let (from, to) = if direction == 0 { (a, b) } else { (b, a) };
        let stream = |label| rng.split(label).split_index(u64::from(id.0) * 2 + direction as u64);
        Wire {
            link: id,
            from,
            to,
            settings: link.clone(),
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            flying: VecDeque::new(),
            loss: stream("loss"),
            jitter: stream("jitter"),
            counts: WireCounts::default(),
        }
    }

    pub fn set_jitter(&mut self, jitter: Duration) {
        self.settings.jitter = jitter;
    }

    pub fn rate(&self) -> base_time::Rate {
        self.settings.rate
    }

    /// Frames that are under way.
    pub fn flying(&self) -> u64 {
        self.flying.len() as u64
    }

    /// Brings a frame to the length that the link sends.
    pub fn pad(&self, frame: &mut Vec<u8>) {
        if self.settings.pad && frame.len() < SHORTEST_FRAME as usize {
            frame.resize(SHORTEST_FRAME as usize, 0);
        }
    }

    /// Takes a frame that [`pad`](Wire::pad) has seen; the sender is free again at `free_at`.
    pub fn send(&mut self, frame: Vec<u8>, now: Time) -> Sent {
        self.counts.taken += 1;
        if frame.len() as u64 > u64::from(self.settings.longest_frame()) {
            self.counts.too_long += 1;
            return Sent::TooLong;
        }
        let bytes = frame.len() as u64;
        let busy = self.settings.rate.time_for(bytes + u64::from(self.settings.overhead));
        self.free_at = now + busy;
        self.counts.frames += 1;
        self.counts.bytes += bytes;
        self.counts.busy += busy;
        if self.settings.loss.ppb() > 0 && self.loss.chance(self.settings.loss.ppb().into(), 1_000_000_000) {
            self.counts.lost += 1;
            return Sent::Lost;
        }
        let extra = match self.settings.jitter.as_ps() {
            0 => 0,
            most => self.jitter.between(0, most),
        };
        let arrival = self.free_at + self.settings.delay + Duration::from_ps(extra);
        self.last_arrival = self.last_arrival.max(arrival);
        self.flying.push_back(frame);
        Sent::Arrives(self.last_arrival)
    }

    /// The frame that arrives next.
    pub fn deliver(&mut self) -> Option<Vec<u8>> {
        let frame = self.flying.pop_front()?;
        self.counts.delivered += 1;
        Some(frame)
    }

    /// True if every frame is accounted for.
    pub fn is_balanced(&self) -> bool {
        let WireCounts { taken, lost, too_long, delivered, .. } = self.counts;
        taken == lost + too_long + delivered + self.flying()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rate;
    use rack_model::{HostId, NodeId, Probability};

    fn wire(change: impl FnOnce(&mut Link)) -> Wire {
        let ends = [(NodeId::Host(HostId(0)), 0), (NodeId::Host(HostId(1)), 0)];
        let mut link = Link::new(ends, Rate::from_bits_per_s(1_000_000_000));
        link.delay = Duration::from_us(1);
        change(&mut link);
        Wire::new(LinkId(0), &link, 0, &Rng::new(1))
    }

    #[test]
    fn a_frame_takes_its_bytes_and_the_overhead_and_then_the_delay() {
        let mut wire = wire(|_| {});
        // (101 + 24) bytes at 1 ns a bit.
        assert_eq!(wire.send(vec![0; 101], Time::ZERO), Sent::Arrives(Time::from_ps(2_000_000)));
        assert_eq!(wire.free_at, Time::from_ps(1_000_000));
    }

    #[test]
    fn long_frames_do_not_pass_and_take_no_time() {
        let mut wire = wire(|l| l.mtu = 100);
        assert_eq!(wire.send(vec![0; 115], Time::ZERO), Sent::TooLong);
        assert_eq!(wire.free_at, Time::ZERO);
        assert!(matches!(wire.send(vec![0; 114], Time::ZERO), Sent::Arrives(_)));
        assert!(wire.is_balanced());
    }

    #[test]
    fn short_frames_are_padded_if_the_link_pads() {
        let (mut short, mut kept) = (vec![7; 42], vec![7; 42]);
        wire(|_| {}).pad(&mut short);
        wire(|l| l.pad = false).pad(&mut kept);
        assert_eq!((short.len(), short[41], short[42], kept.len()), (60, 7, 0, 42));
    }

    #[test]
    fn jitter_delays_and_keeps_the_order() {
        let mut wire = wire(|l| l.jitter = Duration::from_us(50));
        let mut arrivals = vec![];
        for n in 0..1000 {
            let sent = wire.send(vec![n as u8; 60], Time::ZERO + Duration::from_us(n));
            let Sent::Arrives(at) = sent else { panic!("lost") };
            let least = Time::ZERO + Duration::from_us(n) + Duration::from_ns(84 * 8 + 1000);
            assert!(at >= least && at.since(least) <= Duration::from_us(50));
            arrivals.push(at);
        }
        assert!(arrivals.is_sorted());
        assert!((0..1000).all(|n| wire.deliver().unwrap()[0] == n as u8));
        assert_eq!(wire.deliver(), None);
    }

    #[test]
    fn as_many_frames_are_lost_as_the_link_says() {
        let mut wire = wire(|l| l.loss = Probability::from_ppb(20_000_000));
        let lost = (0..50_000).filter(|_| wire.send(vec![0; 60], Time::ZERO) == Sent::Lost).count();
        assert!((900..1100).contains(&lost), "{lost} of 50000 at 2%");
        assert_eq!(wire.counts.lost, lost as u64);
    }
}
