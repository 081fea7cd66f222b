//! Operations that change the width: concatenation, slices, casts.

use crate::Bits;
use crate::bits::{Repr, big_mask};

impl Bits {
    /// `self ++ low`: `self` becomes the more significant part.
    pub fn concat(&self, low: &Bits) -> Bits {
        let width = self.width().saturating_add(low.width());
        match (self.repr(), low.repr()) {
            (Repr::Small { value: a, .. }, Repr::Small { width: shift, value: b }) if width <= 128 => {
                Bits::new(width, a.checked_shl(*shift).unwrap_or(0) | b)
            }
            _ => Bits::from_biguint(width, (self.big().as_ref() << low.width()) | low.big().as_ref()),
        }
    }

    /// `self[hi:lo]`, `hi - lo + 1` bits wide. `lo <= hi < width` is the caller's duty: else bits beyond the
    /// width read as 0, and `hi < lo` gives width 0.
    pub fn slice(&self, hi: u32, lo: u32) -> Bits {
        debug_assert!(lo <= hi && hi < self.width(), "slice [{hi}:{lo}] of {} bits", self.width());
        let width = hi.saturating_add(1).saturating_sub(lo);
        self.shr_by(u64::from(lo)).resize(width)
    }

    /// `self` with bits `hi` to `lo` replaced by `value`; bounds as in [`slice`](Bits::slice), and
    /// `value` is cut or zero-extended to the slice's width.
    pub fn with_slice(&self, hi: u32, lo: u32, value: &Bits) -> Bits {
        debug_assert!(lo <= hi && hi < self.width(), "slice [{hi}:{lo}] of {} bits", self.width());
        let part = hi.saturating_add(1).saturating_sub(lo);
        debug_assert_eq!(part, value.width(), "operands of different widths");
        let hole = Bits::ones(part.min(self.width())).resize(self.width()).shl_by(u64::from(lo));
        let value = value.resize(part).resize(self.width()).shl_by(u64::from(lo));
        self.and(&hole.not()).or(&value)
    }

    /// Cast to `width` bits as `bit<N>`: cut off at the top, or zero-extended.
    pub fn resize(&self, width: u32) -> Bits {
        match self.repr() {
            _ if width == self.width() => self.clone(),
            Repr::Small { value, .. } => Bits::new(width, *value),
            Repr::Big { value, .. } => Bits::from_biguint(width, value.as_ref().clone()),
        }
    }

    /// Cast to `width` bits as `int<N>`: cut off at the top, or sign-extended.
    pub fn resize_signed(&self, width: u32) -> Bits {
        if !self.sign_bit() || width <= self.width() {
            return self.resize(width);
        }
        match self.to_i128() {
            Some(value) if width <= 128 => Bits::new(width, value as u128),
            _ => {
                let sign = big_mask(width) - big_mask(self.width());
                Bits::from_biguint(width, sign | self.big().as_ref())
            }
        }
    }
}
