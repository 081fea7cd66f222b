//! What a partial plan costs at least in the end.
//!
//! Plans are searched by the set of classes of devices that they are charged for. Each class of the set costs its smallest charge in
//! any case. What the regions left add to a packet's variables at least is known from a walk over them backwards, without
//! regard to what devices have or links bear. What they use at least is compared with what is free on devices in use: the
//! rest needs devices of its own.

use crate::Measure;
use crate::label::Label;
use crate::problem::{Offer, Problem};
use crate::twins::Twins;
use plan_model::Change;
use std::collections::BTreeMap;
use std::rc::Rc;

const NEVER: i64 = i64::MAX;
/// More classes are not told apart.
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
    /// Classes that some region is charged on.
    useful: u32,
    /// Classes whose devices are all equal, and charged for whatever they run.
    alike: u32,
    /// Places of charges that are objectives.
    charged: Vec<usize>,
    /// By region: the level from which on all its followers are placed.
    followed: Vec<usize>,
    tables: BTreeMap<u32, Rc<Table>>,
    /// Classes that may be used, and what is known of them.
    set: u32,
    table: Rc<Table>,
    /// Sets of classes are told apart at all.
    tells_classes: bool,
}

/// What is known of a set of open classes.
#[derive(Default)]
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
    pub fn new(problem: &'p Problem, twins: &'p Twins, tells_classes: bool) -> Bound<'p> {
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
        let mut bound = Bound {
            grows: objectives.iter().map(|o| grows(problem, &o.measure)).collect(),
            leaders: (0..twins.groups)
                .map(|g| twins.group.iter().position(|of| *of == g).unwrap_or(0))
                .collect(),
            size: size.collect(),
            useful: useful(&charge),
            alike: alike(problem, twins, &charge),
            followed: followed(problem),
            tables: BTreeMap::new(),
            charged,
            set: 0,
            table: Rc::new(Table::default()),
            tells_classes: tells_classes && classes <= MAX_CLASSES,
            problem,
            twins,
            charge,
            opening,
            another,
            uses,
        };
        bound.open(bound.all_classes());
        bound
    }

    /// Sets of classes, each of which is searched by itself; one of all if they are not told apart.
    pub fn sets(&self) -> Vec<u32> {
        match self.tells_classes {
            true => subsets(self.useful),
            false => vec![self.all_classes()],
        }
    }

    /// From now on plans are looked at that use devices of these classes, each at least once. Others run only what is not charged.
    pub fn open(&mut self, set: u32) {
        self.set = set;
        self.table = self.table(set);
    }

    /// Whether a region may run on a class.
    pub fn is_open(&self, node: usize, class: usize) -> bool {
        !self.tells_classes || self.set >> class & 1 == 1 || self.charge[node][class].is_empty()
    }

    fn all_classes(&self) -> u32 {
        (1u32 << self.problem.classes.min(31)) - 1
    }

    /// Classes on which a device is charged all that it may be charged.
    pub fn opened(&self, label: &Label) -> u32 {
        if !self.tells_classes {
            return 0;
        }
        let mut opened = 0;
        for used in &label.uses {
            let class = self.problem.class[used.device];
            let is_paid = self
                .charged
                .iter()
                .zip(&self.opening[class])
                .all(|(place, least)| used.values[*place] >= *least);
            opened |= u32::from(is_paid) << class;
        }
        opened & self.set & self.useful
    }

    /// Of what one label has opened and another has not: what the other has yet to pay for what the first has. A device elsewhere would be
    /// paid for by both.
    pub fn due(&self, opened: u32, other: u32) -> u32 {
        opened & !other & self.alike
    }

    /// The most that [`due`](Bound::due) can be for a label that has opened these.
    pub fn most_due(&self, other: u32) -> u32 {
        self.due(self.set & self.useful, other)
    }

    /// Charges that a plan on these classes has in any case, by their place; what is left of `classes` is not one of them.
    pub fn opening_of(&self, classes: u32, place: usize) -> i64 {
        let Some(at) = self.charged.iter().position(|known| *known == place) else { return 0 };
        let open = (0..self.problem.classes.min(MAX_CLASSES)).filter(|class| classes >> class & 1 == 1);
        open.map(|class| self.opening[class][at]).fold(0, i64::saturating_add)
    }

    /// What a completion of `label` costs at least. None if there is none.
    pub fn end(&self, label: &Label, level: usize) -> Option<Vec<i64>> {
        let table = &self.table;
        if !table.feasible[level] {
            return None;
        }
        let closed = if self.tells_classes { self.set & self.useful & !self.opened(label) } else { 0 };
        let needed = self.devices_needed(label, level);
        let more_devices = (needed - i64::from(closed.count_ones())).max(0);
        let mut end = label.cost.clone();
        for (at, objective) in self.problem.settings.objectives.iter().enumerate() {
            match &objective.measure {
                Measure::Worst(var) => {
                    if self.grows[at].is_none() {
                        end[at] = i64::MIN;
                        continue;
                    }
                    end[at] = end[at].max(table.starts[level][at]);
                    for live in &label.live {
                        let ahead = table.ahead[at][live.node][self.twins.group[live.device]];
                        if ahead == NEVER {
                            return None;
                        }
                        // Else only its group keeps it, and its end is in the costs already.
                        if self.followed[live.node] > level {
                            end[at] = end[at].max(live.after[*var].1.saturating_add(ahead));
                        }
                    }
                }
                Measure::Least(_) => end[at] = i64::MIN,
                Measure::Charges(place) => {
                    let cheapest = match self.tells_classes {
                        true => self.cheapest(*place),
                        false => 0,
                    };
                    end[at] = end[at]
                        .saturating_add(self.opening_of(closed, *place))
                        .saturating_add(cheapest.saturating_mul(more_devices));
                }
                Measure::Used(_) => end[at] = end[at].saturating_add(table.used[level][at]),
                // A class may yet be charged on a device that is in use.
                Measure::Devices => end[at] = end[at].saturating_add(needed),
            }
        }
        Some(end)
    }

    /// What a device of the open classes is charged at least on which something is used that there is little of.
    fn cheapest(&self, place: usize) -> i64 {
        let Some(at) = self.charged.iter().position(|known| *known == place) else { return 0 };
        let open =
            (0..self.problem.classes).filter(|class| self.set >> class & 1 == 1 || self.is_ever_free(*class));
        open.filter_map(|class| self.another[class].as_ref().map(|c| c[at])).min().unwrap_or(0)
    }

    /// Something runs on the class without a charge.
    fn is_ever_free(&self, class: usize) -> bool {
        is_ever_free(self.problem, &self.charge, class)
    }

    /// Devices that have to be opened besides those in use, for what the regions left use.
    fn devices_needed(&self, label: &Label, level: usize) -> i64 {
        let charges = self.problem.scopes.once.len();
        let mut most = 0;
        for (var, need) in self.table.needs[level].iter().enumerate() {
            let mut missing = *need;
            for used in &label.uses {
                let limit = self.problem.limits[used.device][var];
                let free = limit.saturating_sub(used.values[charges + var]);
                missing -= fraction(free, limit) + 1;
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
                let is_open =
                    !self.tells_classes || set >> class & 1 == 1 || self.charge[node][class].is_empty();
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
        let routes = problem.network.routes(self.leaders[from], self.leaders[to]);
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

fn useful(charge: &[Vec<Vec<i64>>]) -> u32 {
    let mut useful = 0;
    for of_node in charge {
        for (class, charge) in of_node.iter().enumerate().take(MAX_CLASSES) {
            useful |= u32::from(!charge.is_empty()) << class;
        }
    }
    useful
}

fn is_ever_free(problem: &Problem, charge: &[Vec<Vec<i64>>], class: usize) -> bool {
    (0..charge.len()).any(|n| problem.offers[n][class].is_ok() && charge[n][class].is_empty())
}

fn alike(problem: &Problem, twins: &Twins, charge: &[Vec<Vec<i64>>]) -> u32 {
    let mut alike = 0;
    for class in 0..problem.classes.min(MAX_CLASSES) {
        let mut groups =
            (0..problem.class.len()).filter(|d| problem.class[*d] == class).map(|d| twins.group[d]);
        let first = groups.next();
        let is_alike = groups.all(|group| Some(group) == first) && !is_ever_free(problem, charge, class);
        alike |= u32::from(is_alike) << class;
    }
    alike
}

fn followed(problem: &Problem) -> Vec<usize> {
    let mut followed = vec![0; problem.nodes.len()];
    for (at, node) in problem.order.iter().enumerate() {
        for arc in &problem.nodes[*node].into {
            followed[problem.arcs[*arc].from] = at + 1;
        }
    }
    followed
}

/// All subsets of a set of classes, the smallest first.
fn subsets(set: u32) -> Vec<u32> {
    let mut all = vec![];
    let mut subset = set;
    loop {
        all.push(subset);
        if subset == 0 {
            break;
        }
        subset = (subset - 1) & set;
    }
    all.sort_by_key(|set| (set.count_ones(), *set));
    all
}
