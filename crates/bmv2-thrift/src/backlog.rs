//! Messages that subscribers have not read yet: one queue for all, bounded in number and in bytes.
//!
//! ```text
//! oldest [ 5 | 6 | 7 | 8 ] newest        a: reads 8 next; b: reads 5 next
//! a message more: 5 is dropped, and b has lost it; nobody else has lost anything
//! ```

use p4runtime_grpc::{Budget, Hold};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Messages that a subscriber may be behind, and their bytes; the oldest are lost to it.
pub const MOST_MESSAGES: usize = 1024;
pub const MOST_BYTES: usize = 4 << 20;

/// See the module. Clones share it.
#[derive(Clone)]
pub struct Backlog {
    state: Arc<Mutex<State>>,
    more: Arc<Notify>,
    budget: Budget,
}

/// A message, and the memory that it takes until the last subscriber has got it.
pub struct Waiting {
    pub bytes: Vec<u8>,
    _hold: Hold,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Arc<Waiting>>,
    /// Bytes of all messages.
    bytes: usize,
    /// Number of the oldest message.
    first: u64,
    /// Number of the next message of each subscriber.
    next: BTreeMap<u64, u64>,
    subscribers: u64,
}

impl Backlog {
    pub fn new(budget: Budget) -> Backlog {
        Backlog { state: Arc::default(), more: Arc::default(), budget }
    }

    #[cfg(test)]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message for all subscribers. Returns false if memory is used up, so that it is lost.
    #[must_use]
    pub fn push(&self, bytes: Vec<u8>) -> bool {
        let mut state = self.lock();
        if state.next.is_empty() {
            // Without subscribers it is lost, as BMv2's are.
            return true;
        }
        let is_full = |state: &State| {
            state.messages.len() >= MOST_MESSAGES || state.bytes.saturating_add(bytes.len()) > MOST_BYTES
        };
        while !state.messages.is_empty() && is_full(&state) {
            state.pop();
        }
        let Some(hold) = self.budget.take(bytes.len()) else { return false };
        state.bytes += bytes.len();
        state.messages.push_back(Arc::new(Waiting { bytes, _hold: hold }));
        drop(state);
        self.more.notify_waiters();
        true
    }

    /// Subscribes: messages from now on.
    pub fn subscribe(&self) -> Subscriber {
        let mut state = self.lock();
        let number = state.subscribers;
        state.subscribers += 1;
        let next = state.first + state.messages.len() as u64;
        state.next.insert(number, next);
        drop(state);
        Subscriber { backlog: self.clone(), number }
    }
}

impl State {
    fn pop(&mut self) {
        if let Some(oldest) = self.messages.pop_front() {
            self.bytes -= oldest.bytes.len();
            self.first += 1;
        }
    }

    /// Drops the messages that all subscribers have.
    fn trim(&mut self) {
        let wanted = self.next.values().min().copied().unwrap_or(u64::MAX);
        while self.first < wanted && !self.messages.is_empty() {
            self.pop();
        }
    }

    /// The next message of a subscriber, and the number of those that it has lost before.
    fn take(&mut self, subscriber: u64) -> Option<(Arc<Waiting>, u64)> {
        let next = self.next.get_mut(&subscriber)?;
        let at = (*next).max(self.first);
        let message = Arc::clone(self.messages.get((at - self.first) as usize)?);
        let lost = at - *next;
        *next = at + 1;
        self.trim();
        Some((message, lost))
    }
}

/// A place in the queue, which is given up on drop.
pub struct Subscriber {
    backlog: Backlog,
    number: u64,
}

impl Subscriber {
    /// Waits for the next message. Returns it with the number of messages that were lost before it.
    pub async fn next(&self) -> (Arc<Waiting>, u64) {
        loop {
            let mut more = std::pin::pin!(self.backlog.more.notified());
            // Messages that come after the look below wake this one.
            more.as_mut().enable();
            if let Some(found) = self.backlog.lock().take(self.number) {
                return found;
            }
            more.await;
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let mut state = self.backlog.lock();
        state.next.remove(&self.number);
        state.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog() -> Backlog {
        Backlog::new(Budget::default())
    }

    fn taken(backlog: &Backlog, subscriber: &Subscriber) -> Option<(u8, u64)> {
        let taken = backlog.lock().take(subscriber.number);
        taken.map(|(message, lost)| (message.bytes[0], lost))
    }

    #[test]
    fn each_subscriber_gets_all_messages_of_its_time() {
        let backlog = backlog();
        assert!(backlog.push(vec![1]), "nobody is there");
        let early = backlog.subscribe();
        assert!(backlog.push(vec![2]));
        let late = backlog.subscribe();
        assert!(backlog.push(vec![3]));
        assert_eq!(taken(&backlog, &late), Some((3, 0)));
        assert_eq!(taken(&backlog, &late), None);
        assert_eq!(backlog.lock().messages.len(), 2);
        assert_eq!(taken(&backlog, &early), Some((2, 0)));
        assert_eq!(taken(&backlog, &early), Some((3, 0)));
        let state = backlog.lock();
        assert_eq!((state.messages.len(), state.bytes), (0, 0), "all have them");
    }

    #[test]
    fn who_does_not_read_loses_the_oldest_and_costs_nobody_a_message() {
        let backlog = backlog();
        let [slow, fast] = [(); 2].map(|()| backlog.subscribe());
        for number in 0..MOST_MESSAGES as u64 + 3 {
            assert!(backlog.push(vec![number as u8]));
            assert_eq!(taken(&backlog, &fast), Some((number as u8, 0)));
        }
        assert_eq!(taken(&backlog, &slow), Some((3, 3)));
        assert_eq!(taken(&backlog, &slow), Some((4, 0)));
        drop(slow);
        assert!(backlog.lock().messages.is_empty(), "messages of a subscriber go with it");
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let backlog = backlog();
        let slow = backlog.subscribe();
        for number in 0..100 {
            assert!(backlog.push(vec![number; MOST_BYTES / 8]));
            assert!(backlog.lock().bytes <= MOST_BYTES);
        }
        assert_eq!(taken(&backlog, &slow), Some((92, 92)));
        assert!(backlog.push(vec![100; MOST_BYTES * 2]), "one is never too large beside none");
        assert_eq!(taken(&backlog, &slow), Some((100, 7)));
        // A message takes memory while it waits: there is room for 95 of 96 more. Then all memory is free again.
        assert!(backlog.push(vec![101; MOST_BYTES]));
        assert_eq!((0..96).map_while(|_| backlog.budget.take(MOST_BYTES)).collect::<Vec<_>>().len(), 95);
        assert_eq!(taken(&backlog, &slow), Some((101, 0)));
        let all =
            (1..).map(|_| backlog.budget.take(MOST_BYTES)).take_while(Option::is_some).collect::<Vec<_>>();
        assert!(all.len() >= 96, "{}", all.len());
        assert!(!backlog.push(vec![1; MOST_BYTES]), "there is no memory");
        assert_eq!(taken(&backlog, &slow), None);
    }
}
