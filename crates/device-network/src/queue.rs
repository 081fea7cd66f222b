//! The queue of one port: several priorities, each of limited depth.

use base_time::Time;
use std::collections::VecDeque;

/// Priorities 0 to 7, as v1model's 3-bit `priority`; the highest goes first.
const PRIORITIES: usize = 8;

/// The highest priority, which trimmed packets get.
pub(crate) const FIRST: u8 = PRIORITIES as u8 - 1;

/// Reason why a packet could not be queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The queue of this priority is full.
    Full,
    /// There is no queue of this priority.
    NoSuchPriority,
}

/// To be called when a queue has become empty: the next element takes the first place again, whose memory is in the
/// cache. Without this a queue of at most one walks through all that it has ever allocated, and a rack of many ports
/// through more than fits into the caches.
pub(crate) fn rewind<T>(queue: &mut VecDeque<T>) {
    // For an empty queue, `clear` resets the start.
    queue.clear();
}

/// First in first out in each priority; strict priority between them.
///
/// In this order in memory, so that a packet of the lowest priority touches two cache lines.
#[repr(C)]
pub struct PortQueue<T> {
    /// Packets times picoseconds, up to the last change.
    area: u128,
    changed: Time,
    /// For each priority.
    capacity: u32,
    len: u32,
    longest: u32,
    /// A bit for each priority that has something.
    filled: u8,
    queues: [VecDeque<T>; PRIORITIES],
}

impl<T> PortQueue<T> {
    pub(crate) fn new(capacity: u32) -> PortQueue<T> {
        PortQueue {
            queues: Default::default(),
            capacity,
            len: 0,
            filled: 0,
            longest: 0,
            area: 0,
            changed: Time::ZERO,
        }
    }

    /// Number of queued packets, over all priorities.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The most that ever were queued.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// True if the queue of this priority takes nothing more.
    pub(crate) fn is_full(&self, priority: u8) -> bool {
        let queue = self.queues.get(usize::from(priority));
        queue.is_some_and(|queue| queue.len() as u64 >= u64::from(self.capacity))
    }

    /// True if an item of this priority that is queued now is the next to leave.
    #[inline(always)]
    pub(crate) fn lets_pass(&self, priority: u8) -> bool {
        self.len == 0 && self.capacity > 0 && usize::from(priority) < PRIORITIES
    }

    /// An item that the queue [lets pass](Self::lets_pass) is queued and leaves at the same moment: without being moved there.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time) {
        self.changed = now;
        self.longest = self.longest.max(1);
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, priority: u8, item: T, now: Time) -> Result<(), Refused> {
        let queue = self.queues.get_mut(usize::from(priority)).ok_or(Refused::NoSuchPriority)?;
        if queue.len() as u64 >= u64::from(self.capacity) {
            return Err(Refused::Full);
        }
        queue.push_back(item);
        self.filled |= 1 << priority;
        self.change(now);
        self.len += 1;
        self.longest = self.longest.max(self.len);
        Ok(())
    }

    /// Mean number of queued packets since the start, in thousandths.
    pub fn mean_milli(&self, now: Time) -> u64 {
        let waited = self.area + u128::from(self.len) * u128::from(now.since(self.changed).as_ps());
        (waited * 1000 / u128::from(now.as_ps().max(1))) as u64
    }

    fn change(&mut self, now: Time) {
        if self.len > 0 {
            self.area += u128::from(self.len) * u128::from(now.since(self.changed).as_ps());
        }
        self.changed = now;
    }

    /// Forgets all that is queued: how many.
    pub(crate) fn clear(&mut self, now: Time) -> u64 {
        self.change(now);
        self.queues.iter_mut().for_each(VecDeque::clear);
        self.filled = 0;
        u64::from(std::mem::take(&mut self.len))
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Time) -> Option<T> {
        let highest = self.filled.checked_ilog2()?;
        let queue = &mut self.queues[highest as usize];
        let item = queue.pop_front()?;
        if queue.is_empty() {
            self.filled &= !(1 << highest);
            rewind(queue);
        }
        self.change(now);
        self.len -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_runs_empty_stays_at_its_first_place() {
        let mut queue = PortQueue::new(64);
        let mut places = std::collections::BTreeSet::new();
        for item in 0..1000u64 {
            queue.push(3, item, Time::ZERO).unwrap();
            places.insert(std::ptr::from_ref(queue.queues[3].front().unwrap()));
            assert_eq!(queue.pop(Time::ZERO), Some(item));
        }
        assert_eq!(places.len(), 1);
    }

    #[test]
    fn what_passes_counts_as_queued() {
        let at = |ps| Time::from_ps(ps);
        for capacity in [0, 1] {
            let [mut queued, mut passed] = [(); 2].map(|()| PortQueue::new(capacity));
            assert_eq!(
                [0, 7, 8].map(|priority| passed.lets_pass(priority)),
                [capacity > 0, capacity > 0, false]
            );
            let fits = queued.push(0, (), at(10)).is_ok();
            assert_eq!((fits, queued.lets_pass(7)), (capacity > 0, false), "not while another waits");
            if fits {
                queued.pop(at(10));
                passed.pass(at(10));
                assert_eq!((passed.longest(), passed.len()), (queued.longest(), 0));
                for queue in [&mut queued, &mut passed] {
                    queue.push(3, (), at(50)).unwrap();
                }
            }
            let seen = |queue: &PortQueue<()>| (queue.len(), queue.longest(), queue.mean_milli(at(100)));
            assert_eq!(seen(&passed), if fits { (1, 1, 500) } else { (0, 0, 0) });
            assert_eq!(seen(&passed), seen(&queued));
        }
    }

    #[test]
    fn high_priorities_go_first_and_each_has_its_own_depth() {
        let mut queue = PortQueue::new(2);
        for (priority, item) in [(0, 'a'), (7, 'b'), (0, 'c'), (3, 'd')] {
            assert_eq!(queue.push(priority, item, Time::ZERO), Ok(()));
        }
        assert_eq!((queue.is_full(0), queue.is_full(3), queue.is_full(8)), (true, false, false));
        assert_eq!(queue.push(0, 'e', Time::ZERO), Err(Refused::Full));
        assert_eq!(queue.push(7, 'f', Time::ZERO), Ok(()));
        assert_eq!(queue.push(8, 'g', Time::from_ps(30)), Err(Refused::NoSuchPriority));
        assert_eq!(queue.len(), 5);
        assert_eq!(std::iter::from_fn(|| queue.pop(Time::from_ps(60))).collect::<String>(), "bfdac");
        assert!(queue.is_empty() && queue.longest() == 5);
        // Five for 60 ps, none for 40.
        assert_eq!(queue.mean_milli(Time::from_ps(100)), 3000);
    }
}
