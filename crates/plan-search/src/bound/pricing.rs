//! Multipliers of the open set, and the groups that they exclude for regions.

use super::{Bound, classes_of};
use crate::Measure;
use crate::charges::Counts;
use crate::cuts::{Cut, Multipliers};
use crate::fit::Fit;
use crate::forced::{self, Forced, Opened};
use crate::label::Label;
use crate::price::{Graph, Partial};
use crate::problem::Arc;
use crate::room::{Room, Uses};
use crate::scarce::{Scarce, UNITS, What};
use crate::within_group::WithinGroup;

/// Effort of the search for multipliers.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Steps of each time.
    pub steps: usize,
    /// Maximum number of searches; a new one starts if a bound has excluded groups.
    pub rounds: usize,
    /// Links have multipliers, too.
    pub has_links: bool,
}

/// Steps after which weights of resources hardly change. [`Bound::fits`] decides sets that are nearly full.
const WEIGH: usize = 40;

/// Data of the whole problem, the same for all sets of plans.
pub(super) struct Whole {
    allowed: Vec<Vec<usize>>,
    scarce: Vec<Scarce>,
    within_group: Vec<Option<WithinGroup>>,
}

/// Multipliers found before; zero for regions that have none here.
fn first_multipliers(scarce: &[Scarce], known: Option<&Multipliers>) -> Vec<Vec<i64>> {
    let first = |thing: &Scarce| {
        let least = if thing.is_exact { i64::MIN } else { 0 };
        let pays = |(takes, multiplier): (&bool, &i64)| if *takes { (*multiplier).max(least) } else { 0 };
        let known = known.and_then(|known| known.get(&thing.name()));
        known.map_or(vec![0; thing.uses.len()], |known| thing.takes.iter().zip(known).map(pays).collect())
    };
    scarce.iter().map(first).collect()
}

impl<'p> Bound<'p> {
    fn parts(&self) -> Uses<'_> {
        Uses {
            charges: self.charges,
            counts: &self.counts,
            class: &self.class,
            allowed: &self.allowed,
            uses: &self.uses,
            is_free: &self.is_free,
            sizes: &self.sizes,
            is_certain: &self.is_certain,
        }
    }

    /// Computes multipliers for scarce resources, so that bounds on plans below `goals` (by objective) increase. Excludes groups of regions that belong to no such plan.
    /// Returns false if there is no such plan.
    pub fn price(&mut self, root: &Label, goals: &[Option<i64>], effort: Effort) -> bool {
        self.open(&self.counts.clone());
        self.is_changed = true;
        if !self.table.feasible[0] || self.leave_out(goals).is_none() {
            return false;
        }
        for _ in 0..effort.rounds {
            if !self.price_once(root, goals, effort) {
                return false;
            }
            self.force(root);
            match self.leave_out(goals) {
                None => return false,
                Some(0) => break,
                Some(_) => {}
            }
        }
        self.table.opened = self.opened(&self.table.forced);
        true
    }

    /// Whether there are prices of the open set.
    pub fn is_priced(&self) -> bool {
        self.prices.iter().any(Option::is_some)
    }

    /// Raises the bounds on plans with a region on a group, using the multipliers.
    fn force(&mut self, root: &Label) {
        for at in 0..self.prices.len() {
            let Some(graph) = self.graph(at) else { continue };
            let Some(prices) = &self.prices[at] else { continue };
            let mut forced = graph.forced(prices, &Partial { label: root, level: 0, faster: (1, 1) });
            if self.merges_places {
                let by_group = |row: &Vec<i64>| self.class.iter().map(|class| row[*class]).collect();
                forced = forced.iter().map(by_group).collect();
            }
            raise(&mut self.table.forced[at], Some(forced));
        }
    }

    /// Leaves out groups on which a region runs only in plans at or above a goal. How many; none if there is no other plan.
    fn leave_out(&mut self, goals: &[Option<i64>]) -> Option<usize> {
        let before = self.places();
        let known = self.table.forced.iter().zip(goals).filter_map(|(f, goal)| Some((f.as_ref()?, (*goal)?)));
        let known: Vec<(&Forced, i64)> = known.collect();
        for (node, groups) in self.allowed.iter_mut().enumerate() {
            groups.retain(|group| known.iter().all(|(forced, goal)| forced[node][*group] < *goal));
        }
        if self.allowed.iter().any(Vec::is_empty) {
            return None;
        }
        let left = before - self.places();
        if left > 0 {
            let forced = std::mem::take(&mut self.table.forced);
            self.table = self.make_table();
            let pairs = self.table.forced.iter_mut().zip(forced);
            pairs.for_each(|(known, before)| raise(known, before));
            self.table.opened = self.opened(&self.table.forced);
            if !self.table.feasible[0] {
                return None;
            }
        }
        Some(left)
    }

    pub(super) fn opened(&self, forced: &[Option<Forced>]) -> Vec<Opened> {
        let of = |forced: Option<&Forced>| {
            forced::opened(self.problem, self.charges, &self.counts, &self.class, &self.allowed, forced)
        };
        forced.iter().map(|forced| of(forced.as_ref())).collect()
    }

    fn price_once(
        &mut self,
        root: &Label,
        goals: &[Option<i64>],
        Effort { steps, has_links, .. }: Effort,
    ) -> bool {
        let mut made = Room::new(self.problem, &self.parts());
        made.weigh(&self.parts(), root, steps.min(WEIGH));
        let room = made.left(root, 0);
        if !made.suffices(&room, 0) {
            return false;
        }
        // Everything below reads `room`, rates and scarce resources of the groups that are still allowed.
        self.room = Some(made);
        self.rates = self.least_rates();
        self.scarce = self.make_scarce(has_links);
        self.merged_allowed = self.merge_allowed();
        self.within_group = (0..goals.len()).map(|at| self.make_within_group(at)).collect();
        self.fill_by_region();
        for (at, goal) in goals.iter().enumerate() {
            let Some(graph) = self.graph(at) else { continue };
            let of = Partial { label: root, level: 0, faster: (1, 1) };
            let known = self.cuts.best(at, &self.counts, self.charges).map(|(_, cut)| cut);
            let mut multiplier = self.first_multipliers(known.map(|cut| &cut.multiplier));
            let weight = known.map(|cut| &cut.weight[..]);
            match graph.prices(&of, &mut multiplier, weight, *goal, steps) {
                Some(prices) => self.prices[at] = Some(prices),
                None => return false,
            }
            self.add_cut(at, root);
        }
        true
    }

    /// Keeps the multipliers of the open set as a cut for other sets.
    fn add_cut(&mut self, objective: usize, root: &Label) {
        let (Some(prices), Some(of)) = (&self.prices[objective], &self.whole) else { return };
        let Some(graph) = self.graph(objective) else { return };
        let Some(within_group) = &of.within_group[objective] else { return };
        let graph = Graph { allowed: &of.allowed, scarce: &of.scarce, within_group, ..graph };
        let known: Multipliers =
            self.scarce.iter().map(Scarce::name).zip(prices.multipliers().iter().cloned()).collect();
        let multiplier = first_multipliers(&of.scarce, Some(&known));
        let cut = Cut::new(&graph, root, objective, (known, multiplier), prices.weights());
        self.cuts.add(cut);
    }

    /// A lower bound on a set and an objective, from the cuts of other sets.
    pub fn known(&self, objective: usize, counts: &Counts) -> i64 {
        self.cuts.best(objective, counts, self.charges).map_or(i64::MIN, |(least, _)| least)
    }

    /// Makes the data of the whole problem; all plans are open.
    pub(super) fn make_whole(&mut self) {
        self.rates = self.least_rates();
        self.scarce = self.make_scarce(true);
        self.merged_allowed = self.merge_allowed();
        self.within_group = (0..self.distances.len()).map(|at| self.make_within_group(at)).collect();
        self.fill_by_region();
        let (scarce, within_group) =
            (std::mem::take(&mut self.scarce), std::mem::take(&mut self.within_group));
        let allowed = if self.merges_places { self.merged_allowed.clone() } else { self.allowed.clone() };
        if self.fit.is_empty() {
            self.fit = Fit::new(&scarce);
        }
        self.whole = Some(Whole { allowed, scarce, within_group });
    }

    /// Charges the use of sets of regions to the sets, by the resource that carries them.
    fn fill_by_region(&mut self) {
        for thing in self.within_group.iter().flatten().flat_map(WithinGroup::carriers) {
            let class = self.scarce[thing].class;
            let runs = |groups: &Vec<usize>| groups.iter().any(|group| self.class[*group] == class);
            let takes = self.allowed.iter().map(runs).collect();
            self.scarce[thing].fill_by_region(takes);
        }
    }

    /// The first multipliers.
    fn first_multipliers(&self, known: Option<&Multipliers>) -> Vec<Vec<i64>> {
        first_multipliers(&self.scarce, known)
    }

    /// Hand-overs within groups, for an objective with multipliers.
    fn make_within_group(&self, objective: usize) -> Option<WithinGroup> {
        let is_filled = |thing: &Scarce| {
            thing.what == What::Region && thing.is_paid && !self.charges.is_ever_free(thing.class)
        };
        let mut carrier = vec![None; self.problem.classes];
        for (at, thing) in self.scarce.iter().enumerate().filter(|(_, thing)| is_filled(thing)) {
            carrier[thing.class].get_or_insert(at);
        }
        let (class, distances) = match self.merges_places {
            true => (&self.classes, &self.merged[objective]),
            false => (&self.class, &self.distances[objective]),
        };
        let distances = distances.as_deref().filter(|_| self.is_priced[objective])?;
        Some(WithinGroup::new(self.problem, self.levels.clone(), class, &carrier, distances))
    }

    pub(super) fn graph(&self, objective: usize) -> Option<Graph<'_>> {
        let (group, class, allowed, distances) = match self.merges_places {
            true => (&self.problem.class, &self.classes, &self.merged_allowed, &self.merged),
            false => (&self.equal.group, &self.class, &self.allowed, &self.distances),
        };
        match (
            &self.problem.settings.objectives[objective].measure,
            &self.grows[objective],
            &distances[objective],
        ) {
            (Measure::Worst(var), Some(grows), Some(distance)) if self.is_priced[objective] => Some(Graph {
                problem: self.problem,
                rank: &self.rank,
                group,
                class,
                allowed,
                var: *var,
                grows,
                distance,
                scarce: &self.scarce,
                within_group: self.within_group.get(objective)?.as_ref()?,
            }),
            _ => None,
        }
    }

    /// Classes of the groups on which each region may run.
    fn merge_allowed(&self) -> Vec<Vec<usize>> {
        if self.merges_places { classes_of(&self.allowed, &self.class) } else { vec![] }
    }

    /// The scarce resources of the open set.
    fn make_scarce(&self, has_links: bool) -> Vec<Scarce> {
        let mut scarce = vec![];
        let runs =
            |node: usize, class: usize| self.allowed[node].iter().any(|group| self.class[*group] == class);
        let nodes = 0..self.uses.len();
        for class in 0..self.sizes.len() {
            let paid = usize::from(self.counts.most(class, self.charges));
            for var in 0..self.sizes[class].len() {
                let size = self.sizes[class][var].first().copied().unwrap_or(0);
                let used = |node: usize| if runs(node, class) { self.uses[node][class][var] } else { 0 };
                let uses: Vec<i64> = nodes.clone().map(used).collect();
                let is_paid = !self.is_free[class][var];
                let devices = if is_paid { paid } else { self.sizes[class][var].len() };
                if size > 0 && size < i64::MAX && devices > 0 && uses.iter().any(|used| *used > 0) {
                    let place = self.problem.scopes.once.len() + var;
                    scarce.push(Scarce {
                        devices,
                        is_paid,
                        ..Scarce::new(class, What::Region, place, size, &uses, UNITS)
                    });
                }
            }
            let Some(ports) = self.ports[class].as_ref().filter(|_| has_links) else { continue };
            let is_paid = !self.charges.is_ever_free(class);
            let devices = if is_paid { paid } else { usize::from(self.charges.most(class)) };
            for (place, size) in ports.iter().enumerate().filter(|(_, size)| **size > 0 && **size < i64::MAX)
            {
                // Places 0 and 1 are what a device receives, in all and over its link; 2 is what it sends (`Pack::ports`).
                let what = if place == 2 { What::Out } else { What::Into };
                let end = |arc: &Arc| if what == What::Out { arc.from } else { arc.to };
                let flow = |(arc, flow): (&Arc, &i64)| if runs(end(arc), class) { *flow } else { 0 };
                let uses: Vec<i64> = self.problem.arcs.iter().zip(&self.rates.flow).map(flow).collect();
                if devices > 0 && uses.iter().any(|used| *used > 0) {
                    let place = self.problem.scopes.once.len() + self.problem.scopes.device.len() + place;
                    scarce.push(Scarce {
                        devices,
                        is_paid,
                        ..Scarce::new(class, what, place, *size, &uses, UNITS)
                    });
                }
            }
        }
        scarce
    }

    /// Classes whose number of devices is not exact in the set, highest cost of a missing device first.
    pub fn wanting(&self, counts: &Counts) -> Vec<usize> {
        self.wanting_by(counts, &|class| {
            self.prices.iter().flatten().map(|p| p.of_class(&self.scarce, class)).max().unwrap_or(0)
        })
    }

    /// [`Bound::wanting`], in the order of the costs in the best cut of the set.
    pub fn wanting_by_cut(&self, objective: Option<usize>, counts: &Counts) -> Vec<usize> {
        let exact = counts.exact(&self.classes);
        let cut = objective.and_then(|at| self.cuts.best(at, &exact, self.charges));
        self.wanting_by(counts, &|class| cut.map_or(0, |(_, cut)| cut.of_class(class)))
    }

    fn wanting_by(&self, counts: &Counts, priced: &dyn Fn(usize) -> i64) -> Vec<usize> {
        let can_have_more = |class: &usize| {
            !counts.is_exact[*class]
                && counts.least[*class] < self.charges.most(*class)
                && self.charges.is_useful(*class)
        };
        let mut wanting: Vec<(i64, usize)> =
            (0..self.sizes.len()).filter(can_have_more).map(|class| (-priced(class), class)).collect();
        wanting.sort_unstable();
        wanting.into_iter().map(|(_, class)| class).collect()
    }
}

/// Sets `known` to the higher of two bounds.
fn raise(known: &mut Option<Forced>, other: Option<Forced>) {
    let (Some(known), Some(other)) = (known, other) else { return };
    for (row, other) in known.iter_mut().zip(other) {
        row.iter_mut().zip(other).for_each(|(end, other)| *end = (*end).max(other));
    }
}
