//! Fields of a header that begin and end anywhere.

/// A field: its first bit and its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// From the frame's first bit.
    pub at: u32,
    /// Bits.
    pub width: u32,
}

impl Place {
    /// Bytes that hold the field.
    pub fn bytes(self) -> usize {
        self.width.div_ceil(8) as usize
    }
}

fn bit(bytes: &[u8], at: u32) -> Option<u8> {
    bytes.get(at as usize / 8).map(|byte| byte >> (7 - at % 8) & 1)
}

fn put(bytes: &mut [u8], at: u32, value: bool) {
    if let Some(byte) = bytes.get_mut(at as usize / 8) {
        let mask = 0x80 >> (at % 8);
        *byte = if value { *byte | mask } else { *byte & !mask };
    }
}

/// A field of up to 64 bits; none if the bytes end before it does.
pub fn get(bytes: &[u8], Place { at, width }: Place) -> Option<u64> {
    (at..at + width).try_fold(0, |sum, at| Some(sum << 1 | u64::from(bit(bytes, at)?)))
}

/// Sets a field of up to 64 bits.
pub fn set(bytes: &mut [u8], Place { at, width }: Place, value: u64) {
    for n in 0..width {
        put(bytes, at + n, value.checked_shr(width - 1 - n).unwrap_or(0) & 1 == 1);
    }
}

/// A field of any width as bytes, with zeros in front.
pub fn get_bytes(bytes: &[u8], place: Place) -> Option<Vec<u8>> {
    let mut out = vec![0; place.bytes()];
    let front = out.len() as u32 * 8 - place.width;
    for n in 0..place.width {
        put(&mut out, front + n, bit(bytes, place.at + n)? == 1);
    }
    Some(out)
}

/// Sets a field of any width; bytes that are missing count as 0.
pub fn set_bytes(bytes: &mut [u8], place: Place, value: &[u8]) {
    let front = (value.len() as u32 * 8).saturating_sub(place.width);
    for n in 0..place.width {
        put(bytes, place.at + n, bit(value, front + n) == Some(1));
    }
}
