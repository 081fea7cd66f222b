//! Facts that hold before a statement on all paths to it.

use crate::places::{Sources, Values};
use base_diag::Span;
use ir::InstanceId;
use std::collections::{BTreeMap, BTreeSet};

/// Progress of the access to an array.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Progress {
    Untouched,
    /// A cell was read, and may still be written if the index is the same.
    Read {
        at: Span,
        index: Option<String>,
    },
    Done {
        at: Span,
    },
    /// A second access was reported; others follow from it.
    Refused,
}

/// For each array, how far its access may be: on each path. One that is missing is untouched.
pub(crate) type Held = BTreeMap<InstanceId, BTreeSet<Progress>>;

/// Before a statement.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) held: Held,
    pub(crate) values: Values,
    /// The accesses on which it depends whether the statement runs.
    pub(crate) guard: Sources,
}

pub(crate) fn untouched() -> BTreeSet<Progress> {
    [Progress::Untouched].into()
}

/// Joins two paths, each of which may have ended.
pub(crate) fn join(one: Option<State>, other: Option<State>) -> Option<State> {
    let (Some(mut one), Some(other)) = (one.clone(), other.clone()) else { return one.or(other) };
    let arrays: BTreeSet<InstanceId> = one.held.keys().chain(other.held.keys()).copied().collect();
    for array in arrays {
        let there = other.held.get(&array).cloned().unwrap_or_else(untouched);
        one.held.entry(array).or_insert_with(untouched).extend(there);
    }
    one.values = one.values.or(other.values);
    one.guard.extend(other.guard);
    Some(one)
}
