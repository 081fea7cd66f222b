//! Reading, frame by frame.

use crate::classic::{Classic, Form, HEADER};
use crate::ng::Ng;
use crate::{Frame, Record};
use std::io::Read;
use std::ops::Range;

/// The longest block that is read, in bytes.
pub const LARGEST_BLOCK: usize = 16 << 20;

/// Read buffer in bytes.
pub(crate) const BUFFER: usize = 1 << 16;

/// Error in a capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The byte of the file at which the block with the mistake starts.
    pub offset: u64,
    /// Description of the error.
    pub message: String,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.offset)
    }
}

impl std::error::Error for ReadError {}

/// The frames of a capture file, in its order. After an error there is nothing more.
pub struct Reader<'r> {
    file: File<'r>,
    /// The frame that was read last.
    now: Head,
    done: bool,
}

enum File<'r> {
    Classic(Classic<'r>),
    Ng(Ng<'r>),
}

/// A frame, and its place among the bytes that were read.
#[derive(Default)]
pub(crate) struct Head {
    pub(crate) nanos: u64,
    pub(crate) original: u32,
    pub(crate) place: Range<usize>,
}

impl<'r> Reader<'r> {
    /// Begins to read. An error says that this is no capture file of Ethernet frames, or that it cannot be read.
    pub fn new(source: impl Read + Send + 'r) -> Result<Reader<'r>, ReadError> {
        let mut source: Box<dyn Read + Send + 'r> = Box::new(Whole(source));
        let mut start = vec![0; BUFFER];
        let filled = source.read(&mut start).map_err(|_| at(0, "the file cannot be read"))?;
        let file = match Form::of(&start[..filled]) {
            Some(_) if filled < HEADER => return Err(at(0, "the file ends within its header")),
            Some(form) => File::Classic(Classic::new(form, start, filled, source)?),
            None => {
                start.truncate(filled);
                File::Ng(Ng::new(Whole(std::io::Cursor::new(start).chain(source)))?)
            }
        };
        Ok(Reader { file, now: Head::default(), done: false })
    }

    /// Passes the next frame to `take`, if there is one. After an error there is none.
    pub fn read<R>(&mut self, take: impl FnOnce(Frame<'_>) -> R) -> Result<Option<R>, ReadError> {
        Ok(if self.advance()? { Some(take(self.frame())) } else { None })
    }

    /// Reads the next [frame](Reader::frame); false if there is none. After an error there is none.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, ReadError> {
        if self.done {
            return Ok(false);
        }
        let read = match &mut self.file {
            File::Classic(classic) => classic.advance(),
            File::Ng(ng) => ng
                .advance()
                .map(|read| read.map(|(nanos, original)| Head { nanos, original, place: 0..ng.bytes.len() })),
        };
        self.done = !matches!(read, Ok(Some(_)));
        self.now = read?.unwrap_or_default();
        Ok(!self.done)
    }

    /// The frame that was read last, where it was read; empty if there is none.
    #[inline]
    pub fn frame(&self) -> Frame<'_> {
        let Head { nanos, original, place } = &self.now;
        let bytes = match &self.file {
            File::Classic(classic) => &classic.buffer,
            File::Ng(ng) => &ng.bytes,
        };
        Frame { nanos: *nanos, bytes: bytes.get(place.clone()).unwrap_or_default(), original: *original }
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.read(|frame| Record::from(frame)).transpose()
    }
}

pub(crate) fn at(offset: u64, message: impl Into<String>) -> ReadError {
    ReadError { offset, message: message.into() }
}

/// Reads until the buffer is full or the source is at its end: pipes give what they have.
struct Whole<R>(R);

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
