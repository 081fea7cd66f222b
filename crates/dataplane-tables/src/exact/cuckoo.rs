//! A bucketed cuckoo hash from keys to entry numbers.
//!
//! ```text
//! bucket (one cache line) = | tag 0 .. tag 7 | entry 0 .. entry 7 |      keys: in the entries' records
//! key -> hash -> tag (high half, odd), bucket b (low half); the other bucket is b ^ mix(tag)
//! ```
//!
//! State: 8 bytes a slot, slots a power of two from 8, 1.14 to 4 times the entries (grown at 7/8, shrunk below 1/4).
//! Cost: a hit reads one or two buckets and one record, a miss two buckets; eight tags are compared at once. Insert:
//! constant on average; a key that finds no place after `KICKS` moves makes the table take its next seed, and then
//! double, so that no keys can make a lookup longer.
//! Fan, Andersen, Kaminsky: MemC3 (NSDI 2013) has partial keys; Zhou et al.: CuckooSwitch (CoNEXT 2013) the use here.

use crate::cpu;
use crate::hash::Seed;
use crate::records::{MISS, Records};

/// Moves before an insertion gives up.
const KICKS: usize = 256;

/// Seeds tried before the buckets are doubled.
const SEEDS: usize = 3;

/// Up to this number of buckets, the table stays in the caches of a core, and prefetching is not worth it.
const NEAR: usize = 512;

/// Keys of a batch that are looked up together: enough to hide memory latency.
const AT_ONCE: usize = 16;

#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
struct Bucket {
    /// Odd for an entry, 0 for a free place.
    tags: [u32; 8],
    entries: [u32; 8],
}

/// A bucketed cuckoo hash table.
#[derive(Clone, Debug)]
pub(crate) struct Cuckoo {
    /// A power of two of them.
    buckets: Vec<Bucket>,
    seed: Seed,
    len: usize,
}

/// Bucket and tag of a key.
#[derive(Clone, Copy, Default)]
pub(crate) struct Probe {
    first: usize,
    tag: u32,
}

impl Cuckoo {
    pub(crate) fn new(seed: u64) -> Cuckoo {
        Cuckoo { buckets: vec![Bucket::default()], seed: Seed::new(seed), len: 0 }
    }

    /// Bucket and tag of `key`.
    #[inline(always)]
    pub(crate) fn probe(&self, key: &[u64]) -> Probe {
        let hash = self.seed.hash(key);
        Probe { first: hash as usize & (self.buckets.len() - 1), tag: (hash >> 32) as u32 | 1 }
    }

    /// The other bucket of a tag.
    #[inline(always)]
    fn other(&self, bucket: usize, tag: u32) -> usize {
        let jump = (u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (bucket ^ jump) & (self.buckets.len() - 1)
    }

    /// Asks for the first bucket of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: &[u64]) {
        cpu::prefetch(&self.buckets[self.probe(key).first]);
    }

    /// The entry with this key, or [`MISS`].
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64], records: &Records) -> u32 {
        match key {
            [a] => self.find_words(&[*a], records),
            [a, b] => self.find_words(&[*a, *b], records),
            [a, b, c] => self.find_words(&[*a, *b, *c], records),
            [a, b, c, d] => self.find_words(&[*a, *b, *c, *d], records),
            _ => self.find_at(self.probe(key), |entry| records.key(entry) == key),
        }
    }

    #[inline(always)]
    fn find_words<const W: usize>(&self, key: &[u64; W], records: &Records) -> u32 {
        self.find_at(self.probe(key), |entry| records.key_of(entry) == key)
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
        self.buckets.len() > NEAR
    }

    /// In three rounds, so that memory is asked for long before it is read: buckets, then records, then the comparison.
    fn find_batch_words<const W: usize>(&self, keys: &[u64], records: &Records, found: &mut [u32]) {
        let (keys, _) = keys.as_chunks::<W>();
        for (keys, found) in keys.chunks(AT_ONCE).zip(found.chunks_mut(AT_ONCE)) {
            let mut probes = [Probe::default(); AT_ONCE];
            for (probe, key) in probes.iter_mut().zip(keys) {
                *probe = self.probe(key);
                cpu::prefetch(&self.buckets[probe.first]);
            }
            for probe in &probes[..keys.len()] {
                self.prefetch_next(*probe, records);
            }
            for ((found, probe), key) in found.iter_mut().zip(probes).zip(keys) {
                *found = self.find_at(probe, |entry| records.key_of(entry) == key);
            }
        }
    }

    /// Prefetches the record with the probe's tag in the first bucket, or the other bucket if there is none.
    #[inline(always)]
    pub(crate) fn prefetch_next(&self, probe: Probe, records: &Records) {
        let bucket = &self.buckets[probe.first];
        match cpu::equal8(&bucket.tags, probe.tag) {
            0 => cpu::prefetch(&self.buckets[self.other(probe.first, probe.tag)]),
            found => records.prefetch(bucket.entries[found.trailing_zeros() as usize & 7]),
        }
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
    fn find_in(&self, bucket: usize, tag: u32, is_it: impl Fn(u32) -> bool) -> u32 {
        let bucket = &self.buckets[bucket];
        let mut equal = cpu::equal8(&bucket.tags, tag);
        while equal != 0 {
            let entry = bucket.entries[equal.trailing_zeros() as usize & 7];
            if is_it(entry) {
                return entry;
            }
            equal &= equal - 1;
        }
        MISS
    }

    /// Adds an entry. Its record must have the key, which must not be in the table yet.
    pub(crate) fn insert(&mut self, entry: u32, records: &Records) {
        if (self.len + 1) * 8 > self.slots() * 7 {
            self.rebuild(self.buckets.len() * 2, records);
        }
        self.len += 1;
        let mut homeless = Err((entry, self.probe(records.key(entry))));
        for round in 1.. {
            match homeless {
                Ok(()) => return,
                Err((entry, probe)) => homeless = self.place(entry, probe),
            }
            if let Err((entry, _)) = homeless {
                self.seed = self.seed.next();
                let buckets = if round % SEEDS == 0 { self.buckets.len() * 2 } else { self.buckets.len() };
                self.rebuild(buckets, records);
                homeless = Err((entry, self.probe(records.key(entry))));
            }
        }
    }

    /// Puts an entry into a bucket, moving others; or gives the one that is left without a place.
    fn place(&mut self, entry: u32, probe: Probe) -> Result<(), (u32, Probe)> {
        let (mut entry, mut tag, mut at) = (entry, probe.tag, probe.first);
        for kick in 0..KICKS {
            for bucket in [at, self.other(at, tag)] {
                let bucket = &mut self.buckets[bucket];
                if let Some(free) = bucket.tags.iter().position(|t| *t == 0) {
                    (bucket.tags[free], bucket.entries[free]) = (tag, entry);
                    return Ok(());
                }
            }
            at = self.other(at, tag);
            let victim = (tag as usize >> 8).wrapping_add(kick) % 8;
            let bucket = &mut self.buckets[at];
            std::mem::swap(&mut bucket.tags[victim], &mut tag);
            std::mem::swap(&mut bucket.entries[victim], &mut entry);
            at = self.other(at, tag);
        }
        Err((entry, Probe { first: at, tag }))
    }

    /// Removes an entry; its key is still in its record.
    pub(crate) fn remove(&mut self, entry: u32, records: &Records) {
        let probe = self.probe(records.key(entry));
        for at in [probe.first, self.other(probe.first, probe.tag)] {
            let bucket = &mut self.buckets[at];
            let here = (0..8).find(|&i| bucket.entries[i] == entry && bucket.tags[i] != 0);
            if let Some(slot) = here {
                (bucket.tags[slot], bucket.entries[slot]) = (0, MISS);
                self.len -= 1;
                break;
            }
        }
        if self.buckets.len() > 1 && self.len * 4 < self.slots() {
            self.rebuild(self.buckets.len() / 2, records);
        }
    }

    /// Makes room for `more` entries.
    pub(crate) fn reserve(&mut self, more: usize, records: &Records) {
        let buckets = ((self.len + more) * 8).div_ceil(7 * 8).next_power_of_two();
        if buckets > self.buckets.len() {
            self.rebuild(buckets, records);
        }
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
        self.buckets.len() * 8
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
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
            assert!(cuckoo.buckets.len() <= 1024);
            for (entry, key) in (1..).zip(&crafted) {
                assert_eq!(cuckoo.find(&[*key], &records), entry);
            }
            for (entry, key) in (1..).zip(&crafted) {
                cuckoo.remove(entry, &records);
                assert_eq!(cuckoo.find(&[*key], &records), MISS);
            }
            assert_eq!((cuckoo.len, cuckoo.buckets.len()), (0, 1));
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
}
