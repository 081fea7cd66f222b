//! One copy of a table, as the data plane reads it.

use crate::cpu::fast;
use crate::exact::{Buckets, Cuckoo, Direct};
use crate::layout::{KeyLayout, MatchKind, Order};
use crate::lpm::{FirstBits, Lpm};
use crate::records::{MISS, Records};
use crate::store::Store;
use crate::ternary::Ternary;

/// Bytes of a table that a core keeps near: about its second cache.
const NEAR: usize = 1 << 20;

/// Bytes of a core's first cache.
const FIRST: usize = 1 << 15;

/// One copy of a table.
#[derive(Clone, Debug)]
pub struct Table {
    index: Index,
    records: Records,
    words: usize,
}

/// From keys to entry numbers.
// One for each table: a hop through a box would cost more than the room.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(crate) enum Index {
    /// A table without keys.
    Nothing,
    Direct(Direct),
    Hash(Cuckoo),
    Lpm(Lpm),
    Ternary(Ternary),
}

impl Index {
    fn new(store: &Store, seed: u64) -> Index {
        let layout = &store.layout;
        match layout.order() {
            _ if layout.fields().is_empty() => Index::Nothing,
            Order::Only => {
                let is_direct = Direct::suits(layout, store.size);
                if is_direct { Index::Direct(Direct::new(layout)) } else { Index::Hash(Cuckoo::new(seed)) }
            }
            Order::LongestPrefix(field) if prefixes(layout) == 1 => Index::Lpm(Lpm::new(layout, field, seed)),
            _ => Index::Ternary(Ternary::new(layout, seed)),
        }
    }

    /// True if tables of up to `size` entries with such keys have an array of entry numbers.
    pub(crate) fn is_array(layout: &KeyLayout, size: u32) -> bool {
        match layout.order() {
            _ if layout.fields().is_empty() => false,
            Order::Only => Direct::suits(layout, size),
            Order::LongestPrefix(_) if prefixes(layout) == 1 => false,
            _ => Ternary::has_array(layout),
        }
    }
}

fn prefixes(layout: &KeyLayout) -> usize {
    layout.fields().iter().filter(|(field, _)| field.kind == MatchKind::Lpm).count()
}

impl Table {
    pub(crate) fn new(store: &Store, seed: u64) -> Table {
        let index = Index::new(store, seed);
        let words = store.layout.words();
        let key_words = if matches!(index, Index::Hash(_)) { words } else { 0 };
        let mut records = Records::new(key_words, store.data_words);
        records.set_action(MISS, store.action(MISS));
        Table { index, records, words }
    }

    /// Records of the entries.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The entry number of each key, in a table that has an array of them: its keys are one word, and less than the
    /// array is long. That a table has one follows from its layout and size, and the array never moves.
    pub fn direct(&self) -> Option<&[u32]> {
        match &self.index {
            Index::Direct(direct) => Some(direct.entries()),
            Index::Ternary(ternary) => ternary.array(),
            _ => None,
        }
    }

    /// The arrays for the first bits of a prefix, in a table that has them at the moment: its key is one prefix and nothing else.
    pub fn first_bits(&self) -> Option<FirstBits> {
        match &self.index {
            Index::Lpm(lpm) => lpm.first_bits(),
            _ => None,
        }
    }

    /// The buckets of a table of exact keys without an array. That a table has them follows from its layout and size.
    pub fn buckets(&self) -> Option<Buckets> {
        match &self.index {
            Index::Hash(hash) => Some(hash.buckets()),
            _ => None,
        }
    }

    /// Number of words of a key.
    #[inline]
    pub fn key_words(&self) -> usize {
        self.words
    }

    /// Asks for the first cache line that a lookup of `key` reads.
    #[inline]
    pub fn prefetch(&self, key: &[u64]) {
        match &self.index {
            Index::Hash(hash) => hash.prefetch(key),
            Index::Lpm(lpm) => lpm.prefetch(key),
            _ => {}
        }
    }

    /// Asks for the second line, when the first has come.
    #[inline]
    pub fn prefetch_next(&self, key: &[u64]) {
        match &self.index {
            Index::Hash(hash) => hash.prefetch_next(hash.probe(key), &self.records),
            Index::Lpm(lpm) => lpm.prefetch_next(key),
            _ => {}
        }
    }

    /// True if lookups wait for memory that a core does not keep near, so that asking for it in advance pays.
    pub fn is_far(&self) -> bool {
        match &self.index {
            Index::Hash(_) => self.bytes() > NEAR,
            // Of the arrays for the first bits, only the parts that packets use occupy the cache.
            Index::Lpm(lpm) => lpm.bytes() > 4 * NEAR,
            _ => false,
        }
    }

    /// True if the table is larger than a core's first cache, so that looking up several keys at a time pays.
    pub fn is_beyond_first_cache(&self) -> bool {
        match &self.index {
            Index::Hash(_) => self.bytes() > FIRST,
            Index::Lpm(lpm) => lpm.first_bits().is_some(),
            _ => false,
        }
    }

    /// The number of the best entry that fits `key`, laid out as the table's [`KeyLayout`](crate::KeyLayout) says, or
    /// [`MISS`]. `key` has the layout's number of words, and zeros outside of the fields.
    #[inline]
    pub fn lookup(&self, key: &[u64]) -> u32 {
        match &self.index {
            Index::Nothing => MISS,
            Index::Direct(direct) => direct.find(key),
            Index::Hash(hash) => hash.find(key, &self.records),
            Index::Lpm(lpm) => fast(
                #[inline(always)]
                || lpm.lookup(key),
            ),
            Index::Ternary(ternary) => fast(
                #[inline(always)]
                || ternary.lookup(key),
            ),
        }
    }

    /// [`lookup`](Table::lookup) for a known number of words: faster for tables of exact keys, to be inlined where one is called by compiled code.
    #[inline(always)]
    pub fn lookup_words<const W: usize>(&self, key: &[u64; W]) -> u32 {
        match &self.index {
            Index::Hash(hash) => hash.find_words(key, &self.records),
            _ => self.lookup(key),
        }
    }

    /// [`lookup`](Table::lookup) of several keys, which follow each other in `keys`, one for each element of `found`.
    pub fn lookup_batch(&self, keys: &[u64], found: &mut [u32]) {
        let keys_of = || keys.chunks_exact(self.words.max(1));
        match &self.index {
            Index::Nothing => found.fill(MISS),
            Index::Direct(direct) => {
                found.iter_mut().zip(keys).for_each(|(found, key)| *found = direct.find(&[*key]))
            }
            Index::Hash(hash) => hash.find_batch(keys, self.words, &self.records, found),
            Index::Lpm(lpm) => fast(
                #[inline(always)]
                || lpm.lookup_batch(keys, self.words, found),
            ),
            Index::Ternary(_) => {
                found.iter_mut().zip(keys_of()).for_each(|(found, key)| *found = self.lookup(key));
            }
        }
    }

    /// Applies the changes that `store` has sealed.
    pub(crate) fn apply(&mut self, store: &Store) {
        let changes = &store.sealed;
        if changes.is_empty() {
            return;
        }
        self.remove(store, &changes.removed);
        if let Some(last) = changes.added.iter().max() {
            self.records.reach(*last);
        }
        for entry in changes.added.iter().chain(&changes.changed) {
            self.records.set_action(*entry, store.action(*entry));
        }
        self.add(store, &changes.added);
        if let Index::Ternary(ternary) = &mut self.index {
            ternary.update(&changes.removed, &changes.added, store.len());
        }
        if let Index::Lpm(lpm) = &mut self.index {
            if lpm.is_wasteful() {
                lpm.clear();
                store.live().for_each(|entry| lpm.insert(&store.key(entry), entry));
            }
            lpm.settle();
        }
    }

    fn remove(&mut self, store: &Store, removed: &[u32]) {
        for entry in removed {
            match &mut self.index {
                Index::Direct(direct) => direct.set(store.value(*entry), MISS),
                Index::Hash(hash) => hash.remove(*entry, &self.records),
                Index::Lpm(lpm) => lpm.remove(&store.key(*entry)),
                Index::Ternary(_) | Index::Nothing => {}
            }
        }
    }

    fn add(&mut self, store: &Store, added: &[u32]) {
        match &mut self.index {
            Index::Direct(direct) => added.iter().for_each(|entry| direct.set(store.value(*entry), *entry)),
            Index::Hash(hash) => {
                added.iter().for_each(|entry| self.records.set_key(*entry, store.value(*entry)));
                hash.reserve(added.len(), &self.records);
                added.iter().for_each(|entry| hash.insert(*entry, &self.records));
            }
            Index::Lpm(lpm) => added.iter().for_each(|entry| lpm.insert(&store.key(*entry), *entry)),
            Index::Ternary(ternary) => {
                added
                    .iter()
                    .for_each(|entry| ternary.set_rule(*entry, &store.key(*entry), store.rank(*entry)));
            }
            Index::Nothing => {}
        }
    }

    /// The structure in use: `none`, `direct`, `hash`, `lpm`, `masked`, `vectors` or `tuples`.
    pub fn structure(&self) -> &'static str {
        match &self.index {
            Index::Nothing => "none",
            Index::Direct(_) => "direct",
            Index::Hash(_) => "hash",
            Index::Lpm(_) => "lpm",
            Index::Ternary(ternary) => ternary.structure(),
        }
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Nothing => 0,
            Index::Direct(direct) => direct.bytes(),
            Index::Hash(hash) => hash.bytes(),
            Index::Lpm(lpm) => lpm.bytes(),
            Index::Ternary(ternary) => ternary.bytes(),
        };
        index + self.records.bytes()
    }
}
