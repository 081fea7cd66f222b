//! What happens next: events in the order of (time, sequence).

use base_time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at a moment. The numbers are places in the emulator's lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
/// for [`Time::MAX`] never comes.
#[derive(Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Reverse<(u128, Event)>>,
    /// Events scheduled so far.
    scheduled: u64,
}

impl Calendar {
    pub fn schedule(&mut self, at: Time, event: Event) {
        let order = u128::from(at.as_ps()) << 64 | u128::from(self.scheduled);
        self.scheduled += 1;
        self.heap.push(Reverse((order, event)));
    }

    /// When the next event comes; none if nothing is left to happen.
    pub fn next_time(&self) -> Option<Time> {
        let Reverse((order, _)) = self.heap.peek()?;
        Some(Time::from_ps((order >> 64) as u64)).filter(|at| *at < Time::MAX)
    }

    pub fn pop(&mut self) -> Option<(Time, Event)> {
        let at = self.next_time()?;
        let Reverse((_, event)) = self.heap.pop()?;
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
}
