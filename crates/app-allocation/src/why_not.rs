//! Why there is no allocation, and what would make one possible.

use crate::allocate::{Instance, WHOLE};
use crate::choose::{Effort, Item, choose};
use crate::options::{self, Limit};
use crate::problem::{Affinity, Problem};

/// Apps for which fewer flows are tried.
const MOST_TRIED: usize = 16;

/// The reasons why there is no allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WhyNot {
    /// Apps that have no place even without the others.
    pub alone: Vec<Alone>,
    /// Rows that cannot hold together; without any one of them there would be an allocation. Empty if an app has no place at all.
    pub conflict: Vec<Limit>,
    /// Changes of which each makes an allocation possible. Larger capacities first, the relatively smallest first.
    pub relaxations: Vec<Relaxation>,
    /// If no larger capacity of a single row is enough: rows and units that are enough together.
    pub together: Vec<(Limit, u64)>,
}

/// An app without a place; apps are named by their place in the problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Alone {
    /// The app must run at the switch, which cannot run it, for this reason.
    NotAtSwitch(usize, String),
    /// No class of helpers can run it: the reasons of each.
    NoClass(usize, Vec<String>),
    /// All its flows have to be at the switch, which has no room.
    TooLarge(TooLarge),
}

/// An app whose flows do not fit the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// The app.
    pub app: usize,
    /// The memory of the switch.
    pub row: usize,
    /// Units that the app needs.
    pub needs: u64,
    /// Flows for which there is room.
    pub flows_that_fit: u64,
}

/// A change that makes an allocation possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relaxation {
    /// So many more units of a row, at the switch or at each helper.
    Capacity(Limit, u64),
    /// `affinity = "medium"` for an app.
    Medium(usize),
    /// At most so many flows of an app.
    Flows(usize, u64),
    /// So much of the traffic, in billionths, as the least served class takes.
    Traffic(u64),
}

/// The reasons; none if there is an allocation. Where the search gives up, a change is not listed.
pub fn why_not(problem: &Problem, effort: &Effort) -> Option<WhyNot> {
    let instance = Instance::new(problem);
    let capacities = instance.capacities(&vec![WHOLE; problem.classes.len()]);
    if Free::new(&instance, effort).is_possible(&capacities) {
        return None;
    }
    let mut why = WhyNot { alone: alone(problem), ..WhyNot::default() };
    why.relaxations = changed_apps(problem, effort);
    if let Ok(parts) = instance.throughput(effort) {
        why.relaxations.push(Relaxation::Traffic(parts.into_iter().min().unwrap_or(WHOLE)));
    }
    // Numbers of flows that fit a larger switch.
    let mut roomy = problem.clone();
    roomy.switch.iter_mut().for_each(|row| row.capacity = u64::MAX);
    let instance = Instance::new(&roomy);
    let free = Free::new(&instance, effort);
    if !free.is_possible(&vec![u64::MAX; capacities.len()]) {
        return Some(why);
    }
    let mut left = capacities.clone();
    for row in 0..left.len() {
        let kept = std::mem::replace(&mut left[row], u64::MAX);
        if free.is_possible(&left) {
            left[row] = kept;
            why.conflict.push(instance.limits[row]);
        }
    }
    let mut capacity: Vec<(u64, Relaxation)> = vec![];
    for (row, limit) in instance.limits.iter().enumerate() {
        let Some(least) = free.least_use(row, &capacities) else { continue };
        let more = larger(problem, *limit, least).saturating_sub(options::capacity_of_one(problem, *limit));
        let relative =
            u128::from(more) * 1_000_000_000 / u128::from(options::capacity_of_one(problem, *limit).max(1));
        capacity.push((u64::try_from(relative).unwrap_or(u64::MAX), Relaxation::Capacity(*limit, more)));
    }
    capacity.sort_by_key(|(relative, _)| *relative);
    if capacity.is_empty() {
        why.together = together(problem, &instance, &free, capacities);
    }
    why.relaxations.splice(0..0, capacity.into_iter().map(|(_, change)| change));
    Some(why)
}

/// Capacity of one place of a row that offers so many units in all.
fn larger(problem: &Problem, limit: Limit, units: u64) -> u64 {
    let all = |each: u64| options::with_capacity_of_one(problem, limit, each);
    let (mut low, mut high) = (0, units.max(options::capacity_of_one(problem, limit)));
    if all(high) < units {
        high = u64::MAX;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if all(middle) >= units { high = middle } else { low = middle + 1 }
    }
    low
}

/// Units of rows that are enough together: rows are lifted until there is an allocation, and then each is lowered as far as the others allow.
fn together(
    problem: &Problem,
    instance: &Instance<'_>,
    free: &Free<'_>,
    mut capacities: Vec<u64>,
) -> Vec<(Limit, u64)> {
    let mut lifted = vec![];
    for row in 0..capacities.len() {
        if free.is_possible(&capacities) {
            break;
        }
        lifted.push(row);
        capacities[row] = u64::MAX;
    }
    let mut found = vec![];
    for row in lifted {
        let Some(least) = free.least_use(row, &capacities) else { return vec![] };
        let limit = instance.limits[row];
        capacities[row] = least.max(options::capacity(problem, limit));
        let more = larger(problem, limit, least).saturating_sub(options::capacity_of_one(problem, limit));
        if more > 0 {
            found.push((limit, more));
        }
    }
    found
}

fn without_costs(group: &[Item]) -> Vec<Item> {
    group.iter().map(|item| Item { cost: 0, uses: item.uses.clone() }).collect()
}

struct Free<'a> {
    items: Vec<Vec<Item>>,
    effort: &'a Effort,
}

impl<'a> Free<'a> {
    fn new(instance: &Instance<'_>, effort: &'a Effort) -> Free<'a> {
        Free { items: instance.items.iter().map(|group| without_costs(group)).collect(), effort }
    }

    fn is_possible(&self, capacities: &[u64]) -> bool {
        choose(&self.items, capacities, self.effort).is_ok()
    }

    /// The least units of a row with which there is an allocation.
    fn least_use(&self, row: usize, capacities: &[u64]) -> Option<u64> {
        let priced = |item: &Item| Item { cost: i128::from(item.uses[row]), uses: item.uses.clone() };
        let items: Vec<Vec<Item>> =
            self.items.iter().map(|group| group.iter().map(priced).collect()).collect();
        let mut capacities = capacities.to_vec();
        capacities[row] = u64::MAX;
        let chosen = choose(&items, &capacities, self.effort).ok()?;
        u64::try_from(chosen.cost).ok()
    }
}

/// Apps without a place.
fn alone(problem: &Problem) -> Vec<Alone> {
    let one = |(at, app): (usize, &crate::App)| match (&app.at_switch, app.affinity) {
        (Err(why), Affinity::High) => Some(Alone::NotAtSwitch(at, why.clone())),
        (Ok(place), Affinity::High) => {
            let all = app.flows.flows();
            let units = place.units(problem.switch.len(), all);
            let (row, needs) =
                (0..).zip(units).find(|(row, units)| *units > problem.switch[*row].capacity)?;
            let flows_that_fit = options::most_alone(problem, place, all);
            Some(Alone::TooLarge(TooLarge { app: at, row, needs, flows_that_fit }))
        }
        _ if app.at_classes.iter().all(Result::is_err) => {
            let why = app.at_classes.iter().filter_map(|place| place.as_ref().err().cloned()).collect();
            Some(Alone::NoClass(at, why))
        }
        _ => None,
    };
    problem.apps.iter().enumerate().filter_map(one).collect()
}

/// Other affinities and fewer flows of single apps.
fn changed_apps(problem: &Problem, effort: &Effort) -> Vec<Relaxation> {
    let is_possible = |problem: &Problem| {
        let instance = Instance::new(problem);
        Free::new(&instance, effort).is_possible(&instance.capacities(&vec![WHOLE; problem.classes.len()]))
    };
    let mut found = vec![];
    for app in 0..problem.apps.len().min(MOST_TRIED) {
        let mut changed = problem.clone();
        if changed.apps[app].affinity != Affinity::Medium {
            changed.apps[app].affinity = Affinity::Medium;
            if is_possible(&changed) {
                found.push(Relaxation::Medium(app));
            }
            changed.apps[app].affinity = problem.apps[app].affinity;
        }
        let mut with = |flows: u64| {
            changed.apps[app].flows = problem.apps[app].flows.first(flows);
            is_possible(&changed)
        };
        // Bisection: fewer flows never take more.
        let (mut low, mut high) = (0, problem.apps[app].flows.flows());
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if with(middle) { low = middle } else { high = middle - 1 }
        }
        if low > 0 {
            found.push(Relaxation::Flows(app, low));
        }
    }
    found
}
