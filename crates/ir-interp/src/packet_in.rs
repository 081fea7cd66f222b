//! `packet_in`: extract, lookahead, advance, and `verify` (P4-16 §12.8, §12.9).

use crate::machine::{Arch, Machine};
use base_bits::BitReader;
use device::stage::Stop;
use device::trace::EventKind;
use ir::{ErrorId, Expr, ExprKind, Type};
use ir_value::Value;
use ir_value::wire::{decode, layout_bits};

/// `error.PacketTooShort`, which core.p4 declares in this position.
pub(crate) const PACKET_TOO_SHORT: ErrorId = ErrorId(1);
/// `error.NoMatch`
pub(crate) const NO_MATCH: ErrorId = ErrorId(2);
/// `error.HeaderTooShort`
const HEADER_TOO_SHORT: ErrorId = ErrorId(4);
/// `error.ParserInvalidArgument`
const PARSER_INVALID_ARGUMENT: ErrorId = ErrorId(6);

/// A packet's bytes and how many bits the parser has taken.
#[derive(Clone, Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    position: u64,
}

impl Input {
    /// After `position` bits.
    pub(crate) fn at(bytes: Vec<u8>, position: u64) -> Input {
        Input { bytes, position }
    }

    /// All bytes, and the number of bits taken.
    pub(crate) fn into_parts(self) -> (Vec<u8>, u64) {
        (self.bytes, self.position)
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bits taken.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Takes bits.
    pub(crate) fn skip(&mut self, bits: u64) {
        self.position = self.position.saturating_add(bits).min(8 * self.bytes.len() as u64);
    }

    /// At the cursor.
    fn reader(&self) -> BitReader<'_> {
        let mut reader = BitReader::new(&self.bytes);
        reader.skip(self.position);
        reader
    }

    /// The bytes not taken; a byte begun counts as taken.
    pub(crate) fn rest(&self) -> &[u8] {
        self.reader().rest()
    }
}

impl<A: Arch> Machine<'_, A> {
    /// A failing extract takes nothing and leaves the header as it was.
    pub(crate) fn extract(&mut self, header: &Expr, varbit_bits: Option<&Expr>) -> Result<(), Stop> {
        let place = self.place(header)?;
        let varbit = match varbit_bits {
            Some(bits) => Some(self.eval_bits(bits)?.to_u64().unwrap_or(u64::MAX)),
            None => None,
        };
        let (fixed, most) = layout_bits(self.program, &header.ty);
        let fixed = if A::WHOLE_BYTES { fixed.next_multiple_of(8) } else { fixed };
        let taken = self.check_extract(fixed, most, varbit)?;
        let mut reader = self.input.reader();
        let value = decode(self.program, &header.ty, &mut reader, varbit.unwrap_or(0) as u32);
        let value = value.ok_or(Stop::Reject(PACKET_TOO_SHORT))?;
        if self.state.trace.on() {
            self.trace_extract(&place, &value, taken);
        }
        self.store(&place, value)?;
        self.input.position += taken;
        self.count_next(header)
    }

    /// The number of bits to take, or why they cannot be taken.
    fn check_extract(&self, fixed: u64, most: u64, varbit: Option<u64>) -> Result<u64, Stop> {
        let varbit = varbit.unwrap_or(0);
        if !varbit.is_multiple_of(8) {
            return Err(Stop::Reject(PARSER_INVALID_ARGUMENT));
        }
        let bits = fixed.saturating_add(varbit);
        if bits > self.input.reader().remaining_bits() {
            return Err(Stop::Reject(PACKET_TOO_SHORT));
        }
        if varbit > most {
            return Err(Stop::Reject(HEADER_TOO_SHORT));
        }
        Ok(bits)
    }

    /// After an extract to `stack.next`, or to a member of it.
    fn count_next(&mut self, header: &Expr) -> Result<(), Stop> {
        match &header.kind {
            ExprKind::Field(base, _) | ExprKind::Index(base, _) => self.count_next(base),
            ExprKind::Next(stack) => {
                let place = self.place(stack)?;
                if let Some(Value::Stack(stack)) = self.at_mut(&place)? {
                    stack.next = stack.next.saturating_add(1).min(stack.elems.len() as u32);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The next bits as a value of type `ty`; nothing is taken.
    pub(crate) fn lookahead(&mut self, ty: &Type) -> Result<Value, Stop> {
        let mut reader = self.input.reader();
        decode(self.program, ty, &mut reader, 0).ok_or(Stop::Reject(PACKET_TOO_SHORT))
    }

    /// `packet.advance(bits)`: as BMv2, by whole bytes only.
    pub(crate) fn advance(&mut self, bits: &Expr) -> Result<(), Stop> {
        let bits = self.eval_bits(bits)?.to_u64().unwrap_or(u64::MAX);
        if bits % 8 != 0 {
            return Err(Stop::Reject(PARSER_INVALID_ARGUMENT));
        }
        if bits > self.input.reader().remaining_bits() {
            return Err(Stop::Reject(PACKET_TOO_SHORT));
        }
        self.state.trace.add(|| EventKind::Advance { bits });
        self.input.position += bits;
        Ok(())
    }

    /// `verify(condition, error)`
    pub(crate) fn verify(&mut self, condition: &Expr, error: &Expr) -> Result<(), Stop> {
        let holds = self.eval_bool(condition)?;
        match self.eval(error)? {
            _ if holds => Ok(()),
            Value::Error(error) => Err(Stop::Reject(error)),
            _ => Err(Stop::Broken("verify without an error")),
        }
    }
}
