//! The check: CRC-16/ARC, which is v1model's `crc16`. Polynomial x^16 + x^15 + x^2 + 1, bits reflected, from zero.

const TABLES: [[u16; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xa001 } else { value >> 1 };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut table = 1;
    while table < 4 {
        let mut byte = 0;
        while byte < 256 {
            let before: u16 = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
};

/// The CRC of `bytes`. Four bytes a step.
pub fn crc16(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<4>();
    let crc = words.iter().fold(0u16, |crc, [a, b, c, d]| {
        let [low, high] = crc.to_le_bytes();
        TABLES[3][usize::from(a ^ low)]
            ^ TABLES[2][usize::from(b ^ high)]
            ^ TABLES[1][usize::from(*c)]
            ^ TABLES[0][usize::from(*d)]
    });
    rest.iter().fold(crc, |crc, byte| crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::crc16;

    #[test]
    fn it_is_the_known_one() {
        assert_eq!(crc16(b"123456789"), 0xbb3d);
        // By single bits, from the definition.
        let slow = |bytes: &[u8]| {
            bytes.iter().fold(0u16, |crc, byte| {
                (0..8).fold(
                    crc ^ u16::from(*byte),
                    |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xa001 } else { crc >> 1 },
                )
            })
        };
        let bytes: Vec<u8> = (0..99u8).map(|n| n.wrapping_mul(73)).collect();
        assert!((0..99).all(|end| crc16(&bytes[..end]) == slow(&bytes[..end])));
    }
}
