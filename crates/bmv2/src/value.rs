//! Values as BMv2 has them, whole bytes of the field's width, and as P4Runtime has them, the shortest bytes.

use base_bits::num_bigint::BigUint;

/// The shortest bytes of a number: one at least.
pub fn shortest(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    match bytes.get(zeros..) {
        Some(digits @ [_, ..]) => digits.to_vec(),
        _ => vec![0],
    }
}

/// The bytes of a value, padded to the width of a field in bits.
pub fn padded(bytes: &[u8], bits: i32) -> Vec<u8> {
    let width = usize::try_from(bits).unwrap_or(0).div_ceil(8);
    let mut all = vec![0; width.saturating_sub(bytes.len())];
    all.extend_from_slice(bytes);
    all
}

/// All bits of a field.
pub fn ones(bits: i32) -> BigUint {
    (BigUint::from(1u8) << u32::try_from(bits).unwrap_or(0)) - 1u8
}

/// A number of these bytes.
pub fn number(bytes: &[u8]) -> BigUint {
    BigUint::from_bytes_be(bytes)
}

/// The mask of a prefix.
pub fn prefix(length: i32, bits: i32) -> BigUint {
    ones(bits) ^ ones((bits - length).max(0))
}
