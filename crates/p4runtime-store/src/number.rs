//! Numbers as bytestrings (P4Runtime 1.5, section 8.3).

use crate::fault::{Result, Within, fault};
use base_bits::Bits;
use base_bits::num_bigint::{BigInt, BigUint};
use p4runtime_proto::google::rpc::Code;

/// Converts bytes to a number of `bit<bits>`. An error if the number does not fit.
pub(crate) fn unsigned(bytes: &[u8], bits: i32) -> Result<Bits> {
    let width = width(bits);
    if bytes.is_empty() {
        return empty();
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(zeros..).unwrap_or_default();
    let taken = digits.first().map_or(0, |first| digits.len() as u64 * 8 - u64::from(first.leading_zeros()));
    if taken > u64::from(width) {
        return too_wide(&format!("{:#x}", BigUint::from_bytes_be(digits)), taken, width);
    }
    Ok(match digits.len() {
        ..=16 => Bits::new(width, digits.iter().fold(0, |sum, digit| sum << 8 | u128::from(*digit))),
        _ => Bits::from_biguint(width, BigUint::from_bytes_be(digits)),
    })
}

/// The number of `int<bits>` that bytes are, in two's complement.
pub(crate) fn signed(bytes: &[u8], bits: i32) -> Result<Bits> {
    let width = width(bits);
    if bytes.is_empty() {
        return empty();
    }
    let value = BigInt::from_signed_bytes_be(bytes);
    let fitted = Bits::from_bigint(width, &value);
    match fitted.to_bigint_signed() == value {
        true => Ok(fitted),
        false => too_wide(&value.to_string(), value.bits() + 1, width),
    }
}

fn width(bits: i32) -> u32 {
    u32::try_from(bits).unwrap_or(0)
}

fn empty<T>() -> Result<T> {
    fault("the value is missing", "an empty byte string is not a number")
        .code(Code::OutOfRange)
        .help(|| Some("write zero as \"\\000\"".into()))
}

fn too_wide<T>(shown: &str, taken: u64, width: u32) -> Result<T> {
    fault("the value does not fit", format!("{shown} needs {taken} bits, and there are only {width}"))
        .code(Code::OutOfRange)
}

/// The shortest bytes that are this number of `bit<N>`.
pub(crate) fn encode(value: &Bits) -> Vec<u8> {
    value.to_canonical_bytes()
}

/// The canonical form of the bytes of a number of `bit<bits>`; other bytes are returned unchanged.
pub(crate) fn canonical(bytes: &[u8], bits: i32) -> Vec<u8> {
    unsigned(bytes, bits).map_or_else(|_| bytes.to_vec(), |value| encode(&value))
}

/// The shortest bytes that are this number of `int<N>`.
pub(crate) fn encode_signed(value: &Bits) -> Vec<u8> {
    value.to_bigint_signed().to_signed_bytes_be()
}
