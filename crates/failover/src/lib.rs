//! Fail-over of hand-overs: an edge has a preferred target and spares in order. The sender notices in the data plane that the
//! target in use has failed, and goes over to the next one. `docs/internals/failover.md` gives the reasons.
//!
//! ```text
//! Sender ── Stamp { generation, sequence, ask } in each hand-over ──> Receiver
//!        <── Report { generation, sequence, gaps }, if asked or if a number is missing ──
//! Keeper ── Allowed { forgiven, barred } ──> Sender      the controller's say, in registers that only it writes
//! ```
//!
//! A report is cumulative: it has the highest number that arrived and the count of missing numbers, whatever caused it. An
//! acknowledgement and a report of losses are therefore one frame, and a lost report costs nothing once a later one arrives.
//!
//! | module | holds |
//! |---|---|
//! | [`sender`] | the registers of the sending side: which target, when to ask, what counts as failure |
//! | [`receiver`] | the registers of the receiving side: missing and duplicate numbers |
//! | [`keeper`] | the controller's part: when a failed target may be used again |
//! | [`thresholds`] | the numbers that decide, with their defaults |
//!
//! Generated programs hold the same registers and make the same decisions (`ir-split`'s policy `failover`); time is in
//! microseconds, as v1model's time stamps are.

pub mod keeper;
pub mod receiver;
pub mod sender;
pub mod targets;
pub mod thresholds;

pub use keeper::{Generations, Keeper, Kept};
pub use receiver::{Received, Receiver, Verdict};
pub use sender::{Allowed, Heard, Sender, Sent, TargetState};
pub use targets::{Target, Targets};
pub use thresholds::{Side, Thresholds};

/// Bits of [`Stamp::generation`].
pub const GENERATION_BITS: u32 = 32;

/// Bits of [`Stamp::sequence`].
pub const SEQUENCE_BITS: u32 = 32;

/// Bits of [`Report::gaps`].
pub const GAPS_BITS: u32 = 16;

/// Fields of the protocol in a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp {
    /// Counts the times at which the sender began to use a target. Never 0.
    pub generation: u32,
    /// Counts the hand-overs of the generation, from 1.
    pub sequence: u32,
    /// True if the sender requests a report.
    pub ask: bool,
}

/// A frame of its own from receiver to sender.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Report {
    /// Generation of the stamps that it reports on.
    pub generation: u32,
    /// The highest number that has arrived.
    pub sequence: u32,
    /// Count of missing numbers of the generation, modulo its range.
    pub gaps: u16,
}

/// True if `a` is after `b`, for numbers that wrap around (RFC 1982).
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
