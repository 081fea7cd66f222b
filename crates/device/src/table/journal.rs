//! Writes to a table since compiled code last looked, for its own copy of the table.

use control_writes::EntryKey;

/// Maximum number of recorded writes; with more, copying the table is cheaper.
const KEPT: usize = 1 << 16;

/// A write. The action of an entry is read from the table when the change is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Added(EntryKey),
    Removed(EntryKey),
    Modified(EntryKey),
    /// The default action.
    Default,
}

/// Writes since the last call of `take`, oldest first; empty without a follower, or after too many writes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Journal(Option<Vec<Change>>);

impl Journal {
    /// Takes the writes and continues to record; `None` if the writes are not known, and the whole table must be read.
    pub(crate) fn take(&mut self) -> Option<Vec<Change>> {
        self.0.replace(vec![])
    }

    /// True if nothing was written since the last time.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    /// Notes a write.
    pub(crate) fn note(&mut self, change: impl FnOnce() -> Change) {
        match &mut self.0 {
            Some(changes) if changes.len() < KEPT => changes.push(change()),
            _ => self.0 = None,
        }
    }

    /// Forgets the writes: there were too many.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}
