//! The first 24 bits of a trie as arrays.
//!
//! ```text
//! top[first 18 bits]  = entry   or   chunk of 64 slots
//! chunk[next 6 bits]  = entry   or   way: best entry so far, node to go on from
//! ```
//!
//! All that the trie says of the first 24 bits, computed in advance, so that most lookups of IPv4 are two reads and no
//! bit is counted. The trie stays the truth: an update marks slots of `top`, and [`refresh`](Shortcut::refresh) computes them
//! anew, once for all updates of a batch. State: 1 MiB, 256 bytes for each of the first 18 bits that has longer prefixes (64 MiB
//! if all have) and 8 bytes for each of 24 bits that has; from `FROM` prefixes on, and until there are half as many. Cost: two
//! reads, then a node for each six bits. An update computes 64 slots, or all that a prefix shorter than 18 bits covers.
//! DIR-24-8 (Gupta, Lin, McKeown, INFOCOM 1998) takes 64 MiB always and one read.

use super::arena::Arena;
use super::bits::{BitString, STRIDE};
use super::trie::{Descent, Root, Tries};

/// Bits that choose a slot of `top`.
const TOP: u32 = 3 * STRIDE;

/// Bits that slots of chunks have after them.
pub(crate) const DEPTH: u32 = TOP + STRIDE;

/// Number of prefixes from which on the structure is worth its memory.
const FROM: usize = 64;

/// Flag in a slot: the rest is the number of a chunk or of a node; otherwise the slot is an entry number.
const FURTHER: u32 = FirstBits::FURTHER;

/// Slots of a chunk.
const SLOTS: usize = 1 << STRIDE;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk([u32; SLOTS]);

/// Addresses of the module's arrays, for generated code that reads them. They are valid until the table changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstBits {
    /// A slot for each value of the first [`TOP`](FirstBits::TOP) bits.
    pub top: *const u32,
    /// Chunks of a slot for each value of the next [`CHUNK`](FirstBits::CHUNK) bits.
    pub chunks: *const u32,
}

impl FirstBits {
    /// Bits that choose a slot of the first array.
    pub const TOP: u32 = TOP;
    /// Bits that choose a slot of a chunk.
    pub const CHUNK: u32 = STRIDE;
    /// Flag of a slot that is no entry number. In `top`, the other bits are the number of a chunk; in a chunk, the lookup must continue in the trie.
    pub const FURTHER: u32 = 1 << 31;
}

/// Results of the trie for the first 24 bits.
#[derive(Clone, Debug)]
pub(crate) struct Shortcut {
    top: Vec<u32>,
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    /// For each chunk a run of them.
    descents: Arena<Descent>,
    /// A bit for each slot of `top` that must be computed again.
    stale: Vec<u64>,
    /// The words of `stale` that are not zero.
    touched: Vec<u32>,
}

impl Shortcut {
    /// Whether the structure pays off for this number of prefixes of a field of `width` bits.
    pub(crate) fn is_worth(prefixes: usize, width: u32, is_there: bool) -> bool {
        width >= DEPTH && prefixes >= if is_there { FROM / 2 } else { FROM }
    }

    /// All slots are stale.
    pub(crate) fn new() -> Shortcut {
        Shortcut {
            top: vec![0; 1 << TOP],
            chunks: vec![],
            free: vec![],
            descents: Arena::new(),
            stale: vec![u64::MAX; (1 << TOP) / 64],
            touched: (0..(1 << TOP) / 64).collect(),
        }
    }

    pub(crate) fn first_bits(&self) -> FirstBits {
        FirstBits { top: self.top.as_ptr(), chunks: self.chunks.as_ptr().cast() }
    }

    #[inline(always)]
    fn index(key: impl BitString) -> usize {
        (key.piece(0) << (2 * STRIDE) | key.piece(STRIDE) << STRIDE | key.piece(2 * STRIDE)) as usize
    }

    /// Asks for the first line that [`find`](Shortcut::find) reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: impl BitString) {
        crate::cpu::prefetch(&self.top[Shortcut::index(key)]);
    }

    /// Asks for the second line.
    #[inline(always)]
    pub(crate) fn prefetch_next(&self, key: impl BitString) {
        let slot = self.top[Shortcut::index(key)];
        if let Some(chunk) = self.chunks.get((slot & !FURTHER) as usize) {
            crate::cpu::prefetch(&chunk.0[key.piece(TOP) as usize]);
        }
    }

    /// Result of the first [`DEPTH`] bits of a key.
    #[inline(always)]
    pub(crate) fn find(&self, key: impl BitString) -> Descent {
        let mut slot = self.top[Shortcut::index(key)];
        if slot & FURTHER != 0 {
            slot = self.chunks[(slot & !FURTHER) as usize].0[key.piece(TOP) as usize % SLOTS];
        }
        if slot & FURTHER != 0 {
            *self.descents.get(slot & !FURTHER)
        } else {
            Descent { best: slot, node: 0 }
        }
    }

    /// The slots of keys that begin with the first `length` bits of `key` are stale.
    pub(crate) fn touch(&mut self, key: impl BitString, length: u32) {
        let first = Shortcut::index(key);
        let last = first + (1 << TOP.saturating_sub(length)) - 1;
        for word in first / 64..=last / 64 {
            let (from, to) = (first.max(word * 64) % 64, last.min(word * 64 + 63) % 64);
            if self.stale[word] == 0 {
                self.touched.push(word as u32);
            }
            self.stale[word] |= u64::MAX >> (63 - (to - from)) << from;
        }
    }

    /// Recomputes stale slots.
    pub(crate) fn refresh(&mut self, tries: &Tries, root: &Root) {
        for word in std::mem::take(&mut self.touched) {
            let mut stale = std::mem::take(&mut self.stale[word as usize]);
            let above = TOP - STRIDE;
            let found = tries.walk(root, u64::from(word) << (64 - above), above);
            while stale != 0 {
                let piece = stale.trailing_zeros();
                stale &= stale - 1;
                let found = tries.next(root, found, above, piece);
                self.fill((word << STRIDE | piece) as usize, tries, root, found);
            }
        }
    }

    /// Computes one slot of `top` and its chunk.
    fn fill(&mut self, slot: usize, tries: &Tries, root: &Root, found: Descent) {
        let old = self.top[slot];
        let chunk = (old & FURTHER != 0).then_some(old & !FURTHER);
        if let Some(chunk) = chunk {
            // The descents of a chunk are consecutive: the first one and their number are enough.
            let further = self.chunks[chunk as usize].0.iter().filter(|slot| **slot & FURTHER != 0);
            let first = further.clone().min().map_or(0, |slot| slot & !FURTHER);
            self.descents.give(first, further.count() as u32);
        }
        if found.node == 0 {
            self.free.extend(chunk);
            self.top[slot] = found.best;
            return;
        }
        let next: [Descent; SLOTS] = std::array::from_fn(|piece| tries.next(root, found, TOP, piece as u32));
        let further = next.iter().filter(|descent| descent.node != 0).count() as u32;
        let mut place = if further > 0 { self.descents.take(further) } else { 0 };
        let chunk = chunk.or_else(|| self.free.pop()).unwrap_or(self.chunks.len() as u32);
        if chunk as usize == self.chunks.len() {
            self.chunks.push(Chunk([0; SLOTS]));
        }
        for (slot, next) in self.chunks[chunk as usize].0.iter_mut().zip(next) {
            *slot = next.best;
            if next.node != 0 {
                *self.descents.get_mut(place) = next;
                *slot = FURTHER | place;
                place += 1;
            }
        }
        self.top[slot] = FURTHER | chunk;
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.top.capacity() + self.free.capacity() + self.touched.capacity();
        words * 4
            + self.chunks.capacity() * size_of::<Chunk>()
            + self.descents.bytes()
            + self.stale.capacity() * 8
    }
}
