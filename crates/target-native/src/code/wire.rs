//! Header fields: loads and stores of bytes in the order of the wire.
//!
//! ```text
//! bit<13> frag at bit 51      bytes 6, 7:  | flags 3 | frag 13 |      load 16, swap, and 0x1fff
//! bit<48> src at bit 48       bytes 6..12                             load 64, swap, shift right by 16
//! ```

use super::{Code, PLAIN, type_of};
use crate::layout::Kind;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};

/// The integer type of `bytes` bytes: 1, 2, 4, 8 or 16.
pub(crate) fn int(bytes: u32) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        8 => types::I64,
        _ => types::I128,
    }
}

impl Code<'_, '_> {
    /// The field of `width` bits that begins `at` bits after `pointer`.
    pub(crate) fn load_field(&mut self, pointer: Value, at: u32, width: u32, kind: Kind) -> Value {
        let to = type_of(kind);
        if width == 0 {
            return self.number(to, 0);
        }
        let first = at / 8;
        let bytes = ((at + width).div_ceil(8) - first).next_power_of_two();
        let value = self.load_bytes(pointer, first, bytes);
        let above = at - first * 8;
        let below = bytes * 8 - above - width;
        let held = self.b.func.dfg.value_type(value);
        let value = self.shift_down(value, below);
        // A register is wide enough for the bits above, which go, or narrow enough to cut them off.
        if held.bits() > to.bits() || above == 0 {
            let value = self.resize(value, to);
            return if above > 0 && width < to.bits() { self.keep_low(value, width) } else { value };
        }
        let value = self.resize(value, to);
        self.keep_low(value, width)
    }

    /// `bytes` of them as a number, the first the most significant.
    fn load_bytes(&mut self, pointer: Value, first: u32, bytes: u32) -> Value {
        let at = first as i32;
        match bytes {
            1 => self.b.ins().uload8(types::I32, PLAIN, pointer, at),
            2 => {
                let value = self.b.ins().load(types::I16, PLAIN, pointer, at);
                let value = self.b.ins().bswap(value);
                self.b.ins().uextend(types::I32, value)
            }
            4 | 8 => {
                let value = self.b.ins().load(int(bytes), PLAIN, pointer, at);
                self.b.ins().bswap(value)
            }
            _ => {
                let high = self.b.ins().load(types::I64, PLAIN, pointer, at);
                let low = self.b.ins().load(types::I64, PLAIN, pointer, at + 8);
                let (high, low) = (self.b.ins().bswap(high), self.b.ins().bswap(low));
                self.b.ins().iconcat(low, high)
            }
        }
    }

    /// Writes the field of `width` bits that begins `at` bits after `pointer`; `value` has no more bits. `pointer` is that of a header
    /// of at least `known` bytes.
    ///
    /// A single byte is written with its neighbour where it has one: a checksum reads both in one piece soon, and would wait until
    /// a byte of it has come to the cache.
    pub(crate) fn store_field(&mut self, pointer: Value, at: u32, width: u32, value: Value, known: usize) {
        if width == 0 || self.ahead {
            return;
        }
        let (mut first, mut end) = (at / 8, (at + width).div_ceil(8));
        if end - first == 1 && (first | 1) < known as u32 {
            (first, end) = (first & !1, (first | 1) + 1);
        }
        let bytes = end - first;
        let (above, below) = (at - first * 8, end * 8 - at - width);
        if above == 0 && below == 0 {
            return self.store_bytes(pointer, first, bytes, value);
        }
        if width == 8 && bytes == 2 && above.is_multiple_of(8) {
            return self.store_byte_of_two(pointer, first, above == 0, value);
        }
        let kind = Kind::Bits(bytes * 8);
        let ty = type_of(kind);
        let old = self.load_field(pointer, first * 8, bytes * 8, kind);
        let hole = !(ones(width) << below) & ones(bytes * 8);
        let hole = self.constant(ty, hole);
        let kept = self.b.ins().band(old, hole);
        let value = self.resize(value, ty);
        let value = self.shift_up(value, below);
        let value = self.b.ins().bor(kept, value);
        self.store_bytes(pointer, first, bytes, value);
    }

    /// Writes the first or the second of two bytes; the other stays.
    fn store_byte_of_two(&mut self, pointer: Value, at: u32, is_first: bool, value: Value) {
        let at = at as i32;
        let old = self.b.ins().load(types::I16, PLAIN, pointer, at);
        let old = self.b.ins().uextend(types::I32, old);
        // The first byte is the lower one here: the machine's numbers are little-endian.
        let (hole, shift) = if is_first { (0xff00, 0) } else { (0x00ff, 8) };
        let kept = self.b.ins().band_imm_u(old, hole);
        let value = self.resize(value, types::I32);
        let value = self.shift_up(value, shift);
        let both = self.b.ins().bor(kept, value);
        self.b.ins().istore16(PLAIN, both, pointer, at);
    }

    /// Writes the lowest `bytes` bytes of `value`, the most significant first.
    pub(crate) fn store_bytes(&mut self, pointer: Value, first: u32, bytes: u32, value: Value) {
        let mut left = bytes;
        while left > 0 {
            let now = (1 << left.ilog2()).min(8);
            left -= now;
            let part = self.shift_down(value, left * 8);
            let part = self.resize(part, int(now));
            let part = if now > 1 { self.b.ins().bswap(part) } else { part };
            self.b.ins().store(PLAIN, part, pointer, (first + bytes - left - now) as i32);
        }
    }

    /// `value >> bits`, filled with zeros.
    pub(crate) fn shift_down(&mut self, value: Value, bits: u32) -> Value {
        if bits == 0 {
            return value;
        }
        let amount = self.b.ins().iconst(types::I32, i64::from(bits));
        self.b.ins().ushr(value, amount)
    }

    /// `value << bits`.
    pub(crate) fn shift_up(&mut self, value: Value, bits: u32) -> Value {
        if bits == 0 {
            return value;
        }
        let amount = self.b.ins().iconst(types::I32, i64::from(bits));
        self.b.ins().ishl(value, amount)
    }

    /// The lowest `width` bits of `value`.
    pub(crate) fn keep_low(&mut self, value: Value, width: u32) -> Value {
        let ty = self.b.func.dfg.value_type(value);
        if width >= ty.bits()
            || self.known_number(value).is_some_and(|number| u128::from(number) <= ones(width))
        {
            return value;
        }
        let mask = self.constant(ty, ones(width));
        self.b.ins().band(value, mask)
    }

    /// Copies bytes that do not overlap.
    pub(crate) fn copy(&mut self, to: Value, from: Value, bytes: usize) {
        if self.ahead {
            return;
        }
        if bytes > 256 {
            let bytes = self.number(types::I64, bytes as u64);
            self.b.ins().call(self.calls.copy, &[to, from, bytes]);
            return;
        }
        for (at, size) in chunks(bytes) {
            let ty = if size == 16 { types::I8X16 } else { int(size) };
            let value = self.b.ins().load(ty, PLAIN, from, at);
            self.b.ins().store(PLAIN, value, to, at);
        }
    }

    /// Sets bytes to zero.
    pub(crate) fn clear(&mut self, to: Value, bytes: usize) {
        if self.ahead {
            return;
        }
        if bytes > 512 {
            let bytes = self.number(types::I64, bytes as u64);
            self.b.ins().call(self.calls.clear, &[to, bytes]);
            return;
        }
        for (at, size) in chunks(bytes) {
            let value = if size == 16 {
                let zero = self.number(types::I8, 0);
                self.b.ins().splat(types::I8X16, zero)
            } else {
                self.number(int(size), 0)
            };
            self.b.ins().store(PLAIN, value, to, at);
        }
    }
}

/// `bytes` in pieces of 16, 8, 4, 2 and 1: their offsets and sizes.
fn chunks(bytes: usize) -> Vec<(i32, u32)> {
    let (mut at, mut chunks) = (0, vec![]);
    for size in [16, 8, 4, 2, 1] {
        while bytes - at >= size {
            chunks.push((at as i32, size as u32));
            at += size;
        }
    }
    chunks
}

/// A number of `width` ones.
pub(crate) fn ones(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}
