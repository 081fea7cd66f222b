//! A field's value as a string of bits, read from the top in pieces of six.

use crate::layout::Place;

/// Bits that a node of the trie decides.
pub(crate) const STRIDE: u32 = 6;

/// A string of bits.
pub(crate) trait BitString: Copy {
    /// The six bits from `depth` on; after the end there are zeros.
    fn piece(self, depth: u32) -> u32;

    /// The 1 to 10 pieces from `depth` on, the first in the highest bits of `6 * count`.
    fn pieces(self, depth: u32, count: u32) -> u64;
}

/// Up to 64 bits, left-aligned.
impl BitString for u64 {
    #[inline(always)]
    fn piece(self, depth: u32) -> u32 {
        (self << depth >> (64 - STRIDE)) as u32
    }

    #[inline(always)]
    fn pieces(self, depth: u32, count: u32) -> u64 {
        self << depth >> (64 - STRIDE * count)
    }
}

/// Up to 128 bits, left-aligned.
impl BitString for u128 {
    #[inline(always)]
    fn piece(self, depth: u32) -> u32 {
        (self << depth >> (128 - STRIDE)) as u32
    }

    #[inline(always)]
    fn pieces(self, depth: u32, count: u32) -> u64 {
        (self << depth >> (128 - STRIDE * count)) as u64
    }
}

/// A field of any width inside of a key.
impl BitString for (&Place, &[u64]) {
    fn piece(self, depth: u32) -> u32 {
        let (place, key) = self;
        let bit = |i: u32| place.width.checked_sub(depth + i + 1).is_some_and(|at| place.bit(key, at));
        (0..STRIDE).fold(0, |piece, i| piece << 1 | u32::from(bit(i)))
    }

    fn pieces(self, depth: u32, count: u32) -> u64 {
        (0..count).fold(0, |pieces, i| pieces << STRIDE | u64::from(self.piece(depth + i * STRIDE)))
    }
}

/// A field of up to 64 bits.
#[inline(always)]
pub(crate) fn narrow(place: &Place, key: &[u64]) -> u64 {
    place.get(key).checked_shl(64 - place.width).unwrap_or(0)
}

/// A field of 65 to 128 bits.
#[inline(always)]
pub(crate) fn wide(place: &Place, key: &[u64]) -> u128 {
    let value = u128::from(key[place.word + 1]) << 64 | u128::from(key[place.word]);
    value << (128 - place.width)
}
