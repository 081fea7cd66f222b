//! The memory of a beacon as bytes, big-endian:
//!
//! | bytes | |
//! |---|---|
//! | 1 | format, 1 |
//! | 4 | `every` |
//! | 8 | `idle_us` |
//! | 4 | calls since the last extra copy |
//! | 1 | 1 if the timer runs; only then the rest follows |
//! | 8 | when it ends, in picoseconds |
//! | 4, and so many | the last call's frame after its length |

use crate::{Beacon, Waiting};
use dataplane_api::{ExternError, SnapshotReader, SnapshotWriter};

const FORMAT: u8 = 1;

pub(crate) fn write(beacon: &Beacon) -> Vec<u8> {
    let mut out = SnapshotWriter::default();
    out.u8(FORMAT);
    out.u32(beacon.every);
    out.u64(beacon.idle_us);
    out.u32(beacon.calls);
    out.u8(u8::from(beacon.waiting.is_some()));
    if let Some(waiting) = &beacon.waiting {
        out.time(waiting.deadline);
        out.bytes(&waiting.frame);
    }
    out.finish()
}

/// The beacon of `bytes`, if it has the arguments of `like`.
pub(crate) fn read(like: &Beacon, bytes: &[u8]) -> Result<Beacon, ExternError> {
    let mut from = SnapshotReader::new(bytes, FORMAT)?;
    let (every, idle_us) = (from.u32()?, from.u64()?);
    if (every, idle_us) != (like.every, like.idle_us) {
        return Err(ExternError(format!(
            "the snapshot is of beacon({every}, {idle_us}), and this is beacon({}, {})",
            like.every, like.idle_us
        )));
    }
    let calls = from.u32()?;
    let calls = from.sensible(calls, calls < every.max(1))?;
    let running = from.bool()?;
    let waiting = match from.sensible(running, !running || idle_us > 0)? {
        true => Some(Waiting { deadline: from.time()?, frame: from.bytes()?.to_vec() }),
        false => None,
    };
    from.end()?;
    Ok(Beacon { every, idle_us, calls, waiting })
}
