//! Sets of plans with slightly higher charges than the open one.

use super::Bound;
use crate::charges::Counts;
use std::collections::BTreeMap;

/// Number of successive exchanges.
const MAX_EXCHANGES: usize = 3;
/// Sets kept for the next exchange.
const MAX_SETS: usize = 8;
/// Devices of one class that are added, and of another class that are removed.
const EXCHANGES: [(u16, u16); 4] = [(1, 0), (1, 1), (2, 1), (1, 2)];

impl Bound<'_> {
    /// Sets with charges of at most `budget` (by the charges that are objectives) and a lower bound of at most `most`. Only sets with more spare capacity than the open one are
    /// returned, because placements are found sooner there; lowest bound first.
    pub fn dearer(&self, objective: usize, budget: &[i64], most: i64) -> Vec<Counts> {
        let classes = self.sizes.len();
        let own = self.counts.exact(&(0..classes).collect::<Vec<_>>());
        let mut known = BTreeMap::from([(own.clone(), i64::MIN)]);
        let mut last = vec![own];
        for _ in 0..MAX_EXCHANGES {
            let mut next = vec![];
            for counts in last.iter().flat_map(|counts| self.exchanged(counts)) {
                if !known.contains_key(&counts) && self.is_within(&counts, budget) {
                    let least = self.known(objective, &counts);
                    known.insert(counts.clone(), least);
                    next.push((least, counts));
                }
            }
            next.retain(|(least, _)| *least <= most);
            next.sort_unstable();
            next.truncate(MAX_SETS);
            last = next.into_iter().map(|(_, counts)| counts).collect();
        }
        let spare = |counts: &Counts| self.room.as_ref().map_or(0, |room| room.spare(&counts.least));
        let own = spare(&self.counts);
        let is_good = |(counts, least): &(Counts, i64)| *least <= most && spare(counts) > own;
        let mut dearer: Vec<(i64, Counts)> =
            known.into_iter().filter(is_good).map(|(counts, least)| (least, counts)).collect();
        dearer.sort_unstable();
        dearer.into_iter().map(|(_, counts)| counts).collect()
    }

    /// All sets that one exchange makes of a set.
    fn exchanged(&self, counts: &Counts) -> Vec<Counts> {
        let classes = self.sizes.len();
        let mut all = vec![];
        for (more, less) in (0..classes).flat_map(|more| (0..classes).map(move |less| (more, less))) {
            for (add, drop) in EXCHANGES {
                let mut other = counts.clone();
                other.least[more] += add;
                // Without a second class nothing is dropped. A class keeps a device: bounds known from other sets assume that each class of the open set is there.
                let is_one = (drop == 0) == (more == less);
                if is_one && other.least[more] <= self.charges.most(more) && other.least[less] > drop {
                    other.least[less] -= drop;
                    all.push(other);
                }
            }
        }
        all
    }

    fn is_within(&self, counts: &Counts, budget: &[i64]) -> bool {
        budget.iter().enumerate().all(|(at, budget)| {
            let charged = |(class, devices): (usize, &u16)| {
                self.charges.opening(class)[at].saturating_mul(i64::from(*devices))
            };
            counts.least.iter().enumerate().map(charged).fold(0, i64::saturating_add) <= *budget
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, Counts};
    use crate::charges::Charges;
    use crate::equal::EqualDevices;
    use base_time::Rng;

    /// Bounds known from other sets assume that each class of the open set is there, and there are no more devices than there are.
    #[test]
    fn exchanges_keep_each_class() {
        let mut fewer = 0;
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let problem = crate::pack::tests::problem(&mut rng);
            let equal = EqualDevices::new(&problem, &[1000; 3]);
            let charges = Charges::new(&problem, &equal);
            let bound = Bound::new(&problem, &equal, &charges);
            let classes = problem.classes;
            let most = |class: usize| charges.most(class);
            let own = Counts {
                least: (0..classes).map(|class| rng.below(u64::from(most(class)) + 1) as u16).collect(),
                is_exact: vec![true; classes],
            };
            for other in bound.exchanged(&own) {
                assert!(
                    (0..classes).all(|class| other.least[class] <= most(class)),
                    "seed {seed}: {other:?}"
                );
                let is_kept = |class: usize| other.least[class] > 0 || own.least[class] == 0;
                assert!((0..classes).all(is_kept), "seed {seed}: {other:?}");
                fewer += usize::from((0..classes).any(|class| other.least[class] < own.least[class]));
            }
        }
        assert!(fewer > 10, "{fewer}");
    }
}
