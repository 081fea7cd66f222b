//! The hash algorithms of v1model, over bytes, as BMv2 has them.

use crate::crc;
use crate::v1model::Calculation;
use base_diag::Span;
use control_writes::Crc;
use std::sync::Arc;

/// An algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Algorithm {
    Crc32,
    /// As the control plane sets it up.
    Crc32Custom,
    Crc16,
    /// As the control plane sets it up.
    Crc16Custom,
    Csum16,
    Xor16,
    Identity,
}

impl Algorithm {
    /// Algorithm of an enum member, in v1model's or PSA's spelling.
    pub fn by_name(name: &str) -> Option<Algorithm> {
        Some(match name.to_ascii_lowercase().as_str() {
            "crc32" | "target_default" => Algorithm::Crc32,
            "crc32_custom" => Algorithm::Crc32Custom,
            "crc16" => Algorithm::Crc16,
            "crc16_custom" => Algorithm::Crc16Custom,
            "csum16" | "ones_complement16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "identity" => Algorithm::Identity,
            _ => return None,
        })
    }

    /// The hash of `data`; `None` if it is as the control plane says.
    pub fn fixed(self, data: &[u8]) -> Option<u64> {
        let is_custom = matches!(self, Algorithm::Crc32Custom | Algorithm::Crc16Custom);
        (!is_custom).then(|| compute(self, data, &CustomCrcs::default(), None))
    }
}

/// Parameters of the checks that the control plane can set up. They begin as the plain ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CustomCrcs {
    pub(crate) crc16: Crc,
    pub(crate) crc32: Crc,
    /// Calls with their own parameters; width 16 or 32.
    of_calls: Vec<(Span, u32, Crc)>,
    /// Names of calls.
    pub(crate) calculations: Arc<[Calculation]>,
}

impl Default for CustomCrcs {
    fn default() -> CustomCrcs {
        CustomCrcs { crc16: CRC16, crc32: CRC32, of_calls: vec![], calculations: Arc::default() }
    }
}

impl CustomCrcs {
    /// Sets the parameters of all calls and objects.
    pub(crate) fn set(&mut self, width: u32, crc: Crc) {
        self.of_calls.retain(|(_, of, _)| *of != width);
        match width {
            16 => self.crc16 = crc,
            _ => self.crc32 = crc,
        }
    }

    /// Sets the parameters of one call.
    pub(crate) fn set_for(&mut self, call: Span, width: u32, crc: Crc) {
        self.of_calls.retain(|(of, with, _)| (*of, *with) != (call, width));
        self.of_calls.push((call, width, crc));
    }

    fn of(&self, call: Option<Span>, width: u32) -> Crc {
        let own = self.of_calls.iter().find(|(of, with, _)| Some(*of) == call && *with == width);
        match (own, width) {
            (Some((.., crc)), _) => *crc,
            (None, 16) => self.crc16,
            (None, _) => self.crc32,
        }
    }
}

/// CRC-16/ARC.
const CRC16: Crc =
    Crc { polynomial: 0x8005, initial: 0, final_xor: 0, reflect_data: true, reflect_remainder: true };

/// CRC-32/ISO-HDLC.
const CRC32: Crc = Crc {
    polynomial: 0x04c1_1db7,
    initial: u32::MAX,
    final_xor: u32::MAX,
    reflect_data: true,
    reflect_remainder: true,
};

/// The check of `data` in `width` bits: 16 or 32.
fn check(crc: Crc, width: u32, data: &[u8]) -> u32 {
    let top = 1u32 << (width - 1);
    let mask = top | (top - 1);
    let step = |remainder: u32, byte: &u8| {
        let byte = if crc.reflect_data { byte.reverse_bits() } else { *byte };
        (0..8).fold(remainder ^ u32::from(byte) << (width - 8), |r, _| {
            let next = if r & top != 0 { r << 1 ^ crc.polynomial } else { r << 1 };
            next & mask
        })
    };
    let remainder = data.iter().fold(crc.initial & mask, step);
    let remainder = if crc.reflect_remainder { remainder.reverse_bits() >> (32 - width) } else { remainder };
    (remainder ^ crc.final_xor) & mask
}

/// The hash of `data`, for a call of the program or for an object.
pub(crate) fn compute(algorithm: Algorithm, data: &[u8], custom: &CustomCrcs, call: Option<Span>) -> u64 {
    match algorithm {
        Algorithm::Crc32 => u64::from(!crc::CRC32.of(u32::MAX, data)),
        Algorithm::Crc32Custom => u64::from(check(custom.of(call, 32), 32, data)),
        Algorithm::Crc16 => u64::from(crc::CRC16.of(0, data)),
        Algorithm::Crc16Custom => u64::from(check(custom.of(call, 16), 16, data)),
        Algorithm::Csum16 => u64::from(csum16(data)),
        Algorithm::Xor16 => u64::from(xor16(data)),
        Algorithm::Identity => data.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}

/// A hash of data of a fixed length as the XOR of `zeros` and a value for each byte.
pub struct ByByte {
    /// For the last byte, the one before it, and so on.
    pub tables: &'static [[u32; 256]],
    /// The hash of bytes of zero.
    pub zeros: u64,
}

/// The hash of `bytes` bytes as such a sum; `None` if the algorithm is no such sum, or for too many bytes.
pub fn by_byte(algorithm: Algorithm, bytes: usize) -> Option<ByByte> {
    let tables = match algorithm {
        Algorithm::Crc32 => &crc::CRC32,
        Algorithm::Crc16 => &crc::CRC16,
        _ => return None,
    };
    let tables = tables.by_byte(bytes)?;
    Some(ByByte { tables, zeros: compute(algorithm, &vec![0; bytes], &CustomCrcs::default(), None) })
}

/// The Internet checksum (RFC 1071); an odd last byte is the high one of its word.
fn csum16(data: &[u8]) -> u16 {
    let sum = words(data).fold(0u64, |sum, word| sum + u64::from(word));
    let folded = std::iter::successors(Some(sum), |s| Some((s & 0xffff) + (s >> 16))).nth(4).unwrap_or(0);
    !(folded as u16)
}

fn xor16(data: &[u8]) -> u16 {
    words(data).fold(0, |acc, word| acc ^ word)
}

/// Big-endian words; an odd last byte is the high one.
fn words(data: &[u8]) -> impl Iterator<Item = u16> + '_ {
    data.chunks(2).map(|c| u16::from_be_bytes([c[0], c.get(1).copied().unwrap_or(0)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue of parametrised CRC algorithms, and of RFC 1071's example.
    #[test]
    fn known_answers() {
        let compute = |a, data: &[u8]| compute(a, data, &CustomCrcs::default(), None);
        let check = |a| compute(a, b"123456789");
        assert_eq!(check(Algorithm::Crc32), 0xcbf4_3926);
        assert_eq!(check(Algorithm::Crc16), 0xbb3d);
        assert_eq!(check(Algorithm::Crc32Custom), 0xcbf4_3926);
        assert_eq!(check(Algorithm::Crc16Custom), 0xbb3d);
        assert_eq!(check(Algorithm::Identity), 0x3132_3334_3536_3738);
        assert_eq!(check(Algorithm::Xor16), 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900);
        let rfc1071 = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(compute(Algorithm::Csum16, &rfc1071), !0xddf2 & 0xffff);
        assert_eq!(compute(Algorithm::Csum16, &[]), 0xffff);
        assert_eq!(compute(Algorithm::Csum16, &[0xff]), 0x00ff);
    }

    #[test]
    fn tables_do_what_bits_do() {
        let data: Vec<u8> = (0..100u32).map(|n| (n * 77 + n * n) as u8).collect();
        for length in 0..data.len() {
            let compute = |a| compute(a, &data[..length], &CustomCrcs::default(), None);
            assert_eq!(compute(Algorithm::Crc32), compute(Algorithm::Crc32Custom), "{length}");
            assert_eq!(compute(Algorithm::Crc16), compute(Algorithm::Crc16Custom), "{length}");
        }
    }

    /// CRC-16/XMODEM and CRC-32/BZIP2 of the same catalogue: nothing reflected. CRC-32/XFER: another polynomial.
    #[test]
    fn custom_checks_are_as_they_are_set_up() {
        let plain = Crc {
            polynomial: 0x1021,
            initial: 0,
            final_xor: 0,
            reflect_data: false,
            reflect_remainder: false,
        };
        let bzip2 = Crc { reflect_data: false, reflect_remainder: false, ..CRC32 };
        let xfer = Crc { polynomial: 0xaf, ..plain };
        let of = |crc16: Crc, crc32: Crc, algorithm| {
            compute(algorithm, b"123456789", &CustomCrcs { crc16, crc32, ..CustomCrcs::default() }, None)
        };
        assert_eq!(of(plain, bzip2, Algorithm::Crc16Custom), 0x31c3);
        assert_eq!(of(plain, bzip2, Algorithm::Crc32Custom), 0xfc89_1918);
        assert_eq!(of(plain, xfer, Algorithm::Crc32Custom), 0xbd0b_e338);
    }

    #[test]
    fn parameters_of_all_calls_replace_those_of_one() {
        let of = |polynomial| Crc { polynomial, ..CRC32 };
        let (call, mut custom) = (Some(Span::NONE), CustomCrcs::default());
        custom.set_for(Span::NONE, 16, of(1));
        custom.set_for(Span::NONE, 32, of(2));
        custom.set_for(Span::NONE, 16, of(3));
        assert_eq!((custom.of(call, 16), custom.of(call, 32), custom.of(None, 32)), (of(3), of(2), CRC32));
        custom.set(16, of(4));
        assert_eq!((custom.of(call, 16), custom.of(call, 32)), (of(4), of(2)));
    }

    #[test]
    fn checks_are_sums_of_what_bytes_give() {
        let data: Vec<u8> = (0..17u8).map(|i| i.wrapping_mul(73) ^ 0xa5).collect();
        for (algorithm, length) in
            [Algorithm::Crc32, Algorithm::Crc16].map(|a| (0..17).map(move |n| (a, n))).into_iter().flatten()
        {
            let sum = by_byte(algorithm, length).expect("sixteen at most");
            let bytes = data[..length].iter().rev().zip(sum.tables);
            let sum = bytes.fold(sum.zeros, |sum, (byte, table)| sum ^ u64::from(table[usize::from(*byte)]));
            assert_eq!(sum, compute(algorithm, &data[..length], &CustomCrcs::default(), None));
        }
        assert!(by_byte(Algorithm::Crc32, 17).is_none() && by_byte(Algorithm::Xor16, 4).is_none());
    }
}
