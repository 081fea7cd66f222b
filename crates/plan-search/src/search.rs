//! The search.
//!
//! ```text
//! level 0   (nothing placed)
//! level 1   label label label            one for each way to place the first region
//!   ...     needless ones dropped: dominated by another, or no end better than a plan that was found
//! level n   plans
//! ```
//!
//! First a narrow search finds good plans. Then all labels of a level become all of the next; where there are too many to keep, they
//! go on in portions, the rest waiting: memory is bounded, and nothing is left out.

use crate::Front;
use crate::bound::Bound;
use crate::cells::Cells;
use crate::compare::{Canonical, Compare};
use crate::expand::Expander;
use crate::head::Head;
use crate::judge::Plan;
use crate::label::{Label, Trail};
use crate::outcome::{self, Matters};
use crate::problem::Problem;
use crate::remaining::{Remaining, flows};
use crate::twins::Twins;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is searched for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Goal {
    /// All plans of which none is better in every objective; one of each cost.
    #[default]
    Front,
    /// The best in the order of the objectives: the second counts where the first is equal.
    First,
    /// The least sum of the objectives, each times its weight.
    Weighted(Vec<i64>),
}

impl Goal {
    /// What decides between plans; none if many are wanted.
    pub(crate) fn key(&self, cost: &[i64]) -> Option<Vec<i128>> {
        let exact = cost.iter().map(|c| i128::from(*c));
        match self {
            Goal::Front => None,
            Goal::First => Some(exact.collect()),
            Goal::Weighted(weights) => {
                let product = |(cost, weight): (&i64, &i64)| i128::from(*cost) * i128::from(*weight);
                let sum = cost.iter().zip(weights).map(product).fold(0i128, i128::saturating_add);
                Some([sum].into_iter().chain(exact).collect())
            }
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Partial plans looked at.
    pub labels: u64,
    /// Regions placed in those that are looked at now.
    pub level: usize,
    /// Plans found.
    pub found: usize,
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Go on.
    No,
    /// Give what was found.
    Yes,
}

/// What the search leaves out, for tests of how much each part is worth, and of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switches {
    /// Drop labels that others dominate.
    pub dominance: bool,
    /// Try one of equal devices.
    pub symmetry: bool,
    /// Drop labels whose best end is not good enough.
    pub bounds: bool,
    /// Labels that go on at once.
    pub portion: usize,
    /// The watch is asked after so many labels.
    pub look: u64,
    /// A mistake, to see whether tests notice.
    pub fault: Option<Fault>,
}

/// A condition of dominance that is not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Values of packets.
    States,
    /// What is used of devices.
    Uses,
    /// Loads that belong to no device.
    Loads,
    /// What one may yet be charged and the other has paid.
    Owed,
    /// Where the live regions are.
    Places,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches { dominance: true, symmetry: true, bounds: true, portion: 20_000, look: 512, fault: None }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// Plans with their costs, the least first.
    pub plans: Vec<(Vec<i64>, Plan)>,
    /// Nothing was left out.
    pub is_complete: bool,
    /// By objective: no plan costs less than this. Of a complete search, the least found.
    pub least: Vec<i64>,
    /// Partial plans looked at.
    pub labels: u64,
}

/// Searches for what `goal` says. `watch` is asked now and then whether to stop; then the best so far is given, with what no
/// other plan can be below.
pub fn search(problem: &Problem, goal: &Goal, watch: &mut dyn FnMut(&Progress) -> Stop) -> Found {
    search_with(problem, goal, Switches::default(), watch)
}

/// The same with parts switched off.
pub fn search_with(
    problem: &Problem,
    goal: &Goal,
    switches: Switches,
    watch: &mut dyn FnMut(&Progress) -> Stop,
) -> Found {
    let flows = flows(problem);
    let most = flows.iter().fold(0i64, |sum, flow| sum.saturating_add(*flow));
    let twins = Twins::new(problem, most);
    let remaining = Remaining::new(problem, &twins, &flows);
    let matters = outcome::matters(problem);
    let cells = Cells::new(problem);
    let mut expander = Expander::new(problem, &twins, &matters);
    expander.uses_symmetry = switches.symmetry;
    let search = Search {
        bound: Bound::new(problem, &twins, switches.bounds),
        front: Front::default(),
        best: None,
        progress: Progress::default(),
        stopped: false,
        problem,
        goal,
        switches,
        twins: &twins,
        remaining: &remaining,
        cells: &cells,
        matters: &matters,
        expander,
        watch,
    };
    search.run()
}

/// So many labels of a level go on in a narrow search: in one for each set of classes, and in one for all.
const NARROW: usize = 8;
const WIDER: usize = 96;
/// The watch is asked after so many comparisons.
const LOOK_COMPARED: usize = 1 << 20;

/// A search under way.
pub struct Search<'s> {
    problem: &'s Problem,
    goal: &'s Goal,
    switches: Switches,
    twins: &'s Twins,
    remaining: &'s Remaining,
    cells: &'s Cells,
    matters: &'s [Matters],
    expander: Expander<'s>,
    bound: Bound<'s>,
    front: Front<Option<Rc<Trail>>>,
    /// The best key, where one plan is wanted.
    best: Option<Vec<i128>>,
    progress: Progress,
    stopped: bool,
    watch: &'s mut dyn FnMut(&Progress) -> Stop,
}

impl Search<'_> {
    /// A narrow search for plans on the open classes: without any, bounds say nothing.
    fn dive(&mut self, width: usize) {
        let mut labels = vec![self.expander.root()];
        for level in 0..self.problem.order.len() {
            let next = self.expand_all(&labels, level);
            if self.stopped {
                return self.finish_whole(next, level + 1);
            }
            let next = self.prune(next, level + 1);
            let next = self.reduce(next, level + 1);
            if self.stopped {
                return self.finish_whole(next, level + 1);
            }
            labels = self.narrow(next, level + 1, width);
        }
        labels.into_iter().for_each(|label| self.finish(label));
    }

    /// The most promising by each objective and by all together; of whole plans, all.
    fn narrow(&mut self, labels: Vec<Label>, level: usize, width: usize) -> Vec<Label> {
        if labels.len() <= width || level == self.problem.order.len() {
            return labels;
        }
        let ends: Vec<Option<Vec<i64>>> = labels.iter().map(|label| self.bound.end(label, level)).collect();
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

    /// The whole search: for each set of classes of devices the plans that are charged for exactly these.
    fn run(mut self) -> Found {
        let root = self.expander.root();
        let mut sets = self.bound.sets();
        if self.switches.bounds {
            // Those that can be best are dived into first; what they give makes many others needless.
            let ends: Vec<_> = sets.iter().map(|set| (self.root_end(*set, &root), *set)).collect();
            let mut possible: Vec<_> = ends.into_iter().filter_map(|(end, set)| Some((end?, set))).collect();
            possible.sort();
            sets = possible.into_iter().map(|(_, set)| set).collect();
            for width in [NARROW, WIDER] {
                for set in &sets {
                    self.open(*set);
                    if !self.stopped && !self.prune(vec![root.clone()], 0).is_empty() {
                        self.dive(width);
                    }
                }
            }
        }
        let mut left: Vec<(u32, usize, Vec<Label>)> = vec![];
        for set in sets {
            self.open(set);
            match self.stopped {
                true => left.push((set, 0, vec![root.clone()])),
                false => {
                    left.extend(self.run_set(&root).into_iter().map(|(level, labels)| (set, level, labels)))
                }
            }
        }
        self.found(left)
    }

    fn open(&mut self, set: u32) {
        self.bound.open(set);
        for (node, classes) in self.expander.allowed.iter_mut().enumerate() {
            for (class, allowed) in classes.iter_mut().enumerate() {
                *allowed = self.bound.is_open(node, class);
            }
        }
    }

    fn root_end(&mut self, set: u32, root: &Label) -> Option<Vec<i64>> {
        self.bound.open(set);
        self.bound.end(root, 0)
    }

    /// All plans on the open classes. What was not looked at when the search was stopped.
    fn run_set(&mut self, root: &Label) -> Vec<(usize, Vec<Label>)> {
        let mut waiting: Vec<(usize, Vec<Label>)> = vec![(0, vec![root.clone()])];
        while !self.stopped
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
            let labels = self.prune(labels, level);
            let next = self.expand_all(&labels, level);
            if self.stopped {
                waiting.push((level, labels));
                self.finish_whole(next, level + 1);
                break;
            }
            let next = self.prune(next, level + 1);
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

    /// The labels of a level when the search is stopped: those that are whole plans are found all the same.
    fn finish_whole(&mut self, labels: Vec<Label>, level: usize) {
        if level == self.problem.order.len() {
            self.prune(labels, level).into_iter().for_each(|label| self.finish(label));
        }
    }

    fn expand_all(&mut self, labels: &[Label], level: usize) -> Vec<Label> {
        let mut next = vec![];
        for label in labels {
            self.progress.labels += 1;
            self.progress.level = level;
            self.progress.found = self.front.len();
            if self.progress.labels.is_multiple_of(self.switches.look)
                && (self.watch)(&self.progress) == Stop::Yes
            {
                self.stopped = true;
                break;
            }
            next.extend(self.expander.expand(label, level));
        }
        next
    }

    /// Without labels that cannot end better than what was found.
    fn prune(&mut self, labels: Vec<Label>, level: usize) -> Vec<Label> {
        if !self.switches.bounds {
            return labels;
        }
        let (goal, best, front) = (self.goal, &self.best, &self.front);
        let covered = |end: &[i64]| match (best, goal.key(end)) {
            (Some(best), Some(key)) => key >= *best,
            (None, Some(_)) => false,
            (_, None) => front.covers(end),
        };
        let bound = &mut self.bound;
        labels.into_iter().filter(|label| bound.end(label, level).is_some_and(|end| !covered(&end))).collect()
    }

    /// Without labels that others dominate; if it is stopped, some of those are left.
    fn reduce(&mut self, labels: Vec<Label>, level: usize) -> Vec<Label> {
        if !self.switches.dominance {
            return labels;
        }
        let compare = Compare {
            problem: self.problem,
            twins: self.twins,
            remaining: self.remaining,
            cells: self.cells,
            matters: self.matters,
            level,
            bound: &self.bound,
            fault: self.switches.fault,
        };
        let mut ordered: Vec<(Label, Canonical)> =
            labels.into_iter().map(|label| (compare.canonical(&label), label)).map(|(c, l)| (l, c)).collect();
        ordered.sort_by(|(a, _), (b, _)| a.cost.cmp(&b.cost));
        let mut kept: Vec<(Label, Canonical)> = vec![];
        let mut by_key: BTreeMap<Vec<i64>, Vec<(Head, usize)>> = BTreeMap::new();
        let mut compared = 0;
        for (label, canonical) in ordered {
            let others = by_key.entry(canonical.key.clone()).or_default();
            compared += others.len();
            if compared > LOOK_COMPARED {
                compared = 0;
                self.stopped |= (self.watch)(&self.progress) == Stop::Yes;
            }
            let head = compare.head(&label, &canonical);
            let bearing = compare.bearing(&head, &canonical);
            let is_dominated = !self.stopped
                && others.iter().any(|(other, at)| {
                    let (first, theirs) = &kept[*at];
                    other.may_dominate(&bearing) && compare.dominates((first, theirs), (&label, &canonical))
                });
            if !is_dominated {
                others.push((head, kept.len()));
                kept.push((label, canonical));
            }
        }
        kept.into_iter().map(|(label, _)| label).collect()
    }

    /// A whole plan.
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

    fn found(mut self, left: Vec<(u32, usize, Vec<Label>)>) -> Found {
        let mut least: Option<Vec<i64>> = None;
        let mut lower = |cost: Vec<i64>| {
            least = Some(match &least {
                Some(known) => known.iter().zip(&cost).map(|(a, b)| *a.min(b)).collect(),
                None => cost,
            });
        };
        let mut is_complete = true;
        for (set, level, labels) in &left {
            self.bound.open(*set);
            for label in labels {
                is_complete = false;
                self.bound.end(label, *level).into_iter().for_each(&mut lower);
            }
        }
        let points = std::mem::take(&mut self.front).into_sorted();
        points.iter().for_each(|(cost, _)| lower(cost.clone()));
        let plans = points.into_iter().map(|(cost, trail)| (cost, self.plan(trail.as_deref()))).collect();
        Found { plans, is_complete, least: least.unwrap_or_default(), labels: self.progress.labels }
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
