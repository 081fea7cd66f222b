//! Events in the order of (time, sequence).

use base_time::Time;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Something that happens at a moment. The numbers are places in the network's lists. With a tag of its own, at the same place for every kind: it is
/// read with each event.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event<E> {
    /// The next frame on a wire has arrived.
    Arrive(u32),
    /// The packet that has been longest inside a device is through.
    Served(u32),
    /// A recirculated packet is back at a device.
    Again(u32),
    /// An outlet may send again.
    Wake(u32),
    /// A timer of a device may have run out.
    Timer(u32),
    /// An event of the network's owner.
    Own(E),
}

/// Future events. At equal times, the one scheduled first comes first. Events at [`Time::MAX`] never come; events in
/// the past come now.
///
/// Most are scheduled in the order in which they come, or nearly: each goes after the last of a lane that is not later,
/// and only events that fit into no lane go into the heap. Timers have lanes of their own: one far ahead would keep a lane from packets until it
/// runs out. The next event is the first of a lane or of the heap. Events
/// for the present moment are in a queue of their own: all others for that moment were scheduled before it.
pub(crate) struct Calendar<E> {
    lanes: [VecDeque<Planned<E>>; LANES],
    heap: BinaryHeap<Planned<E>>,
    /// Order of the first event in each lane, then of the first in the heap, with its place in this list: [`at_place`]. [`NOTHING`] if there
    /// is none.
    firsts: [u128; PLACES],
    /// Picosecond of the last event in each lane, or 0 if it is empty: both ends of a long lane are far apart in memory. Of two events at one moment, the
    /// one scheduled later comes later, so times are enough.
    lasts: [u64; LANES],
    /// Time of the last event taken, and of all in `soon`.
    now: Time,
    soon: VecDeque<Event<E>>,
    /// Events scheduled so far.
    scheduled: u64,
}

/// The usual number of different delays of packets at a time: a few service times and links.
const PACKET_LANES: usize = 5;

/// All lanes: those of packets, then those of timers.
const LANES: usize = PACKET_LANES + 2;

/// A bit for each lane of packets, and for each of timers.
const OF_PACKETS: u32 = (1 << PACKET_LANES) - 1;
const OF_TIMERS: u32 = (1 << LANES) - 1 - OF_PACKETS;

/// The lanes and the heap.
const PLACES: usize = LANES + 1;

/// Bits of an event's order in which [`at_place`] puts its place.
const PLACE_BITS: u32 = PLACES.ilog2();
const _: () = assert!(PLACES.is_power_of_two());

/// Behind all that ever comes.
const NOTHING: u128 = u128::MAX;

/// An event, and when: its picosecond above the number of those scheduled before, above [`PLACE_BITS`] zeros.
#[derive(Clone, Copy, Debug)]
struct Planned<E> {
    order: u128,
    event: Event<E>,
}

/// The first one is the greatest. No two are equal.
impl<E> Ord for Planned<E> {
    fn cmp(&self, other: &Planned<E>) -> Ordering {
        other.order.cmp(&self.order)
    }
}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Planned<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Planned<E>) -> bool {
        self.order == other.order
    }
}

impl<E> Eq for Planned<E> {}

impl<E> Default for Calendar<E> {
    fn default() -> Calendar<E> {
        Calendar {
            lanes: Default::default(),
            heap: BinaryHeap::new(),
            firsts: [NOTHING; PLACES],
            lasts: [0; LANES],
            now: Time::ZERO,
            soon: VecDeque::new(),
            scheduled: 0,
        }
    }
}

impl<E: Copy> Calendar<E> {
    /// Has an event come at a time. In line, where the kind of event is known.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: Event<E>) {
        if at <= self.now {
            return self.soon.push_back(event);
        }
        if at == Time::MAX {
            return;
        }
        let order = u128::from(at.as_ps()) << 64 | u128::from(self.scheduled << PLACE_BITS);
        self.scheduled += 1;
        let planned = Planned { order, event };
        let lanes = match event {
            Event::Timer(_) | Event::Own(_) => OF_TIMERS,
            _ => OF_PACKETS,
        };
        let place = match not_above(&self.lasts, at.as_ps()) & lanes {
            0 => self.push_heap(planned),
            fitting => {
                let lane = fitting.trailing_zeros() as usize;
                self.lanes[lane].push_back(planned);
                self.lasts[lane] = at.as_ps();
                lane
            }
        };
        self.firsts[place] = self.firsts[place].min(at_place(order, place));
    }

    /// The place of the heap.
    #[inline(never)]
    fn push_heap(&mut self, planned: Planned<E>) -> usize {
        self.heap.push(planned);
        LANES
    }

    #[inline(never)]
    fn pop_heap(&mut self) -> Option<Event<E>> {
        self.heap.pop().map(|planned| planned.event)
    }

    /// When the next event comes; none if nothing is left to happen.
    pub fn next_time(&self) -> Option<Time> {
        if !self.soon.is_empty() {
            return Some(self.now);
        }
        let first = least(&self.firsts);
        (first != NOTHING).then(|| time_of(first))
    }

    /// The next event, if it comes at `limit` or before. In line, so that what follows need not take it from memory.
    #[inline(always)]
    pub fn pop(&mut self, limit: Time) -> Option<(Time, Event<E>)> {
        let first = least(&self.firsts);
        let place = first as usize % PLACES;
        let at = time_of(first);
        if !self.soon.is_empty() && at > self.now {
            let event = if self.now <= limit { self.soon.pop_front() } else { None };
            return Some((self.now, event?));
        }
        if at > limit || first == NOTHING {
            return None;
        }
        let (event, next) = match self.lanes.get_mut(place) {
            Some(lane) => (lane.pop_front()?.event, lane.front()),
            None => (self.pop_heap()?, self.heap.peek()),
        };
        self.firsts[place] = next.map_or(NOTHING, |next| at_place(next.order, place));
        if self.firsts[place] == NOTHING && place < LANES {
            self.lasts[place] = 0;
        }
        self.now = at;
        Some((at, event))
    }
}

/// The order of an event with its place, so that the least order says where it is. No two events have the same number: places decide nothing.
#[inline(always)]
fn at_place(order: u128, place: usize) -> u128 {
    order | place as u128
}

/// The least, in pairs: a comparison waits for two others and not for all before it.
#[inline(always)]
fn least(firsts: &[u128; PLACES]) -> u128 {
    let [a, b, c, d, e, f, g, h] = *firsts;
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
}

/// A bit for each that is not above. All are compared, since a branch for each would often be mispredicted.
#[inline(always)]
fn not_above(lasts: &[u64; LANES], time: u64) -> u32 {
    let bits = lasts.iter().zip(0..).map(|(last, at)| u32::from(*last <= time) << at);
    bits.fold(0, |all, bit| all | bit)
}

/// The picosecond above the number.
fn time_of(order: u128) -> Time {
    Time::from_ps((order >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_scheduled() {
        let mut calendar = Calendar::<()>::default();
        for (at, event) in [(5, 1), (u64::MAX, 9), (3, 2), (5, 0), (3, 4)] {
            calendar.schedule(Time::from_ps(at), Event::Wake(event));
        }
        assert_eq!(calendar.next_time(), Some(Time::from_ps(3)));
        let order: Vec<_> =
            std::iter::from_fn(|| calendar.pop(Time::MAX)).map(|(at, e)| (at.as_ps(), e)).collect();
        assert_eq!(
            order,
            [(3, Event::Wake(2)), (3, Event::Wake(4)), (5, Event::Wake(1)), (5, Event::Wake(0))]
        );
    }

    #[test]
    fn what_is_scheduled_for_now_comes_behind_what_was_there() {
        let mut calendar = Calendar::<()>::default();
        let at = |ps| Time::from_ps(ps);
        calendar.schedule(at(0), Event::Wake(0));
        for event in [1, 2] {
            calendar.schedule(at(5), Event::Wake(event));
        }
        assert_eq!(calendar.pop(Time::MAX), Some((at(0), Event::Wake(0))));
        assert_eq!(calendar.pop(Time::MAX), Some((at(5), Event::Wake(1))));
        for (time, event) in [(5, 3), (6, 5), (5, 4), (u64::MAX, 9)] {
            calendar.schedule(at(time), Event::Wake(event));
        }
        let rest: Vec<_> = std::iter::from_fn(|| calendar.pop(Time::MAX)).collect();
        assert_eq!(
            rest,
            [(5, 2), (5, 3), (5, 4), (6, 5)].map(|(time, event)| (at(time), Event::Wake(event)))
        );
        calendar.schedule(at(4), Event::Wake(6));
        assert_eq!(
            (calendar.next_time(), calendar.pop(Time::MAX)),
            (Some(at(6)), Some((at(6), Event::Wake(6))))
        );
    }

    #[test]
    fn timers_far_ahead_leave_the_lanes_to_packets() {
        let mut calendar = Calendar::<()>::default();
        for timer in 0..10 {
            calendar.schedule(Time::from_ps(1_000_000 - u64::from(timer)), Event::Timer(timer));
        }
        let timers = calendar.heap.len();
        for packet in 0..100 {
            for delay in [50, 10, 1] {
                calendar.schedule(Time::from_ps(u64::from(packet) + delay), Event::Arrive(packet));
            }
        }
        assert_eq!(calendar.heap.len(), timers);
    }

    /// Lanes and heap together equal a single heap.
    #[test]
    fn events_of_many_delays_come_in_order() {
        let mut chance = base_time::Rng::new(1);
        let (mut calendar, mut expected, mut now, mut count) = (Calendar::<()>::default(), vec![], 0, 0);
        let mut in_heap = 0;
        for _ in 0..20_000 {
            for _ in 0..chance.between(0, 2) {
                let delay = [0, 3, 10, 500][chance.index(4)] + chance.between(0, 4);
                let event = if chance.next_bool() { Event::Wake(count) } else { Event::Timer(count) };
                calendar.schedule(Time::from_ps(now + delay), event);
                expected.push((now + delay, count, event));
                count += 1;
            }
            in_heap = in_heap.max(calendar.heap.len());
            expected.sort_unstable_by_key(|(at, count, _)| (*at, *count));
            let limit = now + 1;
            let due = expected.first().filter(|(at, ..)| *at <= limit).copied();
            let came = calendar.pop(Time::from_ps(limit));
            assert_eq!(came, due.map(|(at, _, event)| (Time::from_ps(at), event)));
            match due {
                Some((at, ..)) => {
                    now = at;
                    expected.remove(0);
                }
                None => now = limit,
            }
        }
        assert!(count > 15_000 && in_heap > 10, "{count} events, {in_heap} in the heap");
    }
}
