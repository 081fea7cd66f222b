//! Holds: pieces of work that the thread that owns the switch does without a look at other requests. By kind of work: their number, and how long the
//! longest took, in the thread's own processor time, whatever other load the machine has.

use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;

/// The pieces of work so far.
#[derive(Default)]
pub(crate) struct Holds {
    /// Processor time of the thread when the present piece of work began, in nanoseconds.
    since: u64,
    by_work: BTreeMap<&'static str, Held>,
}

/// Pieces of work of one kind.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) pieces: u64,
    pub(crate) longest_us: u64,
}

impl Holds {
    /// A piece of work begins.
    pub(crate) fn look(&mut self) {
        self.since = now();
    }

    /// A piece of work of this kind has ended, and the next one begins.
    pub(crate) fn note(&mut self, work: &'static str) {
        let now = now();
        let took = now.saturating_sub(self.since) / 1_000;
        let held = self.by_work.entry(work).or_default();
        held.pieces += 1;
        held.longest_us = took.max(held.longest_us);
        self.since = now;
    }

    /// The pieces of each kind.
    pub(crate) fn by_work(&self) -> impl Iterator<Item = (&'static str, Held)> {
        self.by_work.iter().map(|(work, held)| (*work, *held))
    }
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_piece_is_kept() {
        let mut holds = Holds::default();
        holds.look();
        let begun = now();
        while now() < begun + 2_000_000 {}
        holds.note("work");
        holds.note("work");
        let (work, held) = holds.by_work().next().expect("one kind");
        assert_eq!((work, held.pieces), ("work", 2));
        assert!(held.longest_us >= 2_000, "{}", held.longest_us);
    }
}
