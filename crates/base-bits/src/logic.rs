//! Bitwise operations and shifts (P4-16 §8.5, §8.6).

use crate::Bits;
use crate::bits::{Repr, big_mask, sign_extended};

impl Bits {
    /// `~self`.
    pub fn not(&self) -> Bits {
        match self.repr() {
            Repr::Small { width, value } => Bits::new(*width, !value),
            Repr::Big { width, value } => Bits::from_biguint(*width, big_mask(*width) - value.as_ref()),
        }
    }

    /// `self & other`.
    pub fn and(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => Bits::new(*width, a & b),
            _ => Bits::from_biguint(self.width(), self.big().as_ref() & other.big().as_ref()),
        }
    }

    /// `self | other`.
    pub fn or(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => Bits::new(*width, a | b),
            _ => Bits::from_biguint(self.width(), self.big().as_ref() | other.big().as_ref()),
        }
    }

    /// `self ^ other`.
    pub fn xor(&self, other: &Bits) -> Bits {
        let other = self.matched(other);
        match (self.repr(), other.repr()) {
            (Repr::Small { width, value: a }, Repr::Small { value: b, .. }) => Bits::new(*width, a ^ b),
            _ => Bits::from_biguint(self.width(), self.big().as_ref() ^ other.big().as_ref()),
        }
    }

    /// `self << amount`, the amount unsigned and of any width; 0 once it reaches the width.
    pub fn shl(&self, amount: &Bits) -> Bits {
        self.shl_by(amount.saturated_u64())
    }

    /// `self >> amount` on `bit<N>`, the amount unsigned and of any width; 0 once it reaches the width.
    pub fn shr(&self, amount: &Bits) -> Bits {
        self.shr_by(amount.saturated_u64())
    }

    /// `self >> amount` on `int<N>`, the amount unsigned and of any width; only copies of the sign remain once
    /// it reaches the width.
    pub fn shr_signed(&self, amount: &Bits) -> Bits {
        self.shr_signed_by(amount.saturated_u64())
    }

    /// [`shl`](Bits::shl) by a plain number.
    pub fn shl_by(&self, amount: u64) -> Bits {
        match self.repr() {
            _ if amount >= u64::from(self.width()) => Bits::zero(self.width()),
            Repr::Small { width, value } => Bits::new(*width, value << amount),
            Repr::Big { width, value } => Bits::from_biguint(*width, value.as_ref() << amount),
        }
    }

    /// [`shr`](Bits::shr) by a plain number.
    pub fn shr_by(&self, amount: u64) -> Bits {
        match self.repr() {
            _ if amount >= u64::from(self.width()) => Bits::zero(self.width()),
            Repr::Small { width, value } => Bits::new(*width, value >> amount),
            Repr::Big { width, value } => Bits::from_biguint(*width, value.as_ref() >> amount),
        }
    }

    /// [`shr_signed`](Bits::shr_signed) by a plain number.
    pub fn shr_signed_by(&self, amount: u64) -> Bits {
        match self.repr() {
            Repr::Small { width, value } => {
                Bits::new(*width, (sign_extended(*width, *value) >> amount.min(127)) as u128)
            }
            Repr::Big { .. } if self.sign_bit() => self.not().shr_by(amount).not(),
            Repr::Big { .. } => self.shr_by(amount),
        }
    }

    /// True if `value` and `self` agree in every bit that is set in `mask`: a ternary match.
    pub fn matches(&self, value: &Bits, mask: &Bits) -> bool {
        self.xor(value).and(mask).is_zero()
    }

    fn saturated_u64(&self) -> u64 {
        self.to_u64().unwrap_or(u64::MAX)
    }
}
