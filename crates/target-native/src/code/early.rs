//! Lookups before the packets' turns: see [`early`](crate::early).

use super::{Code, Made, PLAIN};
use crate::context::{Context, TableRef};
use crate::early::{Answer, MOST, MOST_WORDS};
use crate::facts::TableCode;
use crate::layout::Kind;
use crate::packet::{BUFFER, Packet};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Value, types};
use dataplane_tables::{FirstBits, Order, Place};
use ir::{MatchKind, Table};
use std::mem::offset_of;

/// A lookup whose key lies at known places of the frame.
pub(crate) struct EarlyLookup<'a> {
    facts: &'a TableCode,
    /// The fields of the key: their first bits in the frame, and their places in the key.
    fields: Vec<(u32, Place)>,
}

/// In answers of prefixes: not 0 if the first bits do not decide. Their keys have one word.
const OPEN: i32 = (offset_of!(Answer, key) + 8) as i32;

/// Bytes that are read for a field at most, from its first byte on.
const MOST_READ: u32 = 16;

/// A read for whose result nobody waits. For all that Cranelift knows it may trap, so it stays.
const ASK: MemFlagsData = MemFlagsData::new();

impl<'a> Code<'a, '_> {
    /// The number of the early lookup for a table, if its key can be read before the packet runs.
    pub(crate) fn early_lookup(&mut self, table: &Table, facts: &'a TableCode) -> Option<usize> {
        let fields = self.is_whole.then(|| self.early_fields(table, facts)).flatten()?;
        let is_same = |of: &EarlyLookup| of.facts.index == facts.index && of.fields == fields;
        let known = self.early.iter().position(is_same);
        known.or_else(|| {
            (self.early.len() < MOST).then(|| {
                self.early.push(EarlyLookup { facts, fields });
                self.notes.early.push(facts.index);
                self.early.len() - 1
            })
        })
    }

    fn early_fields(&mut self, table: &Table, facts: &TableCode) -> Option<Vec<(u32, Place)>> {
        let [start, _] = self.received.filter(|_| !self.ahead)?;
        let words = facts.layout.words();
        let is_exact = facts.layout.order() == Order::Only && !facts.is_direct;
        if !(is_exact || super::table::has_first_bits(facts)) || !(1..=MOST_WORDS).contains(&words) {
            return None;
        }
        let keys = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
        let fields = keys.zip(facts.layout.fields()).filter(|(_, (_, place))| place.width > 0);
        fields
            .map(|(key, (_, place))| {
                let (header, (at, width)) = self.places().own_field(&key.expr)?;
                if self.stored.contains(&header) || width != place.width || width > 64 {
                    return None;
                }
                let pointer = self.header_pointer(header);
                let bytes = u32::try_from(self.distance(start, pointer)?).ok()?;
                let is_near = bytes + at / 8 + MOST_READ <= BUFFER as u32;
                is_near.then_some((8 * bytes + at, *place))
            })
            .collect()
    }

    /// Goes on to `found`, with the entry's number, if the early lookup was made for this key; else here.
    pub(crate) fn take_early(&mut self, lookup: usize, key: &[Value], found: Block) {
        let is_prefix = super::table::has_first_bits(self.early[lookup].facts);
        let distance = self.early_distance(lookup);
        let [asked, other] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(distance, asked, &[], other, &[]);
        self.b.seal_block(asked);
        self.b.switch_to_block(asked);
        let answer = self.b.ins().iadd(self.packet, distance);
        let mut differs = match is_prefix {
            true => self.b.ins().load(types::I64, PLAIN, answer, OPEN),
            false => self.number(types::I64, 0),
        };
        for (word, key) in key.iter().enumerate() {
            let at = (offset_of!(Answer, key) + 8 * word) as i32;
            let asked = self.b.ins().load(types::I64, PLAIN, answer, at);
            let bits = self.b.ins().bxor(asked, *key);
            differs = self.b.ins().bor(differs, bits);
        }
        let entry = self.b.ins().load(types::I64, PLAIN, answer, offset_of!(Answer, found) as i32);
        self.b.ins().brif(differs, other, &[], found, &[BlockArg::from(entry)]);
        self.b.seal_block(other);
        self.b.switch_to_block(other);
    }

    /// Bytes from a packet to its answer, or 0.
    fn early_distance(&mut self, lookup: usize) -> Value {
        let at = offset_of!(Context, early_distances) + 8 * lookup;
        self.b.ins().load(types::I64, PLAIN, self.context, at as i32)
    }

    /// Looks up the keys of so many packets, the first of which is at `packet`.
    pub(crate) fn look_up_early(&mut self, first: Value, count: Value) -> Made<()> {
        for (number, EarlyLookup { facts, fields }) in std::mem::take(&mut self.early).into_iter().enumerate()
        {
            let distance = self.early_distance(number);
            let many = self.number(types::I64, 0);
            let count = self.b.ins().select(distance, count, many);
            let [packet, left] = [(); 2].map(|()| self.b.declare_var(types::I64));
            self.b.def_var(packet, first);
            self.b.def_var(left, count);
            let [head, body, end] = [(); 3].map(|()| self.b.create_block());
            self.b.ins().jump(head, &[]);
            self.b.switch_to_block(head);
            let more = self.b.use_var(left);
            self.b.ins().brif(more, body, &[], end, &[]);
            self.b.seal_block(body);
            self.b.seal_block(end);
            self.b.switch_to_block(body);
            let at = self.b.use_var(packet);
            let answer = self.b.ins().iadd(at, distance);
            let key = self.early_key(facts, &fields, at);
            let tables =
                self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, tables) as i32);
            let entry = match *key.as_slice() {
                [key] if super::table::has_first_bits(facts) => {
                    let (entry, is_open) = self.find_by_first_bits(facts, tables, key);
                    self.b.ins().store(PLAIN, is_open, answer, OPEN);
                    entry
                }
                _ => self.find_entry(facts, tables, &key),
            };
            let records = (facts.index * size_of::<TableRef>() + offset_of!(TableRef, actions)) as i32;
            let records = self.b.ins().load(types::I64, PLAIN, tables, records);
            let record = self.record(records, entry, facts.stride);
            self.b.ins().load(types::I64, ASK, record, 0);
            for (word, key) in key.iter().enumerate() {
                self.b.ins().store(PLAIN, *key, answer, (offset_of!(Answer, key) + 8 * word) as i32);
            }
            self.b.ins().store(PLAIN, entry, answer, offset_of!(Answer, found) as i32);
            let at = self.b.ins().iadd_imm_s(at, size_of::<Packet>() as i64);
            self.b.def_var(packet, at);
            let more = self.b.ins().iadd_imm_s(more, -1);
            self.b.def_var(left, more);
            self.b.ins().jump(head, &[]);
            self.b.seal_block(head);
            self.b.switch_to_block(end);
        }
        Ok(())
    }

    /// The entry of a key by the arrays for the first bits; 0, and a second number that is not 0, if these do not decide. Without branches: which of the arrays decides differs from packet to packet,
    /// and a branch that is missed makes the reads of other packets wait.
    fn find_by_first_bits(&mut self, facts: &TableCode, tables: Value, key: Value) -> (Value, Value) {
        let at = (facts.index * size_of::<TableRef>()) as i32;
        let [top, chunks] = [offset_of!(TableRef, top), offset_of!(TableRef, chunks)]
            .map(|offset| self.b.ins().load(types::I64, PLAIN, tables, at + offset as i32));
        let width = facts.layout.fields()[0].1.width;
        let first = self.first_slot(top, key, width);
        let slot = self.b.ins().uload32(PLAIN, first, 0);
        let next = self.next_slot(chunks, slot, key, width);
        let is_entry = self.is_entry(slot);
        let next = self.b.ins().select(is_entry, first, next);
        let slot = self.b.ins().uload32(PLAIN, next, 0);
        let (is_entry, none) = (self.is_entry(slot), self.number(types::I64, 0));
        let entry = self.b.ins().select(is_entry, slot, none);
        let is_open = self.b.ins().band_imm_u(slot, i64::from(FirstBits::FURTHER));
        (entry, is_open)
    }

    /// The key as it would be if the packet had all headers of the longest way. If its frame begins so late that the key may be outside of the buffer, it is another key.
    fn early_key(&mut self, facts: &TableCode, fields: &[(u32, Place)], packet: Value) -> Vec<Value> {
        let buffer = self.b.ins().load(types::I64, PLAIN, packet, offset_of!(Packet, buffer) as i32);
        let start = self.b.ins().load(types::I32, PLAIN, packet, offset_of!(Packet, start) as i32);
        let behind = fields.iter().map(|(at, _)| at / 8 + MOST_READ).max().unwrap_or(0);
        let last = self.number(types::I32, (BUFFER as u32).saturating_sub(behind).into());
        let start = self.b.ins().umin(start, last);
        let start = self.b.ins().uextend(types::I64, start);
        let frame = self.b.ins().iadd(buffer, start);
        let zero = self.number(types::I64, 0);
        let mut key = vec![zero; facts.layout.words()];
        for (at, place) in fields {
            let value = self.load_field(frame, *at, place.width, Kind::Bits(place.width));
            let value = self.resize(value, types::I64);
            let value = self.shift_up(value, place.shift);
            let word = &mut key[place.word];
            *word = self.b.ins().bor(*word, value);
        }
        key
    }
}
