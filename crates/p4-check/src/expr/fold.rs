//! Arithmetic on compile-time known values (P4-16 §8.5 to §8.9, §18.1).

use base_diag::Span;
use num_bigint::BigInt;

use crate::codes;
use crate::cx::Checker;
use crate::typed::{BinaryOp, Expr, ExprKind, Type};

/// No shift of an `int` makes a number longer than this many bits.
const MAX_SHIFT: u32 = 4096;

/// Values with more bits than this are long.
const LONG: u64 = 4096;

/// The long values of a program have no more bits than this, each counted where it is made and where it is named.
const MAX_LONG_BITS: u64 = 1 << 30;

impl Checker {
    /// A value known at compile time, unless it and those before it are too much to keep.
    pub(crate) fn known(&mut self, kind: ExprKind, ty: Type, span: Span) -> Expr {
        let bits = match &kind {
            ExprKind::Int(n) => n.bits(),
            ExprKind::String(text) => 8 * text.len() as u64,
            _ => 0,
        };
        if bits > LONG {
            self.long_bits = self.long_bits.saturating_add(bits);
            if self.long_bits > MAX_LONG_BITS {
                let why = format!("all of them together have at most {MAX_LONG_BITS} bits");
                self.error(codes::BAD_VALUE, span, "too many long values", why);
                return Expr::error(span);
            }
        }
        Expr { kind, ty, span }
    }
}

/// `value` in the range of the type: modulo `2^W`, in two's complement for `int<W>`.
pub(crate) fn wrap(value: &BigInt, ty: &Type) -> BigInt {
    let Some(width) = ty.fixed_width() else { return value.clone() };
    let sign = u64::from(matches!(ty, Type::Signed(_)));
    if value >= &BigInt::ZERO && value.bits() + sign <= u64::from(width) {
        return value.clone();
    }
    let modulus = BigInt::from(1) << width;
    let mut low = value % &modulus;
    if low < BigInt::ZERO {
        low += &modulus;
    }
    if matches!(ty, Type::Signed(_)) && width > 0 && low >= (BigInt::from(1) << (width - 1)) {
        low -= modulus;
    }
    low
}

/// `value` moved to the nearest bound of the type's range.
fn saturate(value: BigInt, ty: &Type) -> BigInt {
    let (least, most) = match ty {
        Type::Bit(w) => (BigInt::ZERO, (BigInt::from(1) << *w) - 1),
        Type::Signed(w) if *w > 0 => (-(BigInt::from(1) << (w - 1)), (BigInt::from(1) << (w - 1)) - 1),
        _ => return value,
    };
    value.clamp(least, most)
}

/// Reason why a value cannot be computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FoldError {
    DivisionByZero,
    NegativeDivision,
    NegativeShift,
    TooLarge,
}

/// The value of a binary operation on numbers; the result has type `ty`. `None` for operations that give no number.
pub(crate) fn fold_int(op: BinaryOp, a: &BigInt, b: &BigInt, ty: &Type) -> Option<Result<BigInt, FoldError>> {
    Some(Ok(match op {
        BinaryOp::Add => wrap(&(a + b), ty),
        BinaryOp::Sub => wrap(&(a - b), ty),
        BinaryOp::Mul => {
            // A product has as many bits as its factors together: bounded before it is computed.
            if a.bits() + b.bits() > u64::from(crate::types::resolve::MAX_WIDTH) {
                return Some(Err(FoldError::TooLarge));
            }
            wrap(&(a * b), ty)
        }
        BinaryOp::AddSat => saturate(a + b, ty),
        BinaryOp::SubSat => saturate(a - b, ty),
        BinaryOp::BitAnd => wrap(&(a & b), ty),
        BinaryOp::BitOr => wrap(&(a | b), ty),
        BinaryOp::BitXor => wrap(&(a ^ b), ty),
        BinaryOp::Div | BinaryOp::Mod => {
            if b == &BigInt::ZERO {
                return Some(Err(FoldError::DivisionByZero));
            }
            if a < &BigInt::ZERO || b < &BigInt::ZERO {
                return Some(Err(FoldError::NegativeDivision));
            }
            if op == BinaryOp::Div { a / b } else { a % b }
        }
        BinaryOp::Shl | BinaryOp::Shr => return Some(fold_shift(op, a, b, ty)),
        _ => return None,
    }))
}

fn fold_shift(op: BinaryOp, a: &BigInt, b: &BigInt, ty: &Type) -> Result<BigInt, FoldError> {
    if b < &BigInt::ZERO {
        return Err(FoldError::NegativeShift);
    }
    let by = u32::try_from(b).unwrap_or(u32::MAX);
    match (op, ty.fixed_width()) {
        (BinaryOp::Shr, _) if u64::from(by) > a.bits() => {
            Ok(BigInt::from(if a < &BigInt::ZERO { -1 } else { 0 }))
        }
        (BinaryOp::Shr, _) => Ok(a >> by),
        (_, Some(width)) if by >= width => Ok(BigInt::ZERO),
        (_, Some(_)) => Ok(wrap(&(a << by), ty)),
        (_, None) if by > MAX_SHIFT => Err(FoldError::TooLarge),
        (_, None) => Ok(a << by),
    }
}

/// The value of a comparison of numbers.
pub(crate) fn fold_compare(op: BinaryOp, a: &BigInt, b: &BigInt) -> Option<bool> {
    Some(match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        BinaryOp::Ge => a >= b,
        _ => return None,
    })
}

/// Bits `hi` down to `lo`.
pub(crate) fn fold_slice(value: &BigInt, hi: u32, lo: u32) -> BigInt {
    wrap(&(value >> lo), &Type::Bit(hi - lo + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(op: BinaryOp, a: i64, b: i64, ty: Type) -> Result<BigInt, FoldError> {
        fold_int(op, &a.into(), &b.into(), &ty).unwrap()
    }

    #[test]
    fn values_stay_in_the_range_of_their_type() {
        assert_eq!(fold(BinaryOp::Add, 255, 1, Type::Bit(8)), Ok(0.into()));
        assert_eq!(fold(BinaryOp::Sub, 0, 1, Type::Bit(8)), Ok(255.into()));
        assert_eq!(fold(BinaryOp::Add, 127, 1, Type::Signed(8)), Ok((-128).into()));
        assert_eq!(fold(BinaryOp::AddSat, 255, 1, Type::Bit(8)), Ok(255.into()));
        assert_eq!(fold(BinaryOp::SubSat, 0, 1, Type::Bit(8)), Ok(0.into()));
        assert_eq!(fold(BinaryOp::SubSat, -128, 1, Type::Signed(8)), Ok((-128).into()));
        assert_eq!(fold(BinaryOp::Mul, 1 << 40, 4, Type::Int), Ok((1i64 << 42).into()));
        assert_eq!(wrap(&5.into(), &Type::Bit(0)), BigInt::ZERO);
    }

    #[test]
    fn shifts_beyond_the_width_give_zero_or_the_sign() {
        assert_eq!(fold(BinaryOp::Shl, 1, 8, Type::Bit(8)), Ok(0.into()));
        assert_eq!(fold(BinaryOp::Shr, -4, 1, Type::Signed(8)), Ok((-2).into()));
        assert_eq!(fold(BinaryOp::Shr, -4, 900, Type::Signed(8)), Ok((-1).into()));
        assert_eq!(fold(BinaryOp::Shl, 1, -1, Type::Int), Err(FoldError::NegativeShift));
        assert_eq!(fold(BinaryOp::Shl, 1, 1 << 40, Type::Int), Err(FoldError::TooLarge));
    }

    #[test]
    fn division_is_for_naturals() {
        assert_eq!(fold(BinaryOp::Div, 7, 2, Type::Int), Ok(3.into()));
        assert_eq!(fold(BinaryOp::Mod, 7, 0, Type::Int), Err(FoldError::DivisionByZero));
        assert_eq!(fold(BinaryOp::Div, -8, -2, Type::Int), Err(FoldError::NegativeDivision));
    }
}
