//! The value itself: width, canonical representation, conversions.

use num_bigint::{BigInt, BigUint, Sign};
use std::borrow::Cow;

/// The widest value that is held without an allocation, in bits.
const SMALL: u32 = 128;

/// A value of `bit<N>` or `int<N>`: `width` bits, most significant first.
///
/// Equality and hash look at width and bits. The order is by width first, then by unsigned value; use
/// [`cmp_unsigned`](Bits::cmp_unsigned) and [`cmp_signed`](Bits::cmp_signed) for P4's comparisons.
///
/// Operations on two values want equal widths (P4-16 §8.6). A mismatch is the caller's bug: it fails an
/// assertion in debug builds, and else the right operand is cut or zero-extended to the left one's width.
///
/// Operations do work in proportion to the width; who takes widths from users limits them.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits(Repr);

/// Canonical: `Small` exactly for widths up to 128; no bit at or above the width is set.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Repr {
    Small { width: u32, value: u128 },
    Big { width: u32, value: Box<BigUint> },
}

impl Bits {
    /// `value` modulo 2^`width`.
    pub fn new(width: u32, value: u128) -> Bits {
        if width <= SMALL {
            Bits(Repr::Small { width, value: value & mask(width) })
        } else {
            Bits(Repr::Big { width, value: Box::new(BigUint::from(value)) })
        }
    }

    /// `value` modulo 2^`width`.
    pub fn from_biguint(width: u32, value: BigUint) -> Bits {
        if width <= SMALL {
            Bits(Repr::Small { width, value: low_u128(&value) & mask(width) })
        } else {
            let value = if value.bits() > u64::from(width) { value & big_mask(width) } else { value };
            Bits(Repr::Big { width, value: Box::new(value) })
        }
    }

    /// `value` modulo 2^`width`, negative numbers in two's complement.
    pub fn from_bigint(width: u32, value: &BigInt) -> Bits {
        let magnitude = Bits::from_biguint(width, value.magnitude().clone());
        if value.sign() == Sign::Minus { magnitude.neg() } else { magnitude }
    }

    /// `value` in two's complement, modulo 2^`width`.
    pub fn from_i128(width: u32, value: i128) -> Bits {
        if width <= SMALL {
            Bits::new(width, value as u128)
        } else {
            Bits::from_bigint(width, &BigInt::from(value))
        }
    }

    /// `bit<1>`: 1 for true.
    pub fn from_bool(value: bool) -> Bits {
        Bits::new(1, u128::from(value))
    }

    /// All bits 0.
    pub fn zero(width: u32) -> Bits {
        Bits::new(width, 0)
    }

    /// The number 1; 0 if the width is 0.
    pub fn one(width: u32) -> Bits {
        Bits::new(width, 1)
    }

    /// All bits 1: the greatest `bit<N>`, and -1 as `int<N>`.
    pub fn ones(width: u32) -> Bits {
        if width <= SMALL { Bits::new(width, u128::MAX) } else { Bits::from_biguint(width, big_mask(width)) }
    }

    /// The least `int<N>`: only the sign bit set.
    pub fn min_signed(width: u32) -> Bits {
        if width == 0 { Bits::zero(0) } else { Bits::one(width).shl_by(u64::from(width) - 1) }
    }

    /// The greatest `int<N>`: all but the sign bit set.
    pub fn max_signed(width: u32) -> Bits {
        Bits::min_signed(width).not()
    }

    /// The number of bits.
    pub fn width(&self) -> u32 {
        match &self.0 {
            Repr::Small { width, .. } | Repr::Big { width, .. } => *width,
        }
    }

    /// True if no bit is set; also for width 0.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value == 0,
            Repr::Big { value, .. } => value.bits() == 0,
        }
    }

    /// True if all bits are set; also for width 0.
    pub fn is_ones(&self) -> bool {
        match &self.0 {
            Repr::Small { width, value } => *value == mask(*width),
            Repr::Big { width, value } => value.count_ones() == u64::from(*width),
        }
    }

    /// Bit `index`, counted from the least significant; false beyond the width.
    pub fn bit(&self, index: u32) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => index < SMALL && (value >> index) & 1 == 1,
            Repr::Big { value, .. } => value.bit(u64::from(index)),
        }
    }

    /// The most significant bit; false if the width is 0.
    pub fn sign_bit(&self) -> bool {
        self.width().checked_sub(1).is_some_and(|top| self.bit(top))
    }

    /// Number of bits that are set.
    pub fn count_ones(&self) -> u32 {
        match &self.0 {
            Repr::Small { value, .. } => value.count_ones(),
            Repr::Big { value, .. } => value.count_ones() as u32,
        }
    }

    /// Number of zero bits above the highest set bit.
    pub fn leading_zeros(&self) -> u32 {
        match &self.0 {
            Repr::Small { width, value } => value.leading_zeros() - (SMALL - width),
            Repr::Big { width, value } => width - value.bits() as u32,
        }
    }

    /// The number of leading ones if the value is ones followed by zeros, as a prefix mask is.
    pub fn prefix_len(&self) -> Option<u32> {
        let ones = self.not().leading_zeros();
        (self.count_ones() == ones).then_some(ones)
    }

    /// The unsigned value, if it fits.
    pub fn to_u128(&self) -> Option<u128> {
        match &self.0 {
            Repr::Small { value, .. } => Some(*value),
            Repr::Big { value, .. } => u128::try_from(value.as_ref()).ok(),
        }
    }

    /// The unsigned value, if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        self.to_u128().and_then(|v| u64::try_from(v).ok())
    }

    /// The unsigned value, if it fits.
    pub fn to_u32(&self) -> Option<u32> {
        self.to_u128().and_then(|v| u32::try_from(v).ok())
    }

    /// The unsigned value, if it fits.
    pub fn to_usize(&self) -> Option<usize> {
        self.to_u128().and_then(|v| usize::try_from(v).ok())
    }

    /// The signed value, if it fits.
    pub fn to_i128(&self) -> Option<i128> {
        match &self.0 {
            Repr::Small { width, value } => Some(sign_extended(*width, *value)),
            Repr::Big { .. } => i128::try_from(self.to_bigint_signed()).ok(),
        }
    }

    /// The lowest 128 bits.
    pub fn low_u128(&self) -> u128 {
        match &self.0 {
            Repr::Small { value, .. } => *value,
            Repr::Big { value, .. } => low_u128(value),
        }
    }

    /// The lowest 64 bits.
    pub fn low_u64(&self) -> u64 {
        self.low_u128() as u64
    }

    /// The unsigned value.
    pub fn to_biguint(&self) -> BigUint {
        self.big().into_owned()
    }

    /// The unsigned value.
    pub fn to_bigint(&self) -> BigInt {
        BigInt::from(self.to_biguint())
    }

    /// The signed value, in two's complement.
    pub fn to_bigint_signed(&self) -> BigInt {
        if self.sign_bit() { -BigInt::from(self.neg().to_biguint()) } else { self.to_bigint() }
    }

    /// Converts to the width that an operation with `self` needs; see the contract on [`Bits`].
    pub(crate) fn matched<'a>(&self, other: &'a Bits) -> Cow<'a, Bits> {
        debug_assert_eq!(self.width(), other.width(), "operands of different widths");
        if self.width() == other.width() {
            Cow::Borrowed(other)
        } else {
            Cow::Owned(other.resize(self.width()))
        }
    }

    pub(crate) fn repr(&self) -> &Repr {
        &self.0
    }

    pub(crate) fn big(&self) -> Cow<'_, BigUint> {
        match &self.0 {
            Repr::Small { value, .. } => Cow::Owned(BigUint::from(*value)),
            Repr::Big { value, .. } => Cow::Borrowed(value),
        }
    }
}

impl From<bool> for Bits {
    fn from(value: bool) -> Bits {
        Bits::from_bool(value)
    }
}

/// The lowest `width` bits set; `width` up to 128.
pub(crate) fn mask(width: u32) -> u128 {
    if width >= SMALL { u128::MAX } else { (1 << width) - 1 }
}

/// The lowest `width` bits set.
pub(crate) fn big_mask(width: u32) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}

/// The number that the lowest `width` bits mean in two's complement; `width` up to 128.
pub(crate) fn sign_extended(width: u32, value: u128) -> i128 {
    let unused = SMALL - width;
    if width == 0 { 0 } else { ((value << unused) as i128) >> unused }
}

fn low_u128(value: &BigUint) -> u128 {
    let mut digits = value.iter_u64_digits();
    let low = u128::from(digits.next().unwrap_or(0));
    low | u128::from(digits.next().unwrap_or(0)) << 64
}
