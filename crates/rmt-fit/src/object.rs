//! Extern objects as memory beside tables: how many cells, how many in a word.

use crate::unit::{Side, SideKind};
use ir::{Const, Expr, ExprKind, Instance, InstanceId, Program, Type};

/// The most members of a selector's group, where the program does not say.
const GROUP: u64 = 120;
/// The most groups, where the program does not say.
const GROUPS: u64 = 4;
/// Members whose ports one word of a selector holds.
const MEMBERS_PER_WORD: u64 = 120;

/// Use of an object by an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A hash of data.
    Hash,
    /// State, by an index that the call gives.
    Indexed,
    /// State beside the entry of the table.
    Direct,
    /// Nothing that takes memory.
    Other,
}

/// How objects of this extern type are used.
pub fn use_of(object: &str) -> Use {
    match object {
        "Hash" => Use::Hash,
        "Counter" | "counter" | "Meter" | "meter" | "Lpf" | "Wred" | "Register" | "register" => Use::Indexed,
        name if name.contains("RegisterAction") || name == "LearnAction" || name == "MinMaxAction" => {
            if name.starts_with("Direct") { Use::Direct } else { Use::Indexed }
        }
        name if name.starts_with("Direct") || name.starts_with("direct_") => Use::Direct,
        _ => Use::Other,
    }
}

/// The memory of an object that packets use; `None` for objects without memory in stages.
pub fn side(program: &Program, id: InstanceId) -> Option<Side> {
    let id = register_of(program, id);
    let instance = program.instance(id);
    let cells = || instance.args.iter().find_map(number);
    let object = program.extern_object(instance.object).name.as_str();
    let (kind, cells, bits) = match object {
        "Counter" | "counter" => (SideKind::Counter, cells(), counter_bits(program, instance)),
        "DirectCounter" | "direct_counter" => (SideKind::Counter, None, counter_bits(program, instance)),
        "Meter" | "meter" | "Lpf" | "Wred" => (SideKind::Meter, cells(), 128),
        "DirectMeter" | "direct_meter" | "DirectLpf" | "DirectWred" => (SideKind::Meter, None, 128),
        "Register" | "register" => (SideKind::Stateful, cells(), cell_bits(program, instance)),
        "DirectRegister" => (SideKind::Stateful, None, cell_bits(program, instance)),
        _ => return None,
    };
    let name = instance.control_plane_name.to_string();
    Some(Side { name, kind, cells, per_word: (128 / bits).max(1), words_per_cell: bits.div_ceil(128) })
}

/// Algorithm of a `Hash`: two objects with equal arguments compute the same.
pub fn algorithm(program: &Program, id: InstanceId) -> String {
    let args = program.instance(id).args.iter().map(|arg| format!("{:?}", arg.kind));
    args.collect::<Vec<_>>().join(" ")
}

/// The register that a `RegisterAction` works on; any other object is itself.
pub fn register_of(program: &Program, id: InstanceId) -> InstanceId {
    let instance = program.instance(id);
    let object = program.extern_object(instance.object).name.as_str();
    let of = |e: &Expr| match e.kind {
        ExprKind::Const(Const::Instance(register)) => Some(register),
        _ => None,
    };
    let is_action = object.contains("Action") && use_of(object) != Use::Other;
    if is_action { instance.args.iter().find_map(of).unwrap_or(id) } else { id }
}

/// Bits of a counter: 32 or 64 each, and 28 and 36 for both kinds in 64.
fn counter_bits(program: &Program, instance: &Instance) -> u32 {
    let width = instance.type_args.first().and_then(|ty| program.bits(ty)).unwrap_or(64);
    let both = instance.args.iter().any(|arg| matches!(arg.kind, ExprKind::Const(Const::Enum(2))));
    match (width > 32, both) {
        (true, true) => 128,
        (false, false) => 32,
        _ => 64,
    }
}

/// Bits that a cell of a register takes: 1, or a power of two from 8.
fn cell_bits(program: &Program, instance: &Instance) -> u32 {
    let bits = instance.type_args.first().and_then(|ty| program.bits(ty)).unwrap_or(32);
    let bits = u32::try_from(bits).unwrap_or(u32::MAX).clamp(1, 1 << 20);
    if bits == 1 { 1 } else { bits.next_power_of_two().max(8) }
}

/// The action profile or selector of a table: memory of groups, if it is a selector, and the number of members.
pub fn implementation(program: &Program, id: InstanceId) -> (Option<Side>, u64) {
    let instance = program.instance(id);
    let numbers: Vec<u64> = instance.args.iter().filter_map(number).collect();
    let profile = instance.args.iter().find_map(|arg| match arg.kind {
        ExprKind::Const(Const::Instance(id)) => {
            let of = program.instance(id);
            let is_profile = program.extern_object(of.object).name.to_lowercase().contains("profile");
            is_profile.then(|| of.args.iter().find_map(number)).flatten()
        }
        _ => None,
    });
    if !program.extern_object(instance.object).name.to_lowercase().contains("selector") {
        return (None, numbers.first().copied().unwrap_or(0));
    }
    // `ActionSelector(profile, hash, mode, max_group_size, num_groups)`, or with a size in place of the profile.
    let (members, group, groups) = match (profile, &numbers[..]) {
        (Some(members), [group, groups, ..]) => (members, *group, *groups),
        (Some(members), _) => (members, GROUP, GROUPS),
        (None, numbers) => (numbers.first().copied().unwrap_or(0), GROUP, GROUPS),
    };
    let words = group.div_ceil(MEMBERS_PER_WORD).max(1).saturating_mul(groups.max(1));
    let name = instance.control_plane_name.to_string();
    let side = Side { name, kind: SideKind::Selector, cells: Some(words), per_word: 1, words_per_cell: 1 };
    (Some(side), members)
}

/// The constant's value.
pub fn number(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
        ExprKind::Const(Const::Int(value)) => u64::try_from(value).ok(),
        _ => None,
    }
}

/// Bits of a value of this type that a hash gives.
pub fn hash_bits(program: &Program, ty: &Type) -> u32 {
    program.bits(ty).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(16)
}
