//! The two checks that programs use most, sixteen bytes at a time.
//!
//! Before: `for each bit: r = r >> 1 ^ (r & 1 ? polynomial : 0)` After:  `r = T15[b0] ^ T14[b1] ^ ... ^ T0[b15]`, where
//! `Tn[b]` is the remainder of a byte followed by n zero bytes (Kounavis, Berry: A Systematic Approach to Building High
//! Performance Software-Based CRC Generators, 2005). No look-up waits for another; the bytes after the last sixteen are
//! done the same way.

/// Bytes that are looked up at once.
const AT_ONCE: usize = 16;

/// Tables of a reflected check; 16-bit checks use the low half.
pub(crate) struct Tables([[u32; 256]; AT_ONCE]);

/// CRC-16/ARC.
pub(crate) static CRC16: Tables = Tables::new(0xa001);

/// CRC-32/ISO-HDLC.
pub(crate) static CRC32: Tables = Tables::new(0xedb8_8320);

impl Tables {
    /// Tables for a polynomial without its highest term, with `x^0` in the highest bit.
    const fn new(polynomial: u32) -> Tables {
        let mut tables = [[0; 256]; AT_ONCE];
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
        while zeros < AT_ONCE {
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

    /// Tables of each of `bytes` bytes, at most [`AT_ONCE`]: the remainder of a byte followed by the remaining ones.
    pub(crate) fn by_byte(&'static self, bytes: usize) -> Option<&'static [[u32; 256]]> {
        self.0.get(..bytes)
    }

    /// The remainder of `data` after `remainder`.
    pub(crate) fn of(&self, remainder: u32, data: &[u8]) -> u32 {
        let (chunks, rest) = data.as_chunks::<AT_ONCE>();
        let remainder = chunks.iter().fold(remainder, |remainder, chunk| self.step(remainder, chunk));
        self.step(remainder, rest)
    }

    /// Up to [`AT_ONCE`] bytes more.
    #[inline(always)]
    fn step(&self, remainder: u32, bytes: &[u8]) -> u32 {
        let before = remainder.to_le_bytes();
        // Of fewer than four bytes, a part of the remainder stays, further down.
        let kept = u64::from(remainder) >> (8 * bytes.len().min(4));
        let tables = self.0[..bytes.len()].iter().rev();
        let bytes = bytes.iter().zip(before.into_iter().chain([0; AT_ONCE - 4]));
        bytes
            .zip(tables)
            .fold(kept as u32, |r, ((byte, before), table)| r ^ table[usize::from(byte ^ before)])
    }
}
