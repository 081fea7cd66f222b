//! Plans within a slack of all others.
//!
//! ```text
//! sets of plans, least charges first      whether regions fit; a bound by prices; where no plan covers it, a short annealing
//! those not covered, widest gap first     better prices, then annealing with twice the steps each time, and exact search with few labels
//! those that are left                     exact search
//! ```

use super::sets::{Left, TRY, Waiting};
use super::{ALL, NARROW, Search};
use crate::Measure;
use crate::anneal::Annealing;
use crate::bound::Effort;
use crate::charges::Counts;
use crate::gap;
use crate::label::{Cost, Label};

/// First prices of a set. Links are left out: where devices have room for few regions, they hardly raise the bound.
const QUICK: Effort = Effort { steps: 120, rounds: 1, has_links: false };
/// Steps of the first search for a certificate that a set has no plan, and of a second one.
const FIT: usize = 40;
const FIT_AGAIN: usize = 1000;
/// Steps of the first annealing of a set, and of the last.
const FIRST_STEPS: u64 = 30_000;
const LAST_STEPS: u64 = 1_920_000;

/// Number of annealings after which a set is also searched exactly, with a limited number of labels that doubles each time.
const TRIED: u32 = 2;
const LABELS: u64 = 2000;

/// A set of plans that is not covered by any plan found so far.
struct Open {
    counts: Counts,
    /// Lower bound on the final cost of its plans.
    end: Cost,
    /// Number of annealings so far.
    times: u32,
}

impl Search<'_> {
    /// Searches until every plan is within the slack of a plan found. Returns the sets not searched when the search was stopped.
    pub(super) fn run_near(&mut self, waiting: Waiting, root: &Label) -> Vec<Left> {
        let (mut open, mut left) = self.price_all(waiting, root);
        let mut hard = vec![];
        loop {
            self.look();
            open.retain(|set: &Open| !self.covers(&set.end));
            let widest = (0..open.len()).max_by_key(|at| self.gap(&open[*at].end));
            let Some(set) = widest.map(|at| open.swap_remove(at)) else { break };
            let steps = FIRST_STEPS << set.times;
            if self.stopped || steps > LAST_STEPS {
                hard.push(set);
                continue;
            }
            if set.times == TRIED {
                self.bound.open(&set.counts);
                if !self.bound.fits(FIT_AGAIN) {
                    continue;
                }
            }
            let effort = if set.times == 1 { ALL } else { TRY };
            let Some(end) = self.near(&set.counts, set.end, root, effort) else { continue };
            self.anneal(&end, steps, set.times);
            // Small sets are searched before annealing is known to be in vain.
            if set.times >= TRIED && !self.stopped && !self.covers(&end) {
                let (goals, most) = (self.goals(&end), LABELS << (set.times - TRIED));
                // Placements take longer.
                let rest = match set.times {
                    TRIED => self.search_labels(&set.counts, &goals, root, most),
                    _ => self.search_set(&set.counts, &goals, root, most),
                };
                if rest.is_empty() {
                    continue;
                }
            }
            open.push(Open { end, times: set.times + 1, ..set });
        }
        for Open { counts, end, .. } in hard {
            if self.covers(&end) {
                continue;
            }
            self.look();
            if self.stopped {
                left.push(Left::set(counts, root, end));
                continue;
            }
            let rest = self.search_set(&counts, &self.goals(&end), root, u64::MAX);
            let left_of =
                |(level, labels)| Left { counts: counts.clone(), level, labels, end: Some(end.clone()) };
            left.extend(rest.into_iter().map(left_of));
        }
        left
    }

    /// Sets whose bounds are not covered after a short annealing, and sets that were not reached when the search was stopped.
    fn price_all(&mut self, mut waiting: Waiting, root: &Label) -> (Vec<Open>, Vec<Left>) {
        let (mut open, mut left) = (vec![], vec![]);
        while let Some(((_, counts), end)) = waiting.pop_first() {
            let end = self.raised(&counts, end);
            if self.covers(&end) {
                continue;
            }
            self.look();
            if self.stopped {
                left.push(Left::set(counts, root, end));
                continue;
            }
            // Most sets are covered before this, which takes longer.
            let Some(end) = self.opened(&counts, end, root) else { continue };
            let exact = counts.exact(&self.bound.wanting(&counts));
            let mut near = None;
            // Most sets are covered by the cuts of others, which cost little.
            if !self.covers(&self.raised(&exact, end.clone())) {
                self.bound.open(&exact);
                if self.bound.fits(FIT) {
                    near = self.near(&exact, end.clone(), root, QUICK);
                }
                // The prices of plans with no more devices may show that those with more are covered, too.
                let is_priced = near.is_none() && self.bound.is_priced();
                if is_priced && self.covers(&self.raised(&counts, end.clone())) {
                    continue;
                }
            }
            let all = self.bound.wanting_by_cut(self.worst(), &counts);
            if let Some(near) = near {
                self.anneal(&near, FIRST_STEPS, 0);
                open.push(Open { end: near, counts: exact, times: 1 });
            }
            for other in counts.others(&all) {
                let charged = self.bound.charged(&other, root);
                let end: Cost = end.iter().zip(charged).map(|(end, charged)| (*end).max(charged)).collect();
                waiting.insert((self.turn(&end), other), end);
            }
        }
        (open, left)
    }

    /// The gap of the plans found to a lower bound.
    fn gap(&self, end: &[i64]) -> i64 {
        gap::between(self.front.points().iter().map(|(cost, _)| &cost[..]), end)
    }

    /// A lower bound on a set: `end`, or the bound from the cuts of other sets if that is higher.
    pub(super) fn raised(&self, counts: &Counts, mut end: Cost) -> Cost {
        if let Some(at) = self.worst() {
            end[at] = end[at].max(self.bound.known(at, counts));
        }
        end
    }

    /// A lower bound on a set from its own multipliers, at least `end`; none if it is covered. The set is open afterwards.
    fn near(&mut self, counts: &Counts, end: Cost, root: &Label, effort: Effort) -> Option<Cost> {
        self.bound.open(counts);
        let mut end = self.raised(counts, end);
        if self.covers(&end) || !self.bound.price(root, &self.goals(&end), effort) {
            return None;
        }
        let known = self.bound.end(root, 0)?;
        end.iter_mut().zip(&known).for_each(|(end, known)| *end = (*end).max(*known));
        (!self.covers(&end)).then_some(end)
    }

    /// Anneals for plans that cover a lower bound: first in a set with charges higher by at most the slack, a different one each time, then in the open set itself.
    fn anneal(&mut self, end: &Cost, steps: u64, times: u32) {
        let Some(at) = self.worst() else { return };
        let objectives = self.problem.settings.objectives.iter().zip(end);
        let charges = objectives.filter(|(o, _)| matches!(o.measure, Measure::Charges(_) | Measure::Devices));
        let budget: Vec<i64> = charges.map(|(_, end)| gap::raised(*end, self.slack)).collect();
        let own = self.bound.counts().clone();
        let dearer = self.bound.dearer(at, &budget, gap::raised(end[at], self.slack));
        let dearer = dearer.get(times as usize % dearer.len().max(1)).cloned();
        for (counts, seed) in dearer.into_iter().map(|counts| (counts, 0)).chain([(own, 1)]) {
            self.look();
            if self.stopped || self.covers(end) {
                return;
            }
            self.bound.open(&counts);
            let Some(pack) = self.bound.pack(at) else { return };
            let Some(mut annealing) = Annealing::new(&pack, 2 * u64::from(times) + seed) else { return };
            if let Some(placement) = annealing.run(steps) {
                // Some of the set's devices may be left unused.
                self.bound.open(&self.bound.paid_by(&placement.devices));
                self.expander.open(self.bound.counts(), self.bound.allowed());
                self.expander.pin(&placement.devices);
                // Without the slack: a plan that is within it of this one may be too far from what this one covers.
                let slack = std::mem::take(&mut self.slack);
                self.dive(NARROW);
                self.slack = slack;
            }
        }
    }
}
