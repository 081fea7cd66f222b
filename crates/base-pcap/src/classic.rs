//! Classic files, record by record.
//!
//! ```text
//! file:    magic, version, ..., link type (24 bytes)    record    record ...
//! record:  seconds, fraction, bytes kept, bytes on the wire (16 bytes)    the bytes
//! buffer:  | records that were read | the present one | records that follow ... |
//! ```
//!
//! A frame stays where it was read, until the next one is asked for.

use crate::link::{fcs_of_word, without_fcs};
use crate::reader::{BUFFER, Head, LARGEST_BLOCK, ReadError, at};
use std::io::Read;
use std::ops::Range;

/// Bytes of a file's header.
pub(crate) const HEADER: usize = 24;

/// Bytes in front of a frame; the first four words are known.
pub(crate) const RECORD: usize = 16;

/// The same where the magic number is [`MODIFIED`].
const MODIFIED_RECORD: usize = 24;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

/// Form of a file, by its magic number.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    is_big: bool,
    /// Nanoseconds of a unit of the fraction.
    unit: u64,
    /// Bytes in front of each frame.
    record: usize,
}

impl Form {
    /// Form of a file that begins with these bytes, if it is a classic one.
    pub(crate) fn of(start: &[u8]) -> Option<Form> {
        let magic = u32::from_le_bytes(*start.first_chunk()?);
        let form = |is_big, unit, record| Some(Form { is_big, unit, record });
        match magic {
            MICROSECONDS => form(false, 1000, RECORD),
            NANOSECONDS => form(false, 1, RECORD),
            MODIFIED => form(false, 1000, MODIFIED_RECORD),
            _ if magic.swap_bytes() == MICROSECONDS => form(true, 1000, RECORD),
            _ if magic.swap_bytes() == NANOSECONDS => form(true, 1, RECORD),
            _ => None,
        }
    }

    /// Word at a place.
    #[inline]
    fn word(self, bytes: &[u8], place: usize) -> u32 {
        let word =
            bytes.get(place..).and_then(|bytes| bytes.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        if self.is_big { word.swap_bytes() } else { word }
    }
}

/// A file that is being read.
pub(crate) struct Classic<'r> {
    source: Box<dyn Read + Send + 'r>,
    /// Bytes of the file.
    pub(crate) buffer: Vec<u8>,
    /// The bytes that are to be looked at.
    unread: Range<usize>,
    /// Nothing comes any more.
    is_over: bool,
    /// Place of the first unread byte in the file.
    offset: u64,
    form: Form,
    /// Bytes of frame check sequence after each frame.
    fcs: u32,
}

impl<'r> Classic<'r> {
    /// Goes on to read a file, of which `buffer` has the first `filled` bytes, the header at least. Refuses link layers but Ethernet.
    pub(crate) fn new(
        form: Form,
        buffer: Vec<u8>,
        filled: usize,
        source: Box<dyn Read + Send + 'r>,
    ) -> Result<Classic<'r>, ReadError> {
        let unread = HEADER..filled;
        let fcs = fcs_of_word(form.word(&buffer, HEADER - 4)).map_err(|message| at(0, message))?;
        Ok(Classic { source, buffer, unread, is_over: false, offset: HEADER as u64, form, fcs })
    }

    /// Reads the next frame, if there is one. Its bytes stay in the buffer.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<Head>, ReadError> {
        let form = self.form;
        if self.unread.len() < form.record && !self.fill(form.record)? {
            return if self.unread.is_empty() { Ok(None) } else { Err(self.ends_early()) };
        }
        let record = &self.buffer[self.unread.start..];
        let word = |place| form.word(record, place);
        let (seconds, fraction, kept, original) = (word(0), word(4), word(8), word(12));
        let length = form.record + kept as usize;
        if self.unread.len() < length && !self.fill(length)? {
            return Err(self.ends_early());
        }
        let first = self.unread.start + form.record;
        let bytes = &self.buffer[first..first + kept as usize];
        let (bytes, original) = without_fcs(bytes, original, self.fcs);
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * form.unit;
        let head = Head { nanos, original, place: first..first + bytes.len() };
        self.unread.start += length;
        self.offset += length as u64;
        Ok(Some(head))
    }

    fn ends_early(&self) -> ReadError {
        at(self.offset, "the file ends within a block")
    }

    /// Reads on, until `wanted` bytes are unread; false if the file has fewer. The buffer grows with what the file has, whatever it says about lengths.
    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<bool, ReadError> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        while self.unread.len() < wanted && !self.is_over {
            if self.unread.end == self.buffer.len() {
                if self.buffer.len() >= LARGEST_BLOCK {
                    return Err(at(self.offset, format!("this block is longer than {LARGEST_BLOCK} bytes")));
                }
                self.buffer.resize(2 * self.buffer.len().max(BUFFER / 2), 0);
            }
            let read = self.source.read(&mut self.buffer[self.unread.end..]);
            let read = read.map_err(|_| at(self.offset, "the file cannot be read"))?;
            self.is_over = read == 0;
            self.unread.end += read;
        }
        Ok(self.unread.len() >= wanted)
    }
}
