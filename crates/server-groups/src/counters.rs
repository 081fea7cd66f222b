//! What a server counts.

/// Packets and frames, by fate. Every packet that reaches a server is handled, sent on, held, or in one of the counts of drops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Counters {
    /// Packets handled here.
    pub handled: u64,
    /// Packets that took one more step: probes, forwards and returns.
    pub extra_hops: u64,
    /// Flows that began here.
    pub opened: u64,
    /// Dropped: no room for another flow.
    pub no_room: u64,
    /// Dropped: too many packets are held.
    pub not_held: u64,
    /// Dropped from a hold: the previous server gives no answer.
    pub no_answer: u64,
    /// Dropped: a packet that came back though nothing was asked.
    pub stray: u64,
    /// Refused frames: of servers that are no members, or about nothing.
    pub refused: u64,
}

impl Counters {
    /// Packets dropped here.
    pub fn dropped(&self) -> u64 {
        self.no_room + self.not_held + self.no_answer + self.stray
    }
}
