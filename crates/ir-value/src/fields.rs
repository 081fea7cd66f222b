//! Fields of the architecture's metadata, by name.

use crate::Value;
use base_bits::Bits;
use ir::{ErrorId, Program, Type};

/// Sets a field of a struct, cut to its width. Nothing happens where there is no such field.
pub fn set(program: &Program, ty: &Type, value: &mut Value, name: &str, number: u128) {
    let at = (0..).zip(program.fields(ty)).find(|(_, field)| field.name == name).map(|(at, _)| at);
    match at.and_then(|at: u32| value.part_mut(at)) {
        Some(Value::Bits(bits)) => *bits = Bits::new(bits.width(), number),
        Some(Value::Bool(truth)) => *truth = number != 0,
        Some(Value::Error(id)) => *id = ErrorId(number as u32),
        Some(Value::Enum(member)) => *member = number as u32,
        _ => {}
    }
}

/// The lowest 64 bits of a field of a struct; 0 where there is no such field.
pub fn get(program: &Program, ty: &Type, value: &Value, name: &str) -> u64 {
    let at = (0..).zip(program.fields(ty)).find(|(_, field)| field.name == name).map(|(at, _)| at);
    at.and_then(|at: u32| value.part(at)).and_then(Value::to_key).map_or(0, |bits| bits.low_u64())
}
