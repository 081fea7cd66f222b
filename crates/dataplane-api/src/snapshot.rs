//! The memory of an extern as bytes: fields in order, integers big-endian, byte strings after their length.

use crate::ExternError;
use base_time::Time;

/// Writes a snapshot.
#[derive(Default, Debug)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
}

impl SnapshotWriter {
    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Writes the number of following elements, in four bytes.
    pub fn count(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    /// A moment, in picoseconds.
    pub fn time(&mut self, value: Time) {
        self.u64(value.as_ps());
    }

    /// Bytes as they are: whoever reads them knows how many.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Bytes after their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// The snapshot.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads a snapshot that may be of anything.
#[derive(Debug)]
pub struct SnapshotReader<'a> {
    rest: &'a [u8],
}

type Read<T> = Result<T, ExternError>;

impl<'a> SnapshotReader<'a> {
    /// Reads `bytes`, whose first one has to be `format`.
    pub fn new(bytes: &'a [u8], format: u8) -> Read<SnapshotReader<'a>> {
        let mut reader = SnapshotReader { rest: bytes };
        match reader.u8()? {
            found if found == format => Ok(reader),
            found => Err(ExternError(format!("the snapshot has format {found}, and {format} is known"))),
        }
    }

    /// As many bytes as are wanted.
    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or_else(cut_short)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Read<u8> {
        self.array().map(|[byte]| byte)
    }

    /// One byte, 0 or 1.
    pub fn bool(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ExternError("the snapshot makes no sense".into())),
        }
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Read<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads the number of following elements. Each takes at least a byte, so a number larger than the bytes left is an error.
    pub fn count(&mut self) -> Read<usize> {
        let count = self.u32()? as usize;
        if count <= self.rest.len() { Ok(count) } else { Err(cut_short()) }
    }

    /// A moment.
    pub fn time(&mut self) -> Read<Time> {
        self.u64().map(Time::from_ps)
    }

    /// Bytes after their number.
    pub fn bytes(&mut self) -> Read<&'a [u8]> {
        let count = self.count()?;
        let (head, tail) = self.rest.split_at(count);
        self.rest = tail;
        Ok(head)
    }

    /// A value that only makes sense where `holds`.
    pub fn sensible<T>(&self, value: T, holds: bool) -> Read<T> {
        if holds { Ok(value) } else { Err(ExternError("the snapshot makes no sense".into())) }
    }

    /// Nothing may be left.
    pub fn end(self) -> Read<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(ExternError(format!("{} bytes too many in the snapshot", self.rest.len())))
        }
    }
}

fn cut_short() -> ExternError {
    ExternError("the snapshot is cut short".into())
}
