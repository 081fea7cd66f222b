//! Bytes and strings of bits, big-endian.

use crate::Bits;
use num_bigint::BigUint;

impl Bits {
    /// The value right-aligned in `width / 8` bytes, rounded up, most significant first.
    pub fn to_be_bytes(&self) -> Vec<u8> {
        let length = self.width().div_ceil(8) as usize;
        let digits = match self.to_u128() {
            Some(value) => value.to_be_bytes().to_vec(),
            None => self.to_biguint().to_bytes_be(),
        };
        let mut bytes = vec![0; length.saturating_sub(digits.len())];
        bytes.extend_from_slice(&digits[digits.len().saturating_sub(length)..]);
        bytes
    }

    /// The unsigned value in as few bytes as it needs, most significant first; zero is one byte. This is the canonical form of
    /// P4Runtime (1.5, section 8.3), in which servers answer.
    ///
    /// ```
    /// # use base_bits::Bits;
    /// assert_eq!(Bits::new(48, 1).to_canonical_bytes(), [1]);
    /// assert_eq!(Bits::new(48, 0x100).to_canonical_bytes(), [1, 0]);
    /// assert_eq!(Bits::zero(9).to_canonical_bytes(), [0]);
    /// ```
    pub fn to_canonical_bytes(&self) -> Vec<u8> {
        self.to_biguint().to_bytes_be()
    }

    /// The number in `bytes`, most significant first, modulo 2^`width`.
    pub fn from_be_bytes(width: u32, bytes: &[u8]) -> Bits {
        let used = &bytes[bytes.len().saturating_sub(width.div_ceil(8) as usize)..];
        if width <= 128 {
            Bits::new(width, used.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
        } else {
            Bits::from_biguint(width, BigUint::from_bytes_be(used))
        }
    }

    /// `width` characters `0` or `1`, most significant first.
    pub fn to_bit_string(&self) -> String {
        (0..self.width()).rev().map(|index| if self.bit(index) { '1' } else { '0' }).collect()
    }

    /// As wide as `text` is long; none if a character is not `0` or `1`.
    pub fn from_bit_string(text: &str) -> Option<Bits> {
        let width = u32::try_from(text.len()).ok()?;
        if !text.bytes().all(|c| c == b'0' || c == b'1') {
            return None;
        }
        if text.is_empty() {
            return Some(Bits::zero(0));
        }
        Some(Bits::from_biguint(width, BigUint::parse_bytes(text.as_bytes(), 2)?))
    }
}
