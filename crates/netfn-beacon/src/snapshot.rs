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
//! | all others | the last call's frame |

use crate::{Beacon, Waiting};
use base_time::Time;

const FORMAT: u8 = 1;

pub(crate) fn write(beacon: &Beacon) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    bytes.extend(beacon.every.to_be_bytes());
    bytes.extend(beacon.idle_us.to_be_bytes());
    bytes.extend(beacon.calls.to_be_bytes());
    bytes.push(u8::from(beacon.waiting.is_some()));
    if let Some(waiting) = &beacon.waiting {
        bytes.extend(waiting.deadline.as_ps().to_be_bytes());
        bytes.extend(&waiting.frame);
    }
    bytes
}

/// The beacon of `bytes`, if it has the arguments of `like`.
pub(crate) fn read(like: &Beacon, bytes: &[u8]) -> Result<Beacon, String> {
    let mut rest = bytes;
    let [format] = take(&mut rest)?;
    if format != FORMAT {
        return Err(format!("the snapshot has format {format}, and this beacon knows {FORMAT}"));
    }
    let every = u32::from_be_bytes(take(&mut rest)?);
    let idle_us = u64::from_be_bytes(take(&mut rest)?);
    if (every, idle_us) != (like.every, like.idle_us) {
        return Err(format!(
            "the snapshot is of beacon({every}, {idle_us}), and this is beacon({}, {})",
            like.every, like.idle_us
        ));
    }
    let calls = u32::from_be_bytes(take(&mut rest)?);
    if calls >= every.max(1) {
        return Err(format!("the snapshot has counted {calls} calls of {every}"));
    }
    let waiting = match take(&mut rest)? {
        [0] if rest.is_empty() => None,
        [1] if idle_us > 0 => {
            let deadline = Time::from_ps(u64::from_be_bytes(take(&mut rest)?));
            Some(Waiting { deadline, frame: rest.to_vec() })
        }
        _ => return Err("the snapshot's timer makes no sense".to_string()),
    };
    Ok(Beacon { every, idle_us, calls, waiting })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or("the snapshot is cut short")?;
    *rest = tail;
    Ok(*head)
}
