//! What tables and state objects need on a device.

use ir::{
    Action, Block, Call, Callee, Control, ExprKind, InstanceId, MatchKind, Program, StmtKind, Table, visit,
};
use p4_arch::StateMode;
use serde::Serialize;
use std::collections::BTreeSet;

/// A table's needs. Sizes that have no layout (keys of an enum) count as no bits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TableFootprint {
    /// Its control-plane name.
    pub name: String,
    /// In order.
    pub keys: Vec<Key>,
    /// The sum of the keys' bits.
    pub key_bits: u64,
    /// One entry: what is matched (value and mask, or two bounds, where the kind of match has both), the number of its
    /// action, and the parameters of the largest action.
    pub entry_bits: u64,
    /// `size`, if the source gives it.
    pub size: Option<u64>,
}

/// A key of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Key {
    /// As the control plane names it.
    pub name: String,
    /// `exact`, `lpm`, ...
    pub match_kind: String,
    /// Its width.
    pub bits: u64,
}

/// A state object's needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Object {
    /// Its control-plane name.
    pub name: String,
    /// `register`, `counter`, ...
    pub kind: String,
    /// Where copies of it may be.
    pub mode: Mode,
    /// The methods that the program calls on it, by name; none for objects that tables use.
    pub methods: Vec<String>,
}

/// Where copies of a state object may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// On one device, and no cut between two uses by one packet.
    Exclusive,
    /// On any: what the copies hold adds up, and no packet reads it.
    Merged,
}

impl Mode {
    /// As users see it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Exclusive => "exclusive",
            Mode::Merged => "merged",
        }
    }

    /// A direct counter is its table's, and stands where that is applied.
    fn of(object: &ir::ExternObject) -> Mode {
        match ir_split::state_mode(object) {
            Some(StateMode::Sum) => Mode::Merged,
            _ => Mode::Exclusive,
        }
    }
}

/// The needs of the table with this control-plane name.
pub fn table(program: &Program, name: &str) -> Option<TableFootprint> {
    let find = |control| -> Option<(&Control, &Table)> {
        let control: &Control = control;
        control.tables.iter().find(|t| t.control_plane_name == name).map(|t| (control, t))
    };
    let (control, table) = program.controls.iter().find_map(find)?;
    let bits = |key: &ir::TableKey| program.bits(&key.expr.ty).unwrap_or(0);
    let keys: Vec<Key> = table
        .keys
        .iter()
        .map(|k| Key { name: k.name.to_string(), match_kind: kind(&k.match_kind), bits: bits(k) })
        .collect();
    let matched: u64 = table.keys.iter().map(|k| matched_bits(&k.match_kind, bits(k))).sum();
    let data = table.actions.iter().filter_map(|run| {
        let action = control.actions.get(run.action.index())?;
        Some(data_bits(program, control, action, run.args.len()))
    });
    let number = usize::BITS - table.actions.len().saturating_sub(1).leading_zeros();
    Some(TableFootprint {
        name: name.to_string(),
        key_bits: keys.iter().map(|k| k.bits).sum(),
        entry_bits: matched + u64::from(number) + data.max().unwrap_or(0),
        keys,
        size: table.size,
    })
}

fn kind(kind: &MatchKind) -> String {
    match kind {
        MatchKind::Exact => "exact",
        MatchKind::Ternary => "ternary",
        MatchKind::Lpm => "lpm",
        MatchKind::Range => "range",
        MatchKind::Optional => "optional",
        MatchKind::Selector => "selector",
        MatchKind::Other(name) => name,
    }
    .to_string()
}

/// What an entry stores for a key.
fn matched_bits(kind: &MatchKind, bits: u64) -> u64 {
    match kind {
        MatchKind::Exact | MatchKind::Other(_) => bits,
        MatchKind::Ternary | MatchKind::Lpm | MatchKind::Range => 2 * bits,
        MatchKind::Optional => bits + 1,
        MatchKind::Selector => 0,
    }
}

/// The parameters that an entry gives.
fn data_bits(program: &Program, control: &Control, action: &Action, bound: usize) -> u64 {
    let given = action.params.iter().skip(bound);
    given.filter_map(|p| program.bits(&control.vars.get(p.index())?.ty)).sum()
}

/// The needs of the state object with this control-plane name.
pub fn object(program: &Program, name: &str) -> Option<Object> {
    let index = program.instances.iter().position(|i| i.control_plane_name == name)?;
    let id = InstanceId::from(index);
    let object = program.extern_object(program.instance(id).object);
    let mut called = BTreeSet::new();
    for control in &program.controls {
        methods(&control.body, id, &mut called);
        control.actions.iter().for_each(|a| methods(&a.body, id, &mut called));
    }
    let names = called.iter().filter_map(|m| Some(object.methods.get(*m as usize)?.name.to_string()));
    let names: BTreeSet<String> = names.collect();
    Some(Object {
        name: name.to_string(),
        kind: object.name.to_string(),
        mode: Mode::of(object),
        methods: names.into_iter().collect(),
    })
}

fn methods(block: &Block, id: InstanceId, found: &mut BTreeSet<u32>) {
    let mut call = |call: &Call| {
        if let Callee::Method(instance, method) = call.callee
            && instance == id
        {
            found.insert(method);
        }
    };
    visit::stmts(block, &mut |stmt| {
        if let StmtKind::Call(c) = &stmt.kind {
            call(c);
        }
    });
    visit::all_exprs(block, &mut |e| {
        if let ExprKind::Call(c) = &e.kind {
            call(c);
        }
    });
}
