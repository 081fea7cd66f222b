//! The two checks that programs use most, eight bytes at a time.
//!
//! Before: `for each bit: r = r >> 1 ^ (r & 1 ? polynomial : 0)`
//! After:  `r = T7[b0] ^ T6[b1] ^ ... ^ T0[b7]`, where `Tn[b]` is what a byte becomes behind n bytes of zero
//! (Kounavis, Berry: A Systematic Approach to Building High Performance Software-Based CRC Generators, 2005).

/// Tables of a check whose bytes and remainder are reflected; 16-bit checks use the low half.
pub(crate) struct Tables([[u32; 256]; 8]);

/// CRC-16/ARC.
pub(crate) static CRC16: Tables = Tables::new(0xa001);

/// CRC-32/ISO-HDLC.
pub(crate) static CRC32: Tables = Tables::new(0xedb8_8320);

impl Tables {
    /// Of a polynomial without its highest term, the bit for `x^0` highest.
    const fn new(polynomial: u32) -> Tables {
        let mut tables = [[0; 256]; 8];
        let mut byte = 0;
        while byte < 256 {
            let mut remainder = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                remainder = remainder >> 1 ^ (if remainder & 1 == 1 { polynomial } else { 0 });
                bit += 1;
            }
            tables[0][byte] = remainder;
            byte += 1;
        }
        let mut zeros = 1;
        while zeros < 8 {
            let mut byte = 0;
            while byte < 256 {
                let before = tables[zeros - 1][byte];
                tables[zeros][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
                byte += 1;
            }
            zeros += 1;
        }
        Tables(tables)
    }

    /// The remainder of `data` behind `remainder`.
    pub(crate) fn of(&self, remainder: u32, data: &[u8]) -> u32 {
        let (chunks, rest) = data.as_chunks::<8>();
        let remainder = chunks.iter().fold(remainder, |remainder, chunk| {
            let bytes = (u64::from_le_bytes(*chunk) ^ u64::from(remainder)).to_le_bytes();
            bytes.iter().zip(self.0.iter().rev()).fold(0, |r, (byte, table)| r ^ table[usize::from(*byte)])
        });
        rest.iter().fold(remainder, |r, byte| r >> 8 ^ self.0[0][usize::from(r as u8 ^ byte)])
    }
}
