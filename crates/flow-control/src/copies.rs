//! Copies of entries at the switch, counted by the flows that look them up there.
//!
//! A copy is wanted while some flow refers to its key. Wanted and present content are compared whenever an operation on
//! the key has ended: so the decision to remove a copy is taken when the removal is sent, not when the flow's move
//! began, and a key has at most one operation in progress.

use crate::moves::Version;
use std::collections::{BTreeMap, BTreeSet};

/// One key that some flow refers to, or that the switch still holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Copy<F> {
    /// Flows that look the key up at the switch, or are about to.
    flows: BTreeSet<F>,
    /// Content in the full table; `None` is a miss, which flows depend on as on an entry.
    content: Option<Version>,
    /// Content at the switch, as last acknowledged.
    held: Option<Version>,
    /// Content at the switch after the operation in progress.
    sent: Option<Option<Version>>,
}

impl<F> Copy<F> {
    fn wanted(&self) -> Option<Version> {
        if self.flows.is_empty() { None } else { self.content }
    }
}

/// Operation on a copy at the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Put(Version),
    Remove,
}

/// The copies of all keys at one switch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Copies<F, K>(BTreeMap<K, Copy<F>>);

impl<F: Clone + Ord, K: Clone + Ord> Copies<F, K> {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The flow refers to the key from now on, whose content is that of the full table.
    pub(crate) fn refer(&mut self, flow: &F, key: &K, content: Option<Version>) {
        let new = Copy { flows: BTreeSet::new(), content, held: None, sent: None };
        let copy = self.0.entry(key.clone()).or_insert(new);
        copy.flows.insert(flow.clone());
        copy.content = content;
    }

    /// The flow no longer refers to the key.
    pub(crate) fn forget(&mut self, flow: &F, key: &K) {
        if let Some(copy) = self.0.get_mut(key) {
            copy.flows.remove(flow);
        }
        self.tidy(key);
    }

    /// The flows that refer to the key.
    pub(crate) fn flows(&self, key: &K) -> Vec<F> {
        self.0.get(key).map(|copy| copy.flows.iter().cloned().collect()).unwrap_or_default()
    }

    /// The full table has changed. Nothing happens to a key to which nobody refers.
    pub(crate) fn set(&mut self, key: &K, content: Option<Version>) {
        if let Some(copy) = self.0.get_mut(key) {
            copy.content = content;
        }
    }

    /// The next operation on the key, which counts as sent.
    pub(crate) fn next(&mut self, key: &K) -> Option<Change> {
        let copy = self.0.get_mut(key)?;
        let wanted = copy.wanted();
        if copy.sent.is_some() || copy.held == wanted {
            return None;
        }
        copy.sent = Some(wanted);
        Some(wanted.map_or(Change::Remove, Change::Put))
    }

    /// The operation in progress is done, or was refused and has changed nothing.
    pub(crate) fn answered(&mut self, key: &K, done: bool) {
        if let Some(copy) = self.0.get_mut(key)
            && let Some(sent) = copy.sent.take()
            && done
        {
            copy.held = sent;
        }
        self.tidy(key);
    }

    /// True if the switch has the wanted content of the key, and no operation is in progress.
    pub(crate) fn settled(&self, key: &K) -> bool {
        self.0.get(key).is_none_or(|copy| copy.sent.is_none() && copy.held == copy.wanted())
    }

    /// Whether the key takes no memory at the switch, or takes it for a flow that refers to it.
    pub(crate) fn freed(&self, key: &K) -> bool {
        self.0.get(key).is_none_or(|copy| !copy.flows.is_empty())
    }

    /// Keys that are referred to or held.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn tidy(&mut self, key: &K) {
        if self
            .0
            .get(key)
            .is_some_and(|copy| copy.flows.is_empty() && copy.held.is_none() && copy.sent.is_none())
        {
            self.0.remove(key);
        }
    }
}
