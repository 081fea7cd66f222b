//! How long the thread that owns the switch works without looking at what else waits for it, in its own processor time: a limit for what
//! one client can make all others wait, whatever other load the machine has.

use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;

/// The longest pieces of work.
#[derive(Default)]
pub(crate) struct Holds {
    /// Processor time of the thread when the present piece of work began, in nanoseconds.
    since: u64,
    /// In microseconds, by kind of work.
    longest: BTreeMap<&'static str, u64>,
}

impl Holds {
    /// A piece of work begins.
    pub(crate) fn look(&mut self) {
        self.since = now();
    }

    /// It has ended, and the next one begins.
    pub(crate) fn note(&mut self, work: &'static str) {
        let now = now();
        let took = now.saturating_sub(self.since) / 1_000;
        let known = self.longest.entry(work).or_default();
        *known = took.max(*known);
        self.since = now;
    }

    /// The longest of each kind, in microseconds.
    pub(crate) fn longest(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.longest.iter().map(|(work, us)| (*work, *us))
    }
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
