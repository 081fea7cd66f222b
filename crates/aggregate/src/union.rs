//! An estimate of how many distinct keys several mappers have, from a few numbers of each: the smallest hashes (Bar-Yossef et al. 2002,
//! "Counting distinct elements in a data stream", algorithm 1).
//!
//! With `k` hashes, the standard error is about `1 / sqrt(k - 2)`: 6 %.

/// Hashes that are kept.
pub const MOST: usize = 256;

/// The smallest hashes of a set of keys, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Smallest(Vec<u64>);

impl Smallest {
    /// The smallest hashes of a set, in any order; equal ones count once.
    pub fn of(hashes: impl IntoIterator<Item = u64>) -> Smallest {
        let mut smallest = Smallest(vec![]);
        let mut waiting = vec![];
        for hash in hashes {
            let is_full = smallest.0.len() == MOST;
            if !is_full || smallest.0.last().is_some_and(|last| hash < *last) {
                waiting.push(hash);
            }
            if waiting.len() == MOST {
                smallest = smallest.union(&Smallest(std::mem::take(&mut waiting)));
            }
        }
        smallest.union(&Smallest(waiting))
    }

    /// The smallest hashes of the union of two sets.
    pub fn union(&self, other: &Smallest) -> Smallest {
        let mut all = [self.0.as_slice(), other.0.as_slice()].concat();
        all.sort_unstable();
        all.dedup();
        all.truncate(MOST);
        Smallest(all)
    }

    /// The number of distinct keys; exact below [`MOST`].
    pub fn distinct(&self) -> u64 {
        match self.0.last().filter(|_| self.0.len() == MOST) {
            Some(last) => ((MOST - 1) as f64 / (*last as f64 / u64::MAX as f64).max(f64::EPSILON)) as u64,
            None => self.0.len() as u64,
        }
    }

    /// As they are sent.
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::hash;

    #[test]
    fn unions_are_estimated_within_a_fifth() {
        let set = |keys: std::ops::Range<u64>| Smallest::of(keys.map(|key| hash(&key.to_be_bytes(), 3)));
        for (first, second, wanted) in
            [(0..100, 50..150, 150), (0..50_000, 20_000..80_000, 80_000), (0..0, 0..7, 7)]
        {
            let (one, other) = (set(first), set(second));
            let found = one.union(&other).distinct();
            assert!(found.abs_diff(wanted) <= wanted / 5, "{found} for {wanted}");
            assert_eq!(found == wanted, wanted < 256);
        }
    }
}
