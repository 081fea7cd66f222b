//! Data of a job: the pairs of each mapper after its own combining, generated from a seed.

use aggregate::Op;
use base_time::{Rng, Zipf};
use std::collections::BTreeMap;

/// Pairs of all mappers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    /// The operator.
    pub op: Op,
    /// Key and value, sorted by key; each key once for a mapper.
    pub pairs: Vec<Vec<(u32, u32)>>,
    /// Keys are the indices of an array, from 0 on, and all mappers have all of them.
    pub is_dense: bool,
}

impl Data {
    /// Words by Zipf's law (`skew` in thousandths) over a vocabulary, counted by each mapper.
    pub fn words(mappers: u16, words: u32, vocabulary: u32, skew: u32, seed: u64) -> Data {
        let zipf = Zipf::new(vocabulary, skew);
        let mapper = |mapper: u16| {
            let mut chance = Rng::new(seed).split_index(mapper.into());
            let mut counts = BTreeMap::<u32, u32>::new();
            (0..words).for_each(|_| *counts.entry(zipf.draw(&mut chance) as u32).or_default() += 1);
            counts.into_iter().collect()
        };
        Data { op: Op::Add, pairs: (0..mappers).map(mapper).collect(), is_dense: false }
    }

    /// An array of each mapper, in fixed point: sums of all mappers fit 31 bits.
    pub fn gradients(mappers: u16, length: u32, seed: u64) -> Data {
        let most = (1u64 << 31) / u64::from(mappers.max(1));
        let mapper = |mapper: u16| {
            let mut chance = Rng::new(seed).split_index(mapper.into());
            (0..length).map(|at| (at, chance.below(most) as u32)).collect()
        };
        Data { op: Op::Add, pairs: (0..mappers).map(mapper).collect(), is_dense: true }
    }

    /// The serial fold.
    pub fn fold(&self) -> BTreeMap<u32, u64> {
        let mut fold = BTreeMap::new();
        for (key, value) in self.pairs.iter().flatten() {
            let value = u64::from(*value);
            fold.entry(*key).and_modify(|held| *held = self.op.fold_wide(*held, value)).or_insert(value);
        }
        fold
    }

    /// Pairs of all mappers.
    pub fn sum(&self) -> u64 {
        self.pairs.iter().map(|pairs| pairs.len() as u64).sum()
    }

    /// Distinct keys.
    pub fn distinct(&self) -> u64 {
        let mut keys: Vec<u32> = self.pairs.iter().flatten().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len() as u64
    }

    /// Bytes of the text of a key: a word of 4 to 12 letters; an index has 4 bytes.
    pub fn key_bytes(&self, key: u32) -> u64 {
        if self.is_dense { 4 } else { 4 + u64::from(key % 9) }
    }
}

/// Keys whose value in a result is not that of the fold, missing and additional ones included.
pub fn wrong(fold: &BTreeMap<u32, u64>, result: &BTreeMap<u32, u64>) -> u64 {
    let differs = |(key, value): &(&u32, &u64)| result.get(key) != Some(value);
    let more = result.keys().filter(|key| !fold.contains_key(key)).count();
    (fold.iter().filter(differs).count() + more) as u64
}
