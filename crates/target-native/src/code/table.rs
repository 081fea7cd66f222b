//! Tables: the key in words, the lookup, the action.

use super::exact::MOST_WORDS;
use super::{Code, Made, PLAIN, Unable, type_of};
use crate::context::{COUNT_BYTES, Context, TableRef};
use crate::facts::TableCode;
use crate::layout::Kind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, JumpTableData, Value, types};
use dataplane_tables::{FirstBits, Order, Place};
use device::embed::IdleTimer;
use ir::{Expr, MatchKind, TableId};
use std::mem::offset_of;

/// Result of an application.
pub(crate) struct Applied {
    /// An entry fitted.
    pub(crate) hit: Value,
    /// The action that ran, by its position in the table's list.
    pub(crate) action: Value,
}

/// True if the table may have arrays for the first bits of its only key.
pub(crate) fn has_first_bits(facts: &TableCode) -> bool {
    let [(field, place)] = facts.layout.fields() else { return false };
    field.kind == dataplane_tables::MatchKind::Lpm
        && (FirstBits::TOP + FirstBits::CHUNK..=64).contains(&place.width)
}

/// Two fields of a header that one load gives.
struct Neighbours {
    header: usize,
    /// Position and width of both in bits.
    at: u32,
    width: u32,
    /// The first of the header's is the lower one in the key; they are equally wide.
    is_swapped: bool,
}

impl<'a> Code<'a, '_> {
    /// Applies a table of the running control; `None`, and nothing is made, if only the interpreter can.
    pub(crate) fn apply(&mut self, id: TableId) -> Made<Option<Applied>> {
        let Some(control) = self.facts.controls.get(&self.block) else { return Ok(None) };
        let Some(facts) = self.facts.tables.get(&(*control, id)) else { return Ok(None) };
        let control = self.program.control(*control);
        let table = &control.tables[id.index()];
        if !table.keys.iter().all(|key| self.places().can(&key.expr)) {
            return Ok(None);
        }
        let keys = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector).map(|key| &key.expr);
        if let Some(constant) = &facts.constant {
            let keys: Vec<_> = keys.collect();
            return self.apply_constant(table, facts, constant, &keys).map(Some);
        }
        let mut words: Vec<Option<Value>> = vec![None; facts.layout.words()];
        let keys: Vec<_> = keys.zip(facts.layout.fields().iter().map(|(_, place)| place)).collect();
        let mut at = 0;
        while let Some(&(key, place)) = keys.get(at) {
            let both = keys.get(at + 1).and_then(|next| self.neighbours((key, place), *next));
            at += 1 + both.iter().len();
            let value = match both {
                Some(neighbours) => self.load_neighbours(&neighbours),
                None => self.value(key)?,
            };
            if self.b.func.dfg.value_type(value) == types::I128 {
                let (low, high) = self.b.ins().isplit(value);
                for (word, value) in place.word_range().zip([low, high]) {
                    words[word] = Some(value);
                }
                continue;
            }
            if place.width == 0 {
                continue;
            }
            let value = self.resize(value, types::I64);
            let value = self.shift_up(value, place.shift);
            let word = &mut words[place.word];
            *word = Some(match *word {
                Some(old) => self.b.ins().bor(old, value),
                None => value,
            });
        }
        let words: Vec<Value> = words
            .into_iter()
            .map(|word| word.unwrap_or_else(|| self.b.ins().iconst(types::I64, 0)))
            .collect();
        // A run ahead may go wrong: tables whose memory cannot be requested for a key count as missed.
        let applied = match words.as_slice() {
            _ if self.ahead && (facts.has_profile || facts.layout.order() == Order::Priority) => {
                self.nothing_applied()
            }
            words if self.ahead && !facts.is_direct && !words.is_empty() => {
                self.apply_ahead(facts.index, words, |code| code.apply_key(table, facts, words))?
            }
            words => self.apply_key(table, facts, words)?,
        };
        Ok(Some(applied))
    }

    /// Two fields side by side in a header and in a word of the key, if one load gives both: nothing was written to the header, as such a load would wait for
    /// stores of either.
    fn neighbours(
        &self,
        (low, low_at): (&'a Expr, &Place),
        (high, high_at): (&'a Expr, &Place),
    ) -> Option<Neighbours> {
        let (header, (low, low_width)) = self.places().own_field(low)?;
        let (other, (high, high_width)) = self.places().own_field(high)?;
        let is_one = header == other && !self.stored.contains(&header);
        let are_joined = low_at.word == high_at.word && low_at.shift + low_at.width == high_at.shift;
        let is_swapped = low + low_width == high && low_width == high_width;
        let (at, width) = (low.min(high), low_width + high_width);
        let is_word = at % 8 == 0 && low_width % 8 == 0 && (width == 32 || width == 64);
        let are_neighbours = is_swapped || high + high_width == low;
        (is_one && are_joined && is_word && are_neighbours).then_some(Neighbours {
            header,
            at,
            width,
            is_swapped,
        })
    }

    fn load_neighbours(&mut self, of: &Neighbours) -> Value {
        if self.is_clear(of.header) {
            return self.number(type_of(Kind::Bits(of.width)), 0);
        }
        let pointer = self.header_pointer(of.header);
        let value = self.load_field(pointer, of.at, of.width, Kind::Bits(of.width));
        if !of.is_swapped {
            return value;
        }
        let half = self.number(types::I32, u64::from(of.width / 2));
        self.b.ins().rotl(value, half)
    }

    /// Looks a key up, and runs the action found.
    fn apply_key(&mut self, table: &'a ir::Table, facts: &'a TableCode, key: &[Value]) -> Made<Applied> {
        let tables = self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, tables) as i32);
        let at = (facts.index * size_of::<TableRef>()) as i32;
        let field =
            |code: &mut Self, offset: usize| code.b.ins().load(types::I64, PLAIN, tables, at + offset as i32);
        // Record 0 is that of the default action, so a miss (entry 0) needs no branch.
        let mut record = field(self, offset_of!(TableRef, actions));
        let mut entered = None;
        let hit = if key.is_empty() {
            self.number(types::I8, 0)
        } else {
            let entry = match self.early_lookup(table, facts) {
                None => self.find_entry(facts, tables, key),
                Some(early) => {
                    let found = self.b.create_block();
                    self.b.append_block_param(found, types::I64);
                    self.take_early(early, key, found);
                    let entry = self.find_entry(facts, tables, key);
                    self.b.ins().jump(found, &[entry.into()]);
                    self.b.seal_block(found);
                    self.b.switch_to_block(found);
                    self.b.block_params(found)[0]
                }
            };
            record = self.record(record, entry, facts.stride);
            let records = facts.notes_hits && !self.ahead && self.layout.half.is_none();
            match facts.timer.filter(|_| records) {
                Some(word) => self.restart_timer(facts.index, entry, record, word)?,
                None if records => {
                    let flag = field(self, offset_of!(TableRef, notes_hits));
                    self.note_hit(facts.index, entry, flag)?;
                }
                None => {}
            }
            entered = Some(entry);
            self.b.ins().icmp_imm_u(IntCC::NotEqual, entry, 0)
        };
        if facts.notes_hits && self.is_tna() {
            let entry = entered.unwrap_or_else(|| self.number(types::I64, 0));
            let table = self.number(types::I32, facts.index as u64);
            self.b.ins().call(self.calls.applied, &[self.context, table, entry]);
        }
        let counter = facts.count.map(|word| {
            let slot = self.b.ins().load(types::I64, PLAIN, record, 8 * word as i32);
            let counts = field(self, offset_of!(TableRef, counts));
            let offset = self.shift_up(slot, COUNT_BYTES.ilog2());
            self.b.ins().iadd(counts, offset)
        });
        match counter {
            Some(counter) if self.layout.half.is_none() => {
                let bytes = self.counted();
                self.count_packet(counter, bytes);
            }
            counter => self.set_counter(counter),
        }
        if let Some(entry) = entered.filter(|_| facts.has_profile) {
            record = self.choose(table, facts, entry, record)?;
        }
        let action = self.b.ins().load(types::I32, PLAIN, record, 0);
        self.run_action(table, facts, action, record)?;
        Ok(Applied { hit, action })
    }

    /// The number of the entry for a key that is not empty; the tables' references are at `tables`.
    pub(crate) fn find_entry(&mut self, facts: &TableCode, tables: Value, key: &[Value]) -> Value {
        let at = (facts.index * size_of::<TableRef>()) as i32;
        let field =
            |code: &mut Self, offset: usize| code.b.ins().load(types::I64, PLAIN, tables, at + offset as i32);
        match *key {
            [key] if facts.is_direct => {
                let array = field(self, offset_of!(TableRef, direct));
                self.slot(array, key)
            }
            [key] if has_first_bits(facts) => {
                let [table, top, chunks] =
                    [offset_of!(TableRef, table), offset_of!(TableRef, top), offset_of!(TableRef, chunks)]
                        .map(|offset| field(self, offset));
                let width = facts.layout.fields()[0].1.width;
                self.lookup_prefix(table, [top, chunks], key, width)
            }
            _ if facts.layout.order() == Order::Only && key.len() <= MOST_WORDS && !self.ahead => {
                self.lookup_exact(tables, at, facts.stride, key)
            }
            _ => {
                let table = field(self, offset_of!(TableRef, table));
                self.lookup(table, key)
            }
        }
    }

    /// Sets the counter for a later call: PSA's direct counters count where they are called, in the entry hit last.
    pub(crate) fn set_counter(&mut self, counter: Option<Value>) {
        if let Some(homes) = &self.layout.half {
            let counter = counter.unwrap_or_else(|| self.number(types::I64, 0));
            self.set_scalar(homes.counter, counter);
        }
    }

    /// Entry number for a key of one prefix of `width` bits. For most keys, the arrays for the first bits give the number.
    fn lookup_prefix(&mut self, table: Value, [top, chunks]: [Value; 2], key: Value, width: u32) -> Value {
        let [found, slow] = [(); 2].map(|()| self.b.create_block());
        self.b.set_cold_block(slow);
        self.b.append_block_param(found, types::I64);
        let is_missing = self.b.ins().icmp_imm_u(IntCC::Equal, top, 0);
        self.leave_if(is_missing, slow, &[]);
        let slot = self.first_slot(top, key, width);
        let slot = self.b.ins().uload32(PLAIN, slot, 0);
        let is_entry = self.is_entry(slot);
        self.leave_if(is_entry, found, &[slot]);
        let slot = self.next_slot(chunks, slot, key, width);
        let slot = self.b.ins().uload32(PLAIN, slot, 0);
        let is_entry = self.is_entry(slot);
        self.leave_if(is_entry, found, &[slot]);
        self.b.ins().jump(slow, &[]);
        self.b.seal_block(slow);
        self.b.switch_to_block(slow);
        let entry = self.lookup_rarely(table, &[key]);
        self.b.ins().jump(found, &[entry.into()]);
        self.b.seal_block(found);
        self.b.switch_to_block(found);
        self.b.block_params(found)[0]
    }

    /// Address of a key's slot in the array for the first bits.
    pub(crate) fn first_slot(&mut self, top: Value, key: Value, width: u32) -> Value {
        let index = self.shift_down(key, width - FirstBits::TOP);
        self.slot_at(top, index)
    }

    /// Address of its slot in the chunk that `slot` names.
    pub(crate) fn next_slot(&mut self, chunks: Value, slot: Value, key: Value, width: u32) -> Value {
        let chunk = self.b.ins().band_imm_u(slot, i64::from(!FirstBits::FURTHER));
        let chunk = self.shift_up(chunk, FirstBits::CHUNK);
        let index = self.shift_down(key, width - FirstBits::TOP - FirstBits::CHUNK);
        let index = self.b.ins().band_imm_u(index, (1 << FirstBits::CHUNK) - 1);
        let index = self.b.ins().bor(chunk, index);
        self.slot_at(chunks, index)
    }

    /// Whether a slot of the arrays for the first bits is the number of an entry: its highest bit is not set.
    pub(crate) fn is_entry(&mut self, slot: Value) -> Value {
        const { assert!(FirstBits::FURTHER == 1 << 31) };
        let slot = self.b.ins().ireduce(types::I32, slot);
        self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, slot, 0)
    }

    /// An element of an array of words of 32 bits.
    fn slot(&mut self, array: Value, index: Value) -> Value {
        let at = self.slot_at(array, index);
        self.b.ins().uload32(PLAIN, at, 0)
    }

    fn slot_at(&mut self, array: Value, index: Value) -> Value {
        let offset = self.shift_up(index, 2);
        self.b.ins().iadd(array, offset)
    }

    /// The number of the entry that fits.
    pub(crate) fn lookup(&mut self, table: Value, key: &[Value]) -> Value {
        let call = match *key {
            [key] => self.b.ins().call(self.calls.lookup_1, &[table, key]),
            [low, high] => self.b.ins().call(self.calls.lookup_2, &[table, low, high]),
            [low, middle, high] => self.b.ins().call(self.calls.lookup_3, &[table, low, middle, high]),
            _ => {
                let at = self.store_key(key);
                let count = self.number(types::I64, key.len() as u64);
                self.b.ins().call(self.calls.lookup, &[table, at, count])
            }
        };
        self.b.inst_results(call)[0]
    }

    /// As [`Code::lookup`], for a key of up to three words, in a place that few packets come to: all registers stay as they are.
    pub(crate) fn lookup_rarely(&mut self, table: Value, key: &[Value]) -> Value {
        let Some(function) = key.len().checked_sub(1).and_then(|at| self.rare_lookups.get(at)) else {
            return self.lookup(table, key);
        };
        let args: Vec<Value> = [self.context, table].into_iter().chain(key.iter().copied()).collect();
        self.b.ins().call(*function, &args);
        self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, found) as i32)
    }

    /// Puts the words of a key into memory, and gives their address.
    pub(crate) fn store_key(&mut self, key: &[Value]) -> Value {
        for (i, word) in key.iter().enumerate() {
            self.b.ins().store(PLAIN, *word, self.frame, self.layout.homes.keys + 8 * i as i32);
        }
        self.at(self.layout.homes.keys)
    }

    /// Reports a hit to the device for meters and timeouts, if the number at `flag` is not 0.
    fn note_hit(&mut self, table: usize, entry: Value, flag: Value) -> Made<()> {
        let noted = self.b.ins().load(types::I64, PLAIN, flag, 0);
        let zero = self.number(types::I64, 0);
        let reported = self.b.ins().select(noted, entry, zero);
        let hit = self.b.ins().icmp_imm_u(IntCC::NotEqual, reported, 0);
        self.branch(
            hit,
            |code| {
                code.report_hit(table, entry);
                Ok(())
            },
            |_| Ok(()),
        )
    }

    /// Restarts the idle timer of an entry, if it has one. The device does it where the entry's timeout has expired.
    fn restart_timer(&mut self, table: usize, entry: Value, record: Value, word: usize) -> Made<()> {
        let timer = self.b.ins().load(types::I64, PLAIN, record, 8 * word as i32);
        self.branch(
            timer,
            |code| {
                let now = offset_of!(Context, instant) as i32;
                let now = code.b.ins().load(types::I64, PLAIN, code.context, now);
                let since = code.b.ins().load(types::I64, PLAIN, timer, IdleTimer::SINCE as i32);
                let limit = code.b.ins().load(types::I64, PLAIN, timer, IdleTimer::LIMIT as i32);
                // Another worker may have a later time already.
                let now = code.b.ins().umax(now, since);
                let idle = code.b.ins().isub(now, since);
                let lasts = code.b.ins().icmp(IntCC::UnsignedLessThan, idle, limit);
                code.branch(
                    lasts,
                    |code| {
                        code.b.ins().store(PLAIN, now, timer, IdleTimer::SINCE as i32);
                        Ok(())
                    },
                    |code| {
                        code.report_hit(table, entry);
                        Ok(())
                    },
                )
            },
            |_| Ok(()),
        )
    }

    fn report_hit(&mut self, table: usize, entry: Value) {
        if let Some(block) = self.b.current_block() {
            self.b.set_cold_block(block);
        }
        let bytes = self.counted();
        let table = self.number(types::I32, table as u64);
        let block = self.number(types::I32, self.block as u64);
        self.b.ins().call(self.calls.looked_up, &[self.context, block, table, entry, bytes]);
    }

    /// The record that an entry's profile chooses.
    fn choose(
        &mut self,
        table: &'a ir::Table,
        facts: &TableCode,
        entry: Value,
        default: Value,
    ) -> Made<Value> {
        let chosen = self.b.declare_var(types::I64);
        self.b.def_var(chosen, default);
        let hit = self.b.ins().icmp_imm_u(IntCC::NotEqual, entry, 0);
        self.branch(
            hit,
            |code| {
                let by = table.keys.iter().filter(|key| key.match_kind == MatchKind::Selector);
                for (at, key) in by.enumerate() {
                    let value = code.value(&key.expr)?;
                    code.store_key_pair(at, value);
                }
                let table = code.number(types::I32, facts.index as u64);
                let call = code.b.ins().call(code.calls.choose, &[code.context, table, entry]);
                let record = code.b.inst_results(call)[0];
                code.b.def_var(chosen, record);
                Ok(())
            },
            |_| Ok(()),
        )?;
        Ok(self.b.use_var(chosen))
    }

    fn run_action(
        &mut self,
        table: &'a ir::Table,
        facts: &'a TableCode,
        action: Value,
        record: Value,
    ) -> Made<()> {
        let join = self.b.create_block();
        let blocks: Vec<_> = table.actions.iter().map(|_| self.b.create_block()).collect();
        match blocks.as_slice() {
            [] => return Err(Unable("a table without actions")),
            [only] => {
                self.b.ins().jump(*only, &[]);
            }
            // The action's number is 0 or 1: a branch without a comparison.
            [first, second] => {
                self.b.ins().brif(action, *second, &[], *first, &[]);
            }
            all => {
                let mut calls: Vec<_> =
                    all.iter().map(|block| self.b.func.dfg.block_call(*block, &[])).collect();
                let last = calls.pop().ok_or(Unable("a table without actions"))?;
                let jump_table = self.b.create_jump_table(JumpTableData::new(last, &calls));
                self.b.ins().br_table(action, jump_table);
            }
        }
        // Direct externs in the actions belong to the entry of this table.
        let outside = std::mem::replace(&mut self.current, facts.notes_hits.then_some(facts.index));
        let control = self.program.control(self.facts.controls[&self.block]);
        for ((listed, data), block) in table.actions.iter().zip(&facts.data).zip(blocks) {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            let action = &control.actions[listed.action.index()];
            for (param, (word, kind)) in action.params.iter().zip(data) {
                let Some(crate::layout::Node::Scalar(index)) = self.nodes.get(param.index()) else {
                    return Err(Unable("action data that is no scalar"));
                };
                let value = self.b.ins().load(type_of(*kind), PLAIN, record, 8 * *word as i32);
                self.set_scalar(*index, value);
            }
            self.stmts(&action.body.stmts)?;
            self.b.ins().jump(join, &[]);
        }
        self.current = outside;
        self.b.seal_block(join);
        self.b.switch_to_block(join);
        Ok(())
    }

    /// Puts a number of up to 128 bits into two words of the key's place.
    pub(crate) fn store_key_pair(&mut self, index: usize, value: Value) {
        let (low, high) = match self.b.func.dfg.value_type(value) {
            types::I128 => self.b.ins().isplit(value),
            _ => (self.resize(value, types::I64), self.b.ins().iconst(types::I64, 0)),
        };
        let at = self.layout.homes.keys + 16 * index as i32;
        self.b.ins().store(PLAIN, low, self.frame, at);
        self.b.ins().store(PLAIN, high, self.frame, at + 8);
    }
}
