//! The event log: always as a hash, and as text when asked for.

use crate::place::Reason;
use base_time::Time;
use device_network::Place;
use std::fmt;

/// A hash of all events of a run so far, with the bytes of all frames. Equal runs have equal hashes; runs that
/// differ have different ones, but for one pair in 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LogHash(pub u64);

/// 16 hexadecimal digits.
impl fmt::Display for LogHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Something that is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// A frame begins to leave by a wire.
    Sent { wire: u32, bytes: u32, digest: u64 },
    /// A frame has arrived at the end of a wire.
    Arrived { wire: u32, bytes: u32 },
    /// A packet ended here.
    Dropped { place: Place, reason: Reason },
    /// A host has taken a packet of a workload.
    Received { host: u32, flow: u32, sequence: u32 },
    /// A fault begins or is over.
    Fault { fault: u32, begins: bool },
    /// The timers of a device have run.
    Ticked { device: u32 },
    /// Something else has happened: the number of the note, and a digest of its words.
    Noted { note: u32, digest: u64 },
}

/// The log's state.
pub(crate) struct Log {
    hash: u64,
    entries: u64,
    text: Option<String>,
}

impl Log {
    pub fn new() -> Log {
        Log { hash: 0, entries: 0, text: None }
    }

    pub fn hash(&self) -> LogHash {
        LogHash(fold(self.hash, self.entries))
    }

    /// From now on, text is kept or not.
    pub fn keep_text(&mut self, keep: bool) {
        self.text = keep.then(|| self.text.take().unwrap_or_default());
    }

    /// The text since the last call.
    pub fn take_text(&mut self) -> String {
        self.text.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds an entry, but not its line.
    #[inline(always)]
    pub fn add(&mut self, now: Time, entry: Entry) {
        let (kind, first, second) = entry.words();
        self.hash = fold(fold(self.hash ^ now.as_ps(), kind ^ first), second);
        self.entries += 1;
    }

    /// True if text is kept: entries have lines then.
    pub fn keeps_text(&self) -> bool {
        self.text.is_some()
    }

    /// Adds the line of the entry that was added last.
    pub fn add_line(&mut self, now: Time, line: &str) {
        if let Some(text) = &mut self.text {
            text.push_str(&format!("{:<16} {line}\n", now.to_string()));
        }
    }
}

impl Entry {
    /// The entry as numbers. The first holds its kind in the upper half.
    #[inline(always)]
    fn words(self) -> (u64, u64, u64) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        match self {
            Entry::Sent { wire, bytes, digest } => (1 << 60, pair(bytes, wire), digest),
            Entry::Arrived { wire, bytes } => (2 << 60, pair(bytes, wire), 0),
            Entry::Dropped { place, reason } => (3 << 60, place.number(), reason.number()),
            Entry::Received { host, flow, sequence } => (4 << 60, host.into(), pair(flow, sequence)),
            Entry::Fault { fault, begins } => (6 << 60, fault.into(), begins.into()),
            Entry::Ticked { device } => (5 << 60, device.into(), 0),
            Entry::Noted { note, digest } => (7 << 60, note.into(), digest),
        }
    }
}

/// A digest of a frame's bytes: four lanes of every fourth pair of words, then the rest, then the lanes.
pub(crate) fn digest(frame: &[u8]) -> u64 {
    // Long, and called from two places: by itself it would be a function without these instructions.
    dataplane_tables::fast(
        #[inline(always)]
        || digest_of(frame),
    )
}

#[inline(always)]
fn digest_of(frame: &[u8]) -> u64 {
    let mut lanes = [1, 2, 3, frame.len() as u64];
    let (blocks, rest) = frame.as_chunks::<64>();
    for block in blocks {
        let (pairs, _) = block.as_chunks::<16>();
        for (lane, pair) in lanes.iter_mut().zip(pairs) {
            *lane = fold_pair(*lane, *pair);
        }
    }
    let (pairs, last) = rest.as_chunks::<16>();
    for (lane, pair) in lanes.iter_mut().zip(pairs) {
        *lane = fold_pair(*lane, *pair);
    }
    if !last.is_empty() {
        let mut pair = [0; 16];
        pair[..last.len()].copy_from_slice(last);
        lanes[pairs.len()] = fold_pair(lanes[pairs.len()], pair);
    }
    lanes.into_iter().fold(0, fold)
}

/// Mixes sixteen bytes into `hash` by one product, whose factors have eight each.
#[inline(always)]
fn fold_pair(hash: u64, pair: [u8; 16]) -> u64 {
    let pair = u128::from_le_bytes(pair);
    // Before the hash, for which the next step waits.
    mix(hash, hash ^ (pair as u64 ^ KEYS.0), (pair >> 64) as u64 ^ KEYS.1)
}

/// Mixes `word` into `hash`.
#[inline(always)]
fn fold(hash: u64, word: u64) -> u64 {
    mix(hash, hash ^ KEYS.0, word ^ KEYS.1)
}

const KEYS: (u64, u64) = (0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db);

/// The halves of a product of 128 bits, as wyhash has them, and `hash`, which a factor of 0 would lose.
#[inline(always)]
fn mix(hash: u64, one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64 ^ hash.rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_differ_in_every_bit_and_the_length() {
        // A whole block, and of the next one two whole pairs and a part.
        let frame = vec![0x11; 64 + 45];
        let mut seen = vec![digest(&frame), digest(&frame[..60]), digest(&[]), digest(&[0])];
        seen.extend((61..frame.len()).map(|length| digest(&frame[..length])));
        for bit in 0..frame.len() * 8 {
            let mut other = frame.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            seen.push(digest(&other));
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn the_hash_knows_order_and_time() {
        let hash = |entries: &[(u64, u32)]| {
            let mut log = Log::new();
            for (at, device) in entries {
                log.add(Time::from_ps(*at), Entry::Ticked { device: *device });
            }
            log.hash()
        };
        let all = [hash(&[]), hash(&[(1, 1), (1, 2)]), hash(&[(1, 2), (1, 1)]), hash(&[(2, 1), (2, 2)])];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
    }

    #[test]
    fn text_is_kept_when_asked_for() {
        let mut log = Log::new();
        let add = |log: &mut Log| log.add_line(Time::from_ps(5), "tick");
        add(&mut log);
        assert_eq!(log.take_text(), "");
        log.keep_text(true);
        add(&mut log);
        assert_eq!(log.take_text(), "5ps              tick\n");
        assert_eq!(log.take_text(), "");
    }
}
