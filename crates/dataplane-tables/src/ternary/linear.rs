//! All rules in a row, the best first, eight compared at a time.
//!
//! ```text
//! block = | value of word 0 of 8 rules | mask of word 0 of 8 rules | word 1 ... |      first block that fits wins
//! ```
//!
//! State: 16 bytes for each word of each rule. Cost: about one cycle a rule and word with AVX2, stopping at the first
//! rule that fits; a batch of updates sorts and writes all blocks anew. For few rules, and for rules of which hardly
//! two have the same mask.

use super::rules::Rules;
use crate::table::MISS;

/// One word of eight rules: what they want where.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Lanes {
    value: [u64; 8],
    mask: [u64; 8],
}

/// Wants no key at all.
const NOTHING: Lanes = Lanes { value: [1; 8], mask: [0; 8] };

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear {
    /// The best first.
    entries: Vec<u32>,
    /// For each eight entries, one for each word of the key.
    blocks: Vec<Lanes>,
}

impl Linear {
    /// Takes `added` in and those out that are not `kept`.
    pub(crate) fn update(&mut self, rules: &Rules, words: usize, added: &[u32], kept: impl Fn(u32) -> bool) {
        self.entries.retain(|entry| kept(*entry));
        self.entries.extend(added);
        self.entries.sort_by_key(|entry| std::cmp::Reverse(rules.rank(*entry)));
        self.blocks.clear();
        for eight in self.entries.chunks(8) {
            let first = self.blocks.len();
            self.blocks.resize(first + words, NOTHING);
            for (lane, entry) in eight.iter().enumerate() {
                let (value, mask) = rules.value_mask(*entry);
                for (word, lanes) in self.blocks[first..].iter_mut().enumerate() {
                    (lanes.value[lane], lanes.mask[lane]) = (value[word], mask[word]);
                }
            }
        }
    }

    /// The best entry that fits, or [`MISS`].
    #[inline(always)]
    pub(crate) fn lookup(&self, rules: &Rules, key: &[u64]) -> u32 {
        match key {
            [a] => self.scan(rules, &[*a]),
            [a, b] => self.scan(rules, &[*a, *b]),
            [a, b, c, d] => self.scan(rules, &[*a, *b, *c, *d]),
            _ => self.scan_any(rules, key),
        }
    }

    #[inline(always)]
    fn scan<const W: usize>(&self, rules: &Rules, key: &[u64; W]) -> u32 {
        let (blocks, _) = self.blocks.as_chunks::<W>();
        for (block, entries) in blocks.iter().zip(self.entries.chunks(8)) {
            let mut differs = [0; 8];
            for (lanes, word) in block.iter().zip(key) {
                compare(lanes, *word, &mut differs);
            }
            if let Some(found) = best(rules, key, entries, &differs) {
                return found;
            }
        }
        MISS
    }

    fn scan_any(&self, rules: &Rules, key: &[u64]) -> u32 {
        for (block, entries) in self.blocks.chunks(key.len()).zip(self.entries.chunks(8)) {
            let mut differs = [0; 8];
            for (lanes, word) in block.iter().zip(key) {
                compare(lanes, *word, &mut differs);
            }
            if let Some(found) = best(rules, key, entries, &differs) {
                return found;
            }
        }
        MISS
    }

    /// All entries.
    pub(crate) fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Lanes>() + self.entries.capacity() * 4
    }
}

#[inline(always)]
fn compare(lanes: &Lanes, word: u64, differs: &mut [u64; 8]) {
    for (differs, (value, mask)) in differs.iter_mut().zip(lanes.value.iter().zip(&lanes.mask)) {
        *differs |= (word & mask) ^ value;
    }
}

/// The first of eight entries whose bits do not differ and whose ranges fit.
#[inline(always)]
fn best(rules: &Rules, key: &[u64], entries: &[u32], differs: &[u64; 8]) -> Option<u32> {
    let mut fit = (0..8).fold(0u32, |fit, lane| fit | u32::from(differs[lane] == 0) << lane);
    while fit != 0 {
        let entry = *entries.get(fit.trailing_zeros() as usize)?;
        if rules.fits_ranges(entry, key) {
            return Some(entry);
        }
        fit &= fit - 1;
    }
    None
}
