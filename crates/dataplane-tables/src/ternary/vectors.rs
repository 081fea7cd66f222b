//! Bit vectors for each four bits of the key.
//!
//! ```text
//! block of 256 rules = for each place of four bits that any rule cares for: 16 rows of 256 bits
//!   row v of a place has a bit for each rule that v there does not rule out
//! key ── its four bits in each place choose a row ──> and of all rows ──> the rules that fit
//! ```
//!
//! The number of different masks does not matter. Ranges of fields that lie on multiples of four bits are represented
//! in the rows as well as four bits allow, and the remaining rules are compared in full. State: half a byte for each
//! bit of the key and rule, so 52 bytes a rule for a 5-tuple. Cost: a vector operation for each 256 rules and four bits
//! until no rule is left, and the places that distinguish rules best come first; a block whose best rule loses is
//! skipped. An update writes one bit in each row; rules are sorted, so that the first block that fits ends a lookup,
//! when as many as an eighth of them have come unsorted. Lakshman, Stiliadis (SIGCOMM 1998) have bit vectors by field;
//! four bits are Baker's field split (StrideBV, 2012).

use super::rules::{Rank, Rules};
use crate::records::MISS;

/// Rules of a block.
const BLOCK: usize = 256;

/// Places that are looked at between two looks whether any rule is left; there is a multiple of it, the first one again for those
/// that are missing.
const PLACES_AT_ONCE: usize = 4;

/// Number of words of a key with places; later words are compared only in the rules themselves.
const MOST_WORDS: usize = 8;

/// Number of rules used to rank the places.
const ASKED: usize = 1024;

/// A bit for each rule of a block.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(32))]
struct Row([u64; BLOCK / 64]);

/// Four bits of the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    word: usize,
    shift: u32,
}

#[derive(Clone, Debug)]
struct Block {
    /// No rule of it is better.
    best: Rank,
    /// True if the block's rules are sorted, best first.
    is_sorted: bool,
}

/// Bit vectors over 4-bit slices of the key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vectors {
    places: Vec<Place>,
    blocks: Vec<Block>,
    /// For each block and place 16 of them.
    rows: Vec<Row>,
    /// Entry numbers by slot: 256 for each block.
    entries: Vec<u32>,
    free: Vec<u32>,
    /// Rules that have come since the last sorting.
    unsorted: usize,
}

impl Vectors {
    /// Builds the structure for entries that have rules.
    pub(crate) fn build(rules: &mut Rules, mut entries: Vec<u32>) -> Vectors {
        entries.sort_by_key(|entry| std::cmp::Reverse(rules.rank(*entry)));
        let mut cared = vec![0; rules.words()];
        for entry in &entries {
            cared.iter_mut().zip(rules.cares(*entry)).for_each(|(all, bits)| *all |= bits);
        }
        let places =
            (0..cared.len().min(MOST_WORDS) * 16).map(|i| Place { word: i / 16, shift: (i % 16 * 4) as u32 });
        let mut places: Vec<Place> = places.filter(|p| cared[p.word] >> p.shift & 15 != 0).collect();
        let asked = entries.len().div_ceil(ASKED).max(1);
        let asked: Vec<u32> = entries.iter().step_by(asked).copied().collect();
        places.sort_by_cached_key(|place| left_over(rules, &asked, *place));
        if places.is_empty() {
            // The rows distinguish free slots from rules that match anything.
            places.push(Place { word: 0, shift: 0 });
        }
        let whole = places.len().next_multiple_of(PLACES_AT_ONCE);
        places.resize(whole, places[0]);
        let mut vectors = Vectors { places, ..Vectors::default() };
        entries.iter().for_each(|entry| vectors.put(rules, *entry));
        vectors.blocks.iter_mut().for_each(|block| block.is_sorted = true);
        vectors.unsorted = 0;
        vectors
    }

    /// The best entry that fits, or [`MISS`].
    #[inline(always)]
    pub(crate) fn lookup(&self, rules: &Rules, key: &[u64]) -> u32 {
        // Of a fixed size, so that no place is outside of it.
        let mut words = [0; MOST_WORDS];
        words.iter_mut().zip(key).for_each(|(word, key)| *word = *key);
        let mut best = (0, MISS);
        let rows = self.rows.chunks_exact(self.places.len() * 16);
        for ((block, rows), entries) in self.blocks.iter().zip(rows).zip(self.entries.chunks_exact(BLOCK)) {
            if block.best > best.0 {
                let left = self.left(rows, &words);
                if left.0 != [0; BLOCK / 64] {
                    best = block.best_of(&left, entries, rules, key, best);
                }
            }
        }
        best.1
    }

    /// The rules of a block that no place rules out.
    #[inline(always)]
    fn left(&self, rows: &[Row], key: &[u64; MOST_WORDS]) -> Row {
        let mut left = Row([u64::MAX; BLOCK / 64]);
        let (places, _) = self.places.as_chunks::<PLACES_AT_ONCE>();
        let (rows, _) = rows.as_chunks::<{ 16 * PLACES_AT_ONCE }>();
        for (places, rows) in places.iter().zip(rows) {
            for (i, place) in places.iter().enumerate() {
                let row = &rows[16 * i + (key[place.word % MOST_WORDS] >> place.shift & 15) as usize];
                left.0.iter_mut().zip(row.0).for_each(|(left, row)| *left &= row);
            }
            if left.0 == [0; BLOCK / 64] {
                break;
            }
        }
        left
    }

    /// Adds an entry, whose rule must be set, if there is room.
    #[must_use]
    pub(crate) fn insert(&mut self, rules: &mut Rules, entry: u32) -> bool {
        let mut cares = rules.cares(entry);
        self.places.iter().for_each(|place| cares[place.word] &= !(15 << place.shift));
        let suffices = cares.iter().take(MOST_WORDS).all(|rest| *rest == 0);
        if suffices {
            self.put(rules, entry);
        }
        suffices
    }

    fn put(&mut self, rules: &mut Rules, entry: u32) {
        let slot = self.free.pop().unwrap_or_else(|| self.add_block());
        rules.set_home(entry, slot as usize);
        self.entries[slot as usize] = entry;
        let block = &mut self.blocks[slot as usize / BLOCK];
        block.best = block.best.max(rules.rank(entry));
        block.is_sorted = false;
        self.unsorted += 1;
        for i in 0..self.places.len() {
            let Place { word, shift } = self.places[i];
            self.set_bits(slot, i, rules.allowed(entry, word, shift));
        }
    }

    /// Removes an entry, whose rule must still be set.
    pub(crate) fn remove(&mut self, rules: &Rules, entry: u32) {
        let slot = rules.home(entry) as u32;
        self.entries[slot as usize] = MISS;
        self.set_bits(slot, 0, 0);
        self.free.push(slot);
    }

    /// Sets the bit of a slot in the rows of a place given by `values`, and clears it in the others.
    fn set_bits(&mut self, slot: u32, place: usize, values: u16) {
        let (block, bit) = (slot as usize / BLOCK, slot as usize % BLOCK);
        let first = (block * self.places.len() + place) * 16;
        for (four, row) in self.rows[first..first + 16].iter_mut().enumerate() {
            let word = &mut row.0[bit / 64];
            *word = *word & !(1 << (bit % 64)) | u64::from(values >> four & 1) << (bit % 64);
        }
    }

    /// Makes free slots and gives the first.
    fn add_block(&mut self) -> u32 {
        let first = self.entries.len() as u32;
        self.blocks.push(Block { best: 0, is_sorted: false });
        self.entries.resize(self.entries.len() + BLOCK, MISS);
        self.rows.resize(self.rows.len() + self.places.len() * 16, Row::default());
        self.free.extend((first + 1..first + BLOCK as u32).rev());
        first
    }

    /// True if sorting would be worth its cost by now.
    pub(crate) fn is_unsorted(&self) -> bool {
        self.unsorted > (self.entries.len() - self.free.len()) / 8 + 16
    }

    /// All entries.
    pub(crate) fn entries(&self) -> Vec<u32> {
        self.entries.iter().copied().filter(|entry| *entry != MISS).collect()
    }

    /// Maximum cost of a lookup, in rows.
    pub(crate) fn cost(&self) -> usize {
        self.blocks.len() * self.places.len()
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let slots = (self.entries.capacity() + self.free.capacity()) * 4;
        slots + self.rows.capacity() * size_of::<Row>() + self.blocks.capacity() * size_of::<Block>()
    }
}

/// Sum of the rules that a place leaves, over keys like the rules: places that leave few are looked at first, since
/// most lookups end when none is left.
fn left_over(rules: &Rules, entries: &[u32], place: Place) -> u64 {
    let mut allow = [0u64; 16];
    for entry in entries {
        let values = rules.allowed(*entry, place.word, place.shift);
        allow.iter_mut().enumerate().for_each(|(four, count)| *count += u64::from(values >> four & 1));
    }
    // A value is as likely as there are rules that want it; the sum is the same for all places once it is divided by theirs.
    let all: u64 = allow.iter().sum();
    allow.iter().map(|count| count * count * 1024).sum::<u64>() / all.max(1)
}

impl Block {
    /// The better of `best` and the best of those that are left and fit.
    #[inline(always)]
    fn best_of(
        &self,
        left: &Row,
        entries: &[u32],
        rules: &Rules,
        key: &[u64],
        best: (Rank, u32),
    ) -> (Rank, u32) {
        let mut best = best;
        for (mut bits, entries) in left.0.into_iter().zip(entries.chunks_exact(64)) {
            while bits != 0 {
                let entry = entries[bits.trailing_zeros() as usize];
                let rank = rules.rank(entry);
                if rank > best.0 && rules.fits(entry, key) {
                    best = (rank, entry);
                    if self.is_sorted {
                        return best;
                    }
                }
                bits &= bits - 1;
            }
        }
        best
    }
}
