//! Known values of scalar variables at a place of the code: the expression that may replace each.
//!
//! Changes are kept in a journal, so that an arm of a branch costs as much as it changes, however many values are
//! known.

use crate::places::{Place, Writes, read_by};
use ir::{Expr, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Known {
    values: BTreeMap<VarId, Expr>,
    /// The variables whose values read a place or a part of it.
    readers: BTreeMap<Prefix, BTreeSet<VarId>>,
    journal: Vec<(VarId, Option<Expr>)>,
}

/// The variable of a place, and its path as far as it is known.
type Prefix = (VarId, Vec<u32>);

fn prefix(place: &Place) -> Prefix {
    (place.var, place.path.iter().map_while(|index| *index).collect())
}

/// Changes of an arm of a branch; `None` for a variable whose value is no longer known.
pub(crate) type Changes = BTreeMap<VarId, Option<Expr>>;

impl Known {
    pub(crate) fn get(&self, var: VarId) -> Option<&Expr> {
        self.values.get(&var)
    }

    /// All of them.
    pub(crate) fn values(&self) -> impl Iterator<Item = (VarId, Expr)> {
        self.values.iter().map(|(var, value)| (*var, value.clone()))
    }

    pub(crate) fn set(&mut self, var: VarId, value: Option<Expr>) {
        let old = self.replace(var, value);
        self.journal.push((var, old));
    }

    fn replace(&mut self, var: VarId, value: Option<Expr>) -> Option<Expr> {
        let old = self.values.remove(&var);
        if let Some(old) = &old {
            read_by(old, &mut |read| {
                let place = prefix(&read);
                if let Some(readers) = self.readers.get_mut(&place) {
                    readers.remove(&var);
                    if readers.is_empty() {
                        self.readers.remove(&place);
                    }
                }
            });
        }
        if let Some(value) = value {
            read_by(&value, &mut |read| {
                self.readers.entry(prefix(&read)).or_default().insert(var);
            });
            self.values.insert(var, value);
        }
        old
    }

    /// Forgets values that depend on a written place.
    pub(crate) fn forget(&mut self, place: &Place) {
        if self.values.contains_key(&place.var) {
            self.set(place.var, None);
        }
        for reader in self.readers_near(place) {
            let mut reads = false;
            if let Some(value) = self.values.get(&reader) {
                read_by(value, &mut |read| reads |= read.overlaps(place));
            }
            if reads {
                self.set(reader, None);
            }
        }
    }

    /// Variables whose values may read `place`, a part of it, or a place that contains it.
    fn readers_near(&self, place: &Place) -> BTreeSet<VarId> {
        let (var, path) = prefix(place);
        let mut found = BTreeSet::new();
        for length in 0..path.len() {
            found.extend(self.readers.get(&(var, path[..length].to_vec())).into_iter().flatten());
        }
        let parts = self.readers.range((var, path.clone())..);
        let parts = parts.take_while(|((of, inner), _)| *of == var && inner.starts_with(&path));
        found.extend(parts.flat_map(|(_, readers)| readers));
        found
    }

    /// See [`forget`](Known::forget).
    pub(crate) fn forget_all(&mut self, writes: &Writes) {
        writes.places.iter().for_each(|place| self.forget(place));
        if writes.everything {
            self.forget_everything();
        }
    }

    pub(crate) fn forget_everything(&mut self) {
        let all: Vec<VarId> = self.values.keys().copied().collect();
        all.into_iter().for_each(|var| self.set(var, None));
    }

    /// Runs `arm` and undoes its changes, which are returned.
    pub(crate) fn apart(&mut self, arm: impl FnOnce(&mut Known)) -> Changes {
        let mark = self.journal.len();
        arm(self);
        let changed: BTreeSet<VarId> = self.journal[mark..].iter().map(|(var, _)| *var).collect();
        let changes = changed.into_iter().map(|var| (var, self.values.get(&var).cloned())).collect();
        while self.journal.len() > mark {
            if let Some((var, old)) = self.journal.pop() {
                self.replace(var, old);
            }
        }
        changes
    }

    /// Continues after a branch: values on which all arms agree stay known.
    pub(crate) fn join(&mut self, arms: &[Changes]) {
        let changed: BTreeSet<VarId> = arms.iter().flat_map(|arm| arm.keys().copied()).collect();
        for var in changed {
            let now = self.values.get(&var).cloned();
            let mut values = arms.iter().map(|arm| arm.get(&var).unwrap_or(&now));
            let first = values.next().cloned().flatten();
            let agreed = values.all(|value| *value == first);
            self.set(var, first.filter(|_| agreed));
        }
    }
}
