//! Fields in packets: any bit offset, most significant bit first, as on the wire (P4-16 §12.8, §15).

use crate::Bits;

/// Appends fields to a byte string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits used in the last byte, 1 to 8; 0 if there is no byte.
    used: u32,
}

impl BitWriter {
    /// Nothing written.
    pub fn new() -> BitWriter {
        BitWriter::default()
    }

    /// Appends all bits of `field`.
    pub fn push(&mut self, field: &Bits) {
        match field.to_u128() {
            Some(value) if field.width() <= 128 => self.push_u128(field.width(), value),
            _ => self.push_long(field),
        }
    }

    /// Appends one bit.
    pub fn push_bool(&mut self, value: bool) {
        self.push_u128(1, u128::from(value));
    }

    /// Appends the lowest `width` bits of `value`; at most 128, more are taken as 128.
    pub fn push_u128(&mut self, width: u32, value: u128) {
        let mut left = width.min(128);
        while left > 0 {
            if self.used == 0 || self.used == 8 {
                self.bytes.push(0);
                self.used = 0;
            }
            let take = left.min(8 - self.used);
            let part = (value >> (left - take)) as u8 & (0xff_u16 >> (8 - take)) as u8;
            if let Some(last) = self.bytes.last_mut() {
                *last |= part << (8 - self.used - take);
            }
            self.used += take;
            left -= take;
        }
    }

    /// Appends whole bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if self.is_aligned() {
            self.bytes.extend_from_slice(bytes);
            self.used = if self.bytes.is_empty() { 0 } else { 8 };
        } else {
            bytes.iter().for_each(|byte| self.push_u128(8, u128::from(*byte)));
        }
    }

    /// Appends zero bits up to the next byte border.
    pub fn pad(&mut self) {
        if !self.is_aligned() {
            self.used = 8;
        }
    }

    /// True if a whole number of bytes is written.
    pub fn is_aligned(&self) -> bool {
        self.used == 0 || self.used == 8
    }

    /// Number of bits written.
    pub fn len_bits(&self) -> u64 {
        self.bytes.len() as u64 * 8 - if self.used == 0 { 0 } else { u64::from(8 - self.used) }
    }

    /// The bytes written; the last one is padded with zero bits.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn push_long(&mut self, field: &Bits) {
        let first = field.width() % 8;
        let bytes = field.to_be_bytes();
        let mut rest = bytes.as_slice();
        if let (true, Some((head, tail))) = (first > 0, bytes.split_first()) {
            self.push_u128(first, u128::from(*head));
            rest = tail;
        }
        self.push_bytes(rest);
    }
}

/// Takes fields off a byte string.
#[derive(Clone, Copy, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    position: u64,
}

impl<'a> BitReader<'a> {
    /// At the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, position: 0 }
    }

    /// Takes `width` bits; none, and nothing is taken, if fewer are left.
    pub fn read(&mut self, width: u32) -> Option<Bits> {
        let field = self.peek(width)?;
        self.position += u64::from(width);
        Some(field)
    }

    /// The next `width` bits, which stay; none if fewer are left.
    pub fn peek(&self, width: u32) -> Option<Bits> {
        read_at(self.bytes, self.position, width)
    }

    /// Takes one bit.
    pub fn read_bool(&mut self) -> Option<bool> {
        self.read(1).map(|bit| !bit.is_zero())
    }

    /// Passes over `bits` bits; false, and nothing happens, if fewer are left.
    pub fn skip(&mut self, bits: u64) -> bool {
        let enough = bits <= self.remaining_bits();
        if enough {
            self.position += bits;
        }
        enough
    }

    /// Number of bits taken.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Number of bits left.
    pub fn remaining_bits(&self) -> u64 {
        self.bytes.len() as u64 * 8 - self.position
    }

    /// The bytes that are left; a byte begun is left out.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position.div_ceil(8) as usize..]
    }
}

/// `width` bits of `bytes` from bit `offset` on; none if they are not all there.
pub fn read_at(bytes: &[u8], offset: u64, width: u32) -> Option<Bits> {
    let end = offset.checked_add(u64::from(width))?;
    if end > bytes.len() as u64 * 8 {
        return None;
    }
    let window = bytes.get((offset / 8) as usize..end.div_ceil(8) as usize)?;
    let unused = (8 - end % 8) % 8;
    let whole = Bits::from_be_bytes(window.len() as u32 * 8, window);
    Some(whole.shr_by(unused).resize(width))
}

/// Overwrites the bits of `bytes` from bit `offset` on with `field`; false, and nothing happens, if they are
/// not all there.
pub fn write_at(bytes: &mut [u8], offset: u64, field: &Bits) -> bool {
    let Some(end) = offset.checked_add(u64::from(field.width())) else {
        return false;
    };
    if end > bytes.len() as u64 * 8 {
        return false;
    }
    let (Some(before), Some(behind)) = (
        read_at(bytes, offset / 8 * 8, (offset % 8) as u32),
        read_at(bytes, end, ((8 - end % 8) % 8) as u32),
    ) else {
        return false;
    };
    let patch = before.concat(field).concat(&behind).to_be_bytes();
    let start = (offset / 8) as usize;
    bytes[start..start + patch.len()].copy_from_slice(&patch);
    true
}
