//! Ports in messages: bytes, of as many bits as the architecture's ports have.

use crate::fault::{Result, fault};

/// Converts bytes to a port number of at most this number of bits.
pub(crate) fn port(bytes: &[u8], bits: u32) -> Result<u32> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let digits = bytes.get(zeros..).unwrap_or_default();
    if bytes.is_empty() || digits.len() > 4 {
        return fault("the port is malformed", format!("a port has 1 to {bits} bits"));
    }
    known_port(digits.iter().fold(0, |port, byte| port << 8 | u32::from(*byte)), bits)
}

/// A port that the architecture has.
pub(crate) fn known_port(port: u32, bits: u32) -> Result<u32> {
    match u32::BITS - port.leading_zeros() <= bits {
        true => Ok(port),
        false => fault("the port is too large", format!("{port} needs more than {bits} bits")),
    }
}

/// The shortest bytes of a port.
pub(crate) fn port_bytes(port: u32) -> Vec<u8> {
    let bytes = port.to_be_bytes();
    let zeros = bytes.iter().take_while(|b| **b == 0).count().min(3);
    bytes.get(zeros..).unwrap_or_default().to_vec()
}
