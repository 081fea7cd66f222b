//! What a partial plan costs at least in the end.
//!
//! Classes of devices are opened, each for its smallest charge; for each set of open classes, what the regions left add to a packet's
//! variables at least is known from a walk over them backwards, without regard to what devices have or links bear. A partial plan
//! has as many *best ends* as there are sets of classes to open. What the regions left use at least is compared with what
//! is free on open devices: the rest needs devices of its own.

use crate::Measure;
use crate::label::Label;
use crate::problem::{Offer, Problem};
use crate::twins::Twins;
use plan_model::Change;
use std::collections::BTreeMap;
use std::rc::Rc;

const NEVER: i64 = i64::MAX;
/// With more classes, all count as open.
const MAX_CLASSES: usize = 12;
/// A whole device.
const WHOLE: i64 = 1_000_000;

/// Lower bounds for the partial plans of a problem.
pub struct Bound<'p> {
    problem: &'p Problem,
    twins: &'p Twins,
    /// By objective: none if it may shrink, else by region and class what it grows by at least.
    grows: Vec<Option<Vec<Vec<i64>>>>,
    /// By region and class: what the class is charged at least for it; empty if that is nothing.
    charge: Vec<Vec<Vec<i64>>>,
    /// By class: the least of those.
    opening: Vec<Vec<i64>>,
    /// By class: what a device is charged at least on which something is used that there is little of.
    another: Vec<Option<Vec<i64>>>,
    /// By region and class and device variable: what it uses at least.
    uses: Vec<Vec<Vec<i64>>>,
    /// By class: the largest of its devices.
    size: Vec<Vec<i64>>,
    leaders: Vec<usize>,
    tables: BTreeMap<u32, Rc<Table>>,
}

/// What is known of a set of open classes.
struct Table {
    /// By objective, region and group: what is added at least behind the region; [`NEVER`] if it cannot be finished.
    ahead: Vec<Vec<Vec<i64>>>,
    /// By level and objective: what an unplaced program has at its ends at least.
    starts: Vec<Vec<i64>>,
    /// By level: the regions left can be placed at all.
    feasible: Vec<bool>,
    /// By level and objective: what the regions left use at least.
    used: Vec<Vec<i64>>,
    /// By level and device variable: what they use at least, in millionths of a device.
    needs: Vec<Vec<i64>>,
}

impl<'p> Bound<'p> {
    /// For a problem.
    pub fn new(problem: &'p Problem, twins: &'p Twins) -> Bound<'p> {
        let objectives = &problem.settings.objectives;
        let charged: Vec<usize> = objectives
            .iter()
            .filter_map(|o| match o.measure {
                Measure::Charges(at) => Some(at),
                _ => None,
            })
            .collect();
        let classes = problem.classes;
        let leader_of = |class: usize| problem.class.iter().position(|c| *c == class);
        let charge: Vec<Vec<Vec<i64>>> = per_offer(problem, |class, offer| {
            let own = leader_of(class).map_or(&[][..], |d| &problem.charges[d]);
            let least = |at: &usize| least_charge(offer, own, *at);
            let all: Vec<i64> = charged.iter().map(least).collect();
            if all.iter().all(|c| *c == 0) { vec![] } else { all }
        });
        let vars = problem.scopes.device.len();
        let uses: Vec<Vec<Vec<i64>>> =
            per_offer(problem, |_, offer| (0..vars).map(|var| least_used(offer, var)).collect());
        let least_of = |class: usize, keep: &dyn Fn(usize) -> bool| {
            let all = (0..problem.nodes.len()).filter(|n| problem.offers[*n][class].is_ok() && keep(*n));
            let none = vec![0; charged.len()];
            all.map(|n| if charge[n][class].is_empty() { none.clone() } else { charge[n][class].clone() })
                .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.min(b)).collect())
        };
        let opening = (0..classes)
            .map(|k| least_of(k, &|n| !charge[n][k].is_empty()).unwrap_or(vec![0; charged.len()]))
            .collect();
        let another = (0..classes).map(|k| least_of(k, &|n| uses[n][k].iter().any(|u| *u > 0))).collect();
        let size = (0..classes).map(|class| {
            let of = |var: usize| {
                let all = (0..problem.class.len()).filter(|d| problem.class[*d] == class);
                all.map(|d| problem.limits[d][var]).max().unwrap_or(0)
            };
            (0..vars).map(of).collect()
        });
        Bound {
            grows: objectives.iter().map(|o| grows(problem, &o.measure)).collect(),
            leaders: (0..twins.groups)
                .map(|g| twins.group.iter().position(|of| *of == g).unwrap_or(0))
                .collect(),
            size: size.collect(),
            tables: BTreeMap::new(),
            problem,
            twins,
            charge,
            opening,
            another,
            uses,
        }
    }

    /// Whether all best ends of a partial plan satisfy `covered`: then it need not be looked at.
    pub fn is_needless(&mut self, label: &Label, level: usize, covered: &dyn Fn(&[i64]) -> bool) -> bool {
        let all = self.all_classes();
        let ideal = self.table(all);
        if !ideal.feasible[level] {
            return true;
        }
        let open = self.open_classes(label);
        match self.end(label, level, &ideal, all, all) {
            None => return true,
            Some(end) if covered(&end) => return true,
            Some(_) if self.problem.classes > MAX_CLASSES => return false,
            _ => {}
        }
        let closed = self.useful(level) & !open;
        let mut sets = subsets(closed);
        sets.sort_by_key(|set| (set.count_ones(), *set));
        for set in sets {
            let table = self.table(open | set);
            let end = self.end(label, level, &table, open | set, open);
            if end.is_some_and(|end| !covered(&end)) {
                return false;
            }
        }
        true
    }

    /// The costs that no completion is below.
    pub fn ideal(&mut self, label: &Label, level: usize) -> Option<Vec<i64>> {
        let all = self.all_classes();
        let table = self.table(all);
        self.end(label, level, &table, all, all)
    }

    fn all_classes(&self) -> u32 {
        let classes = self.problem.classes.min(31);
        (1u32 << classes) - 1
    }

    /// Classes on which a device is charged all that it may be charged.
    fn open_classes(&self, label: &Label) -> u32 {
        let places = self.charged_places();
        let mut open = 0;
        for (class, opening) in self.opening.iter().enumerate().take(MAX_CLASSES) {
            let is_paid = label
                .uses
                .iter()
                .filter(|u| self.problem.class[u.device] == class)
                .any(|u| places.iter().zip(opening).all(|(place, least)| u.values[*place] >= *least));
            open |= u32::from(is_paid) << class;
        }
        open
    }

    fn charged_places(&self) -> Vec<usize> {
        let objectives = self.problem.settings.objectives.iter();
        objectives
            .filter_map(|o| match o.measure {
                Measure::Charges(at) => Some(at),
                _ => None,
            })
            .collect()
    }

    /// Classes that some region left is charged on.
    fn useful(&self, level: usize) -> u32 {
        let mut useful = 0;
        for node in &self.problem.order[level..] {
            for (class, charge) in self.charge[*node].iter().enumerate().take(MAX_CLASSES) {
                useful |= u32::from(!charge.is_empty()) << class;
            }
        }
        useful
    }

    /// The best end with the classes of `set` open, of which those that are not in `open` are yet to be charged. None if there is none.
    fn end(&self, label: &Label, level: usize, table: &Table, set: u32, open: u32) -> Option<Vec<i64>> {
        if !table.feasible[level] {
            return None;
        }
        let opened = set & !open;
        let more_devices = match set == open && open == self.all_classes() {
            true => 0,
            false => (self.devices_needed(label, level, table, set) - i64::from(opened.count_ones())).max(0),
        };
        let mut end = label.cost.clone();
        let mut charged = 0;
        for (at, objective) in self.problem.settings.objectives.iter().enumerate() {
            match &objective.measure {
                Measure::Worst(var) => {
                    if self.grows[at].is_none() {
                        continue;
                    }
                    end[at] = end[at].max(table.starts[level][at]);
                    for live in &label.live {
                        let ahead = table.ahead[at][live.node][self.twins.group[live.device]];
                        if ahead == NEVER {
                            return None;
                        }
                        if !self.is_kept_for_group(live.node, level) {
                            end[at] = end[at].max(live.after[*var].1.saturating_add(ahead));
                        }
                    }
                }
                Measure::Least(_) => end[at] = i64::MIN,
                Measure::Charges(_) => {
                    let mut more = 0i64;
                    for (class, opening) in self.opening.iter().enumerate().take(MAX_CLASSES) {
                        if opened >> class & 1 == 1 {
                            more = more.saturating_add(opening[charged]);
                        }
                    }
                    let cheapest = (0..self.problem.classes.min(MAX_CLASSES))
                        .filter(|class| set >> class & 1 == 1)
                        .filter_map(|class| self.another[class].as_ref().map(|c| c[charged]))
                        .min()
                        .unwrap_or(0);
                    end[at] =
                        end[at].saturating_add(more).saturating_add(cheapest.saturating_mul(more_devices));
                    charged += 1;
                }
                Measure::Used(_) => end[at] = end[at].saturating_add(table.used[level][at]),
                Measure::Devices => end[at] = end[at].saturating_add(more_devices),
            }
        }
        Some(end)
    }

    /// A region whose followers are all placed, and that only a group of regions keeps: its end is in the costs already.
    fn is_kept_for_group(&self, node: usize, level: usize) -> bool {
        let placed = &self.problem.order[..level];
        let out = &self.problem.nodes[node].out;
        out.iter().all(|arc| placed.contains(&self.problem.arcs[*arc].to))
    }

    /// Devices that have to be opened besides those in use, for what the regions left use.
    fn devices_needed(&self, label: &Label, level: usize, table: &Table, set: u32) -> i64 {
        let charges = self.problem.scopes.once.len();
        let mut most = 0;
        for (var, need) in table.needs[level].iter().enumerate() {
            let mut missing = *need;
            for used in &label.uses {
                let class = self.problem.class[used.device];
                if class >= MAX_CLASSES || set >> class & 1 == 1 {
                    let limit = self.problem.limits[used.device][var];
                    let free = limit.saturating_sub(used.values[charges + var]);
                    missing -= fraction(free, limit) + 1;
                }
            }
            most = most.max((missing + WHOLE - 1).div_euclid(WHOLE));
        }
        most
    }

    fn table(&mut self, set: u32) -> Rc<Table> {
        if let Some(known) = self.tables.get(&set) {
            return known.clone();
        }
        let table = Rc::new(self.make_table(set));
        self.tables.insert(set, table.clone());
        table
    }

    /// Groups on which a region can run if the classes of `set` are open.
    fn groups(&self, node: usize, set: u32) -> Vec<usize> {
        let problem = self.problem;
        let mut groups: Vec<usize> = problem.nodes[node]
            .on
            .iter()
            .filter(|device| {
                let class = problem.class[**device];
                let is_open = class >= MAX_CLASSES
                    || problem.classes > MAX_CLASSES
                    || set >> class & 1 == 1
                    || self.charge[node][class].is_empty();
                problem.offers[node][class].is_ok() && is_open
            })
            .map(|device| self.twins.group[*device])
            .collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    fn make_table(&self, set: u32) -> Table {
        let problem = self.problem;
        let levels = problem.order.len() + 1;
        let objectives = problem.settings.objectives.len();
        let vars = problem.scopes.device.len();
        let allowed: Vec<Vec<usize>> = (0..problem.nodes.len()).map(|n| self.groups(n, set)).collect();
        let mut table = Table {
            ahead: vec![vec![vec![0; self.twins.groups]; problem.nodes.len()]; objectives],
            starts: vec![vec![i64::MIN; objectives]; levels],
            feasible: vec![true; levels],
            used: vec![vec![0; objectives]; levels],
            needs: vec![vec![0; vars]; levels],
        };
        for (at, objective) in problem.settings.objectives.iter().enumerate() {
            if let (Measure::Worst(var), Some(grows)) = (&objective.measure, &self.grows[at]) {
                self.look_ahead(&mut table.ahead[at], &allowed, *var, grows);
            }
        }
        for level in (0..problem.order.len()).rev() {
            let node = problem.order[level];
            let classes: Vec<usize> =
                allowed[node].iter().map(|group| problem.class[self.leaders[*group]]).collect();
            table.feasible[level] = table.feasible[level + 1] && !classes.is_empty();
            let least = |of: &dyn Fn(usize) -> i64| classes.iter().map(|class| of(*class)).min().unwrap_or(0);
            for var in 0..vars {
                let part = least(&|class| fraction(self.uses[node][class][var], self.size[class][var]));
                table.needs[level][var] = table.needs[level + 1][var].saturating_add(part);
            }
            for (at, objective) in problem.settings.objectives.iter().enumerate() {
                table.starts[level][at] = table.starts[level + 1][at];
                table.used[level][at] = table.used[level + 1][at];
                match (&objective.measure, &self.grows[at]) {
                    (Measure::Used(places), _) => {
                        let sum = |class: usize| {
                            places.iter().map(|v| self.uses[node][class][*v]).fold(0, i64::saturating_add)
                        };
                        table.used[level][at] = table.used[level][at].saturating_add(least(&sum));
                    }
                    (Measure::Worst(var), Some(grows)) if problem.nodes[node].into.is_empty() => {
                        let from = |group: &usize| {
                            let class = problem.class[self.leaders[*group]];
                            let ahead = table.ahead[at][node][*group];
                            problem.nodes[node].start[*var]
                                .1
                                .saturating_add(grows[node][class])
                                .saturating_add(ahead)
                        };
                        let best = allowed[node].iter().map(from).min().unwrap_or(NEVER);
                        table.feasible[level] &= best < NEVER;
                        table.starts[level][at] = table.starts[level][at].max(best);
                    }
                    _ => {}
                }
            }
        }
        table
    }

    /// What a variable grows by at least behind each region on each group.
    fn look_ahead(&self, ahead: &mut [Vec<i64>], allowed: &[Vec<usize>], var: usize, grows: &[Vec<i64>]) {
        let problem = self.problem;
        for &node in problem.order.iter().rev() {
            for group in 0..self.twins.groups {
                let mut worst = 0;
                for arc in &problem.nodes[node].out {
                    let to = problem.arcs[*arc].to;
                    let through = |next: &usize| {
                        let class = problem.class[self.leaders[*next]];
                        self.crossing(var, *arc, group, *next)
                            .saturating_add(grows[to][class])
                            .saturating_add(ahead[to][*next])
                    };
                    worst = worst.max(allowed[to].iter().map(through).min().unwrap_or(NEVER));
                }
                ahead[node][group] = worst;
            }
        }
    }

    /// What passing from group to group adds at least.
    fn crossing(&self, var: usize, arc: usize, from: usize, to: usize) -> i64 {
        if from == to {
            return 0;
        }
        let problem = self.problem;
        let routes = problem.routes(self.leaders[from], self.leaders[to]);
        let (roles, edge) = (&problem.roles, &problem.arcs[arc]);
        let least = |of: &dyn Fn(&[usize]) -> i64| routes.iter().map(|r| of(r)).min().unwrap_or(NEVER);
        let delay = |route: &[usize]| {
            route.iter().map(|hop| problem.network.hops[*hop].delay).fold(0, i64::saturating_add)
        };
        match Some(var) {
            v if v == roles.latency => least(&delay),
            v if v == roles.hops => least(&|route| route.len() as i64 * 1_000_000),
            v if v == roles.bits => least(&|_| edge.bits),
            v if v == roles.passes => least(&|_| edge.passes.saturating_mul(1_000_000)),
            _ => least(&|_| 0),
        }
    }
}

/// For each region and class a list; empty where the region cannot run.
fn per_offer(problem: &Problem, of: impl Fn(usize, &Offer) -> Vec<i64>) -> Vec<Vec<Vec<i64>>> {
    let row = |node: &Vec<Result<Offer, _>>| {
        node.iter().enumerate().map(|(class, o)| o.as_ref().map_or(vec![], |o| of(class, o))).collect()
    };
    problem.offers.iter().map(row).collect()
}

fn least_charge(offer: &Offer, own: &[(usize, i64)], place: usize) -> i64 {
    let of = |list: &[(usize, i64)]| list.iter().find(|(at, _)| *at == place).map_or(0, |(_, v)| *v);
    let needs = offer.needs.iter().map(|(_, all)| all.iter().map(|d| of(&d.once)).min().unwrap_or(0));
    needs.max().unwrap_or(0).max(of(own))
}

fn least_used(offer: &Offer, var: usize) -> i64 {
    let of = |list: &[(usize, i64)]| list.iter().find(|(at, _)| *at == var).map_or(0, |(_, v)| *v);
    let needs = offer.needs.iter().map(|(_, all)| all.iter().map(|d| of(&d.adds)).min().unwrap_or(0));
    needs.fold(0, i64::saturating_add)
}

/// Millionths, rounded down; of what there is without end nothing is used.
fn fraction(part: i64, whole: i64) -> i64 {
    match whole {
        0 => 0,
        i64::MAX => WHOLE,
        _ => (i128::from(part.max(0)) * i128::from(WHOLE) / i128::from(whole)).min(i128::from(WHOLE)) as i64,
    }
}

/// By region and class: what the objective grows by at least; none if rules can make it smaller.
fn grows(problem: &Problem, measure: &Measure) -> Option<Vec<Vec<i64>>> {
    let Measure::Worst(var) = measure else { return None };
    let added = |derivation: &crate::Derivation| -> Option<i64> {
        let mut sum = 0i64;
        for (_, change) in derivation.path.iter().filter(|(at, _)| at == var) {
            match change {
                Change::Add(more) if *more >= 0 => sum = sum.saturating_add(*more),
                Change::Multiply(factor) if *factor >= plan_model::Factor::ONE => {}
                _ => return None,
            }
        }
        Some(sum)
    };
    if problem.nodes.iter().any(|node| node.start[*var].0 < 0) {
        return None;
    }
    let mut all = vec![];
    for offers in &problem.offers {
        let mut row = vec![];
        for offer in offers {
            let Ok(offer) = offer else {
                row.push(NEVER);
                continue;
            };
            let mut least = vec![];
            for (_, derivations) in &offer.needs {
                let grown: Option<Vec<i64>> = derivations.iter().map(added).collect();
                least.push(grown?.into_iter().min().unwrap_or(0));
            }
            let path = |path: &Vec<usize>| path.iter().map(|need| least[*need]).fold(0, i64::saturating_add);
            row.push(offer.paths.iter().map(path).max().unwrap_or(0));
        }
        all.push(row);
    }
    Some(all)
}

/// All subsets of a set of classes.
fn subsets(set: u32) -> Vec<u32> {
    let mut all = vec![];
    let mut subset = set;
    loop {
        all.push(subset);
        if subset == 0 {
            return all;
        }
        subset = (subset - 1) & set;
    }
}
