//! Functions that compiled code of TNA calls: direct objects, hash units, residual checksums; and what a half asks for.
#![allow(unsafe_code)]

use crate::context::Context;
use crate::exchange::Exchange;
use crate::layout::NONE;
use crate::notes::Given;
use crate::runtime::{Job, job, packed};
use base_bits::BitWriter;
use device::data_plane::Application;
use device::stage::MirrorEffect;
use ir::InstanceId;
use ir_value::wire::encode;
use ir_value::{Value, numbers};

/// Requests of a half of TNA to the traffic manager, besides its intrinsic metadata.
#[derive(Default)]
pub(crate) struct TnaRequests {
    pub(crate) mirror: Option<MirrorEffect>,
    /// The data for the next pass of a resubmitted packet.
    pub(crate) resubmission: Option<Vec<u8>>,
    /// The table with direct objects that was applied last.
    applied: Option<Application>,
}

impl Job<'_, '_> {
    pub(crate) fn tna(&mut self) -> &mut TnaRequests {
        self.tna.get_or_insert_default()
    }

    fn applied(&self) -> Option<Application> {
        self.tna.as_ref().and_then(|requests| requests.applied)
    }
}

/// The bytes of a header, filled up with zero bits.
pub(crate) fn bytes_of(header: Option<&Given>, exchange: &Exchange) -> Vec<u8> {
    let Some(header) = header else { return vec![] };
    let mut out = BitWriter::new();
    encode(&header.value(exchange), &mut out);
    out.pad();
    out.finish()
}

/// A table with direct objects or timeouts was applied; `entry` 0 is a miss.
pub(crate) extern "C" fn applied(context: *mut Context, table: u32, entry: u64) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let replicas = job.table_replicas;
    let Some(at) = replicas.at(table as usize) else { return };
    let key = replicas.original(table as usize, entry as u32).map(|(_, key)| key).filter(|_| entry != 0);
    let found = job.access.core().applied(at, key, job.now);
    job.tna().applied = Some(found);
}

/// The colour that the direct meter of the entry gives; [`NONE`] without one.
pub(crate) extern "C" fn direct_meter(context: *mut Context, instance: u32, bytes: u64, before: u64) -> u64 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let Some(applied) = job.applied() else { return NONE as u64 };
    let core = job.access.core();
    let meter = InstanceId(instance);
    let colour = core.state.direct_meter(&core.program, meter, applied, bytes, before as u8, job.now);
    colour.map_or(NONE as u64, u64::from)
}

/// The cell of the entry goes to the place of keys, as one number; zero without a cell.
pub(crate) extern "C" fn direct_read(context: *mut Context, instance: u32) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let applied = job.applied();
    let core = job.access.core();
    let cell = core.state.direct_register(&core.program, InstanceId(instance), applied).ok().flatten();
    let number = cell.and_then(|cell| numbers::packed(&cell)).map_or(0, |(number, _)| number);
    job.memory.set_number(job.layout.homes.keys, 16, number);
}

/// The number in the place of keys becomes the cell of the entry.
pub(crate) extern "C" fn direct_write(context: *mut Context, instance: u32) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let (number, applied) = (job.exchange().pair(0), job.applied());
    let core = job.access.core();
    let register = InstanceId(instance);
    let Some(ty) = core.program.instance(register).type_args.first() else { return };
    let value = numbers::unpacked(&Value::zero(&core.program, ty), number);
    core.state.direct_register_write(&core.program, register, applied, value);
}

/// The hash of a list of numbers with their widths; zero bits fill up the first byte.
pub(crate) extern "C" fn hash_unit(
    context: *mut Context,
    unit: u32,
    list: *const [u64; 3],
    count: u64,
) -> u64 {
    // SAFETY: called by the code of the batch with so many numbers of the frame.
    let (job, list) = unsafe { (job(context), std::slice::from_raw_parts(list, count as usize)) };
    let Some(unit) = job.notes.hash_units.get(unit as usize) else { return 0 };
    let bits: u64 = list.iter().map(|[_, _, width]| width).sum();
    let front = bits.next_multiple_of(8) - bits;
    unit.compute(&packed(&[&[[0, 0, front]], list].concat()))
}

/// A ones' complement sum less the 16-bit words of bytes of the packet.
pub(crate) extern "C" fn residual(from: *const u8, bytes: u64, sum: u64) -> u64 {
    // SAFETY: called by the code of the batch with bytes of the packet that its parser has taken.
    let taken = unsafe { std::slice::from_raw_parts(from, bytes as usize) };
    let word = |c: &[u8]| !u16::from_be_bytes([c[0], c.get(1).copied().unwrap_or(0)]);
    let all = taken.chunks(2).fold(sum, |sum, c| sum + u64::from(word(c)));
    let fold = |sum: u64| (sum & 0xffff) + (sum >> 16);
    fold(fold(fold(all)))
}
