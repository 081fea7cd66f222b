//! An array with the best entry for every key there is.
//!
//! ```text
//! entry 7, value 01*1 ──> keys 0101 and 0111: each keeps the better of 7 and what it has
//! ```
//!
//! State: 4 bytes for each of 2^bits keys, for keys of up to 14 bits: 64 KiB at most. Cost: one read; an added entry is compared at each key
//! that it fits; each key that a removed one had is looked up in the structure that the array stands for.

use super::rules::Rules;
use crate::exact::Direct;
use crate::layout::KeyLayout;
use crate::records::MISS;

/// Keys of more bits have no array: an entry that fits them all would be compared at each.
const MOST_BITS: u32 = 14;

/// Best entries, indexed by the key.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    best: Direct,
    /// All bits that a key may have.
    all: u64,
}

impl Array {
    /// Whether an array suits keys of this layout.
    pub(crate) fn suits(layout: &KeyLayout) -> bool {
        Direct::bits(layout) <= MOST_BITS
    }

    /// All keys miss.
    pub(crate) fn new(layout: &KeyLayout) -> Array {
        Array { best: Direct::new(layout), all: layout.all_bits()[0] }
    }

    /// Entry numbers, indexed by key.
    pub(crate) fn entries(&self) -> &[u32] {
        self.best.entries()
    }

    /// The best entry that fits, or [`MISS`].
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> u32 {
        self.best.find(key)
    }

    /// Follows `search`, which has lost entries and got others. The rules of all must be set.
    pub(crate) fn update(
        &mut self,
        rules: &Rules,
        removed: &[u32],
        added: &[u32],
        search: impl Fn(&[u64]) -> u32,
    ) {
        for entry in removed {
            for key in self.keys(rules, *entry) {
                if self.best.find(&[key]) == *entry {
                    self.best.set(&[key], search(&[key]));
                }
            }
        }
        for entry in added {
            let rank = rules.rank(*entry);
            for key in self.keys(rules, *entry) {
                let best = self.best.find(&[key]);
                if best == MISS || rules.rank(best) < rank {
                    self.best.set(&[key], *entry);
                }
            }
        }
    }

    /// The keys that an entry fits.
    fn keys<'r>(&self, rules: &'r Rules, entry: u32) -> impl Iterator<Item = u64> + use<'r> {
        let (value, mask) = rules.value_mask(entry);
        let (value, open) = (value[0], self.all & !mask[0]);
        // All subsets of the bits that the mask leaves open.
        let next = move |set: &u64| Some(set.wrapping_sub(open) & open).filter(|set| *set != 0);
        let sets = std::iter::successors(Some(0), next);
        // Of ranges, the mask has only what their numbers share.
        sets.map(move |set| value | set).filter(move |key| rules.fits(entry, &[*key]))
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.best.bytes()
    }
}
