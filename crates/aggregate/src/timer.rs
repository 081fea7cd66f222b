//! A request that is repeated until it is answered, with exponential back-off.

use base_time::{Duration, Time};

/// When a request is sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timer {
    /// Earliest time of the next transmission.
    pub due: Time,
    /// Time from sending it to sending it again.
    wait: Duration,
}

impl Timer {
    /// Due now; then again after `wait`.
    pub fn new(now: Time, wait: Duration) -> Timer {
        Timer { due: now, wait }
    }

    /// Notes a transmission. The next wait is twice as long, up to `most`.
    pub fn sent(&mut self, now: Time, most: Duration) {
        self.due = now + self.wait;
        self.wait = (self.wait * 2).min(most);
    }
}
