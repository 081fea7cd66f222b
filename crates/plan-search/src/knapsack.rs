//! The most that a device takes in tolls from what fits on it.
//!
//! By level l, set m of the regions before that others follow yet ([`crate::stay`]), and free units u:
//!
//! ```text
//! V(l, m, u) = max( V(l+1, m', u),  toll + back(m) + V(l+1, m' + region, u - used) )     m' without those that nobody follows any more
//! ```

use crate::price::Graph;
use crate::scarce::{Scarce, What};

/// What devices take of one thing.
#[derive(Clone, Debug, Default)]
pub struct Knapsack {
    /// By level: where its values begin.
    first: Vec<usize>,
    /// By level, mask of regions before, and units that are free: the most that is taken from the regions left.
    most: Vec<i64>,
    /// Units of a device, and one.
    width: usize,
}

impl Knapsack {
    /// The most that a device takes from `level` on which has so many units free and runs some regions before.
    pub fn most(&self, level: usize, mask: usize, free: usize) -> i64 {
        self.most[self.first[level] + mask * self.width + free]
    }
}

impl Graph<'_> {
    /// What devices take of a thing, from `level` on.
    pub fn knapsack(&self, level: usize, at: usize, toll: &[i64], weight: &[i64]) -> Knapsack {
        let thing = &self.scarce[at];
        let levels = self.problem.order.len();
        let width = thing.free(thing.size) + 1;
        let (mut first, mut size) = (vec![0; levels + 1], 0);
        for (level, first) in first.iter_mut().enumerate().skip(level) {
            *first = size;
            size += width * self.masks(level, thing);
        }
        let mut most = vec![0; size];
        for level in (level..levels).rev() {
            let (now, next) = most[first[level]..].split_at_mut(first[level + 1] - first[level]);
            match thing.is_exact {
                true => self.fill(level, thing, toll, weight, (now, next)),
                false => self.add(level, thing, toll, (now, next)),
            }
        }
        Knapsack { first, most, width }
    }

    fn masks(&self, level: usize, thing: &Scarce) -> usize {
        if thing.is_exact { self.stays.levels[level].next.len() } else { 1 }
    }

    /// With or without the region of a level, and what it gets back with those before.
    fn fill(
        &self,
        level: usize,
        thing: &Scarce,
        toll: &[i64],
        weight: &[i64],
        (now, next): (&mut [i64], &[i64]),
    ) {
        let node = self.problem.order[level];
        let width = thing.free(thing.size) + 1;
        let used = thing.uses[node];
        let of = &self.stays.levels[level];
        for ((mask, &after), now) in of.next.iter().enumerate().zip(now.chunks_exact_mut(width)) {
            now.copy_from_slice(&next[after * width..(after + 1) * width]);
            if thing.takes[node] && used < width {
                let value = self.value(level, thing, toll, weight, mask);
                let with = &next[(after | of.own) * width..][..width - used];
                for (most, with) in now[used..].iter_mut().zip(with) {
                    *most = (*most).max(with + value);
                }
            }
        }
    }

    /// What a device takes for the region of a level, with those before that are its neighbours there.
    fn value(&self, level: usize, thing: &Scarce, toll: &[i64], weight: &[i64], mask: usize) -> i64 {
        let into = self.stays.levels[level].into.iter().filter(|(_, bit)| mask >> bit & 1 == 1);
        let back = into.map(|(arc, _)| self.stays.back(*arc, thing.class) * weight[*arc]);
        toll[self.problem.order[level]] + back.sum::<i64>()
    }

    /// With or without the region of a level or each of the edges to it.
    fn add(&self, level: usize, thing: &Scarce, toll: &[i64], (now, next): (&mut [i64], &[i64])) {
        now.copy_from_slice(&next[..now.len()]);
        for item in self.items(level, thing, toll) {
            let used = thing.uses[item];
            for free in (used..now.len()).rev() {
                now[free] = now[free].max(now[free - used] + toll[item]);
            }
        }
    }

    /// Regions or edges of a level for which a toll is taken. An edge is paid for when the region behind it is placed.
    fn items(&self, level: usize, thing: &Scarce, toll: &[i64]) -> impl DoubleEndedIterator<Item = usize> {
        let node = &self.problem.order[level];
        let items = match thing.what {
            What::Region => std::slice::from_ref(node),
            What::Into | What::Out => &self.problem.nodes[*node].into,
        };
        items.iter().copied().filter(|item| thing.takes[*item] && toll[*item] > 0)
    }

    /// From which regions or edges a device takes the most, from `level` on, that has so many units free and runs some regions before.
    pub fn taken(
        &self,
        of: &Knapsack,
        at: usize,
        toll: &[i64],
        (level, mut mask, mut free): (usize, usize, usize),
    ) -> Vec<usize> {
        let thing = &self.scarce[at];
        let mut taken = vec![];
        for level in level..self.problem.order.len() {
            let most = of.most(level, mask, free);
            if thing.is_exact {
                let (node, known) = (self.problem.order[level], &self.stays.levels[level]);
                mask = known.next[mask];
                if most > of.most(level + 1, mask, free) {
                    taken.push(node);
                    free -= thing.uses[node];
                    mask |= known.own;
                }
                continue;
            }
            // The last of the edges first: with how many units less the rest is as much.
            let items: Vec<usize> = self.items(level, thing, toll).collect();
            let (mut rows, width) = (vec![], of.width);
            let mut row: Vec<i64> = (0..width).map(|free| of.most(level + 1, 0, free)).collect();
            for item in &items {
                rows.push(row.clone());
                let used = thing.uses[*item];
                for free in (used..width).rev() {
                    row[free] = row[free].max(row[free - used] + toll[*item]);
                }
            }
            let mut most = most;
            for (item, row) in items.iter().zip(&rows).rev() {
                if most > row[free] {
                    taken.push(*item);
                    free -= thing.uses[*item];
                    most = row[free];
                }
            }
        }
        taken
    }
}
