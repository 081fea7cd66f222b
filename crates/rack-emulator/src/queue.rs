//! The queue of one port: several priorities, each of limited depth.

use std::collections::VecDeque;

/// Priorities 0 to 7, as v1model's 3-bit `priority`; the highest goes first.
const PRIORITIES: usize = 8;

/// Why something could not be queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The queue of this priority is full.
    Full,
    /// There is no queue of this priority.
    NoSuchPriority,
}

/// First in first out in each priority; strict priority between them.
pub(crate) struct PortQueue<T> {
    queues: [VecDeque<T>; PRIORITIES],
    /// For each priority.
    capacity: u32,
    len: u32,
    longest: u32,
}

impl<T> PortQueue<T> {
    pub fn new(capacity: u32) -> PortQueue<T> {
        PortQueue { queues: Default::default(), capacity, len: 0, longest: 0 }
    }

    /// How many are queued, over all priorities.
    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The most that ever were queued.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    pub fn push(&mut self, priority: u8, item: T) -> Result<(), Refused> {
        let queue = self.queues.get_mut(usize::from(priority)).ok_or(Refused::NoSuchPriority)?;
        if queue.len() as u64 >= u64::from(self.capacity) {
            return Err(Refused::Full);
        }
        queue.push_back(item);
        self.len += 1;
        self.longest = self.longest.max(self.len);
        Ok(())
    }

    pub fn pop(&mut self) -> Option<T> {
        let item = self.queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        self.len -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_priorities_go_first_and_each_has_its_own_depth() {
        let mut queue = PortQueue::new(2);
        for (priority, item) in [(0, 'a'), (7, 'b'), (0, 'c'), (3, 'd')] {
            assert_eq!(queue.push(priority, item), Ok(()));
        }
        assert_eq!(queue.push(0, 'e'), Err(Refused::Full));
        assert_eq!(queue.push(7, 'f'), Ok(()));
        assert_eq!(queue.push(8, 'g'), Err(Refused::NoSuchPriority));
        assert_eq!(queue.len(), 5);
        assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<String>(), "bfdac");
        assert!(queue.is_empty() && queue.longest() == 5);
    }
}
