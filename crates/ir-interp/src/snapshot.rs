//! The state that packets can change, in a canonical form for comparing two devices.

use crate::objects::Object;
use crate::state::State;
use crate::table::Table;
use crate::value::Value;
use crate::wire::encode;
use base_bits::BitWriter;
use ir::Program;
use std::collections::BTreeMap;

/// By control-plane name: registers, counters and meters as index and content of every cell that is not as at
/// the start; direct ones by the handle of the entry; frame externs as their own snapshot.
pub(crate) fn snapshot(program: &Program, state: &State) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for (instance, object) in program.instances.iter().zip(&state.objects) {
        let name = instance.control_plane_name.to_string();
        if let Some(bytes) = object_bytes(object) {
            all.insert(name, bytes);
        }
    }
    for table in state.tables.iter() {
        for (id, bytes) in [(table.counters, direct_counts(table)), (table.meters, direct_meters(table))] {
            if let Some(instance) = id.and_then(|id| program.instances.get(id.index())) {
                all.entry(instance.control_plane_name.to_string()).or_insert_with(Vec::new).extend(bytes);
            }
        }
    }
    all
}

fn object_bytes(object: &Object) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    match object {
        Object::Register(register) => {
            for (index, value) in register.cells() {
                bytes.extend(index.to_be_bytes());
                bytes.extend(value_bytes(value));
            }
        }
        Object::Counter(counter) => {
            for (index, count) in counter.cells() {
                bytes.extend([index, count.packets, count.bytes].map(u64::to_be_bytes).concat());
            }
        }
        Object::Meter(meters) => {
            for (index, meter) in meters.cells() {
                bytes.extend(index.to_be_bytes());
                bytes.extend(meter.bytes());
            }
        }
        Object::Frame(object) => bytes = object.snapshot(),
        Object::DirectCounter | Object::DirectMeter(_) => {}
        Object::Nothing | Object::Profile(_) => return None,
    }
    Some(bytes)
}

fn direct_counts(table: &Table) -> Vec<u8> {
    let counted = table.entries.values().filter(|e| e.count != Default::default());
    counted.flat_map(|e| [e.handle, e.count.packets, e.count.bytes].map(u64::to_be_bytes).concat()).collect()
}

fn direct_meters(table: &Table) -> Vec<u8> {
    let metered = table.entries.values().filter(|e| !e.meter.bytes().is_empty());
    metered.flat_map(|e| [e.handle.to_be_bytes().to_vec(), e.meter.bytes()].concat()).collect()
}

/// The bits of a value, invalid headers as nothing, filled up to whole bytes; with the width in front where it
/// is not fixed.
fn value_bytes(value: &Value) -> Vec<u8> {
    let mut out = BitWriter::new();
    encode(value, &mut out);
    out.finish()
}
