//! The state that packets can change, in a canonical form for comparing two devices.

use crate::objects::Object;
use crate::state::State;
use crate::table::{DirectCells, Table};
use base_bits::BitWriter;
use control_writes::{Count, EntryKey};
use ir::{Const, ExprKind, Instance, Program};
use ir_value::Value;
use ir_value::wire::encode;
use state_modes::Merge;
use std::collections::BTreeMap;

/// State by control-plane name. Registers, counters and meters: index and content of every cell that differs from its
/// initial state, a counter of packets without bytes. Direct ones: by the entry's key, that of the default action
/// first. Frame externs, and value externs with memory: their own snapshots.
pub(crate) fn snapshot(program: &Program, state: &State) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for (instance, object) in program.instances.iter().zip(&state.objects) {
        let name = instance.control_plane_name.to_string();
        if let Some(bytes) = object_bytes(object, only_packets(instance)) {
            all.insert(name, bytes);
        }
    }
    for table in state.tables.iter() {
        let plain = table.counters.and_then(|id| program.instances.get(id.index())).is_some_and(only_packets);
        for (id, bytes) in [
            (table.counters, direct_counts(table, plain)),
            (table.meters, direct_meters(table)),
            (table.registers, direct_registers(table)),
        ] {
            if let Some(instance) = id.and_then(|id| program.instances.get(id.index())) {
                all.entry(instance.control_plane_name.to_string()).or_insert_with(Vec::new).extend(bytes);
            }
        }
    }
    all
}

fn object_bytes(object: &Object, only_packets: bool) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    match object {
        Object::Register(register) => {
            for (index, value) in register.cells() {
                bytes.extend(index.to_be_bytes());
                bytes.extend(value_bytes(&value));
            }
        }
        Object::Counter(counter) => {
            for (index, count) in counter.cells() {
                bytes.extend(keyed(&index.to_be_bytes()));
                bytes.extend(count_bytes(&count, only_packets));
            }
        }
        Object::Meter(meters) => {
            for (index, meter) in meters.cells() {
                bytes.extend(index.to_be_bytes());
                bytes.extend(meter.bytes());
            }
        }
        Object::Filter(filter) => {
            for (index, average) in &filter.cells {
                bytes.extend(index.to_be_bytes());
                bytes.extend(average.bytes());
            }
        }
        Object::Log(0) => return None,
        Object::Log(calls) => bytes.extend(calls.to_be_bytes()),
        Object::Frame(object) => bytes = object.get().snapshot(),
        Object::Value(value) if value.has_memory() => bytes = value.object.snapshot(),
        Object::DirectCounter | Object::DirectMeter(_) | Object::DirectRegister(_) => {}
        Object::HashUnit(_)
        | Object::MathUnit(_)
        | Object::Nothing
        | Object::Hash(_)
        | Object::Profile(_)
        | Object::Value(_) => {
            return None;
        }
    }
    Some(bytes)
}

fn direct_counts(table: &Table, only_packets: bool) -> Vec<u8> {
    by_key(table, |cells| {
        Some(cells.count.read()).filter(|c| *c != Count::default()).map(|c| count_bytes(&c, only_packets))
    })
}

/// Adds the snapshots of two counters, or of two direct counters, cell by cell, for devices that count parts of the same packets.
pub fn add_counts(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut sums: BTreeMap<&[u8], [u64; 2]> = BTreeMap::new();
    for mut left in [one, other] {
        while let Some((key, packets, bytes, rest)) = first_cell(left) {
            let sum = sums.entry(key).or_default();
            *sum = [sum[0].wrapping_add(packets), sum[1].wrapping_add(bytes)];
            left = rest;
        }
    }
    sums.into_iter()
        .flat_map(|(key, sum)| [keyed(key), sum.map(u64::to_be_bytes).concat()].concat())
        .collect()
}

/// One snapshot of those of two registers whose cells have `width` bits, 128 at most: each cell by the operator of its copies.
pub fn merge_cells(one: &[u8], other: &[u8], merge: Merge, width: u32) -> Vec<u8> {
    let bytes = width.div_ceil(8) as usize;
    let padding = 8 * bytes as u32 - width;
    let mut cells: BTreeMap<&[u8], u128> = BTreeMap::new();
    let all = [one, other].into_iter().flat_map(|snapshot| snapshot.chunks_exact(INDEX + bytes));
    for (index, value) in all.map(|cell| cell.split_at(INDEX)) {
        let value = value.iter().fold(0, |value: u128, byte| value << 8 | u128::from(*byte)) >> padding;
        let known = cells.entry(index).or_default();
        *known = merge.combine(*known, value) & u128::MAX >> (u128::BITS - width);
    }
    let written = |value: u128| (value << padding).to_be_bytes()[16 - bytes..].to_vec();
    let changed = cells.into_iter().filter(|(_, value)| *value != 0);
    changed.flat_map(|(index, value)| [index, &written(value)].concat()).collect()
}

/// Bytes of an index in a snapshot.
const INDEX: usize = 8;

/// Key and counts of the first cell of a counter's snapshot, and the cells after it.
fn first_cell(cells: &[u8]) -> Option<(&[u8], u64, u64, &[u8])> {
    let (length, rest) = cells.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (packets, rest) = rest.split_first_chunk::<8>()?;
    let (bytes, rest) = rest.split_first_chunk::<8>()?;
    Some((key, u64::from_be_bytes(*packets), u64::from_be_bytes(*bytes), rest))
}

/// A cell's key, with its length in front.
fn keyed(key: &[u8]) -> Vec<u8> {
    [&(key.len() as u32).to_be_bytes(), key].concat()
}

fn count_bytes(count: &Count, only_packets: bool) -> Vec<u8> {
    let bytes = if only_packets { 0 } else { count.bytes };
    [count.packets, bytes].map(u64::to_be_bytes).concat()
}

/// A counter of `CounterType.packets`, the enum's first member: its bytes cannot be read.
fn only_packets(instance: &Instance) -> bool {
    instance.args.last().is_some_and(|arg| arg.kind == ExprKind::Const(Const::Enum(0)))
}

fn direct_meters(table: &Table) -> Vec<u8> {
    by_key(table, |cells| Some(cells.meter.bytes()).filter(|bytes| !bytes.is_empty()))
}

fn direct_registers(table: &Table) -> Vec<u8> {
    by_key(table, |cells| cells.register.as_deref().map(value_bytes))
}

/// Concatenates `bytes` of the direct cells in the order of the keys as text, whatever the order of insertion; the
/// default action has no key.
fn by_key(table: &Table, bytes: impl Fn(&DirectCells) -> Option<Vec<u8>>) -> Vec<u8> {
    let text = |key: &EntryKey| format!("{:?} {}", key.matches, key.priority);
    let entries = table.entries.iter().map(|(key, entry)| (text(key), &entry.direct));
    let of_default = table.of_default.iter().map(|cells| (String::new(), cells));
    let sorted: BTreeMap<String, Vec<u8>> =
        entries.chain(of_default).filter_map(|(key, cells)| Some((key, bytes(cells)?))).collect();
    sorted.into_iter().flat_map(|(key, bytes)| [keyed(key.as_bytes()), bytes].concat()).collect()
}

/// The bits of a value, invalid headers as nothing, filled up to whole bytes.
fn value_bytes(value: &Value) -> Vec<u8> {
    let mut out = BitWriter::new();
    encode(value, &mut out);
    out.finish()
}
