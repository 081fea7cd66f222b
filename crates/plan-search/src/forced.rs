//! Lower bounds on plans in which a given region runs on a given group of devices.
//!
//! If the bound exceeds the goal, the region is not tried on the group. In a set of plans with charged devices of a
//! class, some region runs there in every plan, so the smallest of these bounds is a bound for the set.

use crate::charges::{Charges, Counts};
use crate::price::{Distances, Graph, NEVER, Partial, Prices, ceil, part_of};
use crate::problem::Problem;
use crate::scarce::What;
use smallvec::SmallVec;

/// Fixed-point one for the weight of a path.
const WHOLE: i64 = 1 << 20;

/// Lower bound on an objective at the ends if the region runs on the group, by region and group.
pub type Forced = Vec<Vec<i64>>;

/// Minimum cost, and the part of the weight that is counted; `None` for a region that was not reached.
type Part = Option<(i64, i64)>;

/// For each level and class: lower bounds on the final cost of plans in which one of the remaining charged regions runs
/// there, in ascending order, as many as devices must be paid for.
pub type Opened = Vec<Vec<SmallVec<[i64; 12]>>>;

/// The graph of an objective without multipliers.
pub struct Known<'k> {
    /// The path variable.
    pub var: usize,
    /// Class of each group of equal devices.
    pub class: &'k [usize],
    /// Groups on which each region may run.
    pub allowed: &'k [Vec<usize>],
    /// Minimum growth of the variable, by region and class.
    pub grows: &'k [Vec<i64>],
    /// Minimum cost of passing from group to group.
    pub distances: &'k Distances,
}

/// From the longest path to each region, and from it on (`ahead`).
pub fn along(problem: &Problem, known: &Known, ahead: &[Vec<i64>]) -> Forced {
    let mut after: Vec<Vec<i64>> = vec![vec![NEVER; known.class.len()]; problem.nodes.len()];
    for &node in &problem.order {
        let region = &problem.nodes[node];
        for &group in &known.allowed[node] {
            let from = |arc: &usize| {
                let before = problem.arcs[*arc].from;
                let distances = known.allowed[before].iter().map(|place| {
                    after[before][*place].saturating_add(known.distances.add(*arc, *place, group))
                });
                distances.min().unwrap_or(NEVER)
            };
            let begins = region.into.iter().map(from).max().unwrap_or(region.start[known.var].1);
            after[node][group] = begins.saturating_add(known.grows[node][known.class[group]]);
        }
    }
    for (after, ahead) in after.iter_mut().zip(ahead) {
        after.iter_mut().zip(ahead).for_each(|(after, ahead)| *after = after.saturating_add(*ahead));
    }
    after
}

/// Lower bounds for devices that are still to be opened; `forced` is by objective.
pub fn opened(
    problem: &Problem,
    charges: &Charges,
    counts: &Counts,
    class: &[usize],
    allowed: &[Vec<usize>],
    forced: Option<&Forced>,
) -> Opened {
    let mut opened: Opened = vec![vec![SmallVec::new(); problem.classes]; problem.order.len() + 1];
    for level in (0..problem.order.len()).rev() {
        let node = problem.order[level];
        let mut now = opened[level + 1].clone();
        for (of, ends) in now.iter_mut().enumerate() {
            let most = usize::from(counts.least[of]);
            let here = allowed[node].iter().filter(|group| class[**group] == of);
            let end = here.map(|group| forced.map_or(i64::MIN, |forced| forced[node][*group])).min();
            let Some(end) = end.filter(|end| *end < NEVER && most > 0 && charges.is_charged(node, of)) else {
                continue;
            };
            let place = ends.partition_point(|other| *other <= end);
            ends.insert(place, end);
            ends.truncate(most);
        }
        opened[level] = now;
    }
    opened
}

impl Graph<'_> {
    /// [`along`] with multipliers, for a problem without placed regions. If arms join, each arm has a copy of the regions after the join, with a part of the weight. A region runs on its group in all
    /// copies; the copy with the highest cost counts.
    pub fn forced(&self, prices: &Prices, root: &Partial) -> Forced {
        let problem = self.problem;
        let weight = prices.weights();
        let walk = self.walk(root, prices.multipliers(), weight);
        let (cost, follows) = (&walk.cost, walk.prices.follows());
        // Values are rounded down, by different amounts.
        let exact = 4 * (problem.nodes.len() + problem.arcs.len()) as i64;
        let mut forced: Vec<Vec<Part>> = self.allowed.iter().map(|groups| vec![None; groups.len()]).collect();
        for &node in &problem.order {
            let region = &problem.nodes[node];
            if region.into.is_empty() {
                let least = cost[node].iter().copied().min().unwrap_or(NEVER);
                for (forced, cost) in forced[node].iter_mut().zip(&cost[node]) {
                    let end = if *cost == NEVER { NEVER } else { walk.sum.saturating_add(cost - least) };
                    *forced = Some((end, WHOLE));
                }
            }
            for &arc in &region.out {
                let to = problem.arcs[arc].to;
                let (part, of) = self.part(arc, weight);
                let of_class = |what| -> Vec<i64> {
                    (0..problem.classes)
                        .map(|class| self.multiplier_of(prices.multipliers(), what, class, arc))
                        .collect()
                };
                let (leaves, enters) = (of_class(What::Out), of_class(What::Into));
                for (at, next) in self.allowed[to].iter().enumerate() {
                    let mut least = (NEVER, WHOLE);
                    for (place, group) in self.allowed[node].iter().enumerate() {
                        let (before, scale) = forced[node][place].unwrap_or((NEVER, WHOLE));
                        let distance = self.pass(arc, *group, *next);
                        if before == NEVER || distance == NEVER || cost[to][at] == NEVER {
                            continue;
                        }
                        let share = i128::from(part_of(cost[to][at], part, of));
                        let mut here = i128::from(distance) * i128::from(weight[arc]) + share;
                        if group != next {
                            here += i128::from(leaves[self.class[*group]])
                                + i128::from(enters[self.class[*next]]);
                        }
                        let more =
                            (here - i128::from(follows[arc][*group])) * i128::from(scale) / i128::from(WHOLE);
                        let end = i64::try_from(i128::from(before) + more.max(0)).unwrap_or(NEVER);
                        least = (least.0.min(end), least.1.min(part_of(scale, part, of)));
                    }
                    let known = &mut forced[to][at];
                    if known.is_none_or(|(end, _)| least.0 > end) {
                        *known = Some(least);
                    }
                }
            }
        }
        let by_group = |(groups, forced): (&Vec<usize>, &Vec<Part>)| {
            let mut row = vec![NEVER; self.class.len()];
            for (group, forced) in groups.iter().zip(forced) {
                let end = forced.map_or(NEVER, |(end, _)| end);
                row[*group] = if end == NEVER { NEVER } else { ceil(end.saturating_sub(exact)) };
            }
            row
        };
        self.allowed.iter().zip(&forced).map(by_group).collect()
    }
}
