//! Longest prefix match on one field, with any number of exact fields beside it.
//!
//! ```text
//! key ── exact fields ──> hash ──> root ─┐
//!     └─ lpm field ──────────────────────┴─> trie
//! key ── lpm field, alone ──> shortcut ──> trie below the first 24 bits
//! ```
//!
//! Each combination of exact values has a trie of its own; all tries share their arrays. State and cost: those of
//! [`trie`] and [`shortcut`], and a hash lookup where there are exact fields.

mod arena;
mod bits;
mod shortcut;
mod trie;

use crate::exact::Cuckoo;
use crate::key::EntryKey;
use crate::layout::{KeyLayout, MatchKind, Place};
use crate::masked::with_masked;
use crate::records::{MISS, Records};
use bits::{BitString, narrow, wide};
pub use shortcut::FirstBits;
use shortcut::Shortcut;
use trie::{AT_ONCE, Descent, Root, Tries};

/// A longest-prefix-match table.
#[derive(Clone, Debug)]
pub(crate) struct Lpm {
    field: Place,
    tries: Tries,
    /// Roots by number. Without exact fields, number 0 is the only one; with exact fields, it is unused.
    roots: Vec<Root>,
    exact: Option<Exact>,
    shortcut: Option<Shortcut>,
    prefixes: usize,
}

/// From the exact fields to the number of a root.
#[derive(Clone, Debug)]
struct Exact {
    mask: Vec<u64>,
    seed: u64,
    index: Cuckoo,
    keys: Records,
    /// Numbers of roots to use again.
    free: Vec<u32>,
}

/// Runs `$then` with the lpm field of `$key` as a string of bits, by its width.
macro_rules! with_field {
    ($place:expr, $key:expr, $field:ident => $then:expr) => {
        match $place.width {
            0..=64 => {
                let $field = narrow($place, $key);
                $then
            }
            65..=128 => {
                let $field = wide($place, $key);
                $then
            }
            _ => {
                let $field: (&Place, &[u64]) = ($place, $key);
                $then
            }
        }
    };
}

impl Lpm {
    /// For keys of which the field in position `field` is matched by prefix and the others exactly.
    pub(crate) fn new(layout: &KeyLayout, field: usize, seed: u64) -> Lpm {
        let (_, place) = layout.fields()[field];
        let exact = (layout.fields().len() > 1).then(|| Exact {
            mask: layout.bits_of(|kind| kind == MatchKind::Exact),
            seed,
            index: Cuckoo::new(seed),
            keys: Records::new(layout.words(), 0),
            free: vec![],
        });
        Lpm {
            field: place,
            tries: Tries::new(),
            roots: vec![Root::default()],
            exact,
            shortcut: None,
            prefixes: 0,
        }
    }

    pub(crate) fn first_bits(&self) -> Option<FirstBits> {
        self.shortcut.as_ref().map(Shortcut::first_bits)
    }

    /// Asks for the first cache line that a lookup of `key` reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: &[u64]) {
        if let Some(shortcut) = &self.shortcut {
            with_field!(&self.field, key, field => shortcut.prefetch(field));
        } else if let Some(exact) = &self.exact {
            with_masked(key, &exact.mask, |key| exact.index.prefetch(key));
        }
    }

    /// Asks for the second.
    #[inline(always)]
    pub(crate) fn prefetch_next(&self, key: &[u64]) {
        if let Some(shortcut) = &self.shortcut {
            with_field!(&self.field, key, field => shortcut.prefetch_next(field));
        }
    }

    /// The entry with the longest prefix, or [`MISS`].
    #[inline(always)]
    pub(crate) fn lookup(&self, key: &[u64]) -> u32 {
        with_field!(&self.field, key, field => self.lookup_field(key, field))
    }

    /// [`lookup`](Lpm::lookup) of several keys of `words` words each.
    #[inline(always)]
    pub(crate) fn lookup_batch(&self, keys: &[u64], words: usize, found: &mut [u32]) {
        for (keys, found) in keys.chunks(AT_ONCE * words).zip(found.chunks_mut(AT_ONCE)) {
            let keys = keys.chunks_exact(words);
            match (&self.shortcut, self.field.width) {
                (Some(shortcut), ..=64) => {
                    self.lookup_few(shortcut, keys.map(|k| narrow(&self.field, k)), found)
                }
                (Some(shortcut), ..=128) => {
                    self.lookup_few(shortcut, keys.map(|k| wide(&self.field, k)), found)
                }
                _ => found.iter_mut().zip(keys).for_each(|(found, key)| *found = self.lookup(key)),
            }
        }
    }

    #[inline(always)]
    fn lookup_few<K: BitString + Default>(
        &self,
        shortcut: &Shortcut,
        keys: impl Iterator<Item = K>,
        found: &mut [u32],
    ) {
        let (mut fields, mut starts) = ([K::default(); AT_ONCE], [Descent::default(); AT_ONCE]);
        for (field, key) in fields.iter_mut().zip(keys) {
            *field = key;
            shortcut.prefetch(key);
        }
        let fields = &fields[..found.len()];
        fields.iter().for_each(|field| shortcut.prefetch_next(*field));
        starts.iter_mut().zip(fields).for_each(|(start, field)| *start = shortcut.find(*field));
        self.tries.resume_all(&starts[..found.len()], fields, shortcut::DEPTH, found);
    }

    #[inline(always)]
    fn lookup_field(&self, key: &[u64], field: impl BitString) -> u32 {
        if let Some(shortcut) = &self.shortcut {
            return self.tries.resume(shortcut.find(field), field, shortcut::DEPTH);
        }
        match &self.exact {
            None => self.tries.lookup(&self.roots[0], field),
            Some(exact) => match exact.find(key) {
                MISS => MISS,
                root => self.tries.lookup(&self.roots[root as usize], field),
            },
        }
    }

    pub(crate) fn insert(&mut self, key: &EntryKey, entry: u32) {
        let length = self.field.leading_ones(&key.mask);
        let root = match &mut self.exact {
            None => 0,
            Some(exact) => exact.find_or_add(&key.value, &mut self.roots),
        };
        let root = &mut self.roots[root as usize];
        with_field!(&self.field, &key.value, field => {
            self.tries.insert(root, field, length, entry);
            self.shortcut.iter_mut().for_each(|s| s.touch(field, length));
        });
        self.prefixes += 1;
    }

    pub(crate) fn remove(&mut self, key: &EntryKey) {
        let length = self.field.leading_ones(&key.mask);
        let at = self.exact.as_ref().map_or(0, |exact| exact.find(&key.value));
        let root = &mut self.roots[at as usize];
        with_field!(&self.field, &key.value, field => {
            self.tries.remove(root, field, length);
            self.shortcut.iter_mut().for_each(|s| s.touch(field, length));
        });
        if let Some(exact) = &mut self.exact
            && root.is_empty()
        {
            exact.remove(at);
        }
        self.prefixes -= 1;
    }

    /// Work done once for all updates of a batch.
    pub(crate) fn settle(&mut self) {
        let is_there = self.shortcut.is_some();
        let is_wanted = self.exact.is_none() && Shortcut::is_worth(self.prefixes, self.field.width, is_there);
        if is_wanted != is_there {
            self.shortcut = is_wanted.then(Shortcut::new);
        }
        if let Some(shortcut) = &mut self.shortcut {
            shortcut.refresh(&self.tries, &self.roots[0]);
        }
    }

    /// Removes all prefixes.
    pub(crate) fn clear(&mut self) {
        self.tries = Tries::new();
        self.roots.fill(Root::default());
        self.roots.truncate(1);
        if let Some(exact) = &mut self.exact {
            exact.clear();
        }
        self.shortcut = None;
        self.prefixes = 0;
    }

    /// True if rebuilding would save half of a large memory.
    pub(crate) fn is_wasteful(&self) -> bool {
        self.tries.is_wasteful()
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.tries.bytes()
            + self.roots.capacity() * size_of::<Root>()
            + self.exact.as_ref().map_or(0, |e| e.index.bytes() + e.keys.bytes() + e.free.capacity() * 4)
            + self.shortcut.as_ref().map_or(0, Shortcut::bytes)
    }
}

impl Exact {
    /// The number of the root for the exact fields of `key`, or [`MISS`].
    #[inline(always)]
    fn find(&self, key: &[u64]) -> u32 {
        with_masked(key, &self.mask, |key| self.index.find(key, &self.keys))
    }

    fn find_or_add(&mut self, key: &[u64], roots: &mut Vec<Root>) -> u32 {
        let found = self.find(key);
        if found != MISS {
            return found;
        }
        let root = self.free.pop().unwrap_or(roots.len() as u32);
        if root as usize == roots.len() {
            roots.push(Root::default());
        }
        self.keys.reach(root);
        with_masked(key, &self.mask, |key| self.keys.set_key(root, key));
        self.index.insert(root, &self.keys);
        root
    }

    fn clear(&mut self) {
        self.index = Cuckoo::new(self.seed);
        self.free.clear();
    }

    fn remove(&mut self, root: u32) {
        self.index.remove(root, &self.keys);
        self.free.push(root);
    }
}
