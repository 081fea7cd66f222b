//! Parts shared by the externs of several architectures.

use crate::machine::{Arch, Machine};
use crate::place::is_place;
use base_bits::{BitReader, BitWriter, Bits};
use device::Digest;
use device::stage::Stop;
use device::trace::{EventKind, shown};
use ir::{Expr, ExprKind, InstanceId, Type};
use ir_value::Value;
use ir_value::wire::encode;

/// The argument in that position.
pub(crate) fn arg(args: &[Option<Expr>], position: usize) -> Result<&Expr, Stop> {
    args.get(position).and_then(Option::as_ref).ok_or(Stop::Broken("a missing argument"))
}

/// `number` as a value of type `ty`, cut to its width.
pub(crate) fn number_of(ty: &Type, number: u128) -> Result<Value, Stop> {
    match ty {
        Type::Bit(n) | Type::Int(n) => Ok(Value::Bits(Bits::new(*n, number))),
        Type::Bool => Ok(Value::Bool(number != 0)),
        _ => Err(Stop::Broken("a number for a value that is no number")),
    }
}

impl<A: Arch> Machine<'_, A> {
    /// The lowest 64 bits of a number.
    pub(crate) fn eval_number(&mut self, expr: &Expr) -> Result<u64, Stop> {
        let value = self.eval(expr)?;
        match value {
            Value::Int(n) => Ok(Bits::from_bigint(64, &n).low_u64()),
            value => Ok(value.to_key().ok_or(Stop::Broken("a number is wanted"))?.low_u64()),
        }
    }

    /// Writes a number into an `out` argument, cut to its width.
    pub(crate) fn give(&mut self, to: &Expr, number: u128) -> Result<(), Stop> {
        let place = self.place(to)?;
        let value = number_of(self.program.representation(&to.ty), number)?;
        self.write(&place, value)
    }

    /// The bytes that hashes and checksums see of `data`: the bits of all fields in order, without those of
    /// invalid headers, filled up with zero bits to a whole byte.
    pub(crate) fn packed(&mut self, data: &Expr) -> Result<Vec<u8>, Stop> {
        let mut out = BitWriter::new();
        self.pack(data, &mut out)?;
        let bytes = out.finish();
        self.spend(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Appends the bits that [`packed`](Machine::packed) gives.
    pub(crate) fn pack(&mut self, data: &Expr, out: &mut BitWriter) -> Result<(), Stop> {
        match &data.kind {
            ExprKind::Aggregate(parts) => parts.iter().try_for_each(|part| self.pack(part, out)),
            ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Aggregate(_)) => self.pack(inner, out),
            _ if self.in_invalid_header(data)? => Ok(()),
            _ => {
                let value = self.eval(data)?;
                encode(&value, out);
                Ok(())
            }
        }
    }

    /// True if `expr` is a part of a header that is invalid.
    pub(crate) fn in_invalid_header(&mut self, expr: &Expr) -> Result<bool, Stop> {
        let base = match &expr.kind {
            ExprKind::Slice { base, .. } => return self.in_invalid_header(base),
            ExprKind::Field(base, _) => base,
            _ => return Ok(false),
        };
        if self.program.is_header(&base.ty) && is_place(base) {
            let place = self.place(base)?;
            return Ok(!self.at(&place)?.is_some_and(Value::is_valid));
        }
        self.in_invalid_header(base)
    }

    /// A cell of a register; `None` out of range.
    pub(crate) fn register_cell(&mut self, id: InstanceId, index: u64) -> Result<Option<Value>, Stop> {
        self.state.register_cell(self.program, id, index)
    }

    /// Writes a cell of a register; out of range nothing happens.
    pub(crate) fn register_write(&mut self, id: InstanceId, index: &Expr, value: &Expr) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        let ty = &value.ty;
        let value = self.eval(value)?;
        self.state.register_write(self.program, id, index, ty, value)
    }

    /// Counts a packet of `bytes`; out of range nothing happens.
    pub(crate) fn count(&mut self, id: InstanceId, index: &Expr, bytes: u64) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        self.state.count(self.program, id, index, bytes)
    }

    /// The bytes of `data`, filled up with zero bits in front: the specification does not say where, BMv2 and
    /// p4c's tests do.
    pub(crate) fn filled(&mut self, data: &Expr) -> Result<Vec<u8>, Stop> {
        let mut bits = BitWriter::new();
        self.pack(data, &mut bits)?;
        let (length, odd) = (bits.len_bits(), (bits.len_bits() % 8) as u32);
        self.spend(length / 8 + 1)?;
        let bytes = bits.finish();
        if odd == 0 {
            return Ok(bytes);
        }
        let mut shifted = BitWriter::new();
        shifted.push_u128(8 - odd, 0);
        let mut reader = BitReader::new(&bytes);
        for _ in 0..length / 8 {
            shifted.push(&reader.read(8).unwrap_or(Bits::zero(8)));
        }
        shifted.push(&reader.read(odd).unwrap_or(Bits::zero(odd)));
        Ok(shifted.finish())
    }

    /// Out of range the value is zero.
    pub(crate) fn read_register(&mut self, id: InstanceId, index: &Expr) -> Result<Value, Stop> {
        let index = self.eval_number(index)?;
        let zero = Value::zero(self.program, self.type_arg(id, 0)?);
        Ok(self.register_cell(id, index)?.unwrap_or(zero))
    }

    /// Reports data to the control plane.
    pub(crate) fn pack_digest(&mut self, id: InstanceId, data: &Expr) -> Result<(), Stop> {
        let name = self.program.instance(id).control_plane_name.clone();
        let (program, ty) = (self.program, &data.ty);
        let data = self.eval(data)?;
        self.state.trace.add(|| EventKind::Digest { name: name.clone(), data: shown(program, ty, &data) });
        self.state.digest(Digest { name, data });
        Ok(())
    }
}

impl<'a, A: Arch> Machine<'a, A> {
    /// Type argument number `at` of an instance.
    pub(crate) fn type_arg(&self, id: InstanceId, at: usize) -> Result<&'a Type, Stop> {
        let args = self.program.instances.get(id.index()).map(|i| i.type_args.as_slice());
        let ty = args.and_then(|args| args.get(at)).ok_or(Stop::Broken("a missing type argument"))?;
        Ok(self.program.representation(ty))
    }
}
