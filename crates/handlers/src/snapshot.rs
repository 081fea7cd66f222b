//! Snapshots of handlers: the same bytes from both ways of running them.

use dataplane_api::{ExternError, SnapshotReader, SnapshotWriter};

const FORMAT: u8 = 1;

/// Snapshots of several workers, one after the other.
const SEVERAL: u8 = 2;

/// The snapshot of an instance with these workers. That of a single one is its memory alone, as of a handler in this process.
pub fn write_all<'m>(workers: impl ExactSizeIterator<Item = &'m Memory>) -> Vec<u8> {
    let mut all: Vec<Vec<u8>> = workers.map(Memory::write).collect();
    if all.len() == 1 {
        return all.remove(0);
    }
    let mut out = SnapshotWriter::default();
    out.u8(SEVERAL);
    all.iter().for_each(|memory| out.bytes(memory));
    out.finish()
}

/// Reads the snapshot of an instance with so many workers.
pub fn read_all(bytes: &[u8], workers: usize) -> Result<Vec<Memory>, ExternError> {
    if workers == 1 {
        return Ok(vec![Memory::read(bytes)?]);
    }
    let other = |_| ExternError(format!("the snapshot is not of a handler with {workers} workers"));
    let mut from = SnapshotReader::new(bytes, SEVERAL).map_err(other)?;
    let all = (0..workers).map(|_| from.bytes().map_err(other).and_then(Memory::read));
    let all = all.collect::<Result<_, _>>()?;
    from.end().map_err(other)?;
    Ok(all)
}

/// Memory of an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// State of the random numbers.
    pub random: u64,
    /// When the handler wants to be called, in nanoseconds; all ones for never.
    pub tick_at_ns: u64,
    /// The arena, or the handler's own snapshot.
    pub bytes: Vec<u8>,
}

impl Memory {
    pub fn write(&self) -> Vec<u8> {
        let mut out = SnapshotWriter::default();
        out.u8(FORMAT);
        out.u64(self.random);
        out.u64(self.tick_at_ns);
        out.bytes(&self.bytes);
        out.finish()
    }

    pub fn read(bytes: &[u8]) -> Result<Memory, ExternError> {
        let mut from = SnapshotReader::new(bytes, FORMAT)?;
        let (random, tick_at_ns, bytes) = (from.u64()?, from.u64()?, from.bytes()?.to_vec());
        from.end()?;
        Ok(Memory { random, tick_at_ns, bytes })
    }
}
