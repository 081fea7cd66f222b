//! The run is wrong: an internal error, never the user's mistake.

use crate::place::Place;
use base_time::Time;

/// Packets appeared or vanished without being counted, or a device broke its contract. The run must not go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// When it was seen.
    pub at: Time,
    /// Place of the violation.
    pub place: Place,
    /// Description, with the numbers that disagree.
    pub message: String,
}

/// Result of an event.
pub type Outcome<T = ()> = Result<T, Box<Violation>>;
