//! Names that are types at a place (P4-16 §6.8).

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// The kind of declaration of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Type,
    /// A variable, constant, parameter, instance or function.
    Value,
}

/// The names in scope.
#[derive(Default)]
pub(super) struct Names {
    current: FxHashMap<SmolStr, Sort>,
    /// The meaning that each declaration in an open scope has hidden.
    hidden: Vec<(SmolStr, Option<Sort>)>,
}

/// An open scope.
#[must_use]
pub(super) struct Scope(usize);

impl Names {
    pub fn open(&mut self) -> Scope {
        Scope(self.hidden.len())
    }

    pub fn close(&mut self, scope: Scope) {
        for (name, sort) in self.hidden.drain(scope.0..).rev() {
            match sort {
                Some(sort) => self.current.insert(name, sort),
                None => self.current.remove(&name),
            };
        }
    }

    pub fn declare(&mut self, name: &SmolStr, sort: Sort) {
        if !name.is_empty() {
            let before = self.current.insert(name.clone(), sort);
            self.hidden.push((name.clone(), before));
        }
    }

    pub fn find(&self, name: &str) -> Option<Sort> {
        self.current.get(name).copied()
    }
}
