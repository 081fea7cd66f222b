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
    /// Packets and frames that ended here.
    pub drops: Drops,
}

/// Packets and frames that ended at a server, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Drops {
    /// No room for another flow.
    pub no_room: u64,
    /// Too many packets are held.
    pub not_held: u64,
    /// Dropped from a hold: the previous server gives no answer.
    pub no_answer: u64,
    /// A packet that came back though nothing was asked.
    pub stray: u64,
    /// Frames of servers that are no members, about nothing, or for others.
    pub refused: u64,
    /// A call that has come before.
    pub repeated: u64,
    /// A call that has waited for longer than the group allows.
    pub late: u64,
}

/// Names of the reasons for users, in the order of [`Drops::counts`].
pub const DROPS: [&str; 7] =
    ["no room for the flow", "too many held", "no answer", "stray", "refused", "repeated", "late"];

impl Drops {
    /// In the order of their declaration.
    pub fn counts(&self) -> [u64; DROPS.len()] {
        let Drops { no_room, not_held, no_answer, stray, refused, repeated, late } = *self;
        [no_room, not_held, no_answer, stray, refused, repeated, late]
    }

    /// The inverse of [`Drops::counts`].
    pub fn of_counts(counts: [u64; DROPS.len()]) -> Drops {
        let [no_room, not_held, no_answer, stray, refused, repeated, late] = counts;
        Drops { no_room, not_held, no_answer, stray, refused, repeated, late }
    }

    /// All together.
    pub fn sum(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// Reasons with a count, by name.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DROPS.into_iter().zip(self.counts()).filter(|(_, count)| *count > 0)
    }
}

impl Counters {
    /// The sums.
    pub fn plus(&self, other: &Counters) -> Counters {
        let Counters { handled, extra_hops, opened, drops } = *self;
        let (mut sums, others) = (drops.counts(), other.drops.counts());
        sums.iter_mut().zip(others).for_each(|(sum, count)| *sum += count);
        Counters {
            handled: handled + other.handled,
            extra_hops: extra_hops + other.extra_hops,
            opened: opened + other.opened,
            drops: Drops::of_counts(sums),
        }
    }
}
