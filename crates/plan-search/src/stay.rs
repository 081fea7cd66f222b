//! Regions next to one another, on one device or on equal ones.
//!
//! ```text
//! a ─> b     on one device nothing is added between them; on two equal devices, a hand-over
//! ```
//!
//! Multipliers are by groups of equal devices, where the two cases look alike. So each step within a group includes a hand-over, and a device with both regions gets
//! it back: the knapsack maximises multipliers plus hand-overs within the set. It goes through the regions in order;
//! of those before, only the few matter that others follow yet.

use crate::label::Label;
use crate::price::{Distances, NEVER};
use crate::problem::Problem;
use smallvec::{SmallVec, smallvec};

/// Earlier regions that are distinguished.
const MAX_LIVE: usize = 3;

/// Hand-overs within groups of equal devices.
pub struct Stays {
    /// Cost of the hand-over in a step within the group, by edge and group.
    bears: Vec<Vec<i64>>,
    /// Cost of the hand-over that a device with both ends gets back, by edge and class.
    back: Vec<Vec<i64>>,
    /// By class: of what its devices have little, the one by which sets of regions are looked for.
    carrier: Vec<Option<usize>>,
    /// By level.
    pub levels: Vec<Level>,
}

/// The next region to be put on a device, or not, and what is known of those before.
#[derive(Default)]
pub struct Level {
    /// Regions before that others follow yet; a set of them is a mask.
    pub live: SmallVec<[usize; MAX_LIVE]>,
    /// Edges from them to the next region, with their bits.
    pub into: SmallVec<[(usize, usize); MAX_LIVE]>,
    /// By mask: the mask of the next level, without the region.
    pub next: SmallVec<[usize; 1 << MAX_LIVE]>,
    /// The region's bit in that.
    pub own: usize,
}

impl Stays {
    /// `carrier` is by class; without `distances`, hand-overs within a group count as zero.
    pub fn new(
        problem: &Problem,
        rank: &[usize],
        class: &[usize],
        carrier: &[Option<usize>],
        distances: Option<&Distances>,
    ) -> Stays {
        let levels = levels(problem, rank);
        let mut bears = vec![vec![0; class.len()]; problem.arcs.len()];
        let mut back = vec![vec![0; problem.classes]; problem.arcs.len()];
        let known = levels.iter().flat_map(|level| &level.into).map(|(arc, _)| *arc);
        for arc in known.filter(|_| distances.is_some()) {
            for (group, of) in class.iter().enumerate() {
                let apart = distances.map_or(NEVER, |distances| distances.apart(arc, group));
                if carrier[*of].is_some() && apart < NEVER {
                    bears[arc][group] = apart;
                    back[arc][*of] = apart.max(back[arc][*of]);
                }
            }
        }
        let is_some = |class: &usize| back.iter().any(|back| back[*class] > 0);
        let carrier = (0..problem.classes).map(|class| carrier[class].filter(|_| is_some(&class))).collect();
        Stays { bears, back, carrier, levels }
    }

    /// Cost of the hand-over in a step within a group.
    pub fn bears(&self, arc: usize, group: usize) -> i64 {
        self.bears[arc][group]
    }

    /// Cost of the hand-over that a device of the class gets back if it has both ends of the edge.
    pub fn back(&self, arc: usize, class: usize) -> i64 {
        self.back[arc][class]
    }

    /// Scarce resources that sets of regions are looked for by.
    pub fn carriers(&self) -> impl Iterator<Item = usize> + '_ {
        self.carrier.iter().flatten().copied()
    }

    /// Which of the regions before, that others follow yet, run on a device.
    pub fn mask(&self, label: &Label, level: usize, device: usize) -> usize {
        let runs = |node: usize| label.live.iter().any(|live| live.node == node && live.device == device);
        let bits = self.levels[level].live.iter().enumerate();
        bits.fold(0, |mask, (bit, node)| mask | usize::from(runs(*node)) << bit)
    }
}

/// By level, the last one with nothing.
fn levels(problem: &Problem, rank: &[usize]) -> Vec<Level> {
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
    levels
}
