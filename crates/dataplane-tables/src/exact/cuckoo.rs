//! A bucketed cuckoo hash from keys to entry numbers.
//!
//! ```text
//! bucket (one cache line) = | tag 0 .. tag 7 | entry 0 .. entry 7 |      keys: in the entries' records
//! key -> hash -> tag (high half, odd), bucket b (low half); the other bucket is b ^ mix(tag)
//! ```
//!
//! State: 8 bytes a slot, slots a power of two from 8, 1.14 to 4 times the entries (grown at 7/8, shrunk below 1/4).
//! A table that grows or shrinks does so a few buckets at each write, so that no write waits for all entries: meanwhile it
//! has both arrays, and a key that is not in the new one is looked for in the old one.
//! Cost: a hit reads one or two buckets and one record, a miss two buckets (twice that while the array changes); eight tags are
//! compared at once. Insert: constant; a key that finds no place after `KICKS` moves makes the table take its next seed, and then
//! double, so that no keys can make a lookup longer.
//! Fan, Andersen, Kaminsky: MemC3 (NSDI 2013) has partial keys; Zhou et al.: CuckooSwitch (CoNEXT 2013) the use here.

use crate::cpu;
use crate::hash::Seed;
use crate::records::{MISS, Records};
use std::mem::offset_of;

/// Buckets of the old array that each write empties. The new array is full only after many times the writes that empty the
/// old one with this number: from n buckets, it takes at least 1.5 n inserts or n removals, and n / 8 writes empty the old one.
const EMPTIED: usize = 8;

/// Moves before an insertion gives up.
const KICKS: usize = 256;

/// Seeds tried before the buckets are doubled.
const SEEDS: usize = 3;

/// Up to this number of buckets, the table stays in the caches of a core, and prefetching is not worth it.
const NEAR: usize = 512;

/// Keys of a batch that are looked up together: enough to hide memory latency.
const AT_ONCE: usize = 16;

/// The array of a table, for generated code that looks keys up. It is valid until the table changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Buckets {
    /// The first bucket.
    pub first: *const u8,
    /// Number of buckets without one.
    pub mask: u64,
    /// For [`hash`](crate::hash).
    pub seed: [u64; 4],
    /// Not 0 if a key that is not in the array may be elsewhere.
    pub is_partial: u64,
}

impl Buckets {
    /// Bytes of a bucket.
    pub const BYTES: usize = size_of::<Bucket>();
    /// Slots of a bucket.
    pub const SLOTS: usize = 8;
    /// Position of the tags in a bucket, 32 bits each.
    pub const TAGS: usize = offset_of!(Bucket, tags);
    /// Position of the entry numbers in a bucket, 32 bits each.
    pub const ENTRIES: usize = offset_of!(Bucket, entries);
    /// The other bucket of a tag is that at a distance of the high half of the tag's product with this number.
    pub const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The hash of a key: the bucket in the low bits, and the tag in the upper half, where the lowest bit is set.
    pub fn hash(&self, key: &[u64]) -> u64 {
        Seed::of(self.seed).hash(key)
    }
}

#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
struct Bucket {
    /// Odd for an entry, 0 for a free place.
    tags: [u32; Buckets::SLOTS],
    entries: [u32; Buckets::SLOTS],
}

/// A bucketed cuckoo hash table.
#[derive(Clone, Debug)]
pub(crate) struct Cuckoo {
    now: Half,
    /// Where entries are that have not been moved to `now`.
    old: Option<Old>,
    len: usize,
}

/// The array that a table had before it grew or shrank.
#[derive(Clone, Debug)]
struct Old {
    half: Half,
    /// The buckets before this one are empty.
    emptied: usize,
}

/// One array of buckets.
#[derive(Clone, Debug)]
struct Half {
    /// A power of two of them.
    buckets: Vec<Bucket>,
    seed: Seed,
}

/// Bucket and tag of a key.
#[derive(Clone, Copy, Default)]
pub(crate) struct Probe {
    first: usize,
    tag: u32,
}

impl Cuckoo {
    pub(crate) fn new(seed: u64) -> Cuckoo {
        Cuckoo { now: Half::new(1, Seed::new(seed)), old: None, len: 0 }
    }

    /// Bucket and tag of `key`.
    #[inline(always)]
    pub(crate) fn probe(&self, key: &[u64]) -> Probe {
        self.now.probe(key)
    }

    /// The array for generated code.
    pub(crate) fn buckets(&self) -> Buckets {
        Buckets {
            first: self.now.buckets.as_ptr().cast(),
            mask: self.now.buckets.len() as u64 - 1,
            seed: self.now.seed.words(),
            is_partial: self.old.is_some().into(),
        }
    }

    /// Asks for the first bucket of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: &[u64]) {
        cpu::prefetch(&self.now.buckets[self.probe(key).first]);
    }

    /// Prefetches the record with the probe's tag in the first bucket, or the other bucket if there is none.
    #[inline(always)]
    pub(crate) fn prefetch_next(&self, probe: Probe, records: &Records) {
        let bucket = &self.now.buckets[probe.first];
        match cpu::equal8(&bucket.tags, probe.tag) {
            0 => cpu::prefetch(&self.now.buckets[self.now.other(probe.first, probe.tag)]),
            found => records.prefetch(bucket.entries[found.trailing_zeros() as usize % Buckets::SLOTS]),
        }
    }

    /// The entry with this key, or [`MISS`].
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64], records: &Records) -> u32 {
        match key {
            [a] => self.find_words(&[*a], records),
            [a, b] => self.find_words(&[*a, *b], records),
            [a, b, c] => self.find_words(&[*a, *b, *c], records),
            [a, b, c, d] => self.find_words(&[*a, *b, *c, *d], records),
            _ => match self.now.find_at(self.probe(key), |entry| records.key(entry) == key) {
                MISS => self.find_old(key, records),
                entry => entry,
            },
        }
    }

    /// [`find`](Cuckoo::find) for a known number of words.
    #[inline(always)]
    pub(crate) fn find_words<const W: usize>(&self, key: &[u64; W], records: &Records) -> u32 {
        match self.now.find_at(self.probe(key), |entry| records.key_of(entry) == key) {
            MISS => self.find_old(key, records),
            entry => entry,
        }
    }

    /// The entry with this key in the array that is left, or [`MISS`].
    #[inline(always)]
    fn find_old(&self, key: &[u64], records: &Records) -> u32 {
        #[cold]
        #[inline(never)]
        fn find(half: &Half, key: &[u64], records: &Records) -> u32 {
            half.find_at(half.probe(key), |entry| records.key(entry) == key)
        }
        self.old.as_ref().map_or(MISS, |old| find(&old.half, key, records))
    }

    /// The entries with these keys of `words` words each.
    pub(crate) fn find_batch(&self, keys: &[u64], words: usize, records: &Records, found: &mut [u32]) {
        match words {
            1 if self.is_far() => self.find_batch_words::<1>(keys, records, found),
            2 if self.is_far() => self.find_batch_words::<2>(keys, records, found),
            4 if self.is_far() => self.find_batch_words::<4>(keys, records, found),
            _ => {
                let keys = keys.chunks_exact(words);
                found.iter_mut().zip(keys).for_each(|(found, key)| *found = self.find(key, records));
            }
        }
    }

    fn is_far(&self) -> bool {
        self.now.buckets.len() > NEAR
    }

    /// In three rounds, so that memory is asked for long before it is read: buckets, then records, then the comparison.
    fn find_batch_words<const W: usize>(&self, keys: &[u64], records: &Records, found: &mut [u32]) {
        let (keys, _) = keys.as_chunks::<W>();
        for (keys, found) in keys.chunks(AT_ONCE).zip(found.chunks_mut(AT_ONCE)) {
            let mut probes = [Probe::default(); AT_ONCE];
            for (probe, key) in probes.iter_mut().zip(keys) {
                *probe = self.probe(key);
                cpu::prefetch(&self.now.buckets[probe.first]);
            }
            for probe in &probes[..keys.len()] {
                self.prefetch_next(*probe, records);
            }
            for ((found, probe), key) in found.iter_mut().zip(probes).zip(keys) {
                *found = self.now.find_at(probe, |entry| records.key_of(entry) == key);
            }
        }
        if self.old.is_some() {
            for (found, key) in found.iter_mut().zip(keys).filter(|(found, _)| **found == MISS) {
                *found = self.find_old(key, records);
            }
        }
    }

    /// Adds an entry. Its record must have the key, which must not be in the table yet.
    pub(crate) fn insert(&mut self, entry: u32, records: &Records) {
        self.reserve(1, records);
        self.len += 1;
        self.now.insert(entry, records);
        self.empty(EMPTIED, records);
    }

    /// Removes an entry; its key is still in its record.
    pub(crate) fn remove(&mut self, entry: u32, records: &Records) {
        let key = records.key(entry);
        let old = self.old.as_mut().map(|old| &mut old.half);
        let was_there = self.now.remove(entry, key) || old.is_some_and(|half| half.remove(entry, key));
        self.len -= usize::from(was_there);
        if self.now.buckets.len() > 1 && self.len * 4 < self.now.slots() {
            self.resize(self.now.buckets.len() / 2, records);
        }
        self.empty(EMPTIED, records);
    }

    /// Makes room for `more` entries.
    pub(crate) fn reserve(&mut self, more: usize, records: &Records) {
        let buckets = ((self.len + more) * 8).div_ceil(7 * Buckets::SLOTS).next_power_of_two();
        if buckets > self.now.buckets.len() {
            self.resize(buckets, records);
        }
    }

    /// Begins to use `buckets` buckets.
    fn resize(&mut self, buckets: usize, records: &Records) {
        self.empty(usize::MAX, records);
        let new = Half::new(buckets, self.now.seed);
        let half = std::mem::replace(&mut self.now, new);
        self.old = Some(Old { half, emptied: 0 });
    }

    /// Moves the entries of the next `most` buckets of the old array to the new one.
    fn empty(&mut self, most: usize, records: &Records) {
        let Some(old) = &mut self.old else { return };
        let end = old.emptied.saturating_add(most).min(old.half.buckets.len());
        for bucket in &mut old.half.buckets[old.emptied..end] {
            for (tag, entry) in std::mem::take(&mut bucket.tags).into_iter().zip(bucket.entries) {
                if tag != 0 {
                    self.now.insert(entry, records);
                }
            }
        }
        old.emptied = end;
        if end == old.half.buckets.len() {
            self.old = None;
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let old = self.old.as_ref().map_or(0, |old| old.half.buckets.capacity());
        (self.now.buckets.capacity() + old) * size_of::<Bucket>()
    }
}

impl Half {
    fn new(buckets: usize, seed: Seed) -> Half {
        Half { buckets: vec![Bucket::default(); buckets], seed }
    }

    #[inline(always)]
    fn probe(&self, key: &[u64]) -> Probe {
        let hash = self.seed.hash(key);
        Probe { first: hash as usize & (self.buckets.len() - 1), tag: (hash >> 32) as u32 | 1 }
    }

    /// The other bucket of a tag.
    #[inline(always)]
    fn other(&self, bucket: usize, tag: u32) -> usize {
        let jump = (u64::from(tag).wrapping_mul(Buckets::MIX) >> 32) as usize;
        (bucket ^ jump) & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn find_at(&self, probe: Probe, is_it: impl Fn(u32) -> bool) -> u32 {
        let first = self.find_in(probe.first, probe.tag, &is_it);
        if first != MISS {
            first
        } else {
            self.find_in(self.other(probe.first, probe.tag), probe.tag, &is_it)
        }
    }

    #[inline(always)]
    fn find_in(&self, bucket: usize, tag: u32, is_it: &impl Fn(u32) -> bool) -> u32 {
        let bucket = &self.buckets[bucket];
        let mut equal = cpu::equal8(&bucket.tags, tag);
        while equal != 0 {
            let entry = bucket.entries[equal.trailing_zeros() as usize % Buckets::SLOTS];
            if is_it(entry) {
                return entry;
            }
            equal &= equal - 1;
        }
        MISS
    }

    /// Adds an entry: under the next seed if there is no place, and with twice the buckets if seeds do not help.
    fn insert(&mut self, entry: u32, records: &Records) {
        let mut homeless = self.place(entry, self.probe(records.key(entry)));
        for round in 1.. {
            let Err(entry) = homeless else { return };
            self.seed = self.seed.next();
            let buckets = if round % SEEDS == 0 { self.buckets.len() * 2 } else { self.buckets.len() };
            self.rebuild(buckets, records);
            homeless = self.place(entry, self.probe(records.key(entry)));
        }
    }

    /// Puts an entry into a bucket, moving others; or gives the one that is left without a place.
    fn place(&mut self, entry: u32, probe: Probe) -> Result<(), u32> {
        let (mut entry, mut tag, mut at) = (entry, probe.tag, probe.first);
        if self.put(at, tag, entry) {
            return Ok(());
        }
        for kick in 0..KICKS {
            at = self.other(at, tag);
            if self.put(at, tag, entry) {
                return Ok(());
            }
            // Both of its buckets are full: it takes a place in this one, and the entry from there goes on to its own other bucket.
            let victim = (tag as usize >> 8).wrapping_add(kick) % Buckets::SLOTS;
            let bucket = &mut self.buckets[at];
            std::mem::swap(&mut bucket.tags[victim], &mut tag);
            std::mem::swap(&mut bucket.entries[victim], &mut entry);
        }
        Err(entry)
    }

    /// Puts an entry into a bucket if there is a free place.
    fn put(&mut self, bucket: usize, tag: u32, entry: u32) -> bool {
        let bucket = &mut self.buckets[bucket];
        let free = bucket.tags.iter().position(|tag| *tag == 0);
        if let Some(free) = free {
            (bucket.tags[free], bucket.entries[free]) = (tag, entry);
        }
        free.is_some()
    }

    /// Removes an entry with this key. False if it is not here.
    fn remove(&mut self, entry: u32, key: &[u64]) -> bool {
        let probe = self.probe(key);
        for at in [probe.first, self.other(probe.first, probe.tag)] {
            let bucket = &mut self.buckets[at];
            let here = (0..Buckets::SLOTS).find(|&i| bucket.entries[i] == entry && bucket.tags[i] != 0);
            if let Some(slot) = here {
                (bucket.tags[slot], bucket.entries[slot]) = (0, MISS);
                return true;
            }
        }
        false
    }

    /// Puts all entries into `buckets` new buckets, or more if they do not fit.
    fn rebuild(&mut self, buckets: usize, records: &Records) {
        let old = std::mem::take(&mut self.buckets);
        for round in 0.. {
            self.buckets = vec![Bucket::default(); buckets << (round / SEEDS)];
            let mut live =
                old.iter().flat_map(|b| b.tags.iter().zip(&b.entries)).filter(|(tag, _)| **tag != 0);
            let fits = live.all(|(_, &entry)| {
                let probe = self.probe(records.key(entry));
                self.place(entry, probe).is_ok()
            });
            if fits {
                return;
            }
            self.seed = self.seed.next();
        }
    }

    fn slots(&self) -> usize {
        self.buckets.len() * Buckets::SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(seed: u64, keys: &[u64]) -> (Cuckoo, Records) {
        let (mut cuckoo, mut records) = (Cuckoo::new(seed), Records::new(1, 0));
        for (entry, key) in (1..).zip(keys) {
            records.reach(entry);
            records.set_key(entry, &[*key]);
            cuckoo.insert(entry, &records);
        }
        (cuckoo, records)
    }

    /// Keys that were chosen to meet in one bucket cost no more memory or reads than others, and under another seed
    /// they do not even meet.
    #[test]
    fn crafted_keys_find_room() {
        let seed = Seed::new(7);
        let crafted: Vec<u64> = (0..).filter(|key| seed.hash(&[*key]) % 1024 == 5).take(3000).collect();
        for secret in [7, 8] {
            let (mut cuckoo, records) = filled(secret, &crafted);
            assert!(cuckoo.now.buckets.len() <= 1024);
            for (entry, key) in (1..).zip(&crafted) {
                assert_eq!(cuckoo.find(&[*key], &records), entry);
            }
            for (entry, key) in (1..).zip(&crafted) {
                cuckoo.remove(entry, &records);
                assert_eq!(cuckoo.find(&[*key], &records), MISS);
            }
            assert_eq!((cuckoo.len, cuckoo.now.buckets.len()), (0, 1));
        }
        let first_buckets = |secret| {
            let seed = Seed::new(secret);
            let buckets: std::collections::BTreeSet<_> =
                crafted.iter().map(|key| seed.hash(&[*key]) % 1024).collect();
            buckets.len()
        };
        assert_eq!(first_buckets(7), 1);
        assert!(first_buckets(8) > 900);
    }

    /// Moves went back and forth between two buckets, so that tables were built anew from three quarters on.
    #[test]
    fn seven_eighths_are_filled_under_the_first_seed() {
        for seed in 0..10 {
            let (cuckoo, _) = filled(seed, &(0..14_336).collect::<Vec<_>>());
            assert_eq!((cuckoo.now.buckets.len(), cuckoo.now.seed), (2048, Seed::new(seed)));
        }
    }

    /// A write moves few entries, however many there are: the old array is empty before the next one is needed. Meanwhile all
    /// keys are found, one at a time and in batches.
    #[test]
    fn it_changes_its_size_in_steps() {
        let mut rng = base_time::Rng::new(11);
        let (mut cuckoo, mut records) = (Cuckoo::new(3), Records::new(1, 0));
        let mut keys: Vec<u32> = vec![];
        let (mut next, mut changes) = (1, 0);
        // Up and down, with some of the other kind.
        for (until, inserts) in [(12_000, 9), (5_000, 1), (9_000, 7), (20, 2), (4_000, 9)] {
            while (keys.len() < until) == (inserts > 5) {
                let all =
                    |half: &Half| half.buckets.iter().flat_map(|b| b.tags).filter(|tag| *tag != 0).count();
                let left = |cuckoo: &Cuckoo| cuckoo.old.as_ref().map(|old| all(&old.half));
                let before = (cuckoo.now.buckets.len(), left(&cuckoo).unwrap_or(0));
                if keys.is_empty() || rng.below(10) < inserts {
                    records.reach(next);
                    records.set_key(next, &[u64::from(next)]);
                    cuckoo.insert(next, &records);
                    keys.push(next);
                    next += 1;
                } else {
                    let at = rng.below(keys.len() as u64) as usize;
                    cuckoo.remove(keys.swap_remove(at), &records);
                }
                if cuckoo.now.buckets.len() != before.0 {
                    assert_eq!(before.1, 0, "a new array with entries in the one before the last");
                    changes += 1;
                }
                if left(&cuckoo).is_some_and(|left| left % 7 == 0) {
                    let sample: Vec<u32> = keys.iter().rev().step_by(97).copied().collect();
                    let words: Vec<u64> = sample.iter().map(|key| u64::from(*key)).collect();
                    let mut found = vec![MISS; words.len()];
                    cuckoo.find_batch(&words, 1, &records, &mut found);
                    assert_eq!(found, sample);
                    assert!(sample.iter().all(|key| cuckoo.find(&[u64::from(*key)], &records) == *key));
                }
            }
            assert_eq!(cuckoo.len, keys.len());
        }
        assert!(changes > 15, "{changes}");
    }
}
