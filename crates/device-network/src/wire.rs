//! One direction of a link, with the frames in flight.

use crate::medium::{Harm, Medium, MediumCounts, Sent, WireSettings};
use crate::network::Plug;
use crate::place::Owner;
use crate::queue::rewind;
use base_time::{Rng, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// One direction of a link. Frames arrive in the order they were sent, but for those that are drawn to be overtaken.
#[repr(align(64))]
pub struct Wire {
    /// The place of its link in the list that the network was made of.
    pub link: u32,
    /// Plug that frames come from.
    pub from: Plug,
    /// Plug that frames go to.
    pub to: Plug,
    /// The direction of the link.
    pub medium: Medium,
    /// In the order in which they arrive.
    flying: VecDeque<(Time, Vec<u8>, Owner)>,
}

impl Wire {
    /// Direction `direction` (0 or 1) of a link between these ends; `rng` is the root of all chance.
    pub(crate) fn new(
        link: u32,
        direction: u32,
        (from, to): (Plug, Plug),
        settings: impl Into<Arc<WireSettings>>,
        rng: &Rng,
    ) -> Wire {
        let stream = |label: &str| rng.split(label).split_index(u64::from(link) * 2 + u64::from(direction));
        Wire { link, from, to, medium: Medium::new(settings, stream), flying: VecDeque::new() }
    }

    /// Sets the faults. Frames on a link that goes down are lost; returns their number.
    pub(crate) fn suffer(&mut self, harm: Harm) -> u64 {
        let flying = self.flying();
        if !self.medium.suffer(harm, flying) {
            return 0;
        }
        self.flying.clear();
        flying
    }

    /// Frames in flight.
    pub fn flying(&self) -> u64 {
        self.flying.len() as u64
    }

    /// Takes a frame that [`Medium::pad`] has seen.
    #[inline(always)]
    pub(crate) fn send(&mut self, mut frame: Vec<u8>, owner: Owner, now: Time) -> Sent {
        let sent = self.medium.send(&mut frame, now);
        match sent {
            Sent::ArrivesTwice(arrival) => {
                self.fly(arrival, frame.clone(), owner);
                self.fly(arrival, frame, owner);
            }
            Sent::Arrives(arrival) => self.fly(arrival, frame, owner),
            Sent::Lost | Sent::Cut | Sent::TooLong => {}
        }
        sent
    }

    #[inline(always)]
    fn fly(&mut self, arrival: Time, frame: Vec<u8>, owner: Owner) {
        if self.flying.back().is_none_or(|(at, ..)| *at <= arrival) {
            return self.flying.push_back((arrival, frame, owner));
        }
        let later = self.flying.iter().rev().take_while(|(at, ..)| *at > arrival).count();
        self.flying.insert(self.flying.len() - later, (arrival, frame, owner));
    }

    /// The frame that has arrived; `None` if it was lost meanwhile.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, now: Time) -> Option<(Vec<u8>, Owner)> {
        self.flying.front().filter(|(at, ..)| *at <= now)?;
        let (_, frame, owner) = self.flying.pop_front()?;
        if self.flying.is_empty() {
            rewind(&mut self.flying);
        }
        self.medium.counts.delivered += 1;
        Some((frame, owner))
    }

    /// True if every frame is accounted for.
    pub(crate) fn is_balanced(&self) -> bool {
        let MediumCounts { taken, duplicated, lost, cut, too_long, delivered, .. } = self.medium.counts;
        taken + duplicated == lost + cut + too_long + delivered + self.flying()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::WireSettings;
    use crate::network::Node;
    use base_time::{Duration, Probability, Rate};

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
        assert_eq!(wire.medium.free_at, Time::from_ps(1_000_000));
    }

    #[test]
    fn long_frames_do_not_pass_and_take_no_time() {
        let mut wire = wire(|l| l.longest_frame = 114);
        assert_eq!(wire.send(vec![0; 115], Owner::NOBODY, Time::ZERO), Sent::TooLong);
        assert_eq!(wire.medium.free_at, Time::ZERO);
        assert!(matches!(wire.send(vec![0; 114], Owner::NOBODY, Time::ZERO), Sent::Arrives(_)));
        assert!(wire.is_balanced());
    }

    #[test]
    fn short_frames_are_padded_if_the_link_pads() {
        let (mut short, mut kept) = (vec![7; 42], vec![7; 42]);
        wire(|_| {}).medium.pad(&mut short);
        wire(|l| l.padding = None).medium.pad(&mut kept);
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
        assert_eq!(wire.medium.counts.lost, lost as u64);
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
        let counts = wire.medium.counts;
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
        assert_eq!(wire.send(vec![2; 60], Owner::NOBODY, wire.medium.free_at), Sent::Cut);
        assert_eq!(wire.suffer(Harm::default()), 0);
        let Sent::Arrives(later) = wire.send(vec![3; 60], Owner::NOBODY, wire.medium.free_at) else {
            panic!("lost")
        };
        assert_eq!(wire.deliver(at), None, "the event of the lost frame");
        assert_eq!((wire.deliver(later).unwrap().0[0], wire.medium.counts.cut), (3, 2));
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
