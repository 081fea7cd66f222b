//! Memory used by requests and answers, per connection and in total.
//!
//! Nothing waits for memory: a message that does not fit is refused with `RESOURCE_EXHAUSTED`, and the connection is closed that uses the most
//! for what has come to a stop. Small messages do not count towards the total, so that clients with large messages cannot lock others out.

use crate::admission::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limit for all connections together, in bytes.
pub(crate) const ALL: usize = 384 << 20;

/// Limit for one connection, in bytes.
const ONE: usize = 224 << 20;

/// Holds up to this size do not count towards the total.
pub(crate) const SMALL: usize = 16 << 10;

/// Memory in use by all. Clones share it: all addresses of a process have one.
#[derive(Clone)]
pub struct Budget {
    used: Arc<AtomicUsize>,
    most: usize,
}

/// Memory in use; given back on drop.
pub struct Hold {
    budget: Budget,
    client: Option<Arc<Client>>,
    bytes: usize,
    /// The part that counts towards the total.
    shared: usize,
}

impl Default for Budget {
    /// Budget of all connections together.
    fn default() -> Budget {
        Budget::of(ALL)
    }
}

impl Budget {
    /// This many bytes.
    pub(crate) fn of(most: usize) -> Budget {
        Budget { used: Arc::default(), most }
    }

    /// Memory for something that belongs to no connection; `None` if there is not enough.
    pub fn take(&self, bytes: usize) -> Option<Hold> {
        let mut hold = self.hold(None);
        hold.grow(bytes).then_some(hold)
    }

    /// An empty hold, which also counts for `client`.
    pub(crate) fn hold(&self, client: Option<Arc<Client>>) -> Hold {
        Hold { budget: self.clone(), client, bytes: 0, shared: 0 }
    }
}

impl Hold {
    /// Takes `more` bytes. Returns false, and changes nothing, if there are not enough.
    #[must_use]
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        let bytes = self.bytes.saturating_add(more);
        if let Some(client) = &self.client
            && !take(&client.used, more, ONE)
        {
            return false;
        }
        let shared = if bytes <= SMALL { 0 } else { bytes };
        if !take(&self.budget.used, shared - self.shared, self.budget.most) {
            if let Some(client) = &self.client {
                client.used.fetch_sub(more, Ordering::Relaxed);
                client.make_room();
            }
            return false;
        }
        (self.bytes, self.shared) = (bytes, shared);
        true
    }

    /// Gives `less` bytes back.
    pub(crate) fn shrink(&mut self, less: usize) {
        let less = less.min(self.bytes);
        self.bytes -= less;
        if let Some(client) = &self.client {
            client.used.fetch_sub(less, Ordering::Relaxed);
        }
        let shared = self.shared.min(self.bytes);
        self.budget.used.fetch_sub(self.shared - shared, Ordering::Relaxed);
        self.shared = shared;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

fn take(used: &AtomicUsize, more: usize, most: usize) -> bool {
    let fits = |used: usize| used.checked_add(more).filter(|sum| *sum <= most);
    more == 0 || used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back() {
        let budget = Budget::default();
        let mut small = budget.hold(None);
        assert!(small.grow(SMALL));
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        let mut large = budget.hold(None);
        assert!(large.grow(ALL));
        assert!(!small.grow(1), "together they are more than there is");
        assert!(budget.hold(None).grow(SMALL), "small messages always fit");
        large.shrink(ALL / 2);
        assert!(small.grow(1));
        drop(large);
        assert_eq!(budget.used.load(Ordering::Relaxed), SMALL + 1);
        drop(small);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
