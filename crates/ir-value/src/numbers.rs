//! Values as flat lists of numbers: what value externs take and give.
//!
//! A struct is its fields in order, a `bool` has 1 bit, an enum without an underlying type is the index of its member in 32 bits.

use crate::Value;
use base_bits::Bits;
use ir::{Program, Type, TypeKind};

/// The width of an enum's index.
const INDEX_BITS: u32 = 32;

/// Appends the numbers of a value.
pub fn flatten(value: &Value, out: &mut impl Extend<Bits>) {
    match value {
        Value::Struct(values) => values.iter().for_each(|value| flatten(value, out)),
        value => out.extend(value.to_key()),
    }
}

/// Appends the widths of the numbers of a type; false if it has no such form.
pub fn widths(program: &Program, ty: &Type, out: &mut Vec<u32>) -> bool {
    match program.representation(ty) {
        Type::Bit(width) | Type::Int(width) => out.push(*width),
        Type::Bool => out.push(1),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Struct(fields) => return fields.iter().all(|field| widths(program, &field.ty, out)),
            TypeKind::Enum(_) => out.push(INDEX_BITS),
            _ => return false,
        },
        _ => return false,
    }
    true
}

/// The value of a type that has these numbers; what is missing is zero, and an index without a member is that of the first.
pub fn assemble(program: &Program, ty: &Type, numbers: &mut dyn Iterator<Item = Bits>) -> Value {
    let ty = program.representation(ty);
    match ty {
        Type::Bit(width) | Type::Int(width) => match numbers.next() {
            Some(number) => Value::Bits(number.resize(*width)),
            None => Value::zero(program, ty),
        },
        Type::Bool => Value::Bool(numbers.next().is_some_and(|number| !number.is_zero())),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Struct(fields) => {
                Value::Struct(fields.iter().map(|field| assemble(program, &field.ty, numbers)).collect())
            }
            TypeKind::Enum(members) => {
                let index = numbers.next().and_then(|number| number.to_u32());
                Value::Enum(index.filter(|at| (*at as usize) < members.len()).unwrap_or(0))
            }
            _ => Value::zero(program, ty),
        },
        _ => Value::zero(program, ty),
    }
}
