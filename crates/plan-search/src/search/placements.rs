//! Sets of plans searched by placements of all regions together ([`crate::pack`]).

use super::{NARROW, Search};
use crate::Stop;
use crate::equal::EqualDevices;
use crate::label::{Cost, Label};
use crate::pack::{Packed, Packing, Placement};
use crate::problem::Problem;

/// Labels per level of the second search for a placement's plans, if the narrow one dropped labels.
const WIDE: usize = 64;
/// Number of placements without a useful plan after which the search gives up.
const MAX_VAIN: usize = 64;
/// Partial placements between two calls of the watch.
const LOOK: u64 = 512;
/// Number of partial placements that are visited if all equal devices are in one place and the number of regions times devices is at most [`SIZE`].
const MOST: u64 = 1000;
const SIZE: u64 = 4096;

/// Number of partial placements of a set that are visited at first. It grows with the number of places of a class's devices, because multipliers per class then give a weaker bound.
pub fn patience(problem: &Problem, equal: &EqualDevices) -> u64 {
    let places = (equal.groups() / problem.classes.max(1)) as u64;
    let size = (problem.nodes.len() * problem.class.len()) as u64;
    MOST * places * places * SIZE / size.max(SIZE)
}

impl Search<'_> {
    /// Finds all plans of the open set by their placements. Returns false if that takes too many partial placements.
    ///
    /// The limit starts slightly above the lower bound and is raised step by step.
    pub(super) fn search_placements(&mut self, root: &Label, goals: &[Option<i64>]) -> bool {
        let (Some(at), true) = (self.worst(), self.switches.bounds) else { return false };
        let Some(end) = self.bound.end(root, 0) else { return true };
        let (mut left, mut nearest) = (self.patience, end[at]);
        // Limits: 1/256 above the lower bound at first, then twice as far each round, up to eight times the bound; then the goal alone.
        let mut more = (end[at] >> 8).max(1);
        while left > 0 {
            let goal = self.goals(&end)[at].or(goals[at]).unwrap_or(i64::MAX);
            let is_near = end[at] >= 0 && more <= end[at].saturating_mul(8);
            let near = end[at].saturating_add(more).max(nearest.saturating_add(1));
            let below = if is_near { near.min(goal) } else { goal };
            let Some(next) = self.search_below((at, below), &end, &mut left) else { break };
            let mut beyond = end.clone();
            beyond[at] = next;
            if next == i64::MAX || self.covers(&beyond) {
                return true;
            }
            nearest = next;
            more *= 2;
        }
        // Other sets of the problem are likely to be as hard.
        self.patience /= 8;
        false
    }

    /// Finds all plans of the open set whose objective `at` is less than `below`, by their placements. Returns a lower bound on all other plans; `None` if `left` partial placements do not suffice.
    fn search_below(&mut self, (at, below): (usize, i64), end: &Cost, left: &mut u64) -> Option<i64> {
        let mut packing = Packing::new(self.bound.pack(at)?, below);
        let mut vain = 0;
        loop {
            let before = packing.looked;
            let packed = packing.next(*left.min(&mut (before + LOOK)));
            self.progress.labels += packing.looked - before;
            self.stopped |= (self.watch)(&self.progress) == Stop::Yes;
            match packed {
                _ if self.stopped => return None,
                Packed::NoMore => {
                    *left = left.saturating_sub(packing.looked);
                    return Some(packing.nearest);
                }
                Packed::NotYet if packing.looked >= *left => return None,
                Packed::NotYet => {}
                Packed::Placement(placement) => {
                    if vain >= MAX_VAIN || !self.search_placement(&placement, at, end) {
                        return None;
                    }
                    let goal = self.goals(end)[at].unwrap_or(i64::MAX);
                    // Only placements without a better plan count, and only those in a row.
                    vain = if goal < packing.below { 0 } else { vain + 1 };
                    packing.below = packing.below.min(goal);
                }
            }
        }
    }

    /// Plans with a placement, equal devices exchanged or not. Whether all that are of use were found.
    fn search_placement(&mut self, placement: &Placement, at: usize, end: &Cost) -> bool {
        let group = |device: &usize| vec![self.equal.group[*device]];
        let allowed: Vec<Vec<usize>> = placement.devices.iter().map(group).collect();
        self.expander.open(self.bound.counts(), &allowed);
        [NARROW, WIDE]
            .into_iter()
            .any(|width| self.dive(width) || self.goals(end)[at].is_some_and(|goal| goal <= placement.least))
    }
}
