//! Accesses to state objects, in order, for proofs of serialisability.

use ir::Name;

/// Kinds of accesses to a state object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum AccessKind {
    /// Looked at.
    Read,
    /// Overwritten.
    Write,
    /// Looked at and changed: counters, meters, externs of the user's own, the random stream.
    Update,
}

/// One access.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Access {
    /// The control-plane name; `random` for the stream of random numbers.
    pub object: Name,
    /// Kind of the access.
    pub kind: AccessKind,
}

/// The accesses since they were last taken; empty while switched off.
#[derive(Clone, Default, Debug)]
pub(crate) struct AccessLog {
    pub(crate) on: bool,
    seen: Vec<Access>,
}

impl AccessLog {
    /// Adds one.
    pub(crate) fn add(&mut self, object: &Name, kind: AccessKind) {
        if self.on {
            self.seen.push(Access { object: object.clone(), kind });
        }
    }

    /// Takes all.
    pub(crate) fn take(&mut self) -> Vec<Access> {
        std::mem::take(&mut self.seen)
    }
}
