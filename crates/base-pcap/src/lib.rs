//! Capture files: classic pcap and pcapng to frames with times, and frames to pcap.
//!
//! Both are read as a stream, with microsecond, nanosecond and pcapng's own resolutions, in either byte order.
//!
//! ```
//! use base_pcap::{Reader, Record, Writer};
//! let mut file = vec![];
//! let record = Record { nanos: 1_500, frame: vec![1, 2, 3], original: 3 };
//! Writer::new(&mut file).unwrap().write(&record).unwrap();
//! let read: Vec<Record> = Reader::new(file.as_slice()).unwrap().map(Result::unwrap).collect();
//! assert_eq!(read, [record]);
//! ```
//!
//! **Invariant**: bounded. A block of more than [`LARGEST_BLOCK`] bytes is refused before it is read, whatever the
//! file says about its lengths.

mod classic;
mod link;
mod merged;
mod ng;
mod reader;
mod writer;

pub use merged::Merged;
pub use reader::{LARGEST_BLOCK, ReadError, Reader};
pub use writer::{LARGEST_FRAME, Pieces, Writer};

/// One captured frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// When it was captured: nanoseconds since 1970, or what the file counts from.
    pub nanos: u64,
    /// The bytes that were kept.
    pub frame: Vec<u8>,
    /// Length on the wire in bytes; larger than that of `frame` if the capture truncated it.
    pub original: u32,
}

/// A captured frame that stays where it was read; see [`Record`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Frame<'b> {
    pub nanos: u64,
    pub bytes: &'b [u8],
    pub original: u32,
}

impl<'b> Frame<'b> {
    /// A frame of which nothing is cut.
    pub fn whole(nanos: u64, bytes: &'b [u8]) -> Frame<'b> {
        Frame { nanos, bytes, original: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
    }
}

impl From<Frame<'_>> for Record {
    fn from(frame: Frame<'_>) -> Record {
        Record { nanos: frame.nanos, frame: frame.bytes.to_vec(), original: frame.original }
    }
}
