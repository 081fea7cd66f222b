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

/// The numbers of a value one after the other, as one number, and how many bits they have; `None` if the value is none of numbers
/// and truth values, or has more than 128 bits.
pub fn packed(value: &Value) -> Option<(u128, u32)> {
    match value {
        Value::Struct(values) => values.iter().try_fold((0, 0), |(number, width), value| {
            let (part, bits) = packed(value)?;
            let high = if bits < 128 { number << bits } else { 0 };
            (width + bits <= 128).then_some((high | part, width + bits))
        }),
        Value::Bits(bits) => (bits.width() <= 128).then(|| (bits.low_u128(), bits.width())),
        Value::Bool(bool) => Some((u128::from(*bool), 1)),
        _ => None,
    }
}

/// The value with the shape of `like` that is [`packed`] as this number.
pub fn unpacked(like: &Value, number: u128) -> Value {
    fn take(like: &Value, rest: &mut u128) -> Value {
        let mut bits = |width: u32| {
            let low = Bits::new(width, *rest);
            *rest = if width < 128 { *rest >> width } else { 0 };
            low
        };
        match like {
            Value::Struct(values) => {
                let mut parts: Vec<Value> = values.iter().rev().map(|value| take(value, rest)).collect();
                parts.reverse();
                Value::Struct(parts)
            }
            Value::Bool(_) => Value::Bool(!bits(1).is_zero()),
            Value::Bits(of) => Value::Bits(bits(of.width())),
            other => other.clone(),
        }
    }
    let mut rest = number;
    take(like, &mut rest)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(width: u32, number: u128) -> Value {
        Value::Bits(Bits::new(width, number))
    }

    #[test]
    fn a_packed_value_unpacks() {
        let inner = Value::Struct(vec![Value::Bool(true), bits(7, 0x12)]);
        for (value, number, width) in [
            (bits(9, 0x101), 0x101, 9),
            (Value::Bool(true), 1, 1),
            (Value::Struct(vec![]), 0, 0),
            (Value::Struct(vec![bits(16, 0x1234), inner, bits(8, 0xab)]), 0x1234_92ab, 32),
            (
                Value::Struct(vec![bits(64, 1), bits(64, u128::from(u64::MAX))]),
                (1 << 64) | u128::from(u64::MAX),
                128,
            ),
            (Value::Struct(vec![bits(0, 0), bits(128, 5)]), 5, 128),
        ] {
            assert_eq!(packed(&value), Some((number, width)));
            assert_eq!(unpacked(&value, number), value);
        }
        assert_eq!(packed(&Value::Struct(vec![bits(64, 1), bits(65, 1)])), None);
        assert_eq!(packed(&Value::Str(String::new())), None);
    }
}
