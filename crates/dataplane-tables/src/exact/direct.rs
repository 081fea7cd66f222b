//! An array with an entry number for every key there is.
//!
//! State: 4 bytes for each of 2^bits keys, for keys of up to 16 bits where that is no more than 64 bytes for each entry that the
//! table takes, little of it in any cache: a line for each 16 keys that packets have.
//! Cost: one read; insert and remove one write.

use crate::layout::KeyLayout;
use crate::records::MISS;

/// Keys of more bits never go into an array.
const MOST_BITS: u32 = 16;

/// An array this small is taken however few entries there may be.
const SMALL: u64 = 1024;

/// An array indexed by the key.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    entries: Vec<u32>,
}

impl Direct {
    /// Whether an array suits a table of `size` entries with exact keys of this layout.
    pub(crate) fn suits(layout: &KeyLayout, size: u32) -> bool {
        let bits = Direct::bits(layout);
        bits <= MOST_BITS && 1 << bits <= (u64::from(size) * 16).max(SMALL)
    }

    /// Bits of a key of this layout.
    pub(crate) fn bits(layout: &KeyLayout) -> u32 {
        layout.fields().iter().map(|(field, _)| field.width).fold(0, u32::saturating_add)
    }

    /// An empty array for keys of this layout.
    pub(crate) fn new(layout: &KeyLayout) -> Direct {
        Direct { entries: vec![MISS; 1 << Direct::bits(layout).min(MOST_BITS)] }
    }

    /// Entry numbers, indexed by key.
    pub(crate) fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// The entry with this key, or [`MISS`].
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> u32 {
        self.entries.get(key[0] as usize).copied().unwrap_or(MISS)
    }

    pub(crate) fn set(&mut self, key: &[u64], entry: u32) {
        if let Some(slot) = self.entries.get_mut(key[0] as usize) {
            *slot = entry;
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * 4
    }
}
