//! One direction of a link: serialises, delays, loses, flips bits, doubles, reorders.

use crate::network::Plug;
use crate::place::Owner;
use crate::queue::rewind;
use base_time::{Duration, Probability, Rate, Rng, Time};
use std::collections::VecDeque;

/// The shortest frame of Ethernet, without FCS: to this length links pad.
pub const SHORTEST_FRAME: u32 = 60;

/// How a link treats frames, the same in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WireSettings {
    /// How fast a sender puts frames on it; without one, a frame takes no time.
    pub rate: Option<Rate>,
    /// How long a bit travels.
    pub delay: Duration,
    /// At most this much is added to the delay. Frames keep their order.
    pub jitter: Duration,
    /// How often a frame is lost.
    pub loss: Probability,
    /// How often a bit of a frame is flipped.
    pub corrupt: Probability,
    /// How often a frame arrives twice.
    pub duplicate: Probability,
    /// How often a frame is delayed so that others overtake it.
    pub reorder: Probability,
    /// How much later such a frame comes.
    pub reorder_delay: Duration,
    /// The longest frame that passes, in bytes.
    pub longest_frame: u32,
    /// Bytes that each frame takes on the wire besides its own.
    pub overhead: u32,
    /// Frames shorter than [`SHORTEST_FRAME`] are filled up with this byte.
    pub padding: Option<u8>,
}

impl Default for WireSettings {
    /// A link that does nothing to frames, in no time.
    fn default() -> WireSettings {
        WireSettings {
            rate: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: Probability::ZERO,
            corrupt: Probability::ZERO,
            duplicate: Probability::ZERO,
            reorder: Probability::ZERO,
            reorder_delay: Duration::ZERO,
            longest_frame: u32::MAX,
            overhead: 0,
            padding: None,
        }
    }
}

/// One direction of a link. Frames arrive in the order they were sent, but for those that are drawn to be overtaken.
pub struct Wire {
    /// The place of its link in the list that the network was made of.
    pub link: u32,
    /// Where frames come from.
    pub from: Plug,
    /// Where they go to.
    pub to: Plug,
    settings: WireSettings,
    /// The sender can send from then on.
    pub(crate) free_at: Time,
    last_arrival: Time,
    /// In the order in which they arrive.
    flying: VecDeque<(Time, Vec<u8>, Owner)>,
    /// What goes wrong now, besides what the settings say.
    harm: Harm,
    chance: Chance,
    /// What it has seen since the start.
    pub counts: WireCounts,
}

/// What faults do to a wire.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Harm {
    /// Nothing gets through.
    pub is_down: bool,
    /// Each loses frames on its own.
    pub losses: Vec<Probability>,
    /// Every frame is under way that much longer.
    pub delay: Duration,
}

/// A stream of chance for each thing that can happen to a frame.
struct Chance {
    loss: Rng,
    gray: Rng,
    jitter: Rng,
    corrupt: Rng,
    duplicate: Rng,
    reorder: Rng,
}

/// What a wire has seen since the start.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct WireCounts {
    /// Frames that were handed to it.
    pub taken: u64,
    /// Frames sent, those lost included.
    pub frames: u64,
    /// Their bytes, padding included and overhead not.
    pub bytes: u64,
    /// Frames that it lost by its own settings or a fault.
    pub lost: u64,
    /// Lost since the link was down.
    pub cut: u64,
    /// Frames longer than it lets pass.
    pub too_long: u64,
    /// Frames with a bit flipped.
    pub corrupted: u64,
    /// Frames that arrive twice; the second is one more.
    pub duplicated: u64,
    /// Frames that others may overtake.
    pub reordered: u64,
    /// Frames that have arrived.
    pub delivered: u64,
    /// How long it was busy sending.
    pub busy: Duration,
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// It arrives then.
    Arrives(Time),
    /// It arrives then, and again.
    ArrivesTwice(Time),
    /// It was sent and is lost.
    Lost,
    /// It was sent into a link that is down.
    Cut,
}

impl Wire {
    /// Direction `direction` (0 or 1) of a link between these ends; `rng` is the root of all chance.
    pub(crate) fn new(
        link: u32,
        direction: u32,
        (from, to): (Plug, Plug),
        settings: WireSettings,
        rng: &Rng,
    ) -> Wire {
        let stream = |label| rng.split(label).split_index(u64::from(link) * 2 + u64::from(direction));
        Wire {
            link,
            from,
            to,
            settings,
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            flying: VecDeque::new(),
            harm: Harm::default(),
            chance: Chance {
                loss: stream("loss"),
                gray: stream("gray"),
                jitter: stream("jitter"),
                corrupt: stream("corrupt"),
                duplicate: stream("duplicate"),
                reorder: stream("reorder"),
            },
            counts: WireCounts::default(),
        }
    }

    /// From now on each frame is delayed by up to this much more.
    pub fn set_jitter(&mut self, jitter: Duration) {
        self.settings.jitter = jitter;
    }

    /// From now on this goes wrong. What was on a link that goes down is lost: how many frames.
    pub(crate) fn suffer(&mut self, harm: Harm) -> u64 {
        self.harm = harm;
        if !self.harm.is_down {
            return 0;
        }
        let cut = self.flying();
        self.flying.clear();
        self.counts.cut += cut;
        cut
    }

    /// Frames that are under way.
    pub fn flying(&self) -> u64 {
        self.flying.len() as u64
    }

    /// Brings a frame to the length that the link sends.
    #[inline]
    pub(crate) fn pad(&self, frame: &mut Vec<u8>) {
        if let Some(padding) = self.settings.padding
            && frame.len() < SHORTEST_FRAME as usize
        {
            frame.resize(SHORTEST_FRAME as usize, padding);
        }
    }

    /// True, and it is counted, for a frame that is too long to be sent.
    #[inline]
    pub(crate) fn refuses(&mut self, frame: &[u8]) -> bool {
        let is_too_long = frame.len() as u64 > u64::from(self.settings.longest_frame);
        if is_too_long {
            self.counts.taken += 1;
            self.counts.too_long += 1;
        }
        is_too_long
    }

    /// Takes a frame that [`pad`](Wire::pad) has seen and that it does not [refuse](Wire::refuses); the sender is free again
    /// at `free_at`.
    #[inline(always)]
    pub(crate) fn send(&mut self, mut frame: Vec<u8>, owner: Owner, now: Time) -> Sent {
        self.counts.taken += 1;
        let bytes = frame.len() as u64;
        let time_for = |rate: Rate| rate.time_for(bytes + u64::from(self.settings.overhead));
        let busy = self.settings.rate.map_or(Duration::ZERO, time_for);
        self.free_at = now + busy;
        self.counts.frames += 1;
        self.counts.bytes += bytes;
        self.counts.busy += busy;
        if self.harm.is_down {
            self.counts.cut += 1;
            return Sent::Cut;
        }
        let chance = &mut self.chance;
        let is_lost = self.settings.loss.happens(&mut chance.loss)
            | self.harm.losses.iter().fold(false, |lost, share| share.happens(&mut chance.gray) | lost);
        if is_lost {
            self.counts.lost += 1;
            return Sent::Lost;
        }
        if self.settings.corrupt.happens(&mut chance.corrupt) {
            let bit = chance.corrupt.index(frame.len() * 8);
            if let Some(byte) = frame.get_mut(bit / 8) {
                *byte ^= 0x80 >> (bit % 8);
                self.counts.corrupted += 1;
            }
        }
        let extra = match self.settings.jitter.as_ps() {
            0 => 0,
            most => chance.jitter.between(0, most),
        };
        let arrival = self.free_at + self.settings.delay + self.harm.delay + Duration::from_ps(extra);
        let twice = self.settings.duplicate.happens(&mut chance.duplicate);
        let arrival = if self.settings.reorder.happens(&mut chance.reorder) {
            self.counts.reordered += 1;
            arrival + self.settings.reorder_delay
        } else {
            self.last_arrival = self.last_arrival.max(arrival);
            self.last_arrival
        };
        if twice {
            self.counts.duplicated += 1;
            self.fly(arrival, frame.clone(), owner);
        }
        self.fly(arrival, frame, owner);
        if twice { Sent::ArrivesTwice(arrival) } else { Sent::Arrives(arrival) }
    }

    #[inline(always)]
    fn fly(&mut self, arrival: Time, frame: Vec<u8>, owner: Owner) {
        let later = self.flying.iter().rev().take_while(|(at, ..)| *at > arrival).count();
        if later == 0 {
            return self.flying.push_back((arrival, frame, owner));
        }
        self.flying.insert(self.flying.len() - later, (arrival, frame, owner));
    }

    /// The frame that has arrived; none if what was to arrive now is lost meanwhile.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, now: Time) -> Option<(Vec<u8>, Owner)> {
        self.flying.front().filter(|(at, ..)| *at <= now)?;
        let (_, frame, owner) = self.flying.pop_front()?;
        if self.flying.is_empty() {
            rewind(&mut self.flying);
        }
        self.counts.delivered += 1;
        Some((frame, owner))
    }

    /// True if every frame is accounted for.
    pub(crate) fn is_balanced(&self) -> bool {
        let WireCounts { taken, duplicated, lost, cut, too_long, delivered, .. } = self.counts;
        taken + duplicated == lost + cut + too_long + delivered + self.flying()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Node;

    fn wire(change: impl FnOnce(&mut WireSettings)) -> Wire {
        let mut link = WireSettings {
            rate: Some(Rate::from_bits_per_s(1_000_000_000)),
            delay: Duration::from_us(1),
            overhead: 24,
            padding: Some(0),
            longest_frame: 1514,
            reorder_delay: Duration::from_us(10),
            ..WireSettings::default()
        };
        change(&mut link);
        let ends = [0, 1].map(|end| Plug { node: Node::End(end), port: 0 });
        Wire::new(0, 0, (ends[0], ends[1]), link, &Rng::new(1))
    }

    #[test]
    fn a_frame_takes_its_bytes_and_the_overhead_and_then_the_delay() {
        let mut wire = wire(|_| {});
        // (101 + 24) bytes at 1 ns a bit.
        assert_eq!(
            wire.send(vec![0; 101], Owner::NOBODY, Time::ZERO),
            Sent::Arrives(Time::from_ps(2_000_000))
        );
        assert_eq!(wire.free_at, Time::from_ps(1_000_000));
    }

    #[test]
    fn long_frames_do_not_pass_and_take_no_time() {
        let mut wire = wire(|l| l.longest_frame = 114);
        assert!(wire.refuses(&[0; 115]) && !wire.refuses(&[0; 114]));
        assert_eq!(wire.free_at, Time::ZERO);
        assert!(matches!(wire.send(vec![0; 114], Owner::NOBODY, Time::ZERO), Sent::Arrives(_)));
        assert!(wire.is_balanced());
    }

    #[test]
    fn short_frames_are_padded_if_the_link_pads() {
        let (mut short, mut kept) = (vec![7; 42], vec![7; 42]);
        wire(|_| {}).pad(&mut short);
        wire(|l| l.padding = None).pad(&mut kept);
        assert_eq!((short.len(), short[41], short[42], kept.len()), (60, 7, 0, 42));
    }

    #[test]
    fn jitter_delays_and_keeps_the_order() {
        let mut wire = wire(|l| l.jitter = Duration::from_us(50));
        let mut arrivals = vec![];
        for n in 0..1000 {
            let sent = wire.send(vec![n as u8; 60], Owner::NOBODY, Time::ZERO + Duration::from_us(n));
            let Sent::Arrives(at) = sent else { panic!("lost") };
            let least = Time::ZERO + Duration::from_us(n) + Duration::from_ns(84 * 8 + 1000);
            assert!(at >= least && at.since(least) <= Duration::from_us(50));
            arrivals.push(at);
        }
        assert!(arrivals.is_sorted());
        assert!((0..1000).all(|n| wire.deliver(arrivals[n]).unwrap().0[0] == n as u8));
        assert_eq!(wire.deliver(Time::MAX), None);
    }

    #[test]
    fn as_many_frames_are_lost_as_the_link_says() {
        let mut wire = wire(|l| l.loss = Probability::from_ppb(20_000_000));
        let lost =
            (0..50_000).filter(|_| wire.send(vec![0; 60], Owner::NOBODY, Time::ZERO) == Sent::Lost).count();
        assert!((900..1100).contains(&lost), "{lost} of 50000 at 2%");
        assert_eq!(wire.counts.lost, lost as u64);
    }

    #[test]
    fn a_frame_is_harmed_as_the_link_says() {
        let share = Probability::from_ppb(20_000_000);
        let mut wire = wire(|l| (l.corrupt, l.duplicate, l.reorder) = (share, share, share));
        let (mut came, mut changed, mut late) = (0, 0, 0);
        for n in 0..50_000u64 {
            wire.send(vec![0; 60], Owner::NOBODY, Time::ZERO + Duration::from_us(n));
        }
        let mut last = Time::ZERO;
        while let Some((at, ..)) = wire.flying.front().cloned() {
            let (frame, _) = wire.deliver(at).unwrap();
            assert!(at >= last);
            (last, came) = (at, came + 1);
            let flipped: u32 = frame.iter().map(|byte| byte.count_ones()).sum();
            assert!(flipped <= 1);
            changed += u64::from(flipped);
            late += u64::from(at.as_ps() % 1_000_000 == 672_000 && flipped == 0);
        }
        let counts = wire.counts;
        for n in [counts.corrupted, counts.duplicated, counts.reordered] {
            assert!((900..1100).contains(&n), "{n} of 50000 at 2%");
        }
        assert_eq!((came, late > 0), (50_000 + counts.duplicated, true));
        assert!(changed >= counts.corrupted && wire.is_balanced());
    }

    #[test]
    fn what_is_on_a_link_that_goes_down_is_lost() {
        let mut wire = wire(|_| {});
        let Sent::Arrives(at) = wire.send(vec![1; 60], Owner::NOBODY, Time::ZERO) else { panic!("lost") };
        assert_eq!(wire.suffer(Harm { is_down: true, ..Harm::default() }), 1);
        assert_eq!(wire.send(vec![2; 60], Owner::NOBODY, wire.free_at), Sent::Cut);
        assert_eq!(wire.suffer(Harm::default()), 0);
        let Sent::Arrives(later) = wire.send(vec![3; 60], Owner::NOBODY, wire.free_at) else {
            panic!("lost")
        };
        assert_eq!(wire.deliver(at), None, "the event of the lost frame");
        assert_eq!((wire.deliver(later).unwrap().0[0], wire.counts.cut), (3, 2));
        assert!(wire.is_balanced());
    }

    #[test]
    fn gray_losses_and_delays_add_up() {
        let half = Probability::from_ppb(500_000_000);
        let mut wire = wire(|l| l.loss = half);
        wire.suffer(Harm { is_down: false, losses: vec![half], delay: Duration::from_us(7) });
        let sent: Vec<Sent> = (0..4000).map(|_| wire.send(vec![0; 60], Owner::NOBODY, Time::ZERO)).collect();
        let lost = sent.iter().filter(|sent| **sent == Sent::Lost).count();
        assert!((2850..3150).contains(&lost), "{lost} of 4000 at 75%");
        let at = Time::ZERO + Duration::from_ns(84 * 8 + 1000 + 7000);
        assert!(sent.contains(&Sent::Arrives(at)));
    }
}
