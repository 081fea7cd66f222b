//! Hand-overs between regions on one device or on equal devices.
//!
//! ```text
//! a ─> b     on one device: no cost; on two equal devices: the cost of a hand-over
//! ```
//!
//! Multipliers are per group of equal devices, which does not distinguish the two cases. Therefore each edge within a group is charged a hand-over h(c, e), and a device with both ends gets
//! it back: the knapsack maximises sum over r in S of t(c, r) + sum over edges e within S of h(c, e). It processes the regions in order;
//! of the earlier regions, only those with edges to later regions matter.

use crate::label::Label;
use crate::price::{Distances, NEVER};
use crate::problem::Problem;
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// Earlier regions that are distinguished.
const MAX_LIVE: usize = 3;

/// Hand-overs within groups of equal devices.
pub struct WithinGroup {
    /// Cost of the hand-over in a step within the group, by edge and group.
    costs: Vec<Vec<i64>>,
    /// Cost of the hand-over that a device with both ends gets back, by edge and class.
    back: Vec<Vec<i64>>,
    /// For each class, the scarce resource whose knapsack searches the sets of regions.
    carrier: Vec<Option<usize>>,
    /// Levels, one for each region in order and an empty one at the end.
    pub levels: Rc<[Level]>,
}

/// The next region in the order, and the earlier regions that matter for it.
#[derive(Default)]
pub struct Level {
    /// Earlier regions with edges to regions that are not yet placed. A mask is a set of these.
    pub live: SmallVec<[usize; MAX_LIVE]>,
    /// Edges from these to the next region, each with the bit of its source.
    pub into: SmallVec<[(usize, usize); MAX_LIVE]>,
    /// For each mask, the mask of the next level without the region.
    pub next: SmallVec<[usize; 1 << MAX_LIVE]>,
    /// The region's bit in masks of the next level.
    pub own: usize,
}

impl WithinGroup {
    /// `carrier` is by class.
    pub fn new(
        problem: &Problem,
        levels: Rc<[Level]>,
        class: &[usize],
        carrier: &[Option<usize>],
        distances: &Distances,
    ) -> WithinGroup {
        let mut costs = vec![vec![0; class.len()]; problem.arcs.len()];
        let mut back = vec![vec![0; problem.classes]; problem.arcs.len()];
        for (arc, _) in levels.iter().flat_map(|level| level.into.iter().copied()) {
            for (group, of) in class.iter().enumerate() {
                let apart = distances.apart(arc, group);
                if carrier[*of].is_some() && apart < NEVER {
                    costs[arc][group] = apart;
                    back[arc][*of] = apart.max(back[arc][*of]);
                }
            }
        }
        let is_some = |class: &usize| back.iter().any(|back| back[*class] > 0);
        let carrier = (0..problem.classes).map(|class| carrier[class].filter(|_| is_some(&class))).collect();
        WithinGroup { costs, back, carrier, levels }
    }

    /// Cost of the hand-over in a step within a group.
    pub fn cost(&self, arc: usize, group: usize) -> i64 {
        self.costs[arc][group]
    }

    /// Cost of the hand-over that a device of the class gets back if it has both ends of the edge.
    pub fn back(&self, arc: usize, class: usize) -> i64 {
        self.back[arc][class]
    }

    /// Scarce resources that sets of regions are looked for by.
    pub fn carriers(&self) -> impl Iterator<Item = usize> + '_ {
        self.carrier.iter().flatten().copied()
    }

    /// Mask of the earlier live regions of the level that run on the device.
    pub fn mask(&self, label: &Label, level: usize, device: usize) -> usize {
        let runs = |node: usize| label.live.iter().any(|live| live.node == node && live.device == device);
        let bits = self.levels[level].live.iter().enumerate();
        bits.fold(0, |mask, (bit, node)| mask | usize::from(runs(*node)) << bit)
    }
}

/// One for each region in order, and an empty one at the end.
pub fn levels(problem: &Problem, rank: &[usize]) -> Rc<[Level]> {
    let mut levels: Vec<Level> = vec![];
    let mut live: SmallVec<[usize; MAX_LIVE]> = smallvec![];
    for (at, &node) in problem.order.iter().enumerate() {
        let bit = |of: &usize| live.iter().position(|known| known == of);
        let arcs = problem.nodes[node].into.iter();
        let into = arcs.filter_map(|arc| Some((*arc, bit(&problem.arcs[*arc].from)?))).collect();
        let is_followed =
            |of: usize| problem.nodes[of].out.iter().any(|arc| rank[problem.arcs[*arc].to] > at);
        let mut after: SmallVec<[usize; MAX_LIVE]> =
            live.iter().copied().filter(|of| is_followed(*of)).collect();
        let kept = |mask: usize| {
            let bits = live.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
            bits.filter_map(|(_, of)| after.iter().position(|known| known == of))
                .fold(0, |mask, bit| mask | 1 << bit)
        };
        let next = (0..1 << live.len()).map(kept).collect();
        let mut own = 0;
        if is_followed(node) && after.len() < MAX_LIVE {
            own = 1 << after.len();
            after.push(node);
        }
        levels.push(Level { live: std::mem::replace(&mut live, after), into, next, own });
    }
    levels.push(Level { live, next: smallvec![0], ..Level::default() });
    levels.into()
}
