//! Counters of a server.

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
    /// The sums.
    pub fn plus(&self, other: &Counters) -> Counters {
        let Counters { handled, extra_hops, opened, no_room, not_held, no_answer, stray, refused } = *self;
        Counters {
            handled: handled + other.handled,
            extra_hops: extra_hops + other.extra_hops,
            opened: opened + other.opened,
            no_room: no_room + other.no_room,
            not_held: not_held + other.not_held,
            no_answer: no_answer + other.no_answer,
            stray: stray + other.stray,
            refused: refused + other.refused,
        }
    }

    /// Packets dropped here.
    pub fn dropped(&self) -> u64 {
        self.no_room + self.not_held + self.no_answer + self.stray
    }
}
