//! Constants as literals.

use crate::print::Printer;
use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use ir::{Const, Type, TypeId, TypeKind};

impl Printer<'_> {
    /// A constant of type `ty`. `bare`: the place gives the type, so that numbers need no width.
    pub(crate) fn constant(&self, value: &Const, ty: &Type, bare: bool) -> String {
        match (value, ty) {
            (Const::Bits(bits), Type::Int(_)) => signed(bits, bare),
            (Const::Bits(bits), Type::Bit(_)) if bare => number(bits),
            (Const::Bits(bits), Type::Bit(_)) => format!("{}w{}", bits.width(), number(bits)),
            (Const::Int(int), _) => int.to_string(),
            (Const::Bool(value), Type::Bool) => value.to_string(),
            (Const::Str(text), _) => string(text),
            (Const::Error(id), _) => {
                let name = self.program.errors.get(id.index()).map_or("?", |name| name.as_str());
                format!("error.{name}")
            }
            (value, Type::Named(id)) => self.named_constant(value, *id),
            (Const::Instance(id), _) => self.instance_name(*id),
            (Const::Bits(bits), _) => bits.to_literal(),
            (Const::Bool(value), _) => value.to_string(),
            (Const::Enum(index), _) => index.to_string(),
        }
    }

    fn named_constant(&self, value: &Const, id: TypeId) -> String {
        let name = self.type_name(id);
        match (self.program.types.get(id.index()).map(|decl| &decl.kind), value) {
            (Some(TypeKind::Enum(members)), Const::Enum(index)) => {
                format!("{name}.{}", members.get(*index as usize).map_or("?", |m| m.as_str()))
            }
            (Some(TypeKind::SerEnum { underlying, members }), value) => {
                match members.iter().find(|(_, v)| v == value) {
                    Some((member, _)) => format!("{name}.{member}"),
                    None => format!("({name}){}", self.constant(value, underlying, false)),
                }
            }
            (Some(TypeKind::New(under)), value) => format!("({name}){}", self.constant(value, under, false)),
            _ => format!("({name}){}", self.constant(value, &Type::Void, false)),
        }
    }
}

/// `8s5`, `-8s3`; the least number has no positive counterpart and needs its bits.
fn signed(bits: &Bits, bare: bool) -> String {
    if bare {
        return bits.to_decimal_signed();
    }
    let width = bits.width();
    match (bits.sign_bit(), *bits == Bits::min_signed(width)) {
        (true, true) => format!("(int<{width}>){width}w{}", bits.to_hex()),
        (true, false) => format!("-{width}s{}", bits.neg().to_decimal()),
        (false, _) => format!("{width}s{}", bits.to_decimal()),
    }
}

/// Small and round numbers in decimal, others in hexadecimal with all digits of the width, as addresses, masks
/// and protocol numbers are usually written.
fn number(bits: &Bits) -> String {
    let value = bits.to_biguint();
    let small = value <= BigUint::from(1024u32);
    let round = value < BigUint::from(1_000_000u32) && (&value % 10u32) == BigUint::from(0u32);
    if small || round { value.to_string() } else { hexadecimal(bits) }
}

/// `0x0800`: all digits of the width.
pub(crate) fn hexadecimal(bits: &Bits) -> String {
    let digits = bits.width().div_ceil(4) as usize;
    format!("0x{:0>digits$}", bits.to_biguint().to_str_radix(16))
}

/// A string literal. P4 knows two escapes (P4-16 §6.4.3.3).
pub(crate) fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
