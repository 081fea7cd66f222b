//! Snapshots of handlers: the same bytes from both ways of running them.

use dataplane_api::{ExternError, SnapshotReader, SnapshotWriter};

const FORMAT: u8 = 1;

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
