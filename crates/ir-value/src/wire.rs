//! Values and packets: extraction, lookahead, emission, and the bytes that hashes see.

use crate::{Header, Stack, Value};
use base_bits::{BitReader, BitWriter, Bits};
use ir::{Program, Type, TypeKind};

/// Takes a value of type `ty` off the packet; a varbit in it takes `varbit_bits`. Headers become valid. `None`
/// if the packet is too short or the type has no layout; then `reader` may have moved.
pub fn decode(program: &Program, ty: &Type, reader: &mut BitReader, varbit_bits: u32) -> Option<Value> {
    match ty {
        Type::Bit(n) | Type::Int(n) => reader.read(*n).map(Value::Bits),
        Type::Varbit(_) => reader.read(varbit_bits).map(Value::Varbit),
        Type::Bool => reader.read_bool().map(Value::Bool),
        Type::Tuple(types) => types
            .iter()
            .map(|t| decode(program, t, reader, varbit_bits))
            .collect::<Option<_>>()
            .map(Value::Struct),
        Type::Stack(elem, size) => {
            let elems =
                (0..*size).map(|_| decode(program, elem, reader, varbit_bits)).collect::<Option<_>>()?;
            Some(Value::Stack(Stack { elems, next: *size }))
        }
        Type::Named(id) => {
            let mut all = |fields: &[ir::Field]| {
                fields.iter().map(|f| decode(program, &f.ty, reader, varbit_bits)).collect::<Option<Vec<_>>>()
            };
            match &program.type_decl(*id).kind {
                TypeKind::Header(fields) => {
                    all(fields).map(|fields| Value::Header(Header { valid: true, fields }))
                }
                TypeKind::Struct(fields) => all(fields).map(Value::Struct),
                TypeKind::SerEnum { underlying, .. } => decode(program, underlying, reader, varbit_bits),
                TypeKind::New(under) => decode(program, under, reader, varbit_bits),
                TypeKind::Union(_) | TypeKind::Enum(_) => None,
            }
        }
        _ => None,
    }
}

/// Appends a value: invalid headers give nothing, everything else its bits in order (P4-16 §15.1).
pub fn encode(value: &Value, out: &mut BitWriter) {
    match value {
        Value::Bits(bits) | Value::Varbit(bits) => out.push(bits),
        Value::Bool(b) => out.push_bool(*b),
        Value::Error(id) => out.push(&Bits::new(32, u128::from(id.0))),
        Value::Enum(member) => out.push(&Bits::new(32, u128::from(*member))),
        Value::Struct(values) | Value::Union(values) => values.iter().for_each(|v| encode(v, out)),
        Value::Header(header) if header.valid => header.fields.iter().for_each(|v| encode(v, out)),
        Value::Stack(stack) => stack.elems.iter().for_each(|v| encode(v, out)),
        Value::Header(_) | Value::Void | Value::Instance(_) | Value::Str(_) | Value::Int(_) => {}
    }
}

/// The bits a header takes in a packet now.
pub fn header_bits(value: &Value) -> u64 {
    match value {
        Value::Bits(bits) | Value::Varbit(bits) => u64::from(bits.width()),
        Value::Bool(_) => 1,
        Value::Struct(values) => values.iter().map(header_bits).sum(),
        Value::Header(header) => header.fields.iter().map(header_bits).sum(),
        _ => 0,
    }
}

/// The width of the fixed part of a type, and the greatest width of the varbits in it.
pub fn layout_bits(program: &Program, ty: &Type) -> (u64, u64) {
    match program.representation(ty) {
        Type::Bit(n) | Type::Int(n) => (u64::from(*n), 0),
        Type::Varbit(n) => (0, u64::from(*n)),
        Type::Bool => (1, 0),
        Type::Tuple(types) => sum(types.iter().map(|t| layout_bits(program, t))),
        Type::Stack(elem, size) => {
            let (fixed, varbit) = layout_bits(program, elem);
            (fixed.saturating_mul(u64::from(*size)), varbit.saturating_mul(u64::from(*size)))
        }
        named @ Type::Named(_) => sum(program.fields(named).iter().map(|f| layout_bits(program, &f.ty))),
        _ => (0, 0),
    }
}

fn sum(parts: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    parts.fold((0, 0), |(a, b), (c, d)| (a.saturating_add(c), b.saturating_add(d)))
}
