//! The receiving half of a connection: bytes received in order, ranges received out of order, and the times of
//! acknowledgements.
//!
//! Every second segment in order is acknowledged at once, a single one after a delay (RFC 1122 §4.2.3.2); segments that
//! are out of order, fill a gap or are duplicates are acknowledged at once (RFC 5681 §4.2). The first of the ranges
//! that an acknowledgement has is the one that grew last (RFC 2018 §4).

use super::sender::MOST_DELAYED_ACK;
use base_time::Time;

/// The receiver of a transfer. Offsets are bytes of the stream from 0; the end of the stream counts as one more byte.
#[derive(Debug)]
pub(super) struct Receiver {
    length: u32,
    /// Receive window in bytes, after the bytes received in order.
    window: u32,
    /// Everything before it has come.
    next: u32,
    /// Segments received out of order, as disjoint half-open ranges of sequence numbers, sorted.
    ranges: Vec<(u32, u32)>,
    /// First sequence numbers of the ranges, most recently extended first.
    recent: Vec<u32>,
    /// Segments that are not acknowledged.
    unsaid: u32,
    /// When the next acknowledgement is due at the latest.
    due: Option<Time>,
}

impl Receiver {
    /// For a stream of `length` bytes, of which it takes `window` ahead.
    pub fn new(length: u32, window: u32) -> Receiver {
        Receiver { length, window, next: 0, ranges: vec![], recent: vec![], unsaid: 0, due: None }
    }

    /// Receive window in bytes, after the bytes received in order.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Bytes of the stream.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Number of bytes received in order.
    pub fn bytes(&self) -> u32 {
        self.next.min(self.length)
    }

    /// The stream and its end have come.
    pub fn is_done(&self) -> bool {
        self.next > self.length
    }

    /// Accepts the bytes from `from` to `to`, and the end of the stream after them if it `ends`. Bytes too far ahead
    /// are dropped.
    pub fn take(&mut self, from: u32, to: u32, ends: bool, now: Time) {
        let to = to.saturating_add(u32::from(ends));
        if to > self.next.saturating_add(self.window) || to > self.length + 1 {
            return;
        }
        self.unsaid += 1;
        let is_plain = from <= self.next && to > self.next && self.ranges.is_empty();
        if to > self.next && from < to {
            self.insert(from.max(self.next), to);
        }
        let at_once = !is_plain || self.unsaid >= 2 || self.is_done();
        let due = if at_once { now } else { now + MOST_DELAYED_ACK };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    fn insert(&mut self, mut from: u32, mut to: u32) {
        if from > self.next {
            // Ranges are disjoint: one that this range does not touch does not touch the merged range either.
            self.ranges.retain(|range| {
                let is_apart = range.1 < from || range.0 > to;
                if !is_apart {
                    (from, to) = (from.min(range.0), to.max(range.1));
                }
                is_apart
            });
            let at = self.ranges.partition_point(|range| range.0 < from);
            self.ranges.insert(at, (from, to));
            self.recent.retain(|start| *start < from || *start > to);
            self.recent.insert(0, from);
            return;
        }
        self.next = to;
        while let Some((_, end)) = self.ranges.first().copied().filter(|range| range.0 <= self.next) {
            self.next = self.next.max(end);
            self.ranges.remove(0);
        }
        let next = self.next;
        self.recent.retain(|start| *start > next);
    }

    /// Segments have come that are not acknowledged.
    pub fn owes_ack(&self) -> bool {
        self.due.is_some()
    }

    /// Segments that are not acknowledged are due now.
    pub fn hurry(&mut self, now: Time) {
        self.due = self.due.map(|due| due.min(now));
    }

    /// When an acknowledgement is due.
    pub fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// The acknowledgement that is sent now: everything before an offset has come, and these ranges after it.
    pub fn acknowledge(&mut self) -> (u32, [Option<(u32, u32)>; 3]) {
        (self.unsaid, self.due) = (0, None);
        let mut sacks = [None; 3];
        let known = |start: &u32| self.ranges.iter().find(|range| range.0 == *start).copied();
        for (place, range) in sacks.iter_mut().zip(self.recent.iter().filter_map(known)) {
            *place = Some(range);
        }
        (self.next, sacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Duration;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(1000, 1 << 20);
        receiver.take(0, 100, false, at(1));
        assert_eq!(receiver.deadline(), Some(at(1) + MOST_DELAYED_ACK));
        receiver.take(100, 200, false, at(2));
        assert_eq!(receiver.deadline(), Some(at(2)));
        assert_eq!(receiver.acknowledge(), (200, [None; 3]));
        assert_eq!(receiver.deadline(), None);
        // The end is, too.
        receiver.take(200, 1000, true, at(3));
        assert_eq!((receiver.deadline(), receiver.is_done(), receiver.bytes()), (Some(at(3)), true, 1000));
        assert_eq!(receiver.acknowledge().0, 1001);
    }

    #[test]
    fn ranges_out_of_order_are_reported_the_last_first() {
        let mut receiver = Receiver::new(10_000, 1 << 20);
        for (from, to) in [(200, 300), (400, 500), (600, 700), (800, 900)] {
            receiver.take(from, to, false, at(from.into()));
            assert_eq!(receiver.deadline(), Some(at(from.into())));
            receiver.acknowledge();
        }
        receiver.take(300, 350, false, at(1));
        assert_eq!(receiver.acknowledge(), (0, [Some((200, 350)), Some((800, 900)), Some((600, 700))]));
        // Duplicates are acknowledged again.
        receiver.take(200, 300, false, at(2));
        assert_eq!(receiver.acknowledge().0, 0);
        receiver.take(0, 250, false, at(3));
        assert_eq!(receiver.acknowledge(), (350, [Some((800, 900)), Some((600, 700)), Some((400, 500))]));
        receiver.take(350, 600, false, at(4));
        assert_eq!(receiver.acknowledge(), (700, [Some((800, 900)), None, None]));
        assert_eq!(receiver.bytes(), 700);
    }

    #[test]
    fn what_makes_no_sense_is_not_taken() {
        let mut receiver = Receiver::new(10, 1 << 20);
        for (from, to, ends) in [(5, 20, false), (11, 11, true), (2 << 20, (2 << 20) + 5, false)] {
            receiver.take(from, to, ends, at(0));
        }
        assert_eq!((receiver.bytes(), receiver.deadline()), (0, None));
        // Ranges against a bit map, in any order.
        let mut chance = base_time::Rng::new(5);
        let mut receiver = Receiver::new(200, 1 << 20);
        let mut map = [false; 200];
        for _ in 0..300 {
            let from = chance.between(0, 199) as u32;
            let to = (from + chance.between(1, 9) as u32).min(200);
            receiver.take(from, to, false, at(0));
            map[from as usize..to as usize].fill(true);
            let (next, sacks) = receiver.acknowledge();
            assert_eq!(next as usize, map.iter().position(|came| !came).unwrap_or(200));
            for (from, to) in sacks.into_iter().flatten() {
                assert!(map[from as usize..to as usize].iter().all(|came| *came));
                assert!(from > next && !map[from as usize - 1] && map.get(to as usize) != Some(&true));
            }
        }
    }
}
