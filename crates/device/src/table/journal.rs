//! Writes to a table since compiled code last looked, for its own copy of the table.

use control_writes::EntryKey;

/// Writes that are noted at most; with more it is cheaper to copy the table anew.
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

/// The writes since the last time, the oldest first; nothing if nobody follows them or they were too many.
#[derive(Clone, Default, Debug)]
pub(crate) struct Journal(Option<Vec<Change>>);

impl Journal {
    /// Takes the writes and goes on to note them; `None` if they are not known and the whole table is to be read.
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
