//! Expected delays and losses of the rack's links and of the paths to its agents.

use base_time::Duration;

/// Spans that differ between racks in one process, emulated ones, and racks of processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Maximum time of a packet inside the rack.
    pub drain: Duration,
    /// Links that have lost packets never have equal counts at both ends; if no counter has changed for this time, no
    /// packet is inside the rack.
    pub quiet: Duration,
    /// The shortest that an answer is waited for. How long it is depends on how long answers have taken.
    pub patience_least: Duration,
    /// The longest.
    pub patience_most: Duration,
    /// Interval at which senders of edges with spares are read.
    pub look: Duration,
    /// Between two rounds in which the copies of merged registers become one value.
    pub merge: Duration,
    /// Time for which the origin holds frames without a message of the controller.
    pub lease: Duration,
}
