//! The hash algorithms of v1model, over bytes, as BMv2 has them.

/// An algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    Crc32,
    Crc16,
    Csum16,
    Xor16,
    Identity,
}

impl Algorithm {
    /// By the name of the enum member. The custom ones begin as the plain ones and cannot be set yet.
    pub(crate) fn by_name(name: &str) -> Option<Algorithm> {
        Some(match name.to_ascii_lowercase().as_str() {
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "csum16" | "ones_complement16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "identity" => Algorithm::Identity,
            _ => return None,
        })
    }
}

/// The hash of `data`.
pub(crate) fn compute(algorithm: Algorithm, data: &[u8]) -> u64 {
    match algorithm {
        Algorithm::Crc32 => u64::from(crc32(data)),
        Algorithm::Crc16 => u64::from(crc16(data)),
        Algorithm::Csum16 => u64::from(csum16(data)),
        Algorithm::Xor16 => u64::from(xor16(data)),
        Algorithm::Identity => data.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}

/// CRC-32 (ISO-HDLC): polynomial 0x04c11db7 reflected, all ones before and after.
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    };
    !data.iter().fold(u32::MAX, step)
}

/// CRC-16/ARC: polynomial 0x8005 reflected, zero before and after.
fn crc16(data: &[u8]) -> u16 {
    let step = |crc: u16, byte: &u8| {
        (0..8).fold(crc ^ u16::from(*byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xa001 } else { c >> 1 })
    };
    data.iter().fold(0, step)
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
        let check = |a| compute(a, b"123456789");
        assert_eq!(check(Algorithm::Crc32), 0xcbf4_3926);
        assert_eq!(check(Algorithm::Crc16), 0xbb3d);
        assert_eq!(check(Algorithm::Identity), 0x3132_3334_3536_3738);
        assert_eq!(check(Algorithm::Xor16), 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900);
        let rfc1071 = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(compute(Algorithm::Csum16, &rfc1071), !0xddf2 & 0xffff);
        assert_eq!(compute(Algorithm::Csum16, &[]), 0xffff);
        assert_eq!(compute(Algorithm::Csum16, &[0xff]), 0x00ff);
    }
}
