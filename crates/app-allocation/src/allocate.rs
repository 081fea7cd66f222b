//! The best allocation of a problem.

use crate::choose::{Effort, Failed, Item, choose};
use crate::distribution::ONE;
use crate::options::{self, Decision, Limit};
use crate::problem::Problem;

/// All of the traffic, in the unit of throughput.
pub const WHOLE: u64 = 1_000_000_000;

/// The objective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Objective {
    /// Least mean latency. No helper is overloaded.
    Latency,
    /// Most throughput: the traffic of the class that takes the smallest part of it is maximised, then that of the next, and so on. Latency decides among equals.
    Throughput,
}

/// Where each app's flows are processed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// For each app of the problem.
    pub apps: Vec<AppPlan>,
    /// All rows, with the units that are used.
    pub used: Vec<Used>,
    /// Mean latency of a packet, in picoseconds.
    pub latency: u64,
    /// No allocation has a smaller latency; less than `latency` only if the search ended early.
    pub least_latency: u64,
    /// The share of its traffic that each class takes, in billionths; those with less are overloaded.
    pub throughput: Vec<u64>,
    /// Sum over apps of weight, latency and share, in units of `ONE`: exact, for comparisons.
    pub cost: i128,
    /// The optimum is proven.
    pub is_optimal: bool,
}

/// An app's part of an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppPlan {
    /// Class of the helpers that hold its flows.
    pub home: Option<usize>,
    /// Number of the most popular flows, which are at the switch.
    pub flows: u64,
    /// Share of the app's traffic on these flows, of [`ONE`].
    pub share: u64,
    /// Mean latency of its packets, in picoseconds.
    pub latency: u64,
}

/// Use of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    /// The row.
    pub limit: Limit,
    /// Units that apps take.
    pub used: u64,
    /// Units that there are.
    pub capacity: u64,
}

/// Why there is no allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoAllocation {
    /// None exists: [`crate::why_not`] has the reasons.
    Impossible,
    /// The search gave up before it found one.
    GaveUp,
}

/// The best allocation.
pub fn allocate(
    problem: &Problem,
    objective: Objective,
    effort: &Effort,
) -> Result<Allocation, NoAllocation> {
    let instance = Instance::new(problem);
    let throughput = match objective {
        Objective::Latency => vec![WHOLE; problem.classes.len()],
        Objective::Throughput => instance.throughput(effort).map_err(no_allocation)?,
    };
    let capacities = instance.capacities(&throughput);
    let chosen = choose(&instance.items, &capacities, effort).map_err(no_allocation)?;
    Ok(instance.allocation(&chosen.picks, chosen.cost, chosen.bound, throughput))
}

fn no_allocation(failed: Failed) -> NoAllocation {
    match failed {
        Failed::Impossible => NoAllocation::Impossible,
        Failed::GaveUp => NoAllocation::GaveUp,
    }
}

/// A problem as groups of items.
pub(crate) struct Instance<'p> {
    pub problem: &'p Problem,
    pub limits: Vec<Limit>,
    pub decisions: Vec<Vec<Decision>>,
    pub items: Vec<Vec<Item>>,
}

impl<'p> Instance<'p> {
    pub(crate) fn new(problem: &'p Problem) -> Instance<'p> {
        let (decisions, items) = problem.apps.iter().map(|app| options::items(problem, app)).unzip();
        Instance { problem, limits: options::limits(problem), decisions, items }
    }

    /// Units of each row, where each class takes this part of its traffic.
    pub(crate) fn capacities(&self, throughput: &[u64]) -> Vec<u64> {
        let one = |limit: &Limit| {
            let capacity = options::capacity(self.problem, *limit);
            match limit.rate_of().map(|class| throughput[class]) {
                None | Some(WHOLE) => capacity,
                Some(0) => u64::MAX,
                Some(part) => {
                    let more = u128::from(capacity) * u128::from(WHOLE) / u128::from(part);
                    u64::try_from(more).unwrap_or(u64::MAX)
                }
            }
        };
        self.limits.iter().map(one).collect()
    }

    /// The allocation with this decision of each app, by its number.
    fn allocation(&self, picks: &[usize], cost: i128, bound: i128, throughput: Vec<u64>) -> Allocation {
        let problem = self.problem;
        let weight = i128::from(problem.weight());
        let mean = |cost: i128| u64::try_from(cost / weight / i128::from(ONE)).unwrap_or(0);
        let apps = problem.apps.iter().zip(picks).enumerate().map(|(at, (app, pick))| {
            let decision = self.decisions[at][*pick];
            let own = self.items[at][*pick].cost / i128::from(app.weight.max(1)) / i128::from(ONE);
            AppPlan {
                home: decision.home,
                flows: decision.flows,
                share: app.flows.share(decision.flows),
                latency: u64::try_from(own).unwrap_or(0),
            }
        });
        let used = |(row, limit): (usize, &Limit)| {
            let item = |(at, pick): (usize, &usize)| self.items[at][*pick].uses[row];
            let used = picks.iter().enumerate().map(item).fold(0, u64::saturating_add);
            Used { limit: *limit, used, capacity: options::capacity(problem, *limit) }
        };
        Allocation {
            apps: apps.collect(),
            used: self.limits.iter().enumerate().map(used).collect(),
            latency: mean(cost),
            least_latency: mean(bound),
            throughput,
            cost,
            is_optimal: bound == cost,
        }
    }
}
