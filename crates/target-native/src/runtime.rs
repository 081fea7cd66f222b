//! Functions that compiled code calls, and the state that it reads and writes beside the frame.
//!
//! One of the files that may use `unsafe`: these functions get addresses from compiled code.
#![allow(unsafe_code)]

use crate::access::Access;
use crate::context::{Asked, Context, ELSEWHERE, FINE, FUEL, GONE, Left, REJECTED};
use crate::early::Early;
use crate::exchange::Exchange;
use crate::layout::{Layout, NONE, Node};
use crate::memory::Memory;
use crate::notes::{Message, Notes, ValueCall};
use crate::packet::Packet;
use crate::tables::TableReplicas;
use crate::tna_runtime::TnaRequests;
pub(crate) use crate::tna_runtime::{applied, direct_meter, direct_read, direct_write, hash_unit, residual};
use base_bits::{BitWriter, Bits};
use base_time::Time;
use dataplane_api::Output;
use dataplane_tables::Table;
use device::Core;
use device::Digest;
use device::PacketBudget;
use device::hash::Algorithm;
use device::reports::log_line;
use device::stage::{Amid, BlockName, CloneEffect, Effects, MirrorEffect, Stop};
use device::v1model;
use device::{AtWork, PacketId, StageRunner};
use ir_interp::Interpreter;
use ir_value::Value;
use smallvec::SmallVec;

impl Asked {
    /// Prefetches memory for the lookup of `key`.
    fn push(&mut self, table: &Table, key: &[u64]) {
        table.prefetch(key);
        self.pop();
        let slot = &mut self.lookups[self.next];
        slot.0 = table;
        slot.1[..key.len()].copy_from_slice(key);
        self.next = (self.next + 1) % self.lookups.len();
    }

    /// Asks for the second lines of the oldest.
    fn pop(&mut self) {
        let (table, key) = &mut self.lookups[self.next];
        // SAFETY: tables in the list are copies of the batch that runs: it empties the list.
        if let Some(table) = unsafe { table.as_ref() } {
            table.prefetch_next(&key[..table.key_words()]);
        }
        *table = std::ptr::null();
    }
}

/// Results of direct meters, and the block that they belong to: of none after a start.
pub(crate) type Colours = (Option<BlockName>, Vec<(ir::InstanceId, u8)>);

/// A batch that is being processed.
pub(crate) struct Job<'j, 'h> {
    pub(crate) access: &'j mut Access<'h>,
    /// For statements and blocks that code leaves out.
    pub(crate) rest: &'j mut Interpreter,
    pub(crate) layout: &'j Layout,
    pub(crate) memory: &'j mut Memory,
    /// Values that only the interpreter touches.
    pub(crate) values: &'j mut [Value],
    pub(crate) zeros: &'j [Value],
    pub(crate) notes: &'j Notes,
    pub(crate) table_replicas: &'j TableReplicas,
    pub(crate) early: &'j mut Early,
    pub(crate) now: Time,
    pub(crate) outputs: &'j mut Vec<Output>,
    /// Calls of the interpreter.
    pub(crate) interpreted: u64,
    /// Results for the current packet.
    pub(crate) colours: &'j mut Colours,
    /// The record that a profile chose last.
    pub(crate) chosen: &'j mut Vec<u64>,
    /// The packet with which the batch ended.
    pub(crate) left: Option<Box<Leaving>>,
    /// Budget of the packet, if it has one already.
    pub(crate) budget: Option<PacketBudget>,
    /// State of a half of TNA.
    pub(crate) tna: Option<Box<TnaRequests>>,
}

/// A packet that asked for more than to be sent.
pub(crate) struct Leaving {
    pub(crate) to: To,
    /// Address of the packet.
    pub(crate) packet: usize,
}

/// Destination of a packet that left.
// It is in a box with all that leaves: `Leaving`.
#[allow(clippy::large_enum_variant)]
pub(crate) enum To {
    /// The traffic manager.
    Copies(v1model::Packet, Left),
    /// The packet is in the frame.
    FrameExtern(FrameCall),
}

/// A call of a frame extern.
pub(crate) struct FrameCall {
    pub(crate) instance: ir::InstanceId,
    pub(crate) method: ir::Name,
    pub(crate) args: Vec<Bits>,
    /// Budget of the packet, if it has one already.
    pub(crate) budget: Option<PacketBudget>,
}

/// # Safety
/// `context` is that of a running batch, and no other reference to its job is in use.
pub(crate) unsafe fn job<'a>(context: *mut Context) -> &'a mut Job<'a, 'a> {
    // SAFETY: by the contract; the batch has put the address of its job there.
    unsafe { &mut *(*context).job.cast::<Job>() }
}

pub(crate) extern "C" fn lookup(table: *const Table, key: *const u64, words: u64) -> u64 {
    // SAFETY: the table is one of the batch's copies, and the key has been written to the frame, so many words.
    let (table, key) = unsafe { (&*table, std::slice::from_raw_parts(key, words as usize)) };
    u64::from(table.lookup(key))
}

pub(crate) extern "C" fn lookup_1(table: *const Table, key: u64) -> u64 {
    // SAFETY: the table is one of the batch's copies.
    u64::from(unsafe { &*table }.lookup_words(&[key]))
}

pub(crate) extern "C" fn lookup_2(table: *const Table, low: u64, high: u64) -> u64 {
    // SAFETY: as above.
    u64::from(unsafe { &*table }.lookup_words(&[low, high]))
}

pub(crate) extern "C" fn lookup_3(table: *const Table, low: u64, middle: u64, high: u64) -> u64 {
    // SAFETY: as above.
    u64::from(unsafe { &*table }.lookup_words(&[low, middle, high]))
}

pub(crate) extern "C" fn ask(context: *mut Context, table: *const Table, key: *const u64, words: u64) {
    // SAFETY: the context and one of the tables of the running batch, and a key in its frame, so many words.
    let (asked, table, key) =
        unsafe { (&mut *(*context).asked, &*table, std::slice::from_raw_parts(key, words as usize)) };
    asked.push(table, key);
}

pub(crate) extern "C" fn asked(context: *mut Context) {
    // SAFETY: the context of the running batch.
    let asked = unsafe { &mut *(*context).asked };
    for _ in 0..asked.lookups.len() {
        asked.pop();
        asked.next = (asked.next + 1) % asked.lookups.len();
    }
}

pub(crate) extern "C" fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that reads nothing the program can see, and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Before the packet runs whose turn it is: see [`Arrivals`](crate::arrivals::Arrivals) and [`Early`](crate::early::Early). Gives the number of packets whose keys are
/// to be looked up now.
pub(crate) extern "C" fn stop(context: *mut Context) -> u64 {
    // SAFETY: the context of the running batch, whose frames are from `batch` on. Code calls this between two packets, so nobody else uses what it refers to.
    unsafe {
        let context = &mut *context;
        let (at, mut next, mut count) = (context.next_stop, context.end, 0);
        if let Some(arrivals) = context.arrivals.as_mut() {
            if context.batch.wrapping_add(arrivals.next()) == at {
                arrivals.arrive(std::slice::from_raw_parts(context.batch, arrivals.count()));
            }
            next = next.min(context.batch.wrapping_add(arrivals.next()));
        }
        if context.next_early == at {
            let job = &mut *context.job.cast::<Job>();
            let left = (context.end.addr() - at.addr()) / size_of::<Packet>();
            (context.early_distances, count) =
                job.early.begin(&job.notes.early, job.table_replicas.table_refs(), at, left);
            context.next_early = at.wrapping_add(count);
        }
        if !context.next_early.is_null() {
            next = next.min(context.next_early);
        }
        context.next_stop = next;
        count as u64
    }
}

pub(crate) extern "C" fn copy(to: *mut u8, from: *const u8, bytes: u64) {
    // SAFETY: compiled code copies headers between the packet and the frame, which do not overlap.
    unsafe { std::ptr::copy(from, to, bytes as usize) }
}

pub(crate) extern "C" fn clear(to: *mut u8, bytes: u64) {
    // SAFETY: compiled code clears its own part of the frame.
    unsafe { std::ptr::write_bytes(to, 0, bytes as usize) }
}

pub(crate) extern "C" fn reset(context: *mut Context) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    job.values.clone_from_slice(job.zeros);
    job.colours.0 = None;
}

pub(crate) extern "C" fn value_set(context: *mut Context, set: u32, count: u32) -> u32 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let exchange = job.exchange();
    let values: SmallVec<[u128; 4]> = (0..count as usize).map(|at| exchange.pair(at)).collect();
    let (core, blocks) = job.access.parts();
    let has = core.state.value_set_has_numbers(blocks.parser(), ir::ValueSetId(set), &values);
    u32::from(has.unwrap_or(false))
}

/// Number of an algorithm in code: the algorithm, [`FILL_IN_FRONT`], and from this bit on 1 more than the index of its call in
/// [`Notes::calculations`].
pub(crate) const CALL: u32 = 9;

/// Algorithm with the number that code uses.
fn algorithm(number: u32) -> Algorithm {
    use Algorithm::{Crc16, Crc16Custom, Crc32, Crc32Custom, Csum16, Identity, Xor16};
    let all = [Crc32, Crc32Custom, Crc16, Crc16Custom, Csum16, Xor16, Identity];
    debug_assert!(all.into_iter().zip(0..).all(|(algorithm, number)| algorithm as u32 == number));
    all[(number % FILL_IN_FRONT) as usize]
}

pub(crate) extern "C" fn hash(
    context: *mut Context,
    which: u32,
    data: *const u8,
    bytes: u64,
    payload: *const u8,
    length: u64,
) -> u64 {
    // SAFETY: called by the code of the batch with so many bytes of the frame and of the packet.
    let (job, data, payload) = unsafe {
        (
            job(context),
            std::slice::from_raw_parts(data, bytes as usize),
            std::slice::from_raw_parts(payload, length as usize),
        )
    };
    if payload.is_empty() {
        return job.hash(which, data);
    }
    job.hash(which, &[data, payload].concat())
}

/// Beside the number of an algorithm: zero bits go in front of a list, and not after, to make whole bytes.
pub(crate) const FILL_IN_FRONT: u32 = 0x100;

pub(crate) extern "C" fn hash_list(
    context: *mut Context,
    which: u32,
    list: *const [u64; 3],
    count: u64,
    payload: *const u8,
    length: u64,
) -> u64 {
    // SAFETY: called by the code of the batch with so many numbers of the frame and bytes of the packet.
    let (job, list, payload) = unsafe {
        (
            job(context),
            std::slice::from_raw_parts(list, count as usize),
            std::slice::from_raw_parts(payload, length as usize),
        )
    };
    let bits: u64 = list.iter().map(|[_, _, width]| width).sum();
    let front = if which & FILL_IN_FRONT == 0 { 0 } else { bits.next_multiple_of(8) - bits };
    let mut data = packed(&[&[[0, 0, front]], list].concat());
    data.extend(payload);
    job.hash(which, &data)
}

/// The sum of the 16-bit words of the bits in a list, in the lower half, and how many words they are.
pub(crate) extern "C" fn sum_list(list: *const [u64; 3], count: u64) -> u64 {
    // SAFETY: called by the code of the batch with so many numbers of the frame.
    let data = packed(unsafe { std::slice::from_raw_parts(list, count as usize) });
    let words = data.chunks(2).map(|c| u64::from(u16::from_be_bytes([c[0], c.get(1).copied().unwrap_or(0)])));
    (data.len().div_ceil(2) as u64) << 32 | words.sum::<u64>()
}

/// The bits of numbers with their widths, one after the other.
pub(crate) fn packed(list: &[[u64; 3]]) -> Vec<u8> {
    let mut data = BitWriter::new();
    for [low, high, width] in list {
        data.push(&Bits::new(*width as u32, u128::from(*high) << 64 | u128::from(*low)));
    }
    data.finish()
}

pub(crate) extern "C" fn looked_up(context: *mut Context, block: u32, table: u32, entry: u64, bytes: u64) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let block = BlockName::ALL[block as usize];
    let mut effects = Effects { counted: bytes, ..Effects::default() };
    effects.colours = job.colours_in(block);
    let now = job.now;
    // The device is locked before the entries' numbers, which no one else locks first.
    let core = job.access.core();
    let hit = |at, key: &_| core.looked_up(at, key, &mut effects, now);
    if job.table_replicas.with_original(table as usize, entry as u32, hit).is_some() {
        job.colours.1 = effects.colours;
    }
}

/// The address of the record that an entry's profile chooses.
pub(crate) extern "C" fn choose(context: *mut Context, table: u32, entry: u64) -> u64 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    job.choose(table as usize, entry as u32);
    job.chosen.as_ptr().expose_provenance() as u64
}

/// The bounds are the first pairs in the place of keys, and the number takes the place of the first; 0 if there is none.
pub(crate) extern "C" fn random(context: *mut Context) -> u32 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let exchange = job.exchange();
    let (lo, hi) = (exchange.pair(0), exchange.pair(1));
    if lo > hi {
        return 0;
    }
    let drawn = job.access.core().state.draw(lo, hi);
    job.memory.set_number(job.layout.homes.keys, 16, drawn);
    1
}

/// The colour that the cell of a meter gives; [`NONE`] out of range.
pub(crate) extern "C" fn meter(
    context: *mut Context,
    instance: u32,
    index: u64,
    bytes: u64,
    before: u64,
) -> u64 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let core = job.access.core();
    let meter = ir::InstanceId(instance);
    let colour = core.state.meter(&core.program, meter, index, bytes, before as u8, job.now).ok().flatten();
    colour.map_or(NONE as u64, u64::from)
}

/// Result of a direct meter in this block; [`NONE`] without one.
pub(crate) extern "C" fn colour(context: *mut Context, block: u32, instance: u32) -> u64 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let (of, colours) = &*job.colours;
    let here = colours.iter().filter(|_| *of == Some(BlockName::ALL[block as usize]));
    let mut colours = here.filter(|(meter, _)| meter.0 == instance).map(|(_, colour)| u64::from(*colour));
    colours.next().unwrap_or(NONE as u64)
}

pub(crate) extern "C" fn report(context: *mut Context, id: u32) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    let notes = job.notes;
    let Some(message) = notes.messages.get(id as usize) else { return };
    let exchange = job.exchange();
    match message {
        Message::Digest(name, data) => {
            let data = data.value(&exchange);
            job.access.digest(Digest { name: name.clone(), data });
        }
        Message::Mirror(session, header) => {
            let session = session.value(&exchange).to_key().map_or(0, |session| session.low_u64() as u32);
            let header = crate::tna_runtime::bytes_of(header.as_ref(), &exchange);
            job.tna().mirror = Some(MirrorEffect { session, header });
        }
        Message::Resubmission(data) => {
            let data = crate::tna_runtime::bytes_of(data.as_ref(), &exchange);
            job.tna().resubmission = Some(data);
        }
        Message::Log(line, data) => {
            let data = data.as_ref().map(|data| data.value(&exchange));
            job.access.log(log_line(line, data));
        }
    }
}

pub(crate) extern "C" fn statement(context: *mut Context, id: u32) -> u32 {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    job.statement(id as usize)
}

pub(crate) extern "C" fn stage(context: *mut Context, block: u32, packet: *mut Packet) -> u32 {
    // SAFETY: called by the code of the batch with one of its packets.
    let (job, packet) = unsafe { (job(context), &mut *packet) };
    job.stage(BlockName::ALL[block as usize], packet)
}

pub(crate) extern "C" fn finish(context: *mut Context, packet: *mut Packet, left: u32) {
    // SAFETY: called by the code of the batch with one of its packets.
    let (job, packet) = unsafe { (job(context), &mut *packet) };
    job.finish(packet, if left == Left::Ingress as u32 { Left::Ingress } else { Left::Egress });
}

pub(crate) extern "C" fn frame_call(context: *mut Context, packet: *mut Packet, id: u32) {
    // SAFETY: called by the code of the batch with one of its packets.
    let (job, packet) = unsafe { (job(context), &mut *packet) };
    job.frame_call(id as usize, packet);
}

/// The numbers of the call are packed in the place of keys.
pub(crate) extern "C" fn value_call(context: *mut Context, id: u32) {
    // SAFETY: called by the code of the batch.
    let job = unsafe { job(context) };
    job.value_call(id as usize);
}

/// Numbers of a call of a value extern.
type Numbers = SmallVec<[Bits; 8]>;

/// A call of an extern that takes only lists of numbers.
#[cold]
#[inline(never)]
fn call_unpacked(core: &mut Core, call: &ValueCall, inputs: &[u8], outputs: &mut [u8], now: Time) {
    let inputs = unpacked(&call.inputs, inputs);
    let mut numbers = unpacked(&call.outputs, outputs);
    let done = core.state.call_value(&core.program, call.callee, &inputs, &mut numbers, now);
    debug_assert!(done.is_ok(), "code calls what the device has");
    pack(&numbers, outputs);
}

fn unpacked(widths: &[u32], mut bytes: &[u8]) -> Numbers {
    let number = |width: &u32| {
        let (number, rest) = bytes.split_at(width.div_ceil(8) as usize);
        bytes = rest;
        Bits::from_be_bytes(*width, number)
    };
    widths.iter().map(number).collect()
}

fn pack(numbers: &[Bits], mut to: &mut [u8]) {
    for number in numbers {
        let (place, rest) = std::mem::take(&mut to).split_at_mut(number.width().div_ceil(8) as usize);
        place.copy_from_slice(&number.to_be_bytes());
        to = rest;
    }
}

impl Job<'_, '_> {
    pub(crate) fn exchange(&mut self) -> Exchange<'_> {
        Exchange { layout: self.layout, memory: self.memory, values: self.values }
    }

    fn hash(&mut self, which: u32, data: &[u8]) -> u64 {
        let algorithm = algorithm(which);
        if let Some(fixed) = algorithm.fixed(data) {
            return fixed;
        }
        let call = (which >> CALL).checked_sub(1).and_then(|at| self.notes.calculations.get(at as usize));
        let state = &self.access.core().state;
        match call {
            Some(call) => state.hash_of_call(algorithm, data, *call),
            None => state.hash(algorithm, data),
        }
    }

    /// Direct meters answer for one block.
    fn colours_in(&mut self, block: BlockName) -> Vec<(ir::InstanceId, u8)> {
        if self.colours.0 != Some(block) {
            *self.colours = (Some(block), vec![]);
        }
        std::mem::take(&mut self.colours.1)
    }

    /// Length that the program gives for counters in a block.
    fn counted(&mut self, block: BlockName) -> Option<u64> {
        let index =
            self.layout.counted.filter(|_| matches!(block, BlockName::Ingress | BlockName::Egress))?;
        Some(self.exchange().scalar(index) as u64)
    }

    /// Assembles the record of the chosen action; the selector's keys are in the place of keys.
    fn choose(&mut self, table: usize, entry: u32) {
        let table_replicas = self.table_replicas;
        let exchange = self.exchange();
        let by = table_replicas.selector_widths(table).iter().enumerate();
        let by: Vec<Bits> = by.map(|(at, width)| Bits::new(*width, exchange.pair(at))).collect();
        let original = table_replicas.original(table, entry);
        let action = original.and_then(|(at, key)| self.access.core().chosen(at, key, &by));
        *self.chosen = action.map_or(vec![], |action| table_replicas.record(table, &action));
    }

    /// The bytes between two addresses that registers hold.
    fn bytes_between(&mut self, from: usize, to: usize) -> Vec<u8> {
        let exchange = self.exchange();
        let (from, to) = (exchange.scalar(from) as u64, exchange.scalar(to) as u64);
        let length = to.saturating_sub(from) as usize;
        // SAFETY: the registers hold addresses in the packet's buffer, in this order.
        unsafe { crate::memory::header_bytes(from, length) }.to_vec()
    }

    fn effects(&mut self, block: BlockName) -> Effects {
        let registers = self.layout.registers;
        let colours = self.colours_in(block);
        let exchange = self.exchange();
        let word = |index| exchange.scalar(index) as u64;
        let option = |index| Some(word(index)).filter(|value| *value != u64::MAX);
        let list = |effect: u64| ((effect >> 32) as u32).checked_sub(1);
        Effects {
            counted: word(registers.pass_length),
            length: word(registers.length) as i64,
            truncate: option(registers.truncate).map(|length| length as u32),
            clone: option(registers.clone)
                .map(|effect| CloneEffect { session: effect as u32, field_list: list(effect) }),
            resubmit: option(registers.resubmit).map(|list| list as u32),
            recirculate: option(registers.recirculate).map(|list| list as u32),
            checksum_error: word(registers.checksum_error) != 0,
            colours,
            ..Effects::default()
        }
    }

    fn set_effects(&mut self, effects: Effects) {
        let registers = self.layout.registers;
        self.colours.1 = effects.colours;
        let mut exchange = self.exchange();
        let option = |value: Option<u64>| u128::from(value.unwrap_or(u64::MAX));
        let clone = effects.clone.map(|CloneEffect { session, field_list }| {
            u64::from(session) | field_list.map_or(0, |list| (u64::from(list) + 1) << 32)
        });
        exchange.set_scalar(registers.length, effects.length as u64 as u128);
        exchange.set_scalar(registers.truncate, option(effects.truncate.map(u64::from)));
        exchange.set_scalar(registers.clone, option(clone));
        exchange.set_scalar(registers.resubmit, option(effects.resubmit.map(u64::from)));
        exchange.set_scalar(registers.recirculate, option(effects.recirculate.map(u64::from)));
        exchange.set_scalar(registers.checksum_error, u128::from(effects.checksum_error));
    }

    fn statement(&mut self, id: usize) -> u32 {
        self.interpreted += 1;
        let Some(fallback) = self.notes.fallbacks.get(id) else { return GONE as u32 };
        let block = fallback.block;
        let registers = self.layout.registers;
        let layout = self.layout;
        let nodes = layout.block(block);
        let exchange = self.exchange();
        // Only what the statement touches is converted to values and back.
        let vars: Vec<Value> = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| match fallback.vars.contains(&ir::VarId::from(at)) {
                true => exchange.read(node),
                false => Value::Void,
            })
            .collect();
        let (start, cursor) = (exchange.scalar(registers.start), exchange.scalar(registers.cursor));
        let position = cursor.wrapping_sub(start) as u64 * 8;
        let in_parser = block == BlockName::Parser;
        let frame = if in_parser { self.bytes_between(registers.start, registers.end) } else { vec![] };
        let payload = if in_parser { vec![] } else { self.bytes_between(registers.cursor, registers.end) };
        let mut effects = self.effects(block);
        effects.counted = self.counted(block).unwrap_or(effects.counted);
        let mut at = Amid { vars, frame, position, payload, effects };
        let now = self.now;
        let (core, blocks) = self.access.parts();
        let result = match blocks.stage(block) {
            Some(stage) => self.rest.statement(core, stage.block, &fallback.stmt, &mut at, now),
            None => Err(Stop::Broken("a block that the architecture does not have")),
        };
        let Amid { vars, position, effects, .. } = at;
        self.set_effects(effects);
        let mut exchange = self.exchange();
        for (at, (node, value)) in nodes.iter().zip(&vars).enumerate() {
            if fallback.vars.contains(&ir::VarId::from(at)) {
                exchange.write(node, value);
            }
        }
        if in_parser {
            exchange.set_scalar(registers.cursor, start + u128::from(position / 8));
        }
        match result {
            Ok(()) => FINE as u32,
            Err(stop) => self.stopped(stop),
        }
    }

    /// Subtracts the work of a packet from its budget.
    #[inline(always)]
    pub(crate) fn spend(&mut self) {
        let fuel = self.layout.registers.fuel;
        if let Some(budget) = self.budget.clone() {
            budget.set_steps(self.exchange().scalar(fuel) as u64);
        }
    }

    /// The packet in the frame as values.
    pub(crate) fn parts(&mut self, block: BlockName) -> v1model::Packet {
        let registers = self.layout.registers;
        let frame = self.bytes_between(registers.start, registers.end);
        let payload = self.bytes_between(registers.cursor, registers.end);
        let node = &self.layout.roles[0];
        let headers = self.exchange().read(node);
        v1model::Packet { frame, payload, ..self.parts_with(block, headers) }
    }

    /// [`parts`](Job::parts) with other headers and no bytes.
    pub(crate) fn parts_with(&mut self, block: BlockName, headers: Value) -> v1model::Packet {
        let registers = self.layout.registers;
        let layout = self.layout;
        // Checksum errors and colours of direct meters are the block's alone.
        let effects = Effects { checksum_error: false, colours: vec![], ..self.effects(block) };
        let budget = self.budget.clone().unwrap_or_else(|| self.access.core().new_budget());
        let exchange = self.exchange();
        let [_, metadata, standard] = layout.roles.each_ref().map(|node: &Node| exchange.read(node));
        v1model::Packet {
            headers,
            metadata,
            standard,
            frame: vec![],
            payload: vec![],
            ingress_port: exchange.scalar(registers.ingress_port) as u32,
            egress_port: exchange.scalar(registers.egress_port) as u32,
            effects,
            budget,
            trace: PacketId::default(),
        }
    }

    /// Puts a packet into the frame: the inverse of [`parts`](Job::parts). Its frame is in `packet` already, and its payload is the
    /// end of that.
    pub(crate) fn set_parts(&mut self, parts: &v1model::Packet, packet: &Packet) {
        let registers = self.layout.registers;
        let layout = self.layout;
        let (first, arrays) = (packet.frame().as_ptr() as u64, layout.arrays);
        let end = first + packet.frame().len() as u64;
        self.values.clone_from_slice(self.zeros);
        self.memory.bytes_mut(arrays.0, (arrays.1 - arrays.0) as usize).fill(0);
        let mut exchange = self.exchange();
        for (node, value) in layout.roles.iter().zip([&parts.headers, &parts.metadata, &parts.standard]) {
            exchange.write(node, value);
        }
        for (register, value) in [
            (registers.start, first),
            (registers.cursor, end - parts.payload.len() as u64),
            (registers.end, end),
            (registers.fuel, parts.budget.steps().min(FUEL)),
            (registers.ingress_port, u64::from(parts.ingress_port)),
            (registers.egress_port, u64::from(parts.egress_port)),
            (registers.pass_length, parts.effects.counted),
        ] {
            exchange.set_scalar(register, u128::from(value));
        }
        self.set_effects(parts.effects.clone());
        self.budget = Some(parts.budget.clone());
    }

    fn stage(&mut self, block: BlockName, packet: &mut Packet) -> u32 {
        self.interpreted += 1;
        let registers = self.layout.registers;
        let mut parts = self.parts(block);
        let (truncate, port) = (parts.effects.truncate, parts.egress_port);
        let now = self.now;
        let (core, blocks) = self.access.parts();
        let device = AtWork { core, blocks, runner: self.rest };
        let result = device.v1model_block(block, &mut parts, now);
        let layout = self.layout;
        let mut exchange = self.exchange();
        for (node, value) in layout.roles.iter().zip([&parts.headers, &parts.metadata, &parts.standard]) {
            exchange.write(node, value);
        }
        let left = parts.payload.len() as u128;
        let end = exchange.scalar(registers.end);
        exchange.set_scalar(registers.cursor, end.saturating_sub(left));
        self.set_effects(parts.effects);
        let frame = match result {
            Ok(Some(frame)) => frame,
            Ok(None) => return FINE as u32,
            Err(stop) => return self.stopped(stop),
        };
        if packet.replace(&frame) {
            let first = packet.frame().as_ptr() as usize as u128;
            let mut exchange = self.exchange();
            exchange.set_scalar(registers.start, first);
            exchange.set_scalar(registers.end, first + frame.len() as u128);
            return FINE as u32;
        }
        let mut frame = frame;
        frame.truncate(truncate.map_or(usize::MAX, |length| length as usize));
        self.outputs.push(Output { port, frame });
        packet.leave();
        ELSEWHERE as u32
    }

    /// Handles a statement or block that stopped early: unless that was an exit or a parser error, it ends the packet.
    fn stopped(&mut self, stop: Stop) -> u32 {
        match stop {
            Stop::Exit => FINE as u32,
            Stop::Reject(error) => REJECTED as u32 + error.0,
            stop => {
                self.access.core().stopped(&stop);
                GONE as u32
            }
        }
    }

    fn frame_call(&mut self, id: usize, packet: &mut Packet) {
        let Some(note) = self.notes.frame_calls.get(id) else { return };
        let exchange = self.exchange();
        let args = note.widths.iter().enumerate().map(|(at, width)| Bits::new(*width, exchange.pair(at)));
        let call = FrameCall {
            instance: note.instance,
            method: note.method.clone(),
            args: args.collect(),
            budget: self.budget.clone(),
        };
        packet.leave();
        let packet = std::ptr::from_mut(packet).addr();
        self.left = Some(Box::new(Leaving { to: To::FrameExtern(call), packet }));
    }

    fn value_call(&mut self, id: usize) {
        let Some(call) = self.notes.value_calls.get(id) else { return };
        let now = self.now;
        let room = self.memory.bytes_mut(self.layout.homes.keys, call.bytes);
        let (inputs, outputs) = room.split_at_mut(call.input_bytes);
        if let Some((shared, method)) = self.access.shared_call(call.callee) {
            return shared.call_packed(*method, inputs, outputs, now);
        }
        let core = self.access.core();
        if !core.state.call_packed(&core.program, &call.callee, inputs, outputs, now) {
            call_unpacked(core, call, inputs, outputs, now);
        }
    }

    fn finish(&mut self, packet: &mut Packet, at: Left) {
        let block = if at == Left::Ingress { BlockName::Ingress } else { BlockName::Egress };
        packet.leave();
        let packet = std::ptr::from_mut(packet).addr();
        let to = To::Copies(self.parts(block), at);
        self.left = Some(Box::new(Leaving { to, packet }));
    }
}
