//! Inputs of every place at one point of the program.

use crate::input::{Input, Inputs};
use ir::{Name, Program, Type};
use std::collections::BTreeMap;

/// A place: a root and the numbers of fields in it. Elements of a stack are one place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Path {
    pub root: Root,
    pub fields: Vec<u32>,
}

/// Something that places are in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Root {
    Headers,
    Metadata,
    Standard,
    /// A variable of a call: number of the call and the variable.
    Local(u32, u32),
}

/// What is known of the places that were written to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known(BTreeMap<Path, Inputs>);

impl Path {
    pub fn field(&self, at: u32) -> Path {
        let mut fields = self.fields.clone();
        fields.push(at);
        Path { root: self.root.clone(), fields }
    }

    fn is_in(&self, other: &Path) -> bool {
        self.root == other.root && self.fields.starts_with(&other.fields)
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
            let fields = program.fields(ty).to_vec();
            let part = |(at, field): (usize, &ir::Field)| leaves(program, &path.field(at as u32), &field.ty);
            fields.iter().enumerate().flat_map(part).collect()
        }
        _ => vec![(path.clone(), ty.clone())],
    }
}

impl Known {
    /// Inputs of a leaf, or those of a place that it is in; `None` if nothing was written there.
    pub fn get(&self, leaf: &Path) -> Option<&Inputs> {
        self.0.get(leaf)
    }

    /// The leaf depends on these inputs from here on.
    pub fn set(&mut self, leaf: Path, inputs: Inputs) {
        self.0.insert(leaf, inputs);
    }

    /// What is in the place is as at the start again.
    pub fn forget(&mut self, place: &Path) {
        self.0.retain(|path, _| !path.is_in(place));
    }

    /// Either of two paths was taken; `start` has the inputs of a leaf to which one of them did not write.
    pub fn join(&mut self, other: &Known, start: &dyn Fn(&Path) -> Inputs) {
        for (path, inputs) in &other.0 {
            let own = self.0.entry(path.clone()).or_insert_with(|| start(path));
            own.extend(inputs.iter().cloned());
        }
        for (path, inputs) in &mut self.0 {
            if !other.0.contains_key(path) {
                inputs.extend(start(path));
            }
        }
    }
}

/// Inputs of a leaf at the start: a field is that of the packet, metadata is zero.
pub fn at_start(leaf: &Path, name: &dyn Fn(&Path) -> (Name, Type)) -> Inputs {
    let input = match leaf.root {
        Root::Headers => {
            let (name, ty) = name(leaf);
            if matches!(ty, Type::Varbit(_)) { Input::Payload(name) } else { Input::Field(name) }
        }
        Root::Standard => match name(leaf).0.as_str() {
            "ingress_port" => Input::Port,
            // Ingress chooses them; they are zero before.
            "egress_spec" | "mcast_grp" | "priority" | "egress_port" | "egress_rid" => return Inputs::new(),
            field => Input::Environment(field.into()),
        },
        Root::Metadata | Root::Local(..) => return Inputs::new(),
    };
    Inputs::from([input])
}
