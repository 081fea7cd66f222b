//! The first levels of a trie as one array.
//!
//! ```text
//! slots[first 12 or 18 bits of the key] = (best entry so far, node to go on from)
//! ```
//!
//! State: 8 bytes a slot: 32 KiB from 256 prefixes on, 2 MiB from 32,768 on (and back at half of that), and a bit for
//! each 64 slots that says whether they must be computed anew. Cost: one read instead of two or three nodes. An update
//! computes 64 slots anew, or all that a prefix shorter than the array covers, once for all updates of a batch.

use super::bits::{BitString, STRIDE};
use super::trie::{Descent, Root, Tries};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shortcut {
    /// The bits that choose a slot: a multiple of the stride, at least two of them.
    bits: u32,
    slots: Vec<Descent>,
    /// A bit for each group of 64 slots.
    stale: Vec<u64>,
}

impl Shortcut {
    /// How many bits an array should have, if any, now that there are `prefixes` of a field of `width` bits.
    pub(crate) fn bits_for(prefixes: usize, width: u32, now: u32) -> u32 {
        let reaches = |bits: u32, from: usize| {
            width >= bits + 2 * STRIDE && prefixes >= if now >= bits { from / 2 } else { from }
        };
        match () {
            () if reaches(18, 32768) => 18,
            () if reaches(12, 256) => 12,
            () => 0,
        }
    }

    /// All slots are stale.
    pub(crate) fn new(bits: u32) -> Shortcut {
        let groups = 1usize << (bits - STRIDE);
        Shortcut {
            bits,
            slots: vec![Descent::default(); 1 << bits],
            stale: vec![u64::MAX; groups.div_ceil(64)],
        }
    }

    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The slot of a key.
    #[inline(always)]
    pub(crate) fn slot(&self, key: impl BitString) -> &Descent {
        let mut index = 0;
        for depth in (0..self.bits).step_by(STRIDE as usize) {
            index = index << STRIDE | key.piece(depth) as usize;
        }
        &self.slots[index]
    }

    /// The slots of keys that begin with the first `length` bits of `key` are stale.
    pub(crate) fn touch(&mut self, key: impl BitString, length: u32) {
        let group_bits = self.bits - STRIDE;
        let path = (0..group_bits).step_by(STRIDE as usize);
        let first = path.fold(0, |index, depth| index << STRIDE | key.piece(depth) as usize);
        let covered = 1usize << group_bits.saturating_sub(length);
        for group in first..first + covered {
            self.stale[group / 64] |= 1 << (group % 64);
        }
    }

    /// Computes what is stale.
    pub(crate) fn refresh(&mut self, tries: &Tries, root: &Root) {
        let depth = self.bits - STRIDE;
        for (word, stale) in self.stale.iter_mut().enumerate() {
            while *stale != 0 {
                let group = word * 64 + stale.trailing_zeros() as usize;
                *stale &= *stale - 1;
                let found = tries.walk(root, (group as u64) << (64 - depth), depth);
                for piece in 0..64 {
                    self.slots[group * 64 + piece] = tries.next(root, found, depth, piece as u32);
                }
            }
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Descent>() + self.stale.capacity() * 8
    }
}
