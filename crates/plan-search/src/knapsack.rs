//! The set of regions with the largest sum of multipliers that fits on a device.
//!
//! V(l, m, u) is the largest sum over the regions from level l on, for u free units and the set m of earlier regions on the device that have edges to later ones ([`crate::within_group`]):
//!
//! ```text
//! V(l, m, u) = max( V(l+1, m', u),  t + back(m) + V(l+1, m' + region, u - used) )     m' = m without regions whose edges all end before; t is the multiplier of the region
//! ```

use crate::price::Graph;
use crate::scarce::{Scarce, What};

/// The values V of one scarce resource.
#[derive(Clone, Debug, Default)]
pub struct Knapsack {
    /// Start of each level's values in `most`.
    first: Vec<usize>,
    /// V by level, mask of earlier regions, and free units.
    most: Vec<i64>,
    /// Units of a device, and one.
    width: usize,
}

impl Knapsack {
    /// V for a device that runs the regions of `mask`.
    pub fn most(&self, level: usize, mask: usize, free: usize) -> i64 {
        self.most[self.first[level] + mask * self.width + free]
    }
}

impl Graph<'_> {
    /// V of a scarce resource from `level` on.
    pub fn knapsack(&self, level: usize, at: usize, multiplier: &[i64], weight: &[i64]) -> Knapsack {
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
                true => self.fill(level, thing, multiplier, weight, (now, next)),
                false => self.add(level, thing, multiplier, (now, next)),
            }
        }
        Knapsack { first, most, width }
    }

    fn masks(&self, level: usize, thing: &Scarce) -> usize {
        if thing.is_exact { self.within_group.levels[level].next.len() } else { 1 }
    }

    /// A level with hand-overs within the device: with or without its region.
    fn fill(
        &self,
        level: usize,
        thing: &Scarce,
        multiplier: &[i64],
        weight: &[i64],
        (now, next): (&mut [i64], &[i64]),
    ) {
        let node = self.problem.order[level];
        let width = thing.free(thing.size) + 1;
        let used = thing.uses[node];
        let of = &self.within_group.levels[level];
        for ((mask, &after), now) in of.next.iter().enumerate().zip(now.chunks_exact_mut(width)) {
            now.copy_from_slice(&next[after * width..(after + 1) * width]);
            if thing.takes[node] && used < width {
                let value = self.value(level, thing, multiplier, weight, mask);
                let with = &next[(after | of.own) * width..][..width - used];
                for (most, with) in now[used..].iter_mut().zip(with) {
                    *most = (*most).max(with + value);
                }
            }
        }
    }

    /// The multiplier of a level's region, plus the hand-overs from its neighbours on the device.
    fn value(&self, level: usize, thing: &Scarce, multiplier: &[i64], weight: &[i64], mask: usize) -> i64 {
        let into = self.within_group.levels[level].into.iter().filter(|(_, bit)| mask >> bit & 1 == 1);
        let back = into.map(|(arc, _)| self.within_group.back(*arc, thing.class) * weight[*arc]);
        multiplier[self.problem.order[level]] + back.sum::<i64>()
    }

    /// A level without hand-overs: with or without its region, or each of the edges to it.
    fn add(&self, level: usize, thing: &Scarce, multiplier: &[i64], (now, next): (&mut [i64], &[i64])) {
        now.copy_from_slice(&next[..now.len()]);
        for item in self.items(level, thing, multiplier) {
            let used = thing.uses[item];
            for free in (used..now.len()).rev() {
                now[free] = now[free].max(now[free - used] + multiplier[item]);
            }
        }
    }

    /// Regions or edges of a level with a multiplier. An edge belongs to the level of the region that it enters.
    fn items(
        &self,
        level: usize,
        thing: &Scarce,
        multiplier: &[i64],
    ) -> impl DoubleEndedIterator<Item = usize> {
        let node = &self.problem.order[level];
        let items = match thing.what {
            What::Region => std::slice::from_ref(node),
            What::Into | What::Out => &self.problem.nodes[*node].into,
        };
        items.iter().copied().filter(|item| thing.takes[*item] && multiplier[*item] > 0)
    }

    /// The regions or edges of the best set, from `level` on.
    pub fn taken(
        &self,
        of: &Knapsack,
        at: usize,
        multiplier: &[i64],
        (level, mut mask, mut free): (usize, usize, usize),
    ) -> Vec<usize> {
        let thing = &self.scarce[at];
        let mut taken = vec![];
        for level in level..self.problem.order.len() {
            let most = of.most(level, mask, free);
            if thing.is_exact {
                let (node, known) = (self.problem.order[level], &self.within_group.levels[level]);
                mask = known.next[mask];
                if most > of.most(level + 1, mask, free) {
                    taken.push(node);
                    free -= thing.uses[node];
                    mask |= known.own;
                }
                continue;
            }
            // From the last edge back to the first.
            let items: Vec<usize> = self.items(level, thing, multiplier).collect();
            let (mut rows, width) = (vec![], of.width);
            let mut row: Vec<i64> = (0..width).map(|free| of.most(level + 1, 0, free)).collect();
            for item in &items {
                rows.push(row.clone());
                let used = thing.uses[*item];
                for free in (used..width).rev() {
                    row[free] = row[free].max(row[free - used] + multiplier[*item]);
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
