//! The event log: always as a hash, and as text when asked for.

use crate::place::Reason;
use base_time::Time;
use dataplane_tables::{DIGEST_BLOCK, DIGEST_LANES, add_blocks};
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

/// A digest of a frame's bytes, the same on every processor.
pub(crate) fn digest(frame: &[u8]) -> u64 {
    // Long, and called from two places: by itself it would be a function without these instructions.
    dataplane_tables::fast(
        #[inline(always)]
        || digest_of(frame),
    )
}

#[inline(always)]
fn digest_of(frame: &[u8]) -> u64 {
    match frame.last_chunk::<DIGEST_BLOCK>() {
        Some(last) => digest_of_blocks(frame, last),
        None => digest_of_pairs(frame),
    }
}

/// Blocks after which the lanes are scrambled, since their keys begin again.
const ROUND: usize = 16;

/// The digest of at least a block: block by block into eight lanes, as in XXH3 (github.com/Cyan4973/xxHash); last come the `last` bytes, some of them
/// perhaps again.
#[inline(always)]
fn digest_of_blocks(frame: &[u8], last: &[u8; DIGEST_BLOCK]) -> u64 {
    let mut lanes = START;
    // Not the last one, even if it is whole.
    let (blocks, _) = frame[..frame.len() - 1].as_chunks::<DIGEST_BLOCK>();
    let (rounds, rest) = blocks.as_chunks::<ROUND>();
    for round in rounds {
        add_blocks(&mut lanes, round, &BLOCK_KEYS);
        scramble(&mut lanes);
    }
    add_blocks(&mut lanes, rest, &BLOCK_KEYS);
    add_blocks(&mut lanes, std::slice::from_ref(last), &BLOCK_KEYS[ROUND..]);
    let (pairs, _) = lanes.as_chunks::<2>();
    pairs.iter().fold(frame.len() as u64, |hash, [one, other]| mix(hash, hash ^ one, other ^ KEYS.1))
}

/// Makes the lanes depend on the order of what went into them.
#[inline(always)]
fn scramble(lanes: &mut [u64; DIGEST_LANES]) {
    for (lane, key) in lanes.iter_mut().zip(START) {
        *lane = (*lane ^ *lane >> 47 ^ key).wrapping_mul(0x9e37_79b1);
    }
}

/// The keys of the first block of a round are the first eight, of the next one those from the second on; of the last bytes the last eight.
static BLOCK_KEYS: [u64; ROUND + DIGEST_LANES] = numbers(1);

/// The lanes of no bytes.
const START: [u64; DIGEST_LANES] = numbers(100);

/// Numbers without a pattern, from the one of this number on: those of SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
const fn numbers<const N: usize>(first: u64) -> [u64; N] {
    let (mut numbers, mut at) = ([0; N], 0);
    while at < N {
        let mut number = (first + at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        numbers[at] = number ^ number >> 31;
        at += 1;
    }
    numbers
}

/// The digest of less than a block: pair by pair of words; the last pair has some bytes again, unless there is only a part of one.
#[inline(always)]
fn digest_of_pairs(frame: &[u8]) -> u64 {
    let hash = fold(0, frame.len() as u64);
    let Some(last) = frame.last_chunk::<16>() else {
        let mut pair = [0; 16];
        pair[..frame.len()].copy_from_slice(frame);
        return fold_pair(hash, pair);
    };
    let (pairs, _) = frame[..frame.len() - 1].as_chunks::<16>();
    let hash = pairs.iter().fold(hash, |hash, pair| fold_pair(hash, *pair));
    fold(fold_pair(hash, *last), 0)
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
        // A round, a whole block and a part of one; two whole pairs and a part; less than a pair.
        for length in [ROUND * DIGEST_BLOCK + 64 + 45, 45, 13] {
            let frame = vec![0x11; length];
            let mut seen: Vec<u64> = (0..=length).map(|length| digest(&frame[..length])).collect();
            for bit in 0..frame.len() * 8 {
                let mut other = frame.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                seen.push(digest(&other));
            }
            assert_different(seen);
        }
    }

    #[test]
    fn digests_differ_by_the_order_of_the_bytes() {
        let frame: Vec<u8> = (0..3 * ROUND * DIGEST_BLOCK + 100).map(|at| (at * at / 64) as u8).collect();
        let mut seen = vec![digest(&frame)];
        for size in [1, 2, 4, 8, 16, 32, 64, ROUND * DIGEST_BLOCK] {
            for first in (0..frame.len() - 2 * size).step_by(size.max(37)) {
                let mut other = frame.clone();
                other[first..first + 2 * size].rotate_left(size);
                if other != frame {
                    seen.push(digest(&other));
                }
            }
        }
        assert_different(seen);
    }

    /// One of every way through the code: reports of runs on other processors show these, too.
    #[test]
    fn digests_are_the_same_everywhere() {
        let frame: Vec<u8> = (0..3000).map(|at| (at * 7 + at / 256) as u8).collect();
        let digests: Vec<String> = [0, 13, 16, 60, 64, 65, 1024, 1025, 1514, 3000]
            .map(|length| format!("{:016x}", digest(&frame[..length])))
            .into();
        expect_test::expect![[r#"
            ca32cc92c69caab1
            b81a7de564ff8be1
            cde38de2086ba8a9
            6867691dc41a83e4
            11ea534e968c4fd3
            504500c69f5f2c97
            aab463a0d6322bab
            192849dc108dc27d
            744c44d075c9e141
            9af6c7286bcec056"#]]
        .assert_eq(&digests.join("\n"));
    }

    fn assert_different(mut seen: Vec<u64>) {
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
