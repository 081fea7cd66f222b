//! Compile-time arithmetic (P4-16 §8.5 to §8.8): on whole numbers, then brought into the range of a type.

use base_bits::num_bigint::{BigInt, Sign};
use p4_check::typed::{BinaryOp, Type, UnaryOp};

use crate::value::Value;

/// Shifts of `int` further than this are refused: they only make memory full.
const MAX_SHIFT: u32 = 1 << 16;

/// `value` in the range of `ty`, which is `int`, `bit<W>` or `int<W>`: the excess bits are cut.
pub(crate) fn wrap(value: BigInt, ty: &Type) -> BigInt {
    let modulus = |width: u32| BigInt::from(1) << width;
    let low = |width: u32| ((value.clone() % modulus(width)) + modulus(width)) % modulus(width);
    match *ty {
        Type::Bit(width) => low(width),
        Type::Signed(0) => BigInt::ZERO,
        Type::Signed(width) => {
            let unsigned = low(width);
            if unsigned >= modulus(width - 1) { unsigned - modulus(width) } else { unsigned }
        }
        _ => value,
    }
}

/// The nearest value in the range of `ty`.
fn clamp(value: BigInt, ty: &Type) -> BigInt {
    let one = BigInt::from(1);
    let (lo, hi) = match *ty {
        Type::Bit(width) => (BigInt::ZERO, (one.clone() << width) - one),
        Type::Signed(width) if width > 0 => {
            (-(one.clone() << (width - 1)), (one.clone() << (width - 1)) - one)
        }
        _ => return value,
    };
    value.clamp(lo, hi)
}

/// `op operand` of type `ty`; `None` where the operation has no value.
pub(crate) fn unary(op: UnaryOp, operand: &Value, ty: &Type) -> Option<Value> {
    Some(match (op, operand) {
        (UnaryOp::Neg, Value::Int(v)) => Value::Int(wrap(-v, ty)),
        (UnaryOp::Complement, Value::Int(v)) => Value::Int(wrap(-v - 1, ty)),
        (UnaryOp::Not, Value::Bool(v)) => Value::Bool(!v),
        _ => return None,
    })
}

/// `left op right`, where `left` is of type `ty` and `right` of `right_ty`, both representations; `None` where
/// the operation has no value, as a division by zero.
pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value, ty: &Type, right_ty: &Type) -> Option<Value> {
    use BinaryOp::*;
    match (op, left, right) {
        (Eq, l, r) => return Some(Value::Bool(l == r)),
        (Ne, l, r) => return Some(Value::Bool(l != r)),
        (And, Value::Bool(l), Value::Bool(r)) => return Some(Value::Bool(*l && *r)),
        (Or, Value::Bool(l), Value::Bool(r)) => return Some(Value::Bool(*l || *r)),
        (Concat, Value::Str(l), Value::Str(r)) => return Some(Value::Str(format!("{l}{r}").into())),
        _ => {}
    }
    let (l, r) = (left.as_int()?, right.as_int()?);
    let number = match op {
        Add => l + r,
        Sub => l - r,
        Mul => l * r,
        AddSat => return Some(Value::Int(clamp(l + r, ty))),
        SubSat => return Some(Value::Int(clamp(l - r, ty))),
        // P4-16 defines division of non-negative numbers by positive ones alone.
        Div | Mod if r.sign() != Sign::Plus || l.sign() == Sign::Minus => return None,
        Div => l / r,
        Mod => l % r,
        Shl => shift_left(l, r, ty)?,
        Shr => shift_right(l, r)?,
        BitAnd => l & r,
        BitOr => l | r,
        BitXor => l ^ r,
        Concat => return concat(l, r, ty, right_ty),
        Lt => return Some(Value::Bool(l < r)),
        Le => return Some(Value::Bool(l <= r)),
        Gt => return Some(Value::Bool(l > r)),
        Ge => return Some(Value::Bool(l >= r)),
        Eq | Ne | And | Or => return None,
    };
    Some(Value::Int(wrap(number, ty)))
}

fn shift_left(value: &BigInt, amount: &BigInt, ty: &Type) -> Option<BigInt> {
    let limit = ty.fixed_width().unwrap_or(MAX_SHIFT);
    match u32::try_from(amount) {
        Ok(amount) if amount <= limit => Some(value << amount),
        _ if ty.fixed_width().is_some() && amount.sign() != Sign::Minus => Some(BigInt::ZERO),
        _ => None,
    }
}

fn shift_right(value: &BigInt, amount: &BigInt) -> Option<BigInt> {
    if amount.sign() == Sign::Minus {
        return None;
    }
    let all = BigInt::from(value.bits() + 1);
    let amount = u64::try_from(amount.min(&all)).ok()?;
    Some(value >> amount)
}

fn concat(left: &BigInt, right: &BigInt, left_ty: &Type, right_ty: &Type) -> Option<Value> {
    let (high, low) = (left_ty.fixed_width()?, right_ty.fixed_width()?);
    let width = high.checked_add(low)?;
    let low_bits = wrap(right.clone(), &Type::Bit(low));
    let ty = if matches!(left_ty, Type::Signed(_)) { Type::Signed(width) } else { Type::Bit(width) };
    Some(Value::Int(wrap((left << low) + low_bits, &ty)))
}

/// Bits `hi` down to `lo` of a value of type `ty`.
pub(crate) fn slice(value: &BigInt, hi: u32, lo: u32, ty: &Type) -> Option<Value> {
    let width = ty.fixed_width()?;
    let bits = wrap(value.clone(), &Type::Bit(width));
    Some(Value::Int(wrap(bits >> lo, &Type::Bit(hi.checked_sub(lo)?.checked_add(1)?))))
}

/// `value` as a value of `ty`, both representations.
pub(crate) fn cast(value: Value, ty: &Type) -> Option<Value> {
    Some(match (value, ty) {
        (Value::Int(v), Type::Bool) => Value::Bool(v != BigInt::ZERO),
        (Value::Bool(v), Type::Bit(_) | Type::Signed(_) | Type::Int) => {
            Value::Int(wrap(BigInt::from(u8::from(v)), ty))
        }
        (Value::Int(v), Type::Bit(_) | Type::Signed(_) | Type::Int) => Value::Int(wrap(v, ty)),
        (Value::Int(_), _) => return None,
        (other, _) => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> Value {
        Value::Int(BigInt::from(value))
    }

    #[track_caller]
    fn check(op: BinaryOp, left: i64, right: i64, ty: Type, want: Option<i64>) {
        assert_eq!(binary(op, &int(left), &int(right), &ty, &ty), want.map(int), "{left} {op:?} {right}");
    }

    #[test]
    fn sums_wrap_and_saturate() {
        check(BinaryOp::Add, 255, 2, Type::Bit(8), Some(1));
        check(BinaryOp::Add, 127, 1, Type::Signed(8), Some(-128));
        check(BinaryOp::Sub, 0, 1, Type::Bit(8), Some(255));
        check(BinaryOp::AddSat, 255, 2, Type::Bit(8), Some(255));
        check(BinaryOp::SubSat, -128, 1, Type::Signed(8), Some(-128));
        check(BinaryOp::Add, 255, 2, Type::Int, Some(257));
    }

    #[test]
    fn divisions_want_a_positive_divisor() {
        check(BinaryOp::Div, 7, 2, Type::Int, Some(3));
        check(BinaryOp::Mod, 7, 0, Type::Int, None);
        check(BinaryOp::Div, -7, 2, Type::Int, None);
    }

    #[test]
    fn shifts_past_the_width_clear() {
        check(BinaryOp::Shl, 1, 8, Type::Bit(8), Some(0));
        check(BinaryOp::Shl, 1, 1_000_000_000_000, Type::Bit(8), Some(0));
        check(BinaryOp::Shl, 1, 1_000_000_000_000, Type::Int, None);
        check(BinaryOp::Shr, -1, 100, Type::Signed(8), Some(-1));
        check(BinaryOp::Shr, 128, 100, Type::Bit(8), Some(0));
    }

    #[test]
    fn pieces_join_and_part() {
        assert_eq!(
            binary(BinaryOp::Concat, &int(-1), &int(1), &Type::Signed(4), &Type::Bit(4)),
            Some(int(-15))
        );
        assert_eq!(slice(&BigInt::from(-1), 7, 4, &Type::Signed(8)), Some(int(15)));
        assert_eq!(cast(int(-1), &Type::Bit(4)), Some(int(15)));
        assert_eq!(cast(Value::Bool(true), &Type::Bit(1)), Some(int(1)));
    }
}
