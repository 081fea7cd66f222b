//! A request that is repeated until it is answered, with exponential back-off.

use base_time::{Duration, Time};

/// When a request is sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timer {
    /// It is sent at this time or later.
    pub due: Time,
    /// Time from sending it to sending it again.
    wait: Duration,
}

impl Timer {
    /// Due now; then again after `wait`.
    pub fn new(now: Time, wait: Duration) -> Timer {
        Timer { due: now, wait }
    }

    /// It is sent now. The next wait is twice as long, up to `most`.
    pub fn sent(&mut self, now: Time, most: Duration) {
        self.due = now + self.wait;
        self.wait = (self.wait * 2).min(most);
    }
}
