//! The run is wrong: an internal error, never the user's mistake.

use base_time::Time;
use std::fmt;

/// Packets appeared or vanished without being counted, or a device broke its contract. The run has stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// When it was seen.
    pub at: Time,
    /// Place: a device, a host, a direction of a link, or the rack.
    pub place: String,
    /// Description, with the numbers that disagree.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal error at {} in {}: {}", self.at, self.place, self.message)
    }
}

impl std::error::Error for Violation {}
