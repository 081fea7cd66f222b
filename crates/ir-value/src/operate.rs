//! Operators and casts on values (P4-16 §8.5 to §8.11).

use crate::{Header, Stack, Value, equal};
use base_bits::Bits;
use base_bits::num_bigint::{BigInt, Sign};
use ir::{BinaryOp, Program, Type, TypeKind, UnaryOp};
use std::cmp::Ordering;

/// `op value`; `None` if the operand's kind does not fit.
pub fn unary(op: UnaryOp, value: &Value) -> Option<Value> {
    match (op, value) {
        (UnaryOp::Neg, Value::Bits(bits)) => Some(Value::Bits(bits.neg())),
        (UnaryOp::BitNot, Value::Bits(bits)) => Some(Value::Bits(bits.not())),
        (UnaryOp::Not, Value::Bool(b)) => Some(Value::Bool(!b)),
        (UnaryOp::Neg, Value::Int(n)) => Some(Value::Int(-n)),
        _ => None,
    }
}

/// `left op right`, `signed` if the left operand is of type `int<N>`. `And` and `Or` take both sides here.
/// Division by zero, which the compiler refuses, gives zero.
pub fn binary(op: BinaryOp, signed: bool, left: &Value, right: &Value) -> Option<Value> {
    match op {
        BinaryOp::Eq => return Some(Value::Bool(equal(left, right))),
        BinaryOp::Ne => return Some(Value::Bool(!equal(left, right))),
        BinaryOp::Shl | BinaryOp::Shr => return shift(op, signed, left, right),
        _ => {}
    }
    match (left, right) {
        (Value::Bits(a), Value::Bits(b)) => bits(op, signed, a, b),
        (Value::Bool(a), Value::Bool(b)) => match op {
            BinaryOp::And => Some(Value::Bool(*a && *b)),
            BinaryOp::Or => Some(Value::Bool(*a || *b)),
            _ => None,
        },
        (Value::Int(a), Value::Int(b)) => ints(op, a, b),
        (Value::Str(a), Value::Str(b)) if op == BinaryOp::Concat => Some(Value::Str(format!("{a}{b}"))),
        _ => None,
    }
}

fn bits(op: BinaryOp, signed: bool, a: &Bits, b: &Bits) -> Option<Value> {
    if op == BinaryOp::Concat {
        return Some(Value::Bits(a.concat(b)));
    }
    if a.width() != b.width() {
        return None;
    }
    let order = || if signed { a.cmp_signed(b) } else { a.cmp_unsigned(b) };
    let zero = || Bits::zero(a.width());
    Some(match op {
        BinaryOp::Add => Value::Bits(a.add(b)),
        BinaryOp::Sub => Value::Bits(a.sub(b)),
        BinaryOp::Mul => Value::Bits(a.mul(b)),
        BinaryOp::Div => Value::Bits(a.div(b).unwrap_or_else(zero)),
        BinaryOp::Mod => Value::Bits(a.rem(b).unwrap_or_else(zero)),
        BinaryOp::AddSat if signed => Value::Bits(a.saturating_add_signed(b)),
        BinaryOp::AddSat => Value::Bits(a.saturating_add(b)),
        BinaryOp::SubSat if signed => Value::Bits(a.saturating_sub_signed(b)),
        BinaryOp::SubSat => Value::Bits(a.saturating_sub(b)),
        BinaryOp::BitAnd => Value::Bits(a.and(b)),
        BinaryOp::BitOr => Value::Bits(a.or(b)),
        BinaryOp::BitXor => Value::Bits(a.xor(b)),
        BinaryOp::Lt => Value::Bool(order() == Ordering::Less),
        BinaryOp::Le => Value::Bool(order() != Ordering::Greater),
        BinaryOp::Gt => Value::Bool(order() == Ordering::Greater),
        BinaryOp::Ge => Value::Bool(order() != Ordering::Less),
        BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Concat
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::And
        | BinaryOp::Or => return None,
    })
}

/// On `int`, which only has values known at compile time: it comes here by parameters without direction.
fn ints(op: BinaryOp, a: &BigInt, b: &BigInt) -> Option<Value> {
    let zero = *b == BigInt::ZERO;
    Some(match op {
        BinaryOp::Add => Value::Int(a + b),
        BinaryOp::Sub => Value::Int(a - b),
        BinaryOp::Mul => Value::Int(a * b),
        BinaryOp::Div | BinaryOp::Mod if zero => return None,
        BinaryOp::Div => Value::Int(a / b),
        BinaryOp::Mod => Value::Int(a % b),
        BinaryOp::BitAnd => Value::Int(a & b),
        BinaryOp::BitOr => Value::Int(a | b),
        BinaryOp::BitXor => Value::Int(a ^ b),
        BinaryOp::Lt => Value::Bool(a < b),
        BinaryOp::Le => Value::Bool(a <= b),
        BinaryOp::Gt => Value::Bool(a > b),
        BinaryOp::Ge => Value::Bool(a >= b),
        _ => return None,
    })
}

fn shift(op: BinaryOp, signed: bool, left: &Value, right: &Value) -> Option<Value> {
    let Value::Bits(a) = left else { return None };
    let amount = match right {
        Value::Bits(b) => b.to_u64().unwrap_or(u64::MAX),
        Value::Int(n) if n.sign() == Sign::Minus => return None,
        Value::Int(n) => u64::try_from(n).unwrap_or(u64::MAX),
        _ => return None,
    };
    Some(Value::Bits(match (op, signed) {
        (BinaryOp::Shl, _) => a.shl_by(amount),
        (_, true) => a.shr_signed_by(amount),
        (_, false) => a.shr_by(amount),
    }))
}

/// True if `ty` is `int<N>` or represented by one.
pub fn is_signed(program: &Program, ty: &Type) -> bool {
    matches!(program.representation(ty), Type::Int(_))
}

/// A value of type `from` as one of type `to`; `None` if the language has no such cast.
pub fn cast(program: &Program, value: Value, from: &Type, to: &Type) -> Option<Value> {
    let target = program.representation(to);
    match (value, target) {
        (Value::Bits(bits), Type::Bit(n) | Type::Int(n)) => {
            let signed = is_signed(program, from);
            Some(Value::Bits(if signed { bits.resize_signed(*n) } else { bits.resize(*n) }))
        }
        (Value::Bits(bits), Type::Bool) => Some(Value::Bool(!bits.is_zero())),
        (Value::Bits(bits), Type::InfInt) => Some(Value::Int(if is_signed(program, from) {
            bits.to_bigint_signed()
        } else {
            bits.to_bigint()
        })),
        (Value::Bool(b), Type::Bit(n)) => Some(Value::Bits(Bits::from_bool(b).resize(*n))),
        (Value::Int(n), Type::Bit(width) | Type::Int(width)) => {
            Some(Value::Bits(Bits::from_bigint(*width, &n)))
        }
        (Value::Int(n), Type::Bool) => Some(Value::Bool(n != BigInt::ZERO)),
        (Value::Struct(parts), _) => cast_parts(program, parts, from, target),
        (value, _) => Some(value),
    }
}

/// A list or struct as a struct, header, tuple or stack, part by part.
fn cast_parts(program: &Program, parts: Vec<Value>, from: &Type, to: &Type) -> Option<Value> {
    let from_types: Vec<&Type> = match from {
        Type::Tuple(types) => types.iter().collect(),
        _ => program.fields(from).iter().map(|f| &f.ty).collect(),
    };
    let to_types: Vec<&Type> = match to {
        Type::Tuple(types) => types.iter().collect(),
        Type::Stack(elem, size) => vec![elem.as_ref(); *size as usize],
        _ => program.fields(to).iter().map(|f| &f.ty).collect(),
    };
    if parts.len() > to_types.len() || parts.len() > from_types.len() {
        return None;
    }
    let casts = parts.into_iter().zip(&from_types).zip(&to_types);
    let mut parts: Vec<Value> = casts.map(|((v, f), t)| cast(program, v, f, t)).collect::<Option<_>>()?;
    parts.extend(to_types[parts.len()..].iter().map(|t| Value::zero(program, t)));
    Some(aggregate(program, to, parts))
}

/// The struct, header (then valid), tuple or stack of type `ty` that is made of `parts`.
pub fn aggregate(program: &Program, ty: &Type, parts: Vec<Value>) -> Value {
    match ty {
        Type::Stack(..) => Value::Stack(Stack { elems: parts, next: 0 }),
        Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Header(_)) => {
            Value::Header(Header { valid: true, fields: parts })
        }
        Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Union(_)) => Value::Union(parts),
        _ => Value::Struct(parts),
    }
}
