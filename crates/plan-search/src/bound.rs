//! Lower bounds on the costs of all completions of a partial plan.
//!
//! Plans are searched by the numbers of devices that they pay for ([`Counts`]); each of these costs at least its minimum charge. Bounds on path variables come from a backward
//! pass over the remaining regions, once without capacities and once with Lagrange multipliers for them ([`Prices`]). The minimum use
//! of the remaining regions is compared with the free capacity of devices in use; the excess needs more devices.

mod dearer;
mod pricing;

pub use pricing::Effort;
use pricing::Whole;

use crate::Measure;
use crate::charges::{Charges, Counts};
use crate::cuts::Cuts;
use crate::equal::EqualDevices;
use crate::fit::{self, Fit};
use crate::forced::{self, Forced, Known, Opened};
use crate::home::{Home, homes};
use crate::label::{Cost, Label};
use crate::least::{
    LeastRates, WHOLE, distances, followed, fraction, grows, is_certain, least_used, per_offer, ports,
};
use crate::pack::Pack;
use crate::price::{Distances, NEVER, Partial, Prices};
use crate::problem::{Node, Offer, Problem};
use crate::room::Room;
use crate::scarce::Scarce;
use crate::within_group::{Level, WithinGroup, levels};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Number of charged devices, by class.
pub type Paid = SmallVec<[u16; 12]>;

/// Lower bounds for the partial plans of a problem.
pub struct Bound<'p> {
    problem: &'p Problem,
    equal: &'p EqualDevices,
    charges: &'p Charges,
    /// Minimum growth, by objective, region and class; `None` if the objective may decrease.
    grows: Vec<Option<Rc<Vec<Vec<i64>>>>>,
    /// Minimum growth between groups, for each objective that never decreases.
    distances: Vec<Option<Rc<Distances>>>,
    /// For each objective, whether its values fit into integers in steps of 1/1024.
    is_priced: Vec<bool>,
    /// Minimum charges of a device on which a scarce resource is used, by class.
    another: Vec<Option<Vec<i64>>>,
    /// Minimum use, by region, class and device variable.
    uses: Rc<Vec<Vec<Vec<i64>>>>,
    /// Capacities of the devices, largest first, by class and device variable.
    sizes: Vec<Vec<Vec<i64>>>,
    /// Whether a region that is not charged uses the variable, by class and device variable.
    is_free: Vec<Vec<bool>>,
    /// Whether the minimum use of every region is its use, by class and device variable.
    is_certain: Vec<Vec<bool>>,
    /// For each class whose devices have one link: maximum rates that a device receives in all, receives over its link, and sends.
    ports: Vec<Option<[i64; 3]>>,
    /// Class of each group of equal devices.
    class: Vec<usize>,
    /// For each region, the first level at which all its successors are placed.
    followed: Vec<usize>,
    /// Position of each region in the topological order.
    rank: Vec<usize>,
    counts: Counts,
    /// Groups that can run each region.
    groups: Vec<Vec<usize>>,
    /// Groups on which each region may run in the open set.
    allowed: Vec<Vec<usize>>,
    /// Classes of these groups when the set was opened.
    allowed_classes: Vec<Vec<usize>>,
    table: Table,
    /// The table that was made last, without `opened`, and its groups.
    made: Option<(Vec<Vec<usize>>, Table)>,
    /// Multipliers of the open set, by objective; `None` if they were not computed.
    prices: Vec<Option<Prices>>,
    room: Option<Room<'p>>,
    scarce: Vec<Scarce>,
    /// For each objective with multipliers.
    within_group: Vec<Option<WithinGroup>>,
    levels: Rc<[Level]>,
    rates: LeastRates,
    /// Data of the whole problem, the same for all sets of plans.
    whole: Option<Whole>,
    /// Multipliers disregard in which place the devices of a class are: cheaper, and nearly as good if devices suffice in one place.
    merges_places: bool,
    /// The classes, as a map from each class to itself, for [`merged`](Bound::merged).
    classes: Vec<usize>,
    /// Minimum growth between classes, for each objective that never decreases.
    merged: Vec<Option<Rc<Distances>>>,
    /// Classes on which each region may run, for the multipliers of the open set.
    merged_allowed: Vec<Vec<usize>>,
    fit: Fit,
    /// Places to which plans move.
    homes: Vec<Home>,
    /// The open set was priced, or shown to have no plan, since it was opened.
    is_changed: bool,
    /// Bounds from the multipliers of other sets.
    cuts: Cuts,
}

/// Classes of the groups on which each region may run, in ascending order.
fn classes_of(allowed: &[Vec<usize>], class: &[usize]) -> Vec<Vec<usize>> {
    let classes = |groups: &Vec<usize>| {
        let mut classes: Vec<usize> = groups.iter().map(|group| class[*group]).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    };
    allowed.iter().map(classes).collect()
}

/// Bounds of the open set of plans without multipliers.
#[derive(Clone, Default)]
struct Table {
    /// Minimum growth after the region, by objective, region and group; [`NEVER`] if the program cannot be completed.
    ahead: Rc<Vec<Vec<Vec<i64>>>>,
    /// Lower bound on the programs that have not started, by level and objective.
    starts: Rc<Vec<Vec<i64>>>,
    /// Whether the remaining regions can be placed, by level.
    feasible: Vec<bool>,
    /// Minimum of the remaining use, by level, for objectives that are uses.
    used: Rc<Vec<Vec<i64>>>,
    /// Minimum use of the remaining regions in millionths of a device, by level and device variable.
    needs: Rc<Vec<Vec<i64>>>,
    /// Bounds on plans in which a region runs on a group, for each objective that never decreases.
    forced: Vec<Option<Forced>>,
    /// Bounds on plans that still have to charge devices, for each objective that never decreases.
    opened: Vec<Opened>,
}

impl Table {
    /// The table of a set without plans.
    fn without_plans(levels: usize) -> Table {
        Table { feasible: vec![false; levels + 1], ..Table::default() }
    }
}

impl<'p> Bound<'p> {
    /// For a problem.
    pub fn new(problem: &'p Problem, equal: &'p EqualDevices, charges: &'p Charges) -> Bound<'p> {
        let objectives = &problem.settings.objectives;
        let classes = problem.classes;
        let vars = problem.scopes.device.len();
        let uses: Vec<Vec<Vec<i64>>> =
            per_offer(problem, |_, offer| (0..vars).map(|var| least_used(offer, var)).collect());
        let runs = |node: usize, class: usize| problem.can_run(node, class);
        let uses_any = |node: usize, class: usize| uses[node][class].iter().any(|used| *used > 0);
        let nodes = || 0..problem.nodes.len();
        let another = |class: usize| {
            let users = nodes().filter(|n| runs(*n, class) && uses_any(*n, class));
            users
                .map(|n| charges.least(n, class))
                .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.min(b)).collect())
        };
        let is_free = |class: usize, var: usize| {
            nodes().any(|n| runs(n, class) && uses[n][class][var] > 0 && !charges.is_charged(n, class))
        };
        let sizes = |class: usize, var: usize| {
            let hosts = |d: &usize| {
                problem.class[*d] == class && problem.nodes.iter().any(|node| node.on.contains(d))
            };
            let mut sizes: Vec<i64> =
                (0..problem.class.len()).filter(hosts).map(|d| problem.limits[d][var]).collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            sizes
        };
        let leaders = &equal.leaders;
        let grows: Vec<_> = objectives.iter().map(|o| grows(problem, &o.measure).map(Rc::new)).collect();
        let distances = objectives.iter().zip(&grows).map(|(o, grows)| match (&o.measure, grows) {
            (Measure::Worst(var), Some(_)) => Some(Rc::new(distances(problem, equal, leaders, *var))),
            _ => None,
        });
        let distances: Vec<Option<Rc<Distances>>> = distances.collect();
        let is_priced = objectives.iter().zip(grows.iter().zip(&distances)).map(|(objective, known)| {
            let (Measure::Worst(var), (Some(grows), Some(distances))) = (&objective.measure, known) else {
                return false;
            };
            let starts = problem.nodes.iter().map(|node| node.start[*var].1);
            let most = starts.chain(grows.iter().flatten().copied().filter(|grows| *grows < NEVER)).max();
            let steps = (problem.nodes.len() + problem.arcs.len() + 1) as i64;
            // Prices count in steps of 1/1024: sums of growth below 2^50 leave three bits of an `i64` for multipliers.
            most.unwrap_or(0).max(distances.most()).saturating_mul(steps) < 1 << 50
        });
        let mut rank = vec![0; problem.nodes.len()];
        problem.order.iter().enumerate().for_each(|(at, node)| rank[*node] = at);
        let groups = |node: &Node, offers: &[Result<Offer, _>]| {
            let runs = |device: &&usize| offers[problem.class[**device]].is_ok();
            let groups = node.on.iter().filter(runs).map(|device| equal.group[*device]);
            groups.collect::<BTreeSet<usize>>().into_iter().collect()
        };
        let class: Vec<usize> = leaders.iter().map(|leader| problem.class[*leader]).collect();
        let merged = |of: &Option<Rc<Distances>>| of.as_ref().map(|of| Rc::new(of.merged(&class, classes)));
        let mut bound = Bound {
            is_priced: is_priced.collect(),
            merges_places: false,
            classes: (0..classes).collect(),
            merged: distances.iter().map(merged).collect(),
            merged_allowed: vec![],
            distances,
            another: (0..classes).map(another).collect(),
            sizes: (0..classes).map(|class| (0..vars).map(|var| sizes(class, var)).collect()).collect(),
            is_free: (0..classes).map(|class| (0..vars).map(|var| is_free(class, var)).collect()).collect(),
            class,
            followed: followed(problem),
            levels: levels(problem, &rank),
            rank,
            counts: Counts { least: vec![0; classes], is_exact: vec![false; classes] },
            groups: problem
                .nodes
                .iter()
                .zip(&problem.offers)
                .map(|(node, offers)| groups(node, offers))
                .collect(),
            allowed: vec![],
            allowed_classes: vec![],
            table: Table::default(),
            made: None,
            prices: vec![],
            room: None,
            fit: Fit::default(),
            homes: homes(problem, equal, charges),
            is_changed: true,
            scarce: vec![],
            within_group: vec![],
            rates: LeastRates::default(),
            whole: None,
            cuts: Cuts::default(),
            ports: (0..classes).map(|class| ports(problem, equal, class)).collect(),
            is_certain: (0..classes)
                .map(|class| (0..vars).map(|var| is_certain(problem, class, var)).collect())
                .collect(),
            grows,
            uses: Rc::new(uses),
            problem,
            equal,
            charges,
        };
        bound.open(&bound.counts.clone());
        bound.make_whole();
        bound
    }

    /// Plans stay in the places where they are.
    pub fn without_homes(mut self) -> Bound<'p> {
        self.homes.clear();
        self.is_changed = true;
        self
    }

    /// Opens a set of plans: from now on, bounds are for it.
    pub fn open(&mut self, counts: &Counts) {
        if !self.is_changed && self.counts == *counts {
            return;
        }
        self.is_changed = false;
        self.counts = counts.clone();
        self.allowed = (0..self.problem.nodes.len()).map(|node| self.groups(node)).collect();
        let mut at_home = self
            .homes
            .iter()
            .filter_map(|home| home.groups((&self.counts, self.charges), &self.class, &self.allowed));
        if let Some(groups) = at_home.next() {
            self.allowed = groups;
        }
        self.allowed_classes = classes_of(&self.allowed, &self.class);
        self.table = match self.fit.is_misfit(&self.set()) {
            true => Table::without_plans(self.problem.order.len()),
            false => self.open_table(),
        };
        self.prices = vec![None; self.problem.settings.objectives.len()];
        self.room = None;
    }

    /// Whether the regions of the open set may fit on its devices: `steps` steps find no certificate against it.
    pub fn fits(&mut self, steps: usize) -> bool {
        let mut fit = std::mem::take(&mut self.fit);
        let fits = self.table.feasible[0] && !fit.find_misfit(&self.set(), steps);
        self.fit = fit;
        if !fits {
            self.table = Table::without_plans(self.problem.order.len());
            self.is_changed = true;
        }
        fits
    }

    fn set(&self) -> fit::Set<'_> {
        let paid = (0..self.problem.classes).map(|class| self.counts.most(class, self.charges));
        fit::Set { paid: paid.collect(), allowed: &self.allowed_classes }
    }

    /// Groups on which each region may run.
    pub fn allowed(&self) -> &[Vec<usize>] {
        &self.allowed
    }

    /// Groups on which regions may run, all together.
    pub fn places(&self) -> usize {
        self.allowed.iter().map(Vec::len).sum()
    }

    /// Placements of the open set, with a bound for a path variable that only grows, by its objective.
    pub fn pack(&self, objective: usize) -> Option<Pack<'p>> {
        match (
            &self.problem.settings.objectives[objective].measure,
            &self.grows[objective],
            &self.distances[objective],
        ) {
            (Measure::Worst(var), Some(grows), Some(distances)) => Some(Pack {
                problem: self.problem,
                equal: self.equal,
                charges: self.charges,
                counts: self.counts.clone(),
                class: self.class.clone(),
                allowed: self.allowed.clone(),
                uses: self.uses.clone(),
                var: *var,
                grows: grows.clone(),
                distances: distances.clone(),
                flow: self.least_rates().flow,
                ports: self.ports.clone(),
            }),
            _ => None,
        }
    }

    /// From now on, multipliers regard in which place the devices of a class are, or not.
    pub fn merge_places(&mut self, is_on: bool) {
        let is_on = is_on && self.equal.groups() > self.problem.classes;
        if std::mem::replace(&mut self.merges_places, is_on) != is_on {
            self.is_changed = true;
            self.whole = None;
            let counts = self.counts.clone();
            // The data of the whole problem are made from the set of all plans; then the caller's set is opened again.
            self.open(&self.charges.all());
            self.make_whole();
            self.open(&counts);
        }
    }

    fn least_rates(&self) -> LeastRates {
        let runs = |groups: &[usize], class| groups.iter().any(|group| self.class[*group] == class);
        LeastRates::new(self.problem, &|node, class| runs(&self.allowed[node], class))
    }

    /// The set of plans that is open.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Minimum charges.
    pub fn charges(&self) -> &Charges {
        self.charges
    }

    /// The class of a group of equal devices.
    pub fn class(&self, group: usize) -> usize {
        self.class[group]
    }

    /// Number of charged devices, by class.
    pub fn paid(&self, label: &Label) -> Paid {
        let mut paid = smallvec![0; self.counts.least.len()];
        for used in label.uses.iter().filter(|used| used.is_paid) {
            paid[self.problem.class[used.device]] += 1;
        }
        paid
    }

    /// The set of plans that pay for the devices of a placement and no others.
    pub fn paid_by(&self, placement: &[usize]) -> Counts {
        let class = &self.problem.class;
        let is_charged = |(node, device): &(usize, &usize)| self.charges.is_charged(*node, class[**device]);
        let paid: BTreeSet<usize> =
            placement.iter().enumerate().filter(is_charged).map(|(_, device)| *device).collect();
        let mut counts =
            Counts { least: vec![0; self.counts.least.len()], is_exact: vec![true; self.counts.least.len()] };
        paid.iter().for_each(|device| counts.least[class[*device]] += 1);
        counts
    }

    /// Cost of a label plus the minimum charges of the devices that must still be charged.
    pub fn nominal(&self, label: &Label, paid: &[u16]) -> Cost {
        self.nominal_in(&self.counts, &label.cost, paid)
    }

    fn nominal_in(&self, counts: &Counts, cost: &Cost, paid: &[u16]) -> Cost {
        let mut cost = cost.clone();
        let mut charge = 0;
        for (at, objective) in self.problem.settings.objectives.iter().enumerate() {
            if !matches!(objective.measure, Measure::Charges(_) | Measure::Devices) {
                continue;
            }
            for (class, (least, paid)) in counts.least.iter().zip(paid).enumerate() {
                let more = i64::from(least.saturating_sub(*paid));
                cost[at] = cost[at].saturating_add(more.saturating_mul(self.charges.opening(class)[charge]));
            }
            charge += 1;
        }
        cost
    }

    /// A lower bound on the costs of all plans of a set that need not be open: the charges of its devices.
    pub fn charged(&self, counts: &Counts, root: &Label) -> Cost {
        self.nominal_in(counts, &root.cost, &vec![0; counts.least.len()])
    }

    /// A lower bound on the costs of all completions of `label`. None if there is no completion.
    pub fn end(&self, label: &Label, level: usize) -> Option<Cost> {
        let table = &self.table;
        if !table.feasible[level] {
            return None;
        }
        let paid = self.paid(label);
        let mut end = self.nominal(label, &paid);
        let due: i64 = self
            .counts
            .least
            .iter()
            .zip(&paid)
            .map(|(least, paid)| i64::from(least.saturating_sub(*paid)))
            .sum();
        let needed = self.devices_needed(label, level, due);
        if due > 0 {
            for (class, (least, paid)) in self.counts.least.iter().zip(&paid).enumerate() {
                let missing = usize::from(least.saturating_sub(*paid));
                if missing == 0 {
                    continue;
                }
                for (end, opened) in end.iter_mut().zip(&table.opened) {
                    *end = (*end).max(*opened[level][class].get(missing - 1)?);
                }
            }
        }
        let more_devices = (needed - due).max(0);
        if more_devices > 0 && self.is_closed(&paid, needed) {
            return None;
        }
        let left = self.room.as_ref().map(|room| room.left(label, level));
        if let (Some(room), Some(left)) = (&self.room, &left)
            && !room.suffices(left, level)
        {
            return None;
        }
        let mut charge = 0;
        for (at, objective) in self.problem.settings.objectives.iter().enumerate() {
            match &objective.measure {
                Measure::Worst(var) => {
                    if self.grows[at].is_none() {
                        end[at] = i64::MIN;
                        continue;
                    }
                    end[at] = end[at].max(table.starts[level][at]);
                    for live in &label.live {
                        let ahead = table.ahead[at][live.node][self.equal.group[live.device]];
                        if ahead == NEVER {
                            return None;
                        }
                        // Else only its group keeps it, and its end is in the costs already.
                        if self.followed[live.node] > level {
                            end[at] = end[at].max(live.after[*var].1.saturating_add(ahead));
                        }
                    }
                    if let (Some(prices), Some(graph)) = (&self.prices[at], self.graph(at)) {
                        let of = Partial { label, level, faster: self.faster(label, level) };
                        let priced = prices.end(&graph, &of);
                        if priced == NEVER {
                            return None;
                        }
                        end[at] = end[at].max(priced);
                    }
                }
                Measure::Least(_) => end[at] = i64::MIN,
                Measure::Charges(_) | Measure::Devices => {
                    end[at] = end[at].saturating_add(self.cheapest(charge).saturating_mul(more_devices));
                    charge += 1;
                }
                Measure::Used(_) => end[at] = end[at].saturating_add(table.used[level][at]),
            }
        }
        Some(end)
    }

    /// Factor, as a rate and its minimum, by which the completions of a label load links more than the general minimum.
    fn faster(&self, label: &Label, level: usize) -> (i64, i64) {
        let Some(rate) = self.problem.roles.rate.filter(|_| self.rates.is_linear) else { return (1, 1) };
        let mut least: Option<(i64, i64)> = None;
        let starts = &self.problem.order[level..];
        if starts.iter().any(|node| self.problem.nodes[*node].into.is_empty()) {
            return (1, 1);
        }
        for live in label.live.iter().filter(|live| self.followed[live.node] > level) {
            let (rate, known) = (live.after[rate].1, self.rates.after[live.node]);
            let is_less = least
                .is_none_or(|(r, k)| i128::from(rate) * i128::from(k) < i128::from(r) * i128::from(known));
            if is_less {
                least = Some((rate, known));
            }
        }
        // Factors are rounded one after the other.
        least.map_or((1, 1), |(rate, known)| {
            (rate.saturating_sub((rate >> 20) + 16).max(known).max(1), known.max(1))
        })
    }

    /// Whether `needed` further devices exceed the number that may be charged.
    fn is_closed(&self, paid: &[u16], needed: i64) -> bool {
        let left = paid.iter().enumerate().map(|(class, paid)| match self.is_free[class].contains(&true) {
            true => i64::MAX,
            false => i64::from(self.counts.most(class, self.charges).saturating_sub(*paid)),
        });
        left.fold(0, i64::saturating_add) < needed
    }

    /// Minimum charge of a device that is used for a scarce resource and not among those counted.
    fn cheapest(&self, charge: usize) -> i64 {
        let may_be_more = |class: &usize| {
            self.counts.most(*class, self.charges) > self.counts.least[*class]
                || self.is_free[*class].contains(&true)
        };
        let open = (0..self.problem.classes).filter(may_be_more);
        open.filter_map(|class| self.another[class].as_ref().map(|c| c[charge])).min().unwrap_or(0)
    }

    /// Minimum number of further devices that the remaining regions need; `most` if no larger number is known.
    fn devices_needed(&self, label: &Label, level: usize, mut most: i64) -> i64 {
        let charges = self.problem.scopes.once.len();
        for (var, need) in self.table.needs[level].iter().enumerate() {
            if *need <= most.saturating_mul(WHOLE) {
                continue;
            }
            let mut missing = *need;
            for used in &label.uses {
                let limit = self.problem.limits[used.device][var];
                let free = limit.saturating_sub(used.values[charges + var]);
                missing -= if limit == i64::MAX { WHOLE } else { fraction(free, limit) + 1 };
            }
            most = most.max((missing + WHOLE - 1).div_euclid(WHOLE));
        }
        most
    }

    /// Groups on which a region can run.
    fn groups(&self, node: usize) -> Vec<usize> {
        let is_open = |group: &&usize| {
            let class = self.class[**group];
            self.counts.most(class, self.charges) > 0 || !self.charges.is_charged(node, class)
        };
        self.groups[node].iter().filter(is_open).copied().collect()
    }

    /// The table of the open set. Sets that are opened one after the other often have the same groups.
    fn open_table(&mut self) -> Table {
        let known = self.made.take().filter(|(allowed, _)| *allowed == self.allowed);
        let (allowed, table) = known.unwrap_or_else(|| (self.allowed.clone(), self.make_table()));
        let opened = self.opened(&table.forced);
        self.made = Some((allowed, table.clone()));
        Table { opened, ..table }
    }

    /// A table without `opened`.
    fn make_table(&self) -> Table {
        let problem = self.problem;
        let levels = problem.order.len() + 1;
        let objectives = problem.settings.objectives.len();
        let vars = problem.scopes.device.len();
        let mut ahead = vec![vec![vec![0; self.equal.groups()]; problem.nodes.len()]; objectives];
        let mut starts = vec![vec![i64::MIN; objectives]; levels];
        let mut feasible = vec![true; levels];
        let mut used = vec![vec![0i64; objectives]; levels];
        let mut needs = vec![vec![0i64; vars]; levels];
        let mut forced = vec![None; objectives];
        for (at, ahead) in ahead.iter_mut().enumerate() {
            let Measure::Worst(var) = problem.settings.objectives[at].measure else { continue };
            if let (Some(grows), Some(distances)) = (&self.grows[at], &self.distances[at]) {
                self.look_ahead(ahead, distances, grows);
                let known = Known { var, class: &self.class, allowed: &self.allowed, grows, distances };
                forced[at] = Some(forced::along(problem, &known, ahead));
            }
        }
        // From the last region back: a row bounds what the regions from its level on add.
        for level in (0..problem.order.len()).rev() {
            let node = problem.order[level];
            let classes: Vec<usize> = self.allowed[node].iter().map(|group| self.class[*group]).collect();
            feasible[level] = feasible[level + 1] && !classes.is_empty();
            let least = |of: &dyn Fn(usize) -> i64| classes.iter().map(|class| of(*class)).min().unwrap_or(0);
            // In parts of the largest device of a class: the sum over regions then bounds the number of devices from below.
            let need = |var: usize| {
                let size = |class: usize| self.sizes[class][var].first().copied().unwrap_or(0);
                let part = least(&|class| fraction(self.uses[node][class][var], size(class)));
                needs[level + 1][var].saturating_add(part)
            };
            needs[level] = (0..vars).map(need).collect();
            for (at, objective) in problem.settings.objectives.iter().enumerate() {
                starts[level][at] = starts[level + 1][at];
                used[level][at] = used[level + 1][at];
                match (&objective.measure, &self.grows[at]) {
                    (Measure::Used(places), _) => {
                        let sum = |class: usize| {
                            places.iter().map(|v| self.uses[node][class][*v]).fold(0, i64::saturating_add)
                        };
                        used[level][at] = used[level][at].saturating_add(least(&sum));
                    }
                    (Measure::Worst(var), Some(grows)) if problem.nodes[node].into.is_empty() => {
                        let from = |group: &usize| {
                            let ahead = ahead[at][node][*group];
                            problem.nodes[node].start[*var]
                                .1
                                .saturating_add(grows[node][self.class[*group]])
                                .saturating_add(ahead)
                        };
                        let best = self.allowed[node].iter().map(from).min().unwrap_or(NEVER);
                        feasible[level] &= best < NEVER;
                        starts[level][at] = starts[level][at].max(best);
                    }
                    _ => {}
                }
            }
        }
        Table {
            ahead: Rc::new(ahead),
            starts: Rc::new(starts),
            feasible,
            used: Rc::new(used),
            needs: Rc::new(needs),
            forced,
            opened: vec![],
        }
    }

    /// Minimum growth of a variable after each region on each group where it may run.
    fn look_ahead(&self, ahead: &mut [Vec<i64>], distances: &Distances, grows: &[Vec<i64>]) {
        let problem = self.problem;
        for &node in problem.order.iter().rev() {
            for &group in &self.allowed[node] {
                let mut worst = 0;
                for arc in &problem.nodes[node].out {
                    let to = problem.arcs[*arc].to;
                    let through = |next: &usize| {
                        distances
                            .add(*arc, group, *next)
                            .saturating_add(grows[to][self.class[*next]])
                            .saturating_add(ahead[to][*next])
                    };
                    worst = worst.max(self.allowed[to].iter().map(through).min().unwrap_or(NEVER));
                }
                ahead[node][group] = worst;
            }
        }
    }
}
