//! What packets tell the control plane: digests and lines of the log, until somebody takes them.

use crate::value::Value;
use ir::{Name, Program, Type, TypeId};

/// Digests that are kept, and lines; then the newest are lost.
const KEPT: usize = 4096;

/// A message to the control plane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digest {
    /// The type of the data, or the name of the digest object.
    pub name: Name,
    /// What was captured at the call.
    pub data: Value,
}

impl Digest {
    /// The type of the data, if the name tells it.
    pub fn ty(&self, program: &Program) -> Type {
        let of_type = program.types.iter().position(|ty| ty.name == self.name);
        let of_type = of_type.map(|at| Type::Named(TypeId::from(at)));
        let of_object = || {
            let named = program.instances.iter().find(|i| i.control_plane_name == self.name)?;
            named.type_args.first().cloned()
        };
        of_type.or_else(of_object).unwrap_or(Type::Void)
    }
}

/// See the module. It takes a bounded amount of memory: of more than 4096 digests or lines the oldest are kept.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Told {
    /// The oldest first.
    pub digests: Vec<Digest>,
    /// Lines of the log, the oldest first.
    pub log: Vec<String>,
    /// How many of both found no room.
    pub lost: u64,
}

impl Told {
    /// Adds a digest.
    pub fn digest(&mut self, digest: Digest) {
        self.lost += keep(&mut self.digests, [digest]);
    }

    /// Adds a line to the log.
    pub fn line(&mut self, line: String) {
        self.lost += keep(&mut self.log, [line]);
    }

    /// Adds what was told later.
    pub fn append(&mut self, later: Told) {
        self.lost += later.lost + keep(&mut self.digests, later.digests) + keep(&mut self.log, later.log);
    }
}

/// Gives how many found no room.
fn keep<T>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) -> u64 {
    let mut more = more.into_iter();
    list.extend(more.by_ref().take(KEPT.saturating_sub(list.len())));
    more.count() as u64
}
