//! Arithmetic and comparison (P4-16 §8.5 to §8.8).

use crate::Bits;
use crate::bits::{Repr, big_mask, sign_extended};
use num_bigint::{BigInt, BigUint};
use std::cmp::Ordering;

impl Bits {
    /// `self + other`, modulo 2^N.
    pub fn add(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => {
                Bits::new(*width, a.wrapping_add(*b))
            }
            _ => Bits::from_biguint(self.width(), self.big().as_ref() + other.big().as_ref()),
        }
    }

    /// `self - other`, modulo 2^N.
    pub fn sub(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => {
                Bits::new(*width, a.wrapping_sub(*b))
            }
            _ => self.add(&other.neg()),
        }
    }

    /// `self * other`, modulo 2^N.
    pub fn mul(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => {
                Bits::new(*width, a.wrapping_mul(*b))
            }
            _ => Bits::from_biguint(self.width(), self.big().as_ref() * other.big().as_ref()),
        }
    }

    /// `-self`, modulo 2^N.
    pub fn neg(&self) -> Bits {
        match self.repr() {
            Repr::Small { width, value } => Bits::new(*width, value.wrapping_neg()),
            Repr::Big { width, value } => Bits::from_biguint(*width, big_mask(*width) + 1u8 - value.as_ref()),
        }
    }

    /// `self |+| other` on `bit<N>`.
    pub fn saturating_add(&self, other: &Bits) -> Bits {
        let sum = self.add(other);
        if sum.cmp_unsigned(self) == Ordering::Less { Bits::ones(self.width()) } else { sum }
    }

    /// `self |-| other` on `bit<N>`.
    pub fn saturating_sub(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        if self.cmp_unsigned(&other) == Ordering::Less { Bits::zero(self.width()) } else { self.sub(&other) }
    }

    /// `self |+| other` on `int<N>`.
    pub fn saturating_add_signed(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        self.clamped(self.add(&other), self.sign_bit() == other.sign_bit())
    }

    /// `self |-| other` on `int<N>`.
    pub fn saturating_sub_signed(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        self.clamped(self.sub(&other), self.sign_bit() != other.sign_bit())
    }

    /// `result`, unless it left the range on `self`'s side: only if `may_overflow` and the sign changed.
    fn clamped(&self, result: Bits, may_overflow: bool) -> Bits {
        match (may_overflow && result.sign_bit() != self.sign_bit(), self.sign_bit()) {
            (false, _) => result,
            (true, true) => Bits::min_signed(self.width()),
            (true, false) => Bits::max_signed(self.width()),
        }
    }

    /// `self / other` on `bit<N>`, rounded down; none if `other` is 0. P4 has it for compile-time values only.
    pub fn div(&self, other: &Bits) -> Option<Bits> {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            _ if other.is_zero() => None,
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => Some(Bits::new(*width, a / b)),
            _ => Some(Bits::from_biguint(self.width(), self.big().as_ref() / other.big().as_ref())),
        }
    }

    /// `self % other` on `bit<N>`; none if `other` is 0. P4 has it for compile-time values only.
    pub fn rem(&self, other: &Bits) -> Option<Bits> {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            _ if other.is_zero() => None,
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => Some(Bits::new(*width, a % b)),
            _ => Some(Bits::from_biguint(self.width(), self.big().as_ref() % other.big().as_ref())),
        }
    }

    /// Compares as `bit<N>`; any widths.
    pub fn cmp_unsigned(&self, other: &Bits) -> Ordering {
        match (self.repr(), other.repr()) {
            (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) => a.cmp(b),
            _ => self.big().cmp(&other.big()),
        }
    }

    /// Compares as `int<N>`; any widths.
    pub fn cmp_signed(&self, other: &Bits) -> Ordering {
        match (self.repr(), other.repr()) {
            (Repr::Small { width: aw, value: a }, Repr::Small { width: bw, value: b }) => {
                sign_extended(*aw, *a).cmp(&sign_extended(*bw, *b))
            }
            _ => self.to_bigint_signed().cmp(&other.to_bigint_signed()),
        }
    }

    /// True if the number `value` is determined by its lowest `width` bits read as `bit<N>` or `int<N>`.
    pub fn fits(width: u32, signed: bool, value: &BigInt) -> bool {
        let bits = Bits::from_bigint(width, value);
        *value == if signed { bits.to_bigint_signed() } else { bits.to_bigint() }
    }

    /// The number of bits that `value` needs as `bit<N>`.
    pub fn bits_for(value: &BigUint) -> u32 {
        u32::try_from(value.bits()).unwrap_or(u32::MAX)
    }
}
