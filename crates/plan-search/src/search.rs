//! The search.
//!
//! ```text
//! level 0   (nothing placed)
//! level 1   label label label            one per placement of the first region
//!   ...     dropped: dominated by another label, or a lower bound that is no better than a plan found
//! level n   plans
//! ```
//!
//! A narrow search first finds good plans. Then all labels of a level are expanded to the next level. If there are too many, they are
//! expanded in portions while the others wait: memory is bounded, and no plan is missed.

mod near;
mod placements;
mod sets;

use crate::Front;
use crate::bound::{Bound, Effort};
use crate::cells::Cells;
use crate::charges::Charges;
use crate::compare::{Canonical, Compare};
use crate::equal::EqualDevices;
use crate::expand::Expander;
use crate::gap;
use crate::goal::{Goal, Progress, Stop};
use crate::head::{Glance, Head, Scale};
use crate::judge::Plan;
use crate::label::{Cost, Label, Trail};
use crate::outcome::{self, Matters};
use crate::problem::Problem;
use crate::remaining::{Remaining, flows};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Parts of the search that can be switched off, to measure them, and faults that tests must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switches {
    /// Drop labels that others dominate.
    pub dominance: bool,
    /// Try one of equal devices, and one place if it suffices.
    pub symmetry: bool,
    /// Drop labels by lower bounds.
    pub bounds: bool,
    /// Labels expanded at once.
    pub portion: usize,
    /// Narrow searches come first.
    pub dives: bool,
    /// Labels for the first search of a set; a set is split only if they do not suffice.
    pub few: u64,
    /// Number of sets searched one by one before several are searched together.
    pub alone: u64,
    /// Partial placements per set; by default, depends on the problem.
    pub placements: Option<u64>,
    /// Gap, in thousandths, within which plans are searched first if few labels do not suffice; zero switches this off.
    pub near: i64,
    /// Labels between two calls of the watch.
    pub look: u64,
    /// A fault that tests must notice.
    pub fault: Option<Fault>,
}

/// A condition of dominance that is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Values of packets.
    States,
    /// Use of devices.
    Uses,
    /// Loads that belong to no device.
    Loads,
    /// Charges that one label has yet to pay and the other has paid.
    Owed,
    /// Positions of the live regions.
    Places,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            dominance: true,
            symmetry: true,
            bounds: true,
            dives: true,
            portion: 20_000,
            few: 250,
            alone: 64,
            placements: None,
            near: 0,
            look: 512,
            fault: None,
        }
    }
}

/// Result of a search.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// Plans with their costs, in ascending order.
    pub plans: Vec<(Vec<i64>, Plan)>,
    /// The search was not stopped.
    pub is_complete: bool,
    /// Lower bound on the cost of all plans, by objective; the minimum if the search is complete.
    pub least: Vec<i64>,
    /// Optimality gap in thousandths: for every plan, one of the plans found costs at most this much more in each objective. Zero if the search is complete,
    /// [`i64::MAX`] if unknown.
    pub gap: i64,
    /// Number of partial plans explored.
    pub labels: u64,
}

/// Searches the plans that `goal` asks for. If `watch` stops the search, the result has the best plans so far and a lower bound on
/// all others.
pub fn search(problem: &Problem, goal: &Goal, watch: &mut dyn FnMut(&Progress) -> Stop) -> Found {
    search_with(problem, goal, Switches::default(), watch)
}

/// Like [`search`], for a search that will be stopped: if few labels do not suffice, plans within 5 % of all others are searched first.
pub fn search_near(problem: &Problem, goal: &Goal, watch: &mut dyn FnMut(&Progress) -> Stop) -> Found {
    search_with(problem, goal, Switches { near: NEAR, ..Switches::default() }, watch)
}

/// Like [`search`], with parts switched off.
pub fn search_with(
    problem: &Problem,
    goal: &Goal,
    switches: Switches,
    watch: &mut dyn FnMut(&Progress) -> Stop,
) -> Found {
    let flows = flows(problem);
    let equal = EqualDevices::new(problem, &flows.sum());
    let remaining = Remaining::new(problem, &equal, &flows);
    let matters = outcome::matters(problem);
    let cells = Cells::new(problem);
    let charges = Charges::new(problem, &equal);
    let mut expander = Expander::new(problem, &equal, &charges, &matters);
    expander.uses_symmetry = switches.symmetry;
    let bound = Bound::new(problem, &equal, &charges);
    let search = Search {
        bound: if switches.symmetry { bound } else { bound.without_homes() },
        charges: &charges,
        front: Front::default(),
        best: None,
        progress: Progress::default(),
        stopped: false,
        patience: switches.placements.unwrap_or_else(|| placements::patience(problem, &equal)),
        most: u64::MAX,
        cap: None,
        is_cut: Default::default(),
        slack: 0,
        problem,
        goal,
        switches,
        equal: &equal,
        remaining: &remaining,
        cells: &cells,
        matters: &matters,
        expander,
        watch,
    };
    search.run()
}

/// Gap of [`search_near`], in thousandths.
const NEAR: i64 = 50;
/// Labels per level of a narrow search.
const NARROW: usize = 8;
/// Effort for the multipliers of a set of plans.
const ALL: Effort = Effort { steps: 120, rounds: 4, has_links: true };
/// Effort if some multipliers are known.
const AGAIN: Effort = Effort { steps: 60, rounds: 4, has_links: true };
/// A negligible number of labels.
const FEW: u64 = 1000;
/// Limit of the labels that an expansion gives, as a multiple of the portion.
const MORE: usize = 8;
/// At least one in about this many labels is assumed not to be dominated.
const NEEDLESS: u64 = 16;
/// Comparisons between two calls of the watch.
const LOOK_COMPARED: usize = 1 << 20;

/// A running search.
pub struct Search<'s> {
    problem: &'s Problem,
    goal: &'s Goal,
    switches: Switches,
    equal: &'s EqualDevices,
    remaining: &'s Remaining,
    charges: &'s Charges,
    cells: &'s Cells,
    matters: &'s [Matters],
    expander: Expander<'s>,
    bound: Bound<'s>,
    front: Front<Option<Rc<Trail>>>,
    /// The best key, if one plan is wanted.
    best: Option<Vec<i128>>,
    progress: Progress,
    stopped: bool,
    /// Partial placements per set; reduced after a set without result.
    patience: u64,
    /// Approximate limit of labels for the current search.
    most: u64,
    /// Upper limit of an objective for the current search.
    cap: Option<(usize, i64)>,
    /// Labels were dropped by that limit.
    is_cut: Cell<bool>,
    /// Gap in thousandths within which plans cover others.
    slack: i64,
    watch: &'s mut dyn FnMut(&Progress) -> Stop,
}

/// Plans found and limits of the search.
struct Covers<'c> {
    goal: &'c Goal,
    best: &'c Option<Vec<i128>>,
    front: &'c Front<Option<Rc<Trail>>>,
    cap: Option<(usize, i64)>,
    is_cut: &'c Cell<bool>,
    slack: i64,
}

impl Covers<'_> {
    /// Whether plans with this lower bound are covered.
    fn covers(&self, end: &[i64]) -> bool {
        if let Some((at, cap)) = self.cap
            && end[at] >= cap
        {
            self.is_cut.set(true);
            return true;
        }
        let raised: Cost;
        let end = match self.slack {
            0 => end,
            slack => {
                raised = end.iter().map(|end| gap::raised(*end, slack)).collect();
                &raised
            }
        };
        match (self.best, self.goal.key(end)) {
            (Some(best), Some(key)) => key >= *best,
            (None, Some(_)) => false,
            (_, None) => self.front.covers(end),
        }
    }
}

impl Search<'_> {
    /// A narrow search for plans of the open set. Returns whether it was complete.
    fn dive(&mut self, width: usize) -> bool {
        let mut is_all = true;
        let mut labels = vec![self.expander.root()];
        for level in 0..self.problem.order.len() {
            let (next, _) = self.expand_all(&labels, level, usize::MAX);
            if self.stopped {
                self.finish_whole(next, level + 1);
                return false;
            }
            let next = self.reduce(next, level + 1);
            if self.stopped {
                self.finish_whole(next, level + 1);
                return false;
            }
            let all = next.len();
            labels = self.narrow(next, level + 1, width);
            is_all &= labels.len() == all;
        }
        labels.into_iter().for_each(|label| self.finish(label));
        is_all
    }

    /// The most promising by each objective and by all together; of whole plans, all.
    fn narrow(&mut self, labels: Vec<Label>, level: usize, width: usize) -> Vec<Label> {
        if labels.len() <= width || level == self.problem.order.len() {
            return labels;
        }
        let ends: Vec<Option<Cost>> = labels.iter().map(|label| self.bound.end(label, level)).collect();
        let objectives = self.problem.settings.objectives.len();
        let mut ranks = vec![0usize; labels.len()];
        let mut picked = vec![false; labels.len()];
        for objective in 0..=objectives {
            let mut order: Vec<usize> = (0..labels.len()).filter(|at| ends[*at].is_some()).collect();
            match objective < objectives {
                true => {
                    // Where this is equal, the others decide.
                    let turned = |at: &usize| {
                        let mut end = ends[*at].clone().unwrap_or_default();
                        end.rotate_left(objective);
                        end
                    };
                    order.sort_by_cached_key(turned);
                    order.iter().enumerate().for_each(|(rank, at)| ranks[*at] += rank);
                }
                false => order.sort_by_key(|at| ranks[*at]),
            }
            order.into_iter().take(width.div_ceil(objectives + 1)).for_each(|at| picked[at] = true);
        }
        labels.into_iter().zip(picked).filter(|(_, picked)| *picked).map(|(label, _)| label).collect()
    }

    fn covers(&self, end: &[i64]) -> bool {
        let covers = Covers {
            goal: self.goal,
            best: &self.best,
            front: &self.front,
            cap: self.cap,
            is_cut: &self.is_cut,
            slack: self.slack,
        };
        covers.covers(end)
    }

    /// Searches all plans of the open set. Returns the labels that were left when the search was stopped.
    ///
    /// Plans slightly above the lower bound are searched first, then the limit is raised step by step: most partial plans are never expanded.
    fn run_set(&mut self, root: &Label, goals: &[Option<i64>]) -> Vec<(usize, Vec<Label>)> {
        self.expander.open(self.bound.counts(), self.bound.allowed());
        let (Some(at), true) = (self.worst(), self.switches.bounds) else { return self.run_levels(root) };
        if self.switches.dives && self.dive(NARROW) {
            return vec![];
        }
        let Some(end) = self.bound.end(root, 0) else { return vec![] };
        let places = self.bound.places();
        let mut more = (end[at] >> 8).max(1);
        while end[at] >= 0 && more <= end[at].saturating_mul(8) && !self.stopped {
            let mut beyond = end.clone();
            beyond[at] = end[at].saturating_add(more);
            if self.covers(&beyond) {
                break;
            }
            let mut ends = goals.to_vec();
            ends[at] = Some(beyond[at]);
            let before = self.progress.labels;
            let is_open = self.bound.price(root, &ends, AGAIN);
            self.is_cut.set(!is_open || self.bound.places() < places);
            if is_open {
                self.expander.open(self.bound.counts(), self.bound.allowed());
                self.cap = Some((at, beyond[at]));
                self.run_levels(root);
                self.cap = None;
            }
            if self.progress.labels >= self.most {
                return vec![(0, vec![root.clone()])];
            }
            if !self.stopped && (!self.is_cut.get() || self.covers(&beyond)) {
                return vec![];
            }
            // The number of labels grows faster than the limit on their final cost.
            let is_near = self.progress.labels - before > FEW && self.goals(&end)[at].is_some();
            more += if is_near { more / 2 } else { more };
        }
        if self.stopped {
            return vec![(0, vec![root.clone()])];
        }
        if !self.bound.price(root, goals, ALL) {
            return vec![];
        }
        self.expander.open(self.bound.counts(), self.bound.allowed());
        self.run_levels(root)
    }

    /// Searches the open set level by level, below the limit.
    fn run_levels(&mut self, root: &Label) -> Vec<(usize, Vec<Label>)> {
        let mut waiting: Vec<(usize, Vec<Label>)> = vec![(0, vec![root.clone()])];
        while !self.stopped
            && self.progress.labels < self.most
            && let Some((level, mut labels)) = waiting.pop()
        {
            if level == self.problem.order.len() {
                labels.into_iter().for_each(|label| self.finish(label));
                continue;
            }
            if labels.len() > self.switches.portion {
                let rest = labels.split_off(self.switches.portion);
                waiting.push((level, rest));
            }
            let mut labels = self.prune(labels, level);
            let (next, expanded) = self.expand_all(&labels, level, self.switches.portion * MORE);
            if !self.stopped && expanded < labels.len() {
                waiting.push((level, labels.split_off(expanded)));
            }
            if self.stopped {
                waiting.push((level, labels));
                self.finish_whole(next, level + 1);
                break;
            }
            // The search would run out of labels: of the new ones, at least one in [`NEEDLESS`] is probably not dominated.
            if next.len() as u64 / NEEDLESS > self.most.saturating_sub(self.progress.labels) {
                waiting.push((level, labels));
                break;
            }
            let mut next = self.reduce(next, level + 1);
            if next.len() > self.switches.portion {
                next.sort_by_cached_key(|label| self.bound.end(label, level + 1));
            }
            waiting.push((level + 1, next));
        }
        if let Some((level, labels)) = waiting.pop_if(|(level, _)| *level == self.problem.order.len()) {
            self.finish_whole(labels, level);
        }
        waiting
    }

    /// Labels of a level when the search is stopped; complete plans still count.
    fn finish_whole(&mut self, labels: Vec<Label>, level: usize) {
        if level == self.problem.order.len() {
            self.prune(labels, level).into_iter().for_each(|label| self.finish(label));
        }
    }

    /// Expands labels until there are `most` new ones. Returns them, and how many labels were expanded.
    fn expand_all(&mut self, labels: &[Label], level: usize, most: usize) -> (Vec<Label>, usize) {
        let mut next = vec![];
        for (at, label) in labels.iter().enumerate() {
            if next.len() >= most {
                return (next, at);
            }
            self.progress.labels += 1;
            self.progress.level = level;
            self.progress.found = self.front.len();
            if self.progress.labels.is_multiple_of(self.switches.look)
                && (self.watch)(&self.progress) == Stop::Yes
            {
                self.stopped = true;
                break;
            }
            let (bound, bounds) = (&self.bound, self.switches.bounds);
            let covers = Covers {
                goal: self.goal,
                best: &self.best,
                front: &self.front,
                cap: self.cap,
                is_cut: &self.is_cut,
                slack: self.slack,
            };
            let is_good = |label: &Label| {
                !bounds || bound.end(label, level + 1).is_some_and(|end| !covers.covers(&end))
            };
            self.expander.expand(label, level, &is_good, &mut next);
        }
        (next, labels.len())
    }

    /// Drops labels whose lower bound is covered.
    fn prune(&mut self, labels: Vec<Label>, level: usize) -> Vec<Label> {
        if !self.switches.bounds {
            return labels;
        }
        let good = |label: &Label| self.bound.end(label, level).is_some_and(|end| !self.covers(&end));
        labels.into_iter().filter(good).collect()
    }

    /// Drops dominated labels; if the search is stopped, some remain.
    fn reduce(&mut self, labels: Vec<Label>, level: usize) -> Vec<Label> {
        if !self.switches.dominance {
            return labels;
        }
        let compare = Compare {
            problem: self.problem,
            equal: self.equal,
            remaining: self.remaining,
            cells: self.cells,
            matters: self.matters,
            level,
            bound: &self.bound,
            fault: self.switches.fault,
        };
        let canonical: Vec<Canonical> = labels.iter().map(|label| compare.canonical(label)).collect();
        let heads: Vec<Head> = canonical.iter().map(|canonical| compare.head(canonical)).collect();
        let scale = Scale::new(heads.iter());
        // A label that dominates another one costs no more, so it comes before it in this order: one pass is enough.
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|a, b| {
            let of = |at: usize| (&canonical[at].cost, &canonical[at].figures, &canonical[at].rows);
            of(*a).cmp(&of(*b))
        });
        let mut is_kept = vec![false; labels.len()];
        let mut by_key: BTreeMap<&[i64], Vec<(Glance, usize)>> = BTreeMap::new();
        let mut compared = 0;
        for &at in &order {
            let others = by_key.entry(&canonical[at].key).or_default();
            compared += others.len();
            if compared > LOOK_COMPARED {
                compared = 0;
                self.stopped |= (self.watch)(&self.progress) == Stop::Yes;
            }
            let glance = scale.glance(&heads[at]);
            let is_dominated = !self.stopped
                && others.iter().any(|(other, better)| {
                    other.may_dominate(&glance) && compare.dominates(&canonical[*better], &canonical[at])
                });
            if !is_dominated {
                others.push((glance, at));
                is_kept[at] = true;
            }
        }
        let mut labels: Vec<Option<Label>> =
            labels.into_iter().zip(is_kept).map(|(label, is_kept)| is_kept.then_some(label)).collect();
        order.into_iter().filter_map(|at| labels[at].take()).collect()
    }

    /// A complete plan.
    fn finish(&mut self, label: Label) {
        let refused = &self.problem.settings.refused;
        if refused.iter().any(|placement| Trail::follows(label.trail.as_deref(), placement)) {
            return;
        }
        let cost: Vec<i64> = label.cost.iter().map(|c| if *c == i64::MIN { 0 } else { *c }).collect();
        match self.goal.key(&cost) {
            None => {
                self.front.add(cost, label.trail);
            }
            Some(key) => {
                if self.best.as_ref().is_none_or(|best| key < *best) {
                    self.best = Some(key);
                    self.front = Front::default();
                    self.front.add(cost, label.trail);
                }
            }
        }
    }

    fn plan(&self, mut trail: Option<&Trail>) -> Plan {
        let mut plan = Plan {
            device: vec![0; self.problem.nodes.len()],
            picks: vec![Rc::from([]); self.problem.nodes.len()],
            routes: vec![Rc::from([]); self.problem.arcs.len()],
        };
        while let Some(step) = trail {
            plan.device[step.node] = step.device;
            plan.picks[step.node] = step.picks.clone();
            for (arc, route) in &step.routes {
                plan.routes[*arc] = route.clone();
            }
            trail = step.before.as_deref();
        }
        plan
    }
}
