//! What happens next: events in the order of (time, sequence).

use base_time::Time;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Something that happens at a moment. The numbers are places in the emulator's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The next frame on a wire has arrived.
    Arrive(u32),
    /// The packet that has been longest inside a device is through.
    Served(u32),
    /// An outlet may send again.
    Wake(u32),
    /// A timer of a device may have run out.
    Timer(u32),
    /// A flow sends its next packet.
    Send(u32),
    /// A frame that was handed in from outside leaves its host.
    Inject(u32),
    /// A TCP stack has something to do.
    Stack(u32),
    /// A fault begins or is over.
    Fault { fault: u32, begins: bool },
}

/// Events that are yet to come. Of those at one moment, the one scheduled first comes first. What is scheduled
/// for [`Time::MAX`] never comes, what is scheduled for a moment that has passed comes now.
///
/// Those for the moment that it is are in a queue of their own: whatever is in the heap for that moment was scheduled before
/// it came.
#[derive(Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Planned>,
    /// Of the last event that came, and of all in `soon`.
    now: Time,
    soon: VecDeque<Event>,
    /// Events scheduled so far.
    scheduled: u64,
}

/// An event, and when: its picosecond above the number of those scheduled before.
#[derive(Clone, Copy, Debug)]
struct Planned {
    order: u128,
    event: Event,
}

impl Planned {
    fn time(&self) -> Time {
        Time::from_ps((self.order >> 64) as u64)
    }
}

/// The first one is the greatest. No two are equal.
impl Ord for Planned {
    fn cmp(&self, other: &Planned) -> Ordering {
        other.order.cmp(&self.order)
    }
}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Planned) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Planned) -> bool {
        self.order == other.order
    }
}

impl Eq for Planned {}

impl Calendar {
    pub fn schedule(&mut self, at: Time, event: Event) {
        if at <= self.now {
            return self.soon.push_back(event);
        }
        let order = u128::from(at.as_ps()) << 64 | u128::from(self.scheduled);
        self.scheduled += 1;
        self.heap.push(Planned { order, event });
    }

    /// When the next event comes; none if nothing is left to happen.
    pub fn next_time(&self) -> Option<Time> {
        let first = self.heap.peek().map(Planned::time);
        let first = first.filter(|at| *at < Time::MAX);
        if self.soon.is_empty() { first } else { Some(self.now) }
    }

    pub fn pop(&mut self) -> Option<(Time, Event)> {
        let at = self.next_time()?;
        let in_heap = self.soon.is_empty() || self.heap.peek().is_some_and(|first| first.time() == at);
        let event = if in_heap { self.heap.pop()?.event } else { self.soon.pop_front()? };
        self.now = at;
        Some((at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_scheduled() {
        let mut calendar = Calendar::default();
        for (at, event) in [(5, 1), (u64::MAX, 9), (3, 2), (5, 0), (3, 4)] {
            calendar.schedule(Time::from_ps(at), Event::Wake(event));
        }
        assert_eq!(calendar.next_time(), Some(Time::from_ps(3)));
        let order: Vec<_> = std::iter::from_fn(|| calendar.pop()).map(|(at, e)| (at.as_ps(), e)).collect();
        assert_eq!(
            order,
            [(3, Event::Wake(2)), (3, Event::Wake(4)), (5, Event::Wake(1)), (5, Event::Wake(0))]
        );
    }

    #[test]
    fn what_is_scheduled_for_now_comes_behind_what_was_there() {
        let mut calendar = Calendar::default();
        let at = |ps| Time::from_ps(ps);
        calendar.schedule(at(0), Event::Wake(0));
        for event in [1, 2] {
            calendar.schedule(at(5), Event::Wake(event));
        }
        assert_eq!(calendar.pop(), Some((at(0), Event::Wake(0))));
        assert_eq!(calendar.pop(), Some((at(5), Event::Wake(1))));
        for (time, event) in [(5, 3), (6, 5), (5, 4), (u64::MAX, 9)] {
            calendar.schedule(at(time), Event::Wake(event));
        }
        let rest: Vec<_> = std::iter::from_fn(|| calendar.pop()).collect();
        assert_eq!(
            rest,
            [(5, 2), (5, 3), (5, 4), (6, 5)].map(|(time, event)| (at(time), Event::Wake(event)))
        );
        calendar.schedule(at(4), Event::Wake(6));
        assert_eq!((calendar.next_time(), calendar.pop()), (Some(at(6)), Some((at(6), Event::Wake(6)))));
    }
}
