//! Writing classic pcap with nanoseconds, little-endian.

use crate::{Frame, Record};
use std::io::{Result, Write};

/// Longest frame that readers must expect, in bytes, as the header announces it.
pub const LARGEST_FRAME: u32 = 262_144;

const NANOSECONDS: u32 = 0xa1b2_3c4d;
const ETHERNET: u32 = 1;

/// A capture file that is being written.
pub struct Writer<W> {
    to: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut to: W) -> Result<Writer<W>> {
        let mut header = NANOSECONDS.to_le_bytes().to_vec();
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(LARGEST_FRAME.to_le_bytes());
        header.extend(ETHERNET.to_le_bytes());
        to.write_all(&header)?;
        Ok(Writer { to })
    }

    /// Appends a record; see [`frame`](Writer::frame).
    pub fn write(&mut self, record: &Record) -> Result<()> {
        self.frame(Frame { nanos: record.nanos, bytes: &record.frame, original: record.original })
    }

    /// Appends a frame. Seconds wrap after 32 bits, in 2106.
    pub fn frame(&mut self, frame: Frame<'_>) -> Result<()> {
        let seconds = (frame.nanos / 1_000_000_000) as u32;
        let nanos = (frame.nanos % 1_000_000_000) as u32;
        let kept = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        let mut head = [0; 16];
        for (place, word) in head.chunks_exact_mut(4).zip([seconds, nanos, kept, frame.original]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.to.write_all(&head)?;
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
