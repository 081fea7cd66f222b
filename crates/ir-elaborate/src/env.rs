//! Bindings of names in one instance.

use ir::{Expr, InstanceId, ParserId, TableId, ValueSetId, VarId};
use p4_check::typed::{self, Substitution};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::value::{Object, Value};

/// Bindings of names in one instance of a control, parser or function.
#[derive(Clone, Default, Debug)]
pub(crate) struct Env {
    /// Closed types bound to type parameters.
    pub(crate) subst: Substitution,
    /// Values of constructor parameters.
    pub(crate) values: FxHashMap<typed::VarId, Value>,
    /// Parameters, and locals declared so far.
    pub(crate) vars: FxHashMap<typed::VarId, VarId>,
    /// The instances declared in it so far.
    pub(crate) objects: FxHashMap<typed::InstanceId, Object>,
    /// Tables.
    pub(crate) tables: FxHashMap<typed::TableId, TableId>,
    /// Value sets.
    pub(crate) value_sets: FxHashMap<typed::ValueSetId, ValueSetId>,
    /// The instance whose abstract method this implements.
    pub(crate) this: Option<InstanceId>,
    /// The prefix of its members' control-plane names.
    pub(crate) prefix: SmolStr,
    /// The extern objects made in it, in order.
    pub(crate) instances: Vec<InstanceId>,
}

impl Env {
    /// `ty` without type parameters.
    pub(crate) fn close(&self, ty: &typed::Type) -> typed::Type {
        self.subst.apply(ty)
    }

    /// `types` without type parameters.
    pub(crate) fn close_all(&self, types: &[typed::Type]) -> Vec<typed::Type> {
        types.iter().map(|t| self.close(t)).collect()
    }
}

/// Variables of the enclosing block as an implementation sees them.
pub(crate) struct Captures {
    /// Parameters and locals of the block, declared so far.
    pub(crate) outer: FxHashMap<typed::VarId, VarId>,
    /// Values read so far, as expressions of the block, each with its parameter.
    pub(crate) read: Vec<(Expr, VarId)>,
}

impl Captures {
    pub(crate) fn new(outer: FxHashMap<typed::VarId, VarId>) -> Captures {
        Captures { outer, read: vec![] }
    }

    /// The values, as expressions of the block, and the parameters that take them.
    pub(crate) fn finish(self) -> (Vec<Expr>, Vec<VarId>) {
        self.read.into_iter().unzip()
    }
}

/// The instance whose methods are implemented.
pub(crate) struct MadeObject {
    pub(crate) id: InstanceId,
    pub(crate) name: SmolStr,
    /// The type parameters of its extern.
    pub(crate) subst: typed::Substitution,
}

/// The place of a state in a parser's source order, by its place in the IR: `start` comes first there.
pub(crate) fn state_order(states: &[typed::State]) -> Vec<usize> {
    let start = states.iter().position(|s| s.name.text == "start");
    start.into_iter().chain((0..states.len()).filter(|i| Some(*i) != start)).collect()
}

/// Names a parser by the id it will get.
pub(crate) fn next_parser(program: &ir::Program) -> ParserId {
    ParserId::from(program.parsers.len())
}
