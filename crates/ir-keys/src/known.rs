//! Inputs of every place at one point of the program.

use crate::formula::Value;
use crate::input::{Input, Inputs};
use ir::{Program, Type};
use std::collections::BTreeMap;

/// A place: a root and the numbers of fields in it. Elements of a stack are one place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Path {
    pub root: Root,
    pub fields: Vec<u32>,
}

/// A variable that places are in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Root {
    Headers,
    Metadata,
    Standard,
    /// A variable of a call: number of the call and the variable.
    Local(u32, u32),
}

/// Inputs of a leaf.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    pub inputs: Inputs,
    /// The value is that of the only input, unchanged.
    pub is_copy: bool,
    /// How the value is worked out of the inputs, where that is known.
    pub value: Option<Value>,
}

/// Inputs of the leaves that were written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known(BTreeMap<Path, Origin>);

impl Path {
    pub fn field(&self, at: u32) -> Path {
        let mut fields = self.fields.clone();
        fields.push(at);
        Path { root: self.root, fields }
    }

    fn is_in(&self, other: &Path) -> bool {
        self.root == other.root && self.fields.starts_with(&other.fields)
    }
}

impl Origin {
    /// A value worked out of these inputs.
    pub fn of(inputs: Inputs) -> Origin {
        Origin { inputs, ..Origin::default() }
    }

    /// The input itself.
    pub fn copy(input: Input) -> Origin {
        Origin { inputs: Inputs::from([input]), is_copy: true, value: None }
    }

    /// The input that the value is a copy of.
    pub fn copied(&self) -> Option<&Input> {
        self.inputs.first().filter(|_| self.is_copy)
    }

    /// The value is this or the other one.
    pub fn join(&mut self, other: &Origin) {
        self.is_copy &= other.is_copy && self.inputs == other.inputs;
        if self.value != other.value {
            self.value = None;
        }
        self.inputs.extend(other.inputs.iter().cloned());
    }
}

/// The leaves of a place of type `ty`: bits, bools and the like.
pub fn leaves(program: &Program, path: &Path, ty: &Type) -> Vec<(Path, Type)> {
    match ty {
        Type::Stack(elem, _) => leaves(program, path, elem),
        Type::Tuple(parts) => {
            let part = |(at, ty): (usize, &Type)| leaves(program, &path.field(at as u32), ty);
            parts.iter().enumerate().flat_map(part).collect()
        }
        _ if !program.fields(ty).is_empty() => {
            let part = |(at, field): (usize, &ir::Field)| leaves(program, &path.field(at as u32), &field.ty);
            program.fields(ty).iter().enumerate().flat_map(part).collect()
        }
        _ => vec![(path.clone(), ty.clone())],
    }
}

impl Known {
    /// Inputs of a leaf; `None` if nothing was written there.
    pub fn get(&self, leaf: &Path) -> Option<&Origin> {
        self.0.get(leaf)
    }

    /// The leaf depends on these inputs from here on.
    pub fn set(&mut self, leaf: Path, origin: Origin) {
        self.0.insert(leaf, origin);
    }

    /// The leaves that were written.
    pub fn written(&self) -> impl Iterator<Item = &Path> {
        self.0.keys()
    }

    /// The place is as at the start again.
    pub fn forget(&mut self, place: &Path) {
        self.0.retain(|path, _| !path.is_in(place));
    }

    /// Drops the variables of a call that has ended.
    pub fn forget_call(&mut self, call: u32) {
        let first = |call| Path { root: Root::Local(call, 0), fields: vec![] };
        let mut rest = self.0.split_off(&first(call));
        self.0.append(&mut rest.split_off(&first(call.saturating_add(1))));
    }

    /// Drops the variables of all calls.
    pub fn without_locals(mut self) -> Known {
        self.0.retain(|path, _| !matches!(path.root, Root::Local(..)));
        self
    }

    /// Either of two paths was taken; `start` has the inputs of a leaf to which one of them did not write.
    pub fn join(&mut self, other: &Known, start: &dyn Fn(&Path) -> Origin) {
        for (path, origin) in &other.0 {
            self.0.entry(path.clone()).or_insert_with(|| start(path)).join(origin);
        }
        for (path, origin) in &mut self.0 {
            if !other.0.contains_key(path) {
                origin.join(&start(path));
            }
        }
    }

    /// Nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
