//! Numbers as strings of bytes (P4Runtime 1.5, section 8.4).

use base_bits::Bits;

/// As many bytes as the width needs, the highest first: what older servers want. A valid form, not the canonical one.
pub fn padded(value: &Bits) -> Vec<u8> {
    let mut bytes = value.to_be_bytes();
    if bytes.is_empty() {
        bytes.push(0);
    }
    bytes
}

/// The canonical form: no leading zero bytes; zero is one byte.
pub fn canonical(value: &Bits) -> Vec<u8> {
    value.to_canonical_bytes()
}
