//! Bytes of memory that a program and its entities take, against the limit of a switch.
//!
//! The numbers are estimates, rounded up, of everything that a switch keeps for an entity: the copy in the store, the one in the
//! device, and those in the engine's tables. `cargo test -p cli --test attacks memory` compares them with the memory of the command.
//!
//! A cell of a counter or register is counted when the program is pushed, since packets write to it without asking.

use crate::catalog::Described;
use crate::change::{ActionCall, Change, Entry, OneShot, Run};
use control_writes::{EntryKey, Match};
use p4runtime_proto::p4::config::v1::{
    Action, MatchField, P4DataTypeSpec, P4Info, Table, p4_bitstring_like_type_spec::TypeSpec as Bitstring,
    p4_data_type_spec::TypeSpec,
};

/// An entry without its key, its action's arguments and its metadata.
const ENTRY: u64 = 1216;

/// A field of a key, and a member of a value set.
const FIELD: u64 = 384;

/// An argument of an action.
const ARGUMENT: u64 = 128;

/// A member, a group or another entity that is kept by a number.
const NUMBERED: u64 = 512;

/// A member of a group, or an action of a one-shot group, beside its arguments.
const CHOICE: u64 = 128;

/// The rates of a meter.
const METER: u64 = 256;

/// A cell of a counter.
const COUNTER_CELL: u64 = 16;

/// A cell that is kept by its index, since its object has too many cells for an array, or its type has no fixed bytes.
const SPARSE_CELL: u64 = 160;

/// Objects with up to this number of cells are arrays, which the engine's code shares.
const LARGEST_ARRAY: u64 = 1 << 24;

/// Values up to this width are kept in place.
const IN_PLACE: u64 = 128;

/// Bytes of an entity after a change.
pub(crate) fn of_change(change: &Change) -> u64 {
    match change {
        Change::Entry { key, to: Some(to), .. } => of_entry(key, to),
        Change::Default { to, .. } => to.call.as_ref().map_or(0, of_call) + to.metadata.len() as u64,
        Change::Member { to: Some(call), .. } => NUMBERED + of_call(call),
        Change::Group { to: Some(group), .. } => NUMBERED + CHOICE * group.members.len() as u64,
        Change::Multicast { to: Some(_), .. } | Change::CloneSession { to: Some(_), .. } => NUMBERED,
        Change::ValueSet { members, .. } => members.iter().map(|member| of_key(member)).sum(),
        Change::Meter { to: Some(_), .. } => METER,
        _ => 0,
    }
}

/// Bytes of an entry.
pub(crate) fn of_entry(key: &EntryKey, entry: &Entry) -> u64 {
    let meter = entry.meter.map_or(0, |_| METER);
    ENTRY + of_key(&key.matches) + of_run(&entry.run) + entry.metadata.len() as u64 + meter
}

fn of_key(matches: &[Match]) -> u64 {
    let width = |field: &Match| match field {
        Match::Any => 0,
        Match::Exact(value) | Match::Lpm { value, .. } => value.width(),
        Match::Ternary { value, .. } => 2 * value.width(),
        Match::Range { lo, .. } => 2 * lo.width(),
    };
    matches.iter().map(|field| of_field(width(field).into())).sum()
}

/// Bytes of a key field with this width in bits, including masks and bounds.
fn of_field(bits: u64) -> u64 {
    FIELD + beside(bits) + bits
}

/// Bytes of a value that are not kept in place, in all copies.
fn beside(bits: u64) -> u64 {
    if bits > IN_PLACE { 64 + bits } else { 0 }
}

fn of_run(run: &Run) -> u64 {
    match run {
        Run::Action(call) => of_call(call),
        Run::Member(_) | Run::Group(_) => 0,
        Run::OneShot(OneShot { actions, .. }) => {
            NUMBERED + actions.iter().map(|action| CHOICE + of_call(&action.call)).sum::<u64>()
        }
    }
}

fn of_call(call: &ActionCall) -> u64 {
    call.args.iter().map(|arg| ARGUMENT + beside(arg.width().into())).sum()
}

/// Memory of a program whose tables and objects are filled to their sizes.
pub struct Needs {
    /// Bytes of everything.
    pub bytes: u64,
    /// Tables, action profiles and objects, with their sizes and bytes; those with most bytes first.
    pub parts: Vec<(String, i64, u64)>,
}

impl Needs {
    /// Needs of the program with this P4Info.
    pub fn of(info: &P4Info) -> Needs {
        let action = |id: u32| info.actions.iter().find(|action| action.id() == id);
        let longest = |table: &Table| {
            table.action_refs.iter().filter_map(|of| action(of.id)).map(of_action).max().unwrap_or(0)
        };
        let entry = |table: &Table| {
            let run = if table.implementation_id == 0 { longest(table) } else { 0 };
            ENTRY + table.match_fields.iter().map(of_match_field).sum::<u64>() + run
        };
        let tables = info.tables.iter().map(|table| (table.name(), table.size, entry(table)));
        let profiles = info.action_profiles.iter().map(|profile| {
            let of = info.tables.iter().filter(|table| profile.table_ids.contains(&table.id()));
            (profile.name(), profile.size, NUMBERED + CHOICE + of.map(longest).max().unwrap_or(0))
        });
        let meters = info.meters.iter().map(|meter| (meter.name(), meter.size, METER));
        let all = tables.chain(profiles).chain(meters).chain(cells(info));
        let part = |(name, size, bytes): (&str, i64, u64)| {
            (name.to_string(), size, bytes.saturating_mul(u64::try_from(size).unwrap_or(0)))
        };
        let mut parts: Vec<_> = all.map(part).collect();
        parts.sort_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
        Needs { bytes: sum(parts.iter().map(|(_, _, bytes)| *bytes)), parts }
    }
}

/// Bytes of the cells of all counters and registers.
pub(crate) fn of_cells(info: &P4Info) -> u64 {
    sum(cells(info).map(|(_, size, bytes)| bytes.saturating_mul(u64::try_from(size).unwrap_or(0))))
}

/// Counters and registers, with their sizes and the bytes of a cell.
fn cells(info: &P4Info) -> impl Iterator<Item = (&str, i64, u64)> {
    let is_large = |size: i64| u64::try_from(size).is_ok_and(|size| size > LARGEST_ARRAY);
    let counters = info.counters.iter().map(move |counter| {
        let bytes = if is_large(counter.size) { SPARSE_CELL } else { COUNTER_CELL };
        (counter.name(), counter.size, bytes)
    });
    let registers = info.registers.iter().map(move |register| {
        let width = register.type_spec.as_ref().and_then(width);
        let bytes = match width {
            Some(width) if width <= IN_PLACE && !is_large(register.size.into()) => {
                width.div_ceil(8).max(1).next_power_of_two()
            }
            width => SPARSE_CELL + beside(width.unwrap_or(0)),
        };
        (register.name(), register.size.into(), bytes)
    });
    counters.chain(registers)
}

/// Bits of a value that is a number; nothing of others.
fn width(spec: &P4DataTypeSpec) -> Option<u64> {
    match spec.type_spec.as_ref()? {
        TypeSpec::Bool(_) => Some(1),
        TypeSpec::Bitstring(bits) => match bits.type_spec.as_ref()? {
            Bitstring::Bit(bit) => u64::try_from(bit.bitwidth).ok(),
            Bitstring::Int(int) => u64::try_from(int.bitwidth).ok(),
            Bitstring::Varbit(varbit) => u64::try_from(varbit.max_bitwidth).ok(),
        },
        _ => None,
    }
}

fn of_match_field(field: &MatchField) -> u64 {
    use p4runtime_proto::p4::config::v1::match_field::MatchType::{Exact, Lpm};
    let bits = u64::try_from(field.bitwidth).unwrap_or(0);
    let is_one = [Exact, Lpm].contains(&crate::matches::kind(field));
    of_field(if is_one { bits } else { 2 * bits })
}

fn of_action(action: &Action) -> u64 {
    action.params.iter().map(|param| ARGUMENT + beside(u64::try_from(param.bitwidth).unwrap_or(0))).sum()
}

fn sum(all: impl Iterator<Item = u64>) -> u64 {
    all.fold(0, u64::saturating_add)
}
