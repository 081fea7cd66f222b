//! Writing classic pcap with nanoseconds, little-endian.

use crate::classic::{NANOSECONDS, RECORD};
use crate::{Frame, Record};
use std::io::{Result, Write};

/// Longest frame that readers must expect, in bytes, as the header announces it.
pub const LARGEST_FRAME: u32 = 262_144;

const ETHERNET: u32 = 1;

/// Header of a file.
fn header() -> Vec<u8> {
    let mut header = NANOSECONDS.to_le_bytes().to_vec();
    header.extend(2u16.to_le_bytes());
    header.extend(4u16.to_le_bytes());
    header.extend([0; 8]);
    header.extend(LARGEST_FRAME.to_le_bytes());
    header.extend(ETHERNET.to_le_bytes());
    header
}

/// Bytes in front of a frame. Seconds wrap after 32 bits, in 2106.
#[inline]
fn head(frame: &Frame<'_>) -> [u8; RECORD] {
    let seconds = (frame.nanos / 1_000_000_000) as u32;
    let nanos = (frame.nanos % 1_000_000_000) as u32;
    let kept = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
    let mut head = [0; RECORD];
    for (place, word) in head.chunks_exact_mut(4).zip([seconds, nanos, kept, frame.original]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    head
}

/// A capture file that is being written.
pub struct Writer<W> {
    to: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut to: W) -> Result<Writer<W>> {
        to.write_all(&header())?;
        Ok(Writer { to })
    }

    /// Appends a record; see [`frame`](Writer::frame).
    pub fn write(&mut self, record: &Record) -> Result<()> {
        self.frame(Frame { nanos: record.nanos, bytes: &record.frame, original: record.original })
    }

    /// Appends a frame. Seconds wrap after 32 bits, in 2106.
    pub fn frame(&mut self, frame: Frame<'_>) -> Result<()> {
        self.to.write_all(&head(&frame))?;
        self.to.write_all(frame.bytes)
    }

    /// The underlying writer.
    pub fn into_inner(self) -> W {
        self.to
    }

    /// Passes everything on.
    pub fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

/// A capture that is written in pieces of one size: what is written last is [taken](Pieces::rest) at the end.
pub struct Pieces {
    bytes: Vec<u8>,
    size: usize,
}

impl Pieces {
    /// Begins with the header. `size` is that of a piece.
    pub fn new(size: usize) -> Pieces {
        let mut bytes = Vec::with_capacity(2 * size);
        bytes.extend(header());
        Pieces { bytes, size: size.max(1) }
    }

    /// Appends a frame; true if there is a [piece](Pieces::piece) to be written.
    #[inline]
    pub fn add(&mut self, frame: Frame<'_>) -> bool {
        self.bytes.reserve(RECORD + frame.bytes.len());
        self.bytes.extend_from_slice(&head(&frame));
        self.bytes.extend_from_slice(frame.bytes);
        self.bytes.len() >= self.size
    }

    /// Whole pieces, one after the other, to be written now; see [`wrote`](Pieces::wrote).
    pub fn piece(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() / self.size * self.size]
    }

    /// Forgets the [whole pieces](Pieces::piece).
    pub fn wrote(&mut self) {
        let whole = self.piece().len();
        self.bytes.copy_within(whole.., 0);
        self.bytes.truncate(self.bytes.len() - whole);
    }

    /// Takes what is no whole piece yet.
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_file() {
        let mut writer = Writer::new(vec![]).expect("memory");
        let mut pieces = Pieces::new(100);
        let mut written = vec![];
        for length in [0, 1, 60, 300, 12, 100, 0, 4] {
            let bytes = vec![length as u8; length];
            let frame = Frame { nanos: 1 << 40 | length as u64, bytes: &bytes, original: 500 };
            writer.frame(frame).expect("memory");
            if pieces.add(frame) {
                assert!(pieces.piece().len().is_multiple_of(100) && !pieces.piece().is_empty());
                written.extend_from_slice(pieces.piece());
                pieces.wrote();
            }
        }
        assert!(written.len() > 300);
        written.extend(pieces.rest());
        assert_eq!(written, writer.into_inner());
    }
}
