//! Lookups in tables of exact keys.
//!
//! ```text
//! hash of the key ──> bucket, tag ──> the first slot with the tag ──> the record's key is equal: found
//!                        │ no slot of this bucket, none of the other: missed
//!                        └ another key, or an array that changes: the function in Rust
//! ```
//!
//! The same steps as in [`dataplane_tables`], without a call: registers stay as they are, and the address of the record is there when its number is.

use super::{Code, PLAIN};
use crate::context::TableRef;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use dataplane_tables::{Buckets, Words, hash};
use std::mem::offset_of;

/// Words of the longest key that is looked up without a call.
pub(crate) const MOST_WORDS: usize = 3;

/// Blocks in which a lookup ends.
#[derive(Clone, Copy)]
struct Ends {
    /// The number of the entry is its parameter.
    found: Block,
    slow: Block,
}

impl Code<'_, '_> {
    /// Number of the entry for a key of up to [`MOST_WORDS`] words; the table's reference is at `tables + at`.
    pub(crate) fn lookup_exact(&mut self, tables: Value, at: i32, stride: usize, key: &[Value]) -> Value {
        let buckets = at + offset_of!(TableRef, buckets) as i32;
        let field = |code: &mut Self, offset: usize| {
            code.b.ins().load(types::I64, PLAIN, tables, buckets + offset as i32)
        };
        let first = field(self, offset_of!(Buckets, first));
        let mask = field(self, offset_of!(Buckets, mask));
        let seed = [0, 1, 2, 3].map(|word| field(self, offset_of!(Buckets, seed) + 8 * word));
        let hash = hash(&mut Instructions(&mut self.b), seed, key);
        let bucket = self.b.ins().band(hash, mask);
        let tag = self.shift_down(hash, 32);
        let tag = self.b.ins().bor_imm_u(tag, 1);
        let [found, slow, other, none] = [(); 4].map(|()| self.b.create_block());
        self.b.append_block_param(found, types::I64);
        // Most entries are in their first bucket: that way has no jumps.
        [slow, other, none].into_iter().for_each(|block| self.b.set_cold_block(block));
        let records = self.b.ins().load(types::I64, PLAIN, tables, at + offset_of!(TableRef, actions) as i32);
        let ends = Ends { found, slow };
        let wanted = self.b.ins().ireduce(types::I32, tag);
        let wanted = self.b.ins().splat(types::I32X4, wanted);
        let some = self.b.create_block();
        self.find_in([first, bucket, wanted], (records, stride, key), ends, [some, other]);
        self.b.switch_to_block(other);
        let mix = self.number(types::I64, Buckets::MIX);
        let jump = self.b.ins().imul(tag, mix);
        let jump = self.shift_down(jump, 32);
        let second = self.b.ins().bxor(bucket, jump);
        let second = self.b.ins().band(second, mask);
        let some = self.b.create_block();
        self.b.set_cold_block(some);
        self.find_in([first, second, wanted], (records, stride, key), ends, [some, none]);
        self.b.switch_to_block(none);
        let is_partial = field(self, offset_of!(Buckets, is_partial));
        let miss = self.number(types::I64, 0);
        self.b.ins().brif(is_partial, slow, &[], found, &[miss.into()]);
        self.b.seal_block(slow);
        self.b.switch_to_block(slow);
        let table = self.b.ins().load(types::I64, PLAIN, tables, at + offset_of!(TableRef, table) as i32);
        let entry = self.lookup_rarely(table, key);
        self.b.ins().jump(found, &[entry.into()]);
        self.b.seal_block(found);
        self.b.switch_to_block(found);
        self.b.block_params(found)[0]
    }

    /// Looks into one bucket: in `some` if a slot has the tag. Goes on at `none` if none has. It seals both.
    fn find_in(
        &mut self,
        [first, bucket, wanted]: [Value; 3],
        (records, stride, key): (Value, usize, &[Value]),
        ends: Ends,
        [some, none]: [Block; 2],
    ) {
        let bucket = self.shift_up(bucket, Buckets::BYTES.ilog2());
        let bucket = self.b.ins().iadd(first, bucket);
        const { assert!(Buckets::SLOTS == 8) };
        let [low, high] = [0, 4].map(|slot| {
            let tags = self.b.ins().load(types::I32X4, PLAIN, bucket, (Buckets::TAGS + 4 * slot) as i32);
            self.b.ins().icmp(IntCC::Equal, tags, wanted)
        });
        let pairs = self.b.ins().snarrow(low, high);
        let bytes = self.b.ins().snarrow(pairs, pairs);
        // Bit i for slot i, and again from bit 8 on.
        let equal = self.b.ins().vhigh_bits(types::I32, bytes);
        self.b.ins().brif(equal, some, &[], none, &[]);
        self.b.seal_block(some);
        self.b.seal_block(none);
        self.b.switch_to_block(some);
        let slot = self.b.ins().ctz(equal);
        let slot = self.b.ins().uextend(types::I64, slot);
        let slot = self.shift_up(slot, 2);
        let at = self.b.ins().iadd(bucket, slot);
        let entry = self.b.ins().uload32(PLAIN, at, Buckets::ENTRIES as i32);
        let record = self.record(records, entry, stride);
        let mut differs: Option<Value> = None;
        for (i, word) in key.iter().enumerate() {
            let at = 8 * (i as i32 - key.len() as i32);
            let stored = self.b.ins().load(types::I64, PLAIN, record, at);
            let bits = self.b.ins().bxor(*word, stored);
            differs = Some(match differs {
                Some(others) => self.b.ins().bor(others, bits),
                None => bits,
            });
        }
        if let Some(differs) = differs {
            self.b.ins().brif(differs, ends.slow, &[], ends.found, &[BlockArg::from(entry)]);
        }
    }

    /// Address of the action of an entry; that of entry 0 is at `records`.
    pub(crate) fn record(&mut self, records: Value, entry: Value, stride: usize) -> Value {
        let bytes = 8 * stride;
        let offset = if bytes.is_power_of_two() {
            self.shift_up(entry, bytes.ilog2())
        } else {
            self.b.ins().imul_imm_s(entry, bytes as i64)
        };
        self.b.ins().iadd(records, offset)
    }
}

/// Operations as instructions.
struct Instructions<'a, 'b>(&'a mut FunctionBuilder<'b>);

impl Words for Instructions<'_, '_> {
    type Word = Value;

    fn xor(&mut self, a: Value, b: Value) -> Value {
        self.0.ins().bxor(a, b)
    }

    fn fold(&mut self, a: Value, b: Value) -> Value {
        let [a, b] = [a, b].map(|word| self.0.ins().uextend(types::I128, word));
        let product = self.0.ins().imul(a, b);
        let (low, high) = self.0.ins().isplit(product);
        self.0.ins().bxor(low, high)
    }
}
