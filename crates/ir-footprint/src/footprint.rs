//! Needs of tables and state objects on a device.

use ir::{
    Action, Block, Call, Callee, Const, Control, ExprKind, InstanceId, MatchKind, Program, StmtKind, Table,
    visit,
};
use ir_state::{Key, Merge};
use serde::Serialize;
use std::collections::BTreeSet;

/// A table's needs. Sizes that have no layout (keys of an enum) count as no bits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TableFootprint {
    /// Control-plane name.
    pub name: String,
    /// In order.
    pub keys: Vec<TableKey>,
    /// The sum of the keys' bits.
    pub key_bits: u64,
    /// One entry: what is matched (value and mask, or two bounds, where the kind of match has both), the number of its
    /// action, and the parameters of the largest action.
    pub entry_bits: u64,
    /// `size`, if the source gives it; of a table with `const entries` and no size, their number.
    pub size: Option<u64>,
}

/// A key of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TableKey {
    /// As the control plane names it.
    pub name: String,
    /// `exact`, `lpm`, ...
    pub match_kind: String,
    /// Width in bits.
    pub bits: u64,
}

/// A state object's needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Object {
    /// Control-plane name.
    pub name: String,
    /// `register`, `counter`, ...
    pub kind: String,
    /// How copies of it on several devices relate: `exclusive`, `merged`, ...
    pub mode: &'static str,
    /// The operator that makes one value of several copies, if they are merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<&'static str>,
    /// Scope of one use: `whole`, `cell`, or `entry of TABLE`.
    pub key: String,
    /// Users, in the order of stages.
    pub used_by: Vec<Use>,
    /// The methods that the program calls on it, by name; none for objects that tables use.
    pub methods: Vec<String>,
}

/// Code that uses a state object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Use {
    /// The region; of code in no region its stage.
    pub place: String,
    /// The object's content influences packets.
    pub reads: bool,
    /// True if the use may change the object.
    pub writes: bool,
}

/// The needs of the table with this control-plane name.
pub fn table(program: &Program, name: &str) -> Option<TableFootprint> {
    let find = |control| -> Option<(&Control, &Table)> {
        let control: &Control = control;
        control.tables.iter().find(|t| t.control_plane_name == name).map(|t| (control, t))
    };
    let (control, table) = program.controls.iter().find_map(find)?;
    let bits = |key: &ir::TableKey| program.bits(&key.expr.ty).unwrap_or(0);
    let keys: Vec<TableKey> = table
        .keys
        .iter()
        .map(|k| TableKey {
            name: k.name.to_string(),
            match_kind: k.match_kind.name().to_string(),
            bits: bits(k),
        })
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
        size: table.size.or_else(|| table.const_entries.then_some(table.entries.len() as u64)),
    })
}

/// Bits of the cells of a register array with this control-plane name; 0 for other objects.
pub fn register_bits(program: &Program, name: &str) -> u64 {
    let Some(instance) = program.instances.iter().find(|i| i.control_plane_name == name) else { return 0 };
    if !matches!(program.extern_object(instance.object).name.as_str(), "register" | "Register") {
        return 0;
    }
    let cells = instance.args.iter().find_map(|arg| match &arg.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
        ExprKind::Const(Const::Int(value)) => u64::try_from(value).ok(),
        _ => None,
    });
    let bits = instance.type_args.first().and_then(|ty| program.bits(ty));
    cells.unwrap_or(0).saturating_mul(bits.unwrap_or(0))
}

/// Bits that an entry stores for a key.
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
    let found = ir_state::objects(program).into_iter().find(|found| found.instance == id)?;
    let used = |accessor: ir_state::Accessor| Use {
        place: accessor.region.unwrap_or(accessor.stage).to_string(),
        reads: accessor.touch.reads,
        writes: accessor.touch.writes,
    };
    Some(Object {
        name: name.to_string(),
        kind: object.name.to_string(),
        mode: found.mode.name(),
        merge: found.mode.merge().map(Merge::name),
        key: match found.key {
            Key::Whole => "whole".to_string(),
            Key::Cell => "cell".to_string(),
            Key::Entry(table) => format!("entry of {table}"),
        },
        used_by: found.accessors.into_iter().map(used).collect(),
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
