//! Externs of the parser: checksums, counters, the metadata of a port.

use super::externs::{Tna, word};
use crate::externs::arg;
use crate::machine::Scope;
use crate::place::Place;
use base_bits::BitReader;
use device::stage::Stop;
use ir::{ErrorId, Expr, InstanceId, ParserId, Type};
use ir_value::Value;
use ir_value::wire::decode;
use std::collections::BTreeMap;

/// State of the externs of a stage that does not outlast it.
#[derive(Default)]
pub(super) struct Parsed {
    /// Ones' complement sums.
    sums: BTreeMap<InstanceId, u16>,
    counters: BTreeMap<InstanceId, u8>,
    deposits: Vec<Deposit>,
}

/// A residual checksum that is complete at the end of its parser.
struct Deposit {
    parser: ParserId,
    to: Place,
    sum: u16,
    /// Bits taken from the packet before.
    from: u64,
}

impl Parsed {
    pub(super) fn sum(&self, id: InstanceId) -> u16 {
        self.sums.get(&id).copied().unwrap_or(0)
    }
}

/// Adds the 16-bit words of `data` to a ones' complement sum, each turned over by `turn`.
fn add(sum: u16, data: &[u8], turn: u16) -> u16 {
    let words = data.chunks(2).map(|c| u16::from_be_bytes([c[0], c.get(1).copied().unwrap_or(0)]));
    words.fold(sum, |sum, word| {
        let (sum, carry) = sum.overflowing_add(word ^ turn);
        sum.wrapping_add(u16::from(carry))
    })
}

impl Tna<'_> {
    pub(super) fn sum_data(&mut self, id: InstanceId, data: &Expr, turn: u16) -> Result<(), Stop> {
        let data = self.packed(data)?;
        let sum = add(self.arch.parsed.sum(id), &data, turn);
        self.arch.parsed.sums.insert(id, sum);
        Ok(())
    }

    /// The checksum of a list of fields. With `zeros_as_ones`, a checksum of zero is written as ones (UDP).
    pub(super) fn update_checksum(&mut self, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let data = self.packed(arg(args, 0)?)?;
        let zeros_as_ones = match args.get(1) {
            Some(Some(flag)) => self.eval_bool(flag)?,
            _ => false,
        };
        let checksum = !add(0, &data, 0);
        Ok(word(16, if checksum == 0 && zeros_as_ones { 0xffff } else { checksum.into() }))
    }

    /// The sum now, and at the end of the parser less all that was extracted in between.
    pub(super) fn deposit(&mut self, id: InstanceId, to: &Expr) -> Result<(), Stop> {
        let sum = self.arch.parsed.sum(id);
        let place = self.place(to)?;
        self.write(&place, word(16, sum.into()))?;
        if let Scope::Parser(parser, _) = self.frame.scope {
            let from = self.input.position();
            self.arch.parsed.deposits.push(Deposit { parser, to: place, sum, from });
        }
        Ok(())
    }

    pub(super) fn end_of_parser(&mut self, parser: ParserId) -> Result<(), Stop> {
        let deposits = std::mem::take(&mut self.arch.parsed.deposits);
        let (mine, others) = deposits.into_iter().partition(|deposit| deposit.parser == parser);
        self.arch.parsed.deposits = others;
        for Deposit { to, sum, from, .. } in Vec::from_iter::<Vec<Deposit>>(mine) {
            let taken = (from / 8) as usize..(self.input.position() / 8) as usize;
            self.spend(taken.len() as u64)?;
            let sum = add(sum, self.input.bytes().get(taken).unwrap_or_default(), u16::MAX);
            self.write(&to, word(16, sum.into()))?;
        }
        Ok(())
    }

    pub(super) fn parser_counter(
        &mut self,
        id: InstanceId,
        method: &str,
        args: &[Option<Expr>],
    ) -> Result<Value, Stop> {
        let before = self.arch.parsed.counters.get(&id).copied().unwrap_or(0);
        let after = match method {
            "is_zero" => return Ok(Value::Bool(before == 0)),
            "is_negative" => return Ok(Value::Bool(before & 0x80 != 0)),
            "increment" => before.wrapping_add(self.eval_number(arg(args, 0)?)? as u8),
            "decrement" => before.wrapping_sub(self.eval_number(arg(args, 0)?)? as u8),
            _ if args.len() == 1 => self.eval_number(arg(args, 0)?)? as u8,
            _ => self.counter_from_field(args)?,
        };
        self.arch.parsed.counters.insert(id, after);
        Ok(Value::Void)
    }

    /// `set(field, max, rotate, mask, add)`. Tofino 1 gives the mask as the number of its bits, less one.
    fn counter_from_field(&mut self, args: &[Option<Expr>]) -> Result<u8, Stop> {
        let mut numbers = [0; 5];
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = self.eval_number(arg(args, at)?)?;
        }
        let [field, most, rotate, mask, more] = numbers;
        if field > most {
            let named = |error: &ir::Name| error == "CounterRange";
            let error = self.program.errors.iter().position(named);
            let error = error.ok_or(Stop::Broken("`error.CounterRange` is not declared"))?;
            return Err(Stop::Reject(ErrorId::from(error)));
        }
        let is_width = arg(args, 3).is_ok_and(|mask| mask.ty == Type::Bit(3));
        let mask = if is_width { (2u64 << mask) - 1 } else { mask };
        let rotated = (field as u8).rotate_right(rotate as u32 & 7);
        Ok((rotated & mask as u8).wrapping_add(more as u8))
    }

    /// The port's metadata as the control plane has set it, as a value of type `ty`, which may be shorter than the room for it.
    pub(super) fn port_metadata(&mut self, ty: &Type) -> Result<Value, Stop> {
        let bits = self.program.bits(ty).ok_or(Stop::Broken("port metadata without a layout"))?;
        let position = self.input.position();
        let mut reader = BitReader::new(self.input.bytes());
        reader.skip(position);
        let value = decode(self.program, ty, &mut reader, 0);
        let room = p4_arch::tna::port_metadata_bits(device::tna::generation(self.program));
        let bits = bits.max(room.into()).div_ceil(8) * 8;
        let value = value.ok_or(Stop::Reject(crate::packet_in::PACKET_TOO_SHORT))?;
        self.input.skip(bits);
        Ok(value)
    }
}
