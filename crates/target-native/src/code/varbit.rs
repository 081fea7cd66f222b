//! Headers of variable length: those with one varbit.
//!
//! ```text
//! fields | varbit, as long as it is now | fields     the bytes as on the wire; fields after the varbit are the interpreter's
//! ```
//!
//! Beside its pointer and validity such a header has the length of its varbit in bytes. Only extractions and copies give it one.

use super::parser::Extracted;
use super::place::HeaderAt;
use super::{Code, Made};
use crate::layout::{Kind, Shape, kind_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::Expr;

impl<'a> Code<'a, '_> {
    /// Index in [`Layout::scalars`](crate::layout::Layout) of the length of a header's varbit in bytes; `None` if it
    /// has none.
    fn varbit(&self, header: &HeaderAt) -> Option<usize> {
        match header {
            HeaderAt::Own(index) => self.layout.headers[*index].varbit,
            HeaderAt::Element(..) => None,
        }
    }

    /// Bytes of a header now, if that is not always the same.
    pub(crate) fn variable_size(&mut self, header: &HeaderAt, shape: &Shape) -> Option<Value> {
        let length = self.varbit(header)?;
        let length = self.scalar(length);
        let length = self.resize(length, types::I64);
        Some(self.b.ins().iadd_imm_s(length, shape.bytes() as i64))
    }

    /// Bytes of a header now.
    pub(crate) fn size(&mut self, header: &HeaderAt, shape: &Shape) -> Value {
        match self.variable_size(header, shape) {
            Some(size) => size,
            None => self.number(types::I64, shape.bytes() as u64),
        }
    }

    /// A header's varbit has no bits.
    pub(crate) fn empty_varbit(&mut self, header: &HeaderAt) {
        if let Some(length) = self.varbit(header) {
            let zero = self.number(types::I32, 0);
            self.set_scalar(length, zero);
        }
    }

    /// Copies a header's bytes, as many as it has.
    pub(crate) fn copy_header(&mut self, to: Value, from: Value, header: &HeaderAt, shape: &Shape) {
        match self.variable_size(header, shape) {
            None => self.copy(to, from, shape.bytes()),
            Some(_) if self.ahead => {}
            Some(size) => {
                self.b.ins().call(self.calls.copy, &[to, from, size]);
            }
        }
    }

    /// The varbit of one header becomes as long as that of another, which is of the same type.
    pub(crate) fn copy_varbit(&mut self, to: &HeaderAt, from: &HeaderAt) {
        if let Some((to, from)) = self.varbit(to).zip(self.varbit(from)) {
            let length = self.scalar(from);
            self.set_scalar(to, length);
        }
    }

    /// `packet.extract(header, bits)`
    pub(crate) fn extract_varbit(&mut self, expr: &'a Expr, bits: &'a Expr) -> Made<Extracted> {
        let Some((header, shape)) = self.places().header(expr) else { return Ok(Extracted::Not) };
        let fits = |kind: Kind| kind.width() <= 64;
        let (Some(length), Some(most)) = (self.varbit(&header), shape.varbit) else {
            return Ok(Extracted::Not);
        };
        if !shape.is_even() || !kind_of(self.program, &bits.ty).is_some_and(fits) {
            return Ok(Extracted::Not);
        }
        let Some(bits) = self.word(bits)? else { return Ok(Extracted::Not) };
        let odd = self.b.ins().band_imm_s(bits, 7);
        self.fail_if(odd, super::parser::INVALID_ARGUMENT)?;
        let bytes = self.shift_down(bits, 3);
        let size = self.b.ins().iadd_imm_s(bytes, shape.bytes() as i64);
        let registers = self.layout.registers;
        let (cursor, end) = (self.scalar(registers.cursor), self.scalar(registers.end));
        let left = self.b.ins().isub(end, cursor);
        let short = self.b.ins().icmp(IntCC::UnsignedGreaterThan, size, left);
        self.fail_if(short, super::parser::PACKET_TOO_SHORT)?;
        let long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, bytes, i64::from(most.bits / 8));
        self.fail_if(long, super::parser::HEADER_TOO_SHORT)?;
        let behind = self.b.ins().iadd(cursor, size);
        self.set_scalar(registers.cursor, behind);
        let bytes = self.resize(bytes, types::I32);
        self.set_scalar(length, bytes);
        self.take_header(expr, &header, shape, cursor)?;
        Ok(Extracted::Done)
    }
}
