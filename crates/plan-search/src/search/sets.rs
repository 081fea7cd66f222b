//! Sets of plans by the numbers of devices that they pay for, and the order in which they are searched.

use super::{ALL, FEW, Found, NARROW, Search};
use crate::Stop;
use crate::bound::Effort;
use crate::charges::Counts;
use crate::gap;
use crate::label::{Cost, Label};
use crate::{Measure, Objective};
use std::collections::BTreeMap;

/// Labels per level of a wider search, and the number of sets that get one.
const WIDER: usize = 96;
const WIDER_SETS: usize = 4;
/// Effort to try whether known multipliers hold for another set.
pub(super) const TRY: Effort = Effort { steps: 20, rounds: 1, has_links: true };

/// Labels that were not explored.
pub(super) struct Left {
    /// Counts of the set.
    pub counts: Counts,
    /// Number of placed regions.
    pub level: usize,
    pub labels: Vec<Label>,
    /// Lower bound.
    pub end: Option<Cost>,
}

impl Left {
    /// A whole set.
    pub fn set(counts: Counts, root: &Label, end: Cost) -> Left {
        Left { counts, level: 0, labels: vec![root.clone()], end: Some(end) }
    }
}

/// Sets of plans that are not searched yet, in order, with lower bounds.
pub(super) type Waiting = BTreeMap<(Vec<i128>, Counts), Cost>;

impl Search<'_> {
    /// The whole search: set by set, lowest charges first.
    pub(super) fn run(mut self) -> Found {
        let root = self.expander.root();
        let mut waiting = Waiting::new();
        let mut left: Vec<Left> = vec![];
        let sets = if self.switches.bounds { self.charges.sets() } else { vec![self.charges.all()] };
        for counts in sets {
            self.wait(&counts, &root, &mut waiting);
        }
        self.dive_into(&waiting);
        // Sets that few labels suffice for need no multipliers.
        while let Some(((turn, counts), end)) = waiting.pop_first() {
            if !self.covers(&end) && !self.run_few(&counts, &root) {
                waiting.insert((turn, counts), end);
                break;
            }
        }
        let mut proven = i64::MAX;
        if self.switches.near > 0 && self.switches.bounds && !waiting.is_empty() && !self.stopped {
            self.slack = self.switches.near;
            self.bound.merge_places(true);
            left = self.run_near(waiting.clone(), &root);
            self.bound.merge_places(false);
            // Every plan is within `near` of a plan found: the search goes on exactly, and starts again with all sets.
            if left.is_empty() {
                (self.slack, proven) = (0, self.switches.near);
            }
        }
        if self.slack == 0 {
            left = self.run_waiting(waiting, &root);
        }
        self.found(left, proven)
    }

    /// Asks whether to stop.
    pub(super) fn look(&mut self) {
        self.stopped = self.stopped || (self.watch)(&self.progress) == Stop::Yes;
    }

    /// Searches the waiting sets, whole or divided. Returns the sets that remained when the search was stopped.
    fn run_waiting(&mut self, mut waiting: Waiting, root: &Label) -> Vec<Left> {
        let mut left: Vec<Left> = vec![];
        let (mut sets, mut do_few_suffice) = (0, false);
        while let Some(((_, counts), end)) = waiting.pop_first() {
            if self.stopped {
                left.push(Left::set(counts, root, end));
                continue;
            }
            if self.covers(&end) {
                continue;
            }
            // If the last set needed few labels, the next ones probably do, too, and need no bound of their own.
            if do_few_suffice {
                do_few_suffice = self.run_few(&counts, root);
                if do_few_suffice {
                    continue;
                }
            }
            let goals = self.goals(&end);
            let (classes, is_open) = self.deciding_classes(&counts, &goals, root, ALL);
            let all = if self.switches.bounds { self.bound.wanting(&counts) } else { vec![] };
            let searched = counts.exact(&all);
            let (mut rest, mut divided) = (vec![], &classes);
            if is_open {
                let before = self.progress.labels;
                rest = self.search_set(&searched, &goals, root, u64::MAX);
                let took = self.progress.labels - before;
                do_few_suffice = took < self.switches.few;
                // Additional devices of classes that do not decide are allowed together with this set if that takes at most
                // twice its labels. Otherwise each class gets sets of its own.
                let most = (2 * took).max(FEW);
                sets += 1;
                let is_tried = classes.len() < all.len() && sets > self.switches.alone && !self.stopped;
                if !is_tried
                    || !self.search_set(&counts.exact(&classes), &self.goals(&end), root, most).is_empty()
                {
                    divided = &all;
                }
            }
            counts.others(divided).iter().for_each(|other| self.wait(other, root, &mut waiting));
            let left_of = |(level, labels)| Left { counts: searched.clone(), level, labels, end: None };
            left.extend(rest.into_iter().map(left_of));
        }
        left
    }

    /// Searches all plans of a set below the goals, with about `most` labels. Returns the labels that remained.
    pub(super) fn search_set(
        &mut self,
        counts: &Counts,
        goals: &[Option<i64>],
        root: &Label,
        most: u64,
    ) -> Vec<(usize, Vec<Label>)> {
        self.bound.open(counts);
        if self.search_placements(root, goals) {
            return vec![];
        }
        self.search_labels(counts, goals, root, most)
    }

    /// [`Search::search_set`] without placements.
    pub(super) fn search_labels(
        &mut self,
        counts: &Counts,
        goals: &[Option<i64>],
        root: &Label,
        most: u64,
    ) -> Vec<(usize, Vec<Label>)> {
        if self.stopped {
            return vec![(0, vec![root.clone()])];
        }
        self.bound.open(counts);
        if self.switches.bounds && !self.bound.price(root, goals, ALL) {
            return vec![];
        }
        self.most = self.progress.labels.saturating_add(most);
        let rest = self.run_set(root, goals);
        self.most = u64::MAX;
        rest
    }

    /// The classes in which additional devices lower the bound: with the minimum of these classes and all devices of the others, the bound is as high
    /// as with the minimum of all. Classes with the largest decrease come first. Also returns whether plans with the minimum of all classes may be good enough.
    fn deciding_classes(
        &mut self,
        counts: &Counts,
        goals: &[Option<i64>],
        root: &Label,
        effort: Effort,
    ) -> (Vec<usize>, bool) {
        if !self.switches.bounds {
            return (vec![], true);
        }
        let all = self.bound.wanting(counts);
        self.bound.open(&counts.exact(&all));
        let mut ends = goals.to_vec();
        let is_open = self.bound.price(root, goals, TRY) && self.bound.price(root, goals, effort);
        let mut classes = self.bound.wanting(counts);
        if is_open {
            let (Some(at), Some(end)) = (self.worst(), self.bound.end(root, 0)) else {
                return (classes, true);
            };
            // A class does not decide if the bound without it falls by less than an eighth of its distance to the goal.
            let far = goals[at].map_or(end[at] / 16, |goal| goal - end[at]);
            ends[at] = Some(end[at] - far / 8);
        }
        for class in classes.clone().into_iter().rev() {
            let fewer: Vec<usize> = classes.iter().copied().filter(|other| *other != class).collect();
            self.bound.open(&counts.exact(&fewer));
            if !self.bound.price(root, &ends, TRY) {
                classes = fewer;
            }
        }
        (classes, is_open)
    }

    /// The objective whose limit is raised step by step.
    pub(super) fn worst(&self) -> Option<usize> {
        let is_worst = |objective: &Objective| matches!(objective.measure, Measure::Worst(_));
        self.problem.settings.objectives.iter().position(is_worst)
    }

    /// Searches all plans of a set with few labels. Returns whether they sufficed.
    fn run_few(&mut self, counts: &Counts, root: &Label) -> bool {
        self.bound.open(counts);
        self.expander.open(counts, self.bound.allowed());
        self.most = self.progress.labels.saturating_add(self.switches.few);
        let rest = self.run_levels(root);
        self.most = u64::MAX;
        rest.is_empty() && !self.stopped
    }

    /// Narrow searches in all sets, in the order of their bounds: their plans cover many other sets.
    fn dive_into(&mut self, waiting: &Waiting) {
        let mut sets: Vec<(&Cost, &Counts)> =
            waiting.iter().map(|((_, counts), end)| (end, counts)).collect();
        sets.sort();
        // Near plans are found by annealing.
        let wider = if self.switches.near > 0 { 0 } else { WIDER_SETS };
        for (width, most) in [(NARROW, usize::MAX), (WIDER, wider)] {
            let mut dives = 0;
            for (end, counts) in &sets {
                let is_on = self.switches.dives && self.switches.bounds && !self.stopped && dives < most;
                if is_on && !self.covers(end) {
                    dives += 1;
                    self.bound.open(counts);
                    self.expander.open(counts, self.bound.allowed());
                    self.dive(width);
                }
            }
        }
    }

    /// Adds a set to the waiting ones unless its bound is covered.
    fn wait(&mut self, counts: &Counts, root: &Label, waiting: &mut Waiting) {
        if let Some(end) = self.opened(counts, self.bound.charged(counts, root), root) {
            waiting.insert((self.turn(&end), counts.clone()), end);
        }
    }

    /// A lower bound on a set without multipliers, at least `end`; none if it is covered. The set is open afterwards.
    pub(super) fn opened(&mut self, counts: &Counts, mut end: Cost, root: &Label) -> Option<Cost> {
        self.bound.open(counts);
        let known = self.bound.end(root, 0)?;
        end.iter_mut().zip(&known).for_each(|(end, known)| *end = (*end).max(*known));
        (!self.covers(&end)).then_some(end)
    }

    /// The order in which sets of plans are searched.
    pub(super) fn turn(&self, end: &[i64]) -> Vec<i128> {
        self.goal.key(end).unwrap_or_else(|| {
            let objectives = &self.problem.settings.objectives;
            let charges = |is_charge: bool| {
                let of = move |(objective, end): (&Objective, &i64)| {
                    let is = matches!(objective.measure, Measure::Charges(_) | Measure::Devices);
                    (is == is_charge).then_some(i128::from(*end))
                };
                objectives.iter().zip(end).filter_map(of)
            };
            charges(true).chain(charges(false)).collect()
        })
    }

    /// For each objective, the value from which on plans of the set are covered, if the other objectives are at their lower bounds.
    pub(super) fn goals(&self, end: &[i64]) -> Vec<Option<i64>> {
        let goal = |at: usize| {
            let raised = |other: usize| gap::raised(end[other], self.slack);
            let others =
                |cost: &[i64]| (0..end.len()).all(|other| other == at || cost[other] <= raised(other));
            let points = self.front.points().iter().filter(|(cost, _)| others(cost));
            points.map(|(cost, _)| gap::lowered(cost[at], self.slack)).min()
        };
        (0..end.len()).map(goal).collect()
    }

    /// The result; `proven` is a gap that holds whatever is left.
    fn found(mut self, left: Vec<Left>, proven: i64) -> Found {
        let mut least: Option<Vec<i64>> = None;
        let mut lower = |cost: &[i64]| {
            least = Some(match &least {
                Some(known) => known.iter().zip(cost).map(|(a, b)| *a.min(b)).collect(),
                None => cost.to_vec(),
            });
        };
        let (mut is_complete, mut gap) = (self.slack == 0, self.slack);
        // Where one plan is wanted, the gap is that of what decides first.
        let gap_key = |cost: &[i64]| match self.goal.key(cost) {
            None => cost.to_vec(),
            Some(key) => {
                key.first().map(|first| i64::try_from(*first).unwrap_or(i64::MAX)).into_iter().collect()
            }
        };
        let known: Vec<Vec<i64>> = self.front.points().iter().map(|(cost, _)| gap_key(cost)).collect();
        for Left { counts, level, labels, end: at_least } in &left {
            self.bound.open(counts);
            for label in labels {
                is_complete = false;
                if let Some(mut end) = self.bound.end(label, *level) {
                    for (end, known) in end.iter_mut().zip(at_least.iter().flatten()) {
                        *end = (*end).max(*known);
                    }
                    let end = self.raised(counts, end);
                    gap = gap.max(gap::between(known.iter().map(Vec::as_slice), &gap_key(&end)));
                    lower(&end);
                }
            }
        }
        let points = std::mem::take(&mut self.front).into_sorted();
        for (cost, _) in &points {
            let least: Vec<i64> = cost.iter().map(|cost| gap::lowered(*cost, self.slack)).collect();
            lower(&least);
        }
        let plans = points.into_iter().map(|(cost, trail)| (cost, self.plan(trail.as_deref()))).collect();
        Found {
            plans,
            is_complete,
            least: least.unwrap_or_default(),
            gap: gap.min(proven),
            labels: self.progress.labels,
        }
    }
}
