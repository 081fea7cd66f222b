//! Lower bounds on a path variable when devices are scarce, by Lagrangian decomposition (Guignard and Kim, 1987).
//!
//! Each region r has a multiplier t(c, r) for each scarce resource of class c. With n_c devices of class c, no plan costs less than
//!
//! ```text
//! min over paths p of ( length(p) + sum over r of t(class of r in p, r) ) - sum over c of n_c x max over sets S that fit on a device of c ( sum over r in S of t(c, r) )
//! ```
//!
//! The maximum is a knapsack ([`crate::knapsack`]). Where a program branches, the arms have weights that add up to one: the slowest arm counts, and a weighted mean is at most that.
//! Multipliers and weights come from a subgradient method (Held, Wolfe and Crowder, 1974): the use on the cheapest paths minus the use chosen by the knapsacks.
//!
//! All numbers are integers, in steps of 1/1024. Rounding never raises the bound.

use crate::knapsack::Knapsack;
use crate::label::{Label, Live};
use crate::problem::Problem;
use crate::rows::Rows;
use crate::scarce::{Scarce, What};
use crate::within_group::WithinGroup;
use smallvec::SmallVec;

/// No path.
pub const NEVER: i64 = i64::MAX;
/// The weight of all that enters programs.
const UNIT: i64 = 1 << 10;
/// Number of parts in which the flow on the cheapest paths is counted.
const MASS: i64 = 1 << 20;

/// Steps without a better bound after which the distance to the value aimed at is halved.
const PATIENCE: usize = 10;

/// The graph of one objective: regions, groups of equal devices, and their contributions to the path variable.
pub struct Graph<'g> {
    /// The problem.
    pub problem: &'g Problem,
    /// Position of each region in the topological order.
    pub rank: &'g [usize],
    /// Group of equal devices of each device.
    pub group: &'g [usize],
    /// Class of each group of equal devices.
    pub class: &'g [usize],
    /// Groups on which each region may run.
    pub allowed: &'g [Vec<usize>],
    /// The path variable.
    pub var: usize,
    /// Minimum growth of the variable, by region and class.
    pub grows: &'g [Vec<i64>],
    /// Least growth between groups.
    pub distance: &'g Distances,
    /// Scarce resources.
    pub scarce: &'g [Scarce],
    /// Hand-overs within a group.
    pub within_group: &'g WithinGroup,
}

/// Least growth of a path variable by hand-overs from group to group.
pub struct Distances {
    groups: usize,
    between: Vec<i64>,
    leaves: Vec<Vec<i64>>,
}

impl Distances {
    /// `between` has a row for each group; `leaves` says for each edge and group what leaving it there adds.
    pub fn new(groups: usize, between: Vec<i64>, leaves: Vec<Vec<i64>>) -> Distances {
        Distances { groups, between, leaves }
    }

    /// The least distances between classes of groups; `class` is by group. Between two devices of a class they are those of the nearest two.
    pub fn merged(&self, class: &[usize], classes: usize) -> Distances {
        let mut between = vec![NEVER; classes * classes];
        for (from, a) in class.iter().enumerate() {
            for (to, b) in class.iter().enumerate() {
                let least = &mut between[a * classes + b];
                *least = (*least).min(self.between[from * self.groups + to]);
            }
        }
        let merged = |leaves: &Vec<i64>| {
            let mut least = vec![NEVER; classes];
            class.iter().zip(leaves).for_each(|(class, leaves)| least[*class] = least[*class].min(*leaves));
            least
        };
        Distances { groups: classes, between, leaves: self.leaves.iter().map(merged).collect() }
    }

    /// The largest finite distance.
    pub fn most(&self) -> i64 {
        let all = self.between.iter().chain(self.leaves.iter().flatten());
        all.copied().filter(|distance| *distance < NEVER).max().unwrap_or(0)
    }

    /// Over an edge, to another device of the same group; [`NEVER`] if it has none.
    pub fn apart(&self, arc: usize, group: usize) -> i64 {
        self.between[group * self.groups + group].saturating_add(self.leaves[arc][group])
    }

    /// Over an edge; zero within a group, because the device may be the same.
    pub fn add(&self, arc: usize, from: usize, to: usize) -> i64 {
        match from == to {
            true => 0,
            false => self.between[from * self.groups + to].saturating_add(self.leaves[arc][from]),
        }
    }
}

/// Multipliers, weights and the costs that follow from them.
#[derive(Clone, Debug)]
pub struct Prices {
    /// Weight of each edge; [`UNIT`] is one.
    weight: Vec<i64>,
    /// Multipliers t(c, r), by scarce resource and region or edge.
    multiplier: Vec<Vec<i64>>,
    /// Minimum cost of the paths that leave a region in the group over the edge, by edge and group.
    follows: Rows,
    /// Minimum cost of the programs that have not started, by level.
    starts: Vec<i64>,
    /// Knapsacks, by scarce resource.
    takes: Vec<Knapsack>,
    /// Lower bound for the whole problem.
    pub least: i64,
}

impl Prices {
    /// A lower bound on the variable at the ends of all completions of a label.
    pub fn end(&self, graph: &Graph, of: &Partial) -> i64 {
        let mut sum = self.starts[of.level];
        for (arc, live) in graph.ahead(of) {
            let behind = self.follows[arc][graph.group[live.device]];
            // The knapsacks subtracted below would turn NEVER into a finite number.
            if behind == NEVER {
                return NEVER;
            }
            sum += behind;
        }
        for (arc, live) in graph.ahead(of) {
            sum = sum.saturating_add(self.weight[arc].saturating_mul(live.after[graph.var].1));
        }
        // The Lagrangian gives back the multipliers of the best set that still fits on each device.
        for (thing, takes) in graph.scarce.iter().zip(&self.takes) {
            for (free, mask, devices) in of.frees(graph, thing) {
                sum -= takes.most(of.level, mask, free).saturating_mul(devices);
            }
        }
        ceil(sum)
    }

    /// Weight of each edge; [`UNIT`] is one.
    pub fn weights(&self) -> &[i64] {
        &self.weight
    }

    /// The cheapest paths of the whole problem, in steps of 1/1024, before the knapsacks are subtracted.
    pub fn paths(&self) -> i64 {
        self.starts[0]
    }

    /// Multipliers, by scarce resource and region or edge.
    pub fn multipliers(&self) -> &[Vec<i64>] {
        &self.multiplier
    }

    /// Minimum cost of the paths that leave a region in the group over the edge, by edge and group.
    pub fn follows(&self) -> &Rows {
        &self.follows
    }

    /// Decrease of the bound by one more device of the class.
    pub fn of_class(&self, scarce: &[Scarce], class: usize) -> i64 {
        let scarce = scarce.iter().zip(&self.takes).filter(|(thing, _)| thing.class == class);
        scarce.map(|(thing, takes)| takes.most(0, 0, thing.free(thing.size))).fold(0, i64::saturating_add)
    }
}

/// A partial plan whose completions are bounded.
#[derive(Clone, Copy)]
pub struct Partial<'l> {
    /// The partial plan.
    pub label: &'l Label,
    /// Number of placed regions.
    pub level: usize,
    /// Rate and its minimum: the factor by which completions load links more than the general minimum.
    pub faster: (i64, i64),
}

impl Partial<'_> {
    /// For each device: free units of a scarce resource, the mask of earlier regions there, and the number of such devices.
    pub fn frees(&self, graph: &Graph, thing: &Scarce) -> SmallVec<[(usize, usize, i64); 8]> {
        let problem = graph.problem;
        let (rate, least) = self.faster;
        // Free capacity at the least rate.
        let free = |free: i64| match thing.what {
            What::Region => thing.free(free),
            What::Into | What::Out => {
                thing.free((i128::from(free.max(0)) * i128::from(least) / i128::from(rate)) as i64)
            }
        };
        let mut frees = SmallVec::new();
        let mut unused = thing.devices as i64;
        for device in &self.label.uses {
            if problem.class[device.device] == thing.class && (device.is_paid || !thing.is_paid) {
                unused -= 1;
                let mask = if thing.is_exact {
                    graph.within_group.mask(self.label, self.level, device.device)
                } else {
                    0
                };
                frees.push((free(thing.size.saturating_sub(device.values[thing.place])), mask, 1));
            }
        }
        if unused > 0 {
            frees.push((free(thing.size), 0, unused));
        }
        frees
    }
}

/// Whole units of steps of 1/1024, rounded up.
pub fn ceil(sum: i64) -> i64 {
    sum.saturating_add(UNIT - 1).div_euclid(UNIT)
}

/// `whole` x `part` / `of`, rounded down.
pub fn part_of(whole: i64, part: i64, of: i64) -> i64 {
    if part == of {
        return whole;
    }
    (i128::from(whole) * i128::from(part)).div_euclid(i128::from(of)) as i64
}

/// One backward pass with given multipliers and weights, and its cheapest paths.
pub struct Walk {
    /// Multipliers and weights, and the costs that follow from them.
    pub prices: Prices,
    /// Minimum cost from the region to the end, by region and position of the group.
    pub cost: Rows,
    /// The bound, in steps of 1/1024.
    pub sum: i64,
    /// Cheapest group after the edge, by edge and position of the group before it.
    choice: Rows,
    /// Growth of the variable on the cheapest paths that start with the region, by region and position of the group.
    grown: Rows,
    start: Vec<(usize, usize)>,
    /// Scarce resource, devices, and the set chosen by the knapsack.
    taken: Vec<(usize, i64, Vec<usize>)>,
}

impl Graph<'_> {
    /// Edges to regions that are not placed, from live ones.
    fn ahead<'l>(&'l self, of: &Partial<'l>) -> impl Iterator<Item = (usize, &'l Live)> + use<'l> {
        let level = of.level;
        of.label.live.iter().flat_map(move |live| {
            let out = self.problem.nodes[live.node].out.iter();
            let ahead = out.filter(move |arc| self.rank[self.problem.arcs[**arc].to] >= level);
            ahead.map(move |arc| (*arc, live))
        })
    }

    /// The best multipliers of `steps` subgradient steps; stops early if the bound reaches `goal`. `None` if there is no plan. `multiplier` is the start value and the result.
    pub fn prices(
        &self,
        of: &Partial,
        multiplier: &mut Vec<Vec<i64>>,
        weight: Option<&[i64]>,
        goal: Option<i64>,
        steps: usize,
    ) -> Option<Prices> {
        let mut weight = weight.map_or_else(|| self.first_weights(), <[i64]>::to_vec);
        let mut along: Vec<Vec<i64>> = self.scarce.iter().map(|thing| vec![0; thing.uses.len()]).collect();
        let mut best: Option<Prices> = None;
        let (mut reach, mut idle) = (None, 0);
        for step in 0..steps.max(1) {
            let walk = self.walk(of, multiplier, &weight);
            let least = walk.prices.least;
            if least == NEVER {
                return None;
            }
            let (over, longer) = self.follow(of, &walk, &weight);
            let is_better = best.as_ref().is_none_or(|best| least > best.least);
            if is_better {
                best = Some(walk.prices);
            }
            if step + 1 >= steps || goal.is_some_and(|goal| least >= goal) {
                break;
            }
            let high = best.as_ref().map_or(least, |best| best.least);
            // The aim comes closer if it is not reached.
            let far =
                reach.get_or_insert_with(|| goal.unwrap_or(0).saturating_sub(high).max(high >> 3).max(1));
            idle = if is_better { 0 } else { idle + 1 };
            if idle >= PATIENCE {
                (*far, idle) = (*far / 2, 0);
            }
            let far = *far;
            let gap = i128::from(high) + i128::from(far) - i128::from(least);
            let moved =
                self.charge(multiplier, &over, &mut along, gap) | self.reweigh(&mut weight, &longer, gap);
            if !moved || far == 0 {
                break;
            }
        }
        let mut best = best?;
        best.takes = (0..self.scarce.len())
            .map(|at| self.knapsack(of.level, at, &best.multiplier[at], &best.weight))
            .collect();
        multiplier.clone_from(&best.multiplier);
        Some(best)
    }

    /// Programs share the weight equally, and so do the edges that leave a region.
    fn first_weights(&self) -> Vec<i64> {
        let problem = self.problem;
        let mut weight = vec![0; problem.arcs.len()];
        for &node in &problem.order {
            let region = &problem.nodes[node];
            let whole = self.weight_of(node, &weight);
            let arms = region.out.len() as i64;
            for (at, arc) in region.out.iter().enumerate() {
                weight[*arc] = whole / arms + i64::from((at as i64) < whole % arms);
            }
        }
        weight
    }

    fn weight_of(&self, node: usize, weight: &[i64]) -> i64 {
        let problem = self.problem;
        let into = &problem.nodes[node].into;
        if into.is_empty() {
            let starts = || problem.order.iter().filter(|n| problem.nodes[**n].into.is_empty());
            let (count, at) =
                (starts().count() as i64, starts().take_while(|start| **start != node).count() as i64);
            return UNIT / count + i64::from(at < UNIT % count);
        }
        into.iter().map(|arc| weight[*arc]).sum()
    }

    /// The part of a region's cost that an edge to it costs: by weight; without any, the first one all.
    pub fn part(&self, arc: usize, weight: &[i64]) -> (i64, i64) {
        let to = self.problem.arcs[arc].to;
        match self.weight_of(to, weight) {
            0 => (i64::from(self.problem.nodes[to].into.first() == Some(&arc)), 1),
            whole => (weight[arc], whole),
        }
    }

    /// Backward pass over all regions that are not placed.
    pub fn walk(&self, of: &Partial, multiplier: &[Vec<i64>], weight: &[i64]) -> Walk {
        let problem = self.problem;
        let groups = self.class.len();
        let mut follows = Rows::new(problem.arcs.iter().map(|_| groups), NEVER);
        let mut choice = Rows::new(problem.arcs.iter().map(|arc| self.allowed[arc.from].len()), 0);
        let mut grown = Rows::new(self.allowed.iter().map(Vec::len), 0);
        let mut cost = Rows::new(self.allowed.iter().map(Vec::len), NEVER);
        let mut starts = vec![0i64; problem.order.len() + 1];
        let mut start = vec![];
        let places = self.places();
        let paid = |what: What, class: usize, item: usize| {
            places[class][what as usize]
                .iter()
                .fold(0i64, |sum, at| sum.saturating_add(multiplier[*at][item]))
        };
        for (level, &node) in problem.order.iter().enumerate().rev() {
            let region = &problem.nodes[node];
            let is_ahead = |arc: &usize| self.rank[problem.arcs[*arc].to] >= of.level;
            if level < of.level && !region.out.iter().any(is_ahead) {
                continue;
            }
            // Growth counts by the weight of the region: the sum of the weights of its incoming edges.
            let whole = self.weight_of(node, weight);
            let entered = |arc: &usize| -> SmallVec<[i64; 8]> {
                (0..problem.classes).map(|class| paid(What::Into, class, *arc)).collect()
            };
            let enters: SmallVec<[SmallVec<[i64; 8]>; 4]> = region.out.iter().map(entered).collect();
            for (place, &group) in self.allowed[node].iter().enumerate() {
                let class = self.class[group];
                let mut sum = self.grows[node][class].saturating_mul(whole);
                sum = sum.saturating_add(paid(What::Region, class, node));
                let mut far = 0i64;
                for (&arc, enter) in region.out.iter().zip(&enters).filter(|(arc, _)| is_ahead(arc)) {
                    let to = problem.arcs[arc].to;
                    let (part, of) = self.part(arc, weight);
                    let leave = paid(What::Out, class, arc);
                    let mut best = (NEVER, 0);
                    for (at, &next) in self.allowed[to].iter().enumerate() {
                        let distance = self.pass(arc, group, next);
                        if distance == NEVER || cost[to][at] == NEVER {
                            continue;
                        }
                        let share = part_of(cost[to][at], part, of);
                        let mut cost = distance.saturating_mul(weight[arc]).saturating_add(share);
                        if group != next {
                            cost = cost.saturating_add(leave).saturating_add(enter[self.class[next]]);
                        }
                        best = best.min((cost, at));
                    }
                    follows[arc][group] = best.0;
                    choice[arc][place] = best.1 as i64;
                    sum = sum.saturating_add(best.0);
                    if best.0 < NEVER {
                        let more = self
                            .distance
                            .add(arc, group, self.allowed[to][best.1])
                            .saturating_add(grown[to][best.1]);
                        far = far.max(more);
                    }
                }
                cost[node][place] = sum;
                grown[node][place] = self.grows[node][class].saturating_add(far);
            }
            starts[level] = starts[level + 1];
            if region.into.is_empty() && level >= of.level {
                let best = (0..cost[node].len()).min_by_key(|at| cost[node][*at]);
                let best = best.filter(|at| cost[node][*at] < NEVER);
                starts[level] = match best {
                    Some(at) => {
                        start.push((node, at));
                        let begins = region.start[self.var].1.saturating_mul(whole);
                        starts[level].saturating_add(cost[node][at]).saturating_add(begins)
                    }
                    None => NEVER,
                };
            }
        }
        let mut sum = starts[of.level.min(problem.order.len())];
        for live in &of.label.live {
            for arc in &problem.nodes[live.node].out {
                if self.rank[problem.arcs[*arc].to] >= of.level {
                    let behind = follows[*arc][self.group[live.device]];
                    sum = sum
                        .saturating_add(behind)
                        .saturating_add(weight[*arc].saturating_mul(live.after[self.var].1));
                }
            }
        }
        let mut taken = vec![];
        for (at, (thing, multiplier)) in self.scarce.iter().zip(multiplier).enumerate() {
            let knapsack: Knapsack = self.knapsack(of.level, at, multiplier, weight);
            for (free, mask, devices) in of.frees(self, thing) {
                let most = knapsack.most(of.level, mask, free);
                let items = self.taken(&knapsack, at, multiplier, (of.level, mask, free));
                sum = if sum == NEVER { NEVER } else { sum.saturating_sub(most.saturating_mul(devices)) };
                taken.push((at, devices, items));
            }
        }
        let least = if sum == NEVER { NEVER } else { ceil(sum) };
        let prices = Prices {
            weight: weight.to_vec(),
            multiplier: multiplier.to_vec(),
            follows,
            starts,
            takes: vec![],
            least,
        };
        Walk { prices, cost, sum, choice, grown, start, taken }
    }

    /// Growth of the variable over an edge. Within a group, it is that of another device; a device with both ends gets it back in the knapsack.
    pub fn pass(&self, arc: usize, from: usize, to: usize) -> i64 {
        if from == to { self.within_group.cost(arc, from) } else { self.distance.add(arc, from, to) }
    }

    /// Scarce resources by class and kind.
    fn places(&self) -> Vec<[SmallVec<[usize; 4]>; 3]> {
        let mut places = vec![<[SmallVec<[usize; 4]>; 3]>::default(); self.problem.classes];
        for (at, thing) in self.scarce.iter().enumerate() {
            places[thing.class][thing.what as usize].push(at);
        }
        places
    }

    /// Sum of the multipliers of an edge.
    pub fn multiplier_of(&self, multiplier: &[Vec<i64>], what: What, class: usize, arc: usize) -> i64 {
        let scarce = self
            .scarce
            .iter()
            .zip(multiplier)
            .filter(|(thing, _)| thing.what == what && thing.class == class);
        scarce.map(|(_, multiplier)| multiplier[arc]).fold(0, i64::saturating_add)
    }

    /// Returns the subgradient in parts of [`MASS`], by scarce resource and region or edge: use on the cheapest paths minus use chosen by the knapsacks.
    /// Also returns the length of the paths after each edge.
    fn follow(&self, of: &Partial, walk: &Walk, weight: &[i64]) -> (Vec<Vec<i64>>, Vec<i64>) {
        let problem = self.problem;
        let mut mass = Rows::new(self.allowed.iter().map(Vec::len), 0);
        walk.start.iter().for_each(|(node, at)| mass[*node][*at] = MASS);
        for live in &of.label.live {
            let group = self.group[live.device];
            if let Some(at) = self.allowed[live.node].iter().position(|known| *known == group) {
                mass[live.node][at] = MASS;
            }
        }
        let mut over: Vec<Vec<i64>> = self.scarce.iter().map(|thing| vec![0; thing.uses.len()]).collect();
        let mut longer = vec![0i64; problem.arcs.len()];
        let places = self.places();
        for &node in &problem.order {
            for place in 0..mass[node].len() {
                let here = mass[node][place];
                if here == 0 {
                    continue;
                }
                let group = self.allowed[node][place];
                let class = self.class[group];
                let mut add = |what: What, class: usize, item: usize| {
                    for at in &places[class][what as usize] {
                        if self.scarce[*at].takes[item] {
                            over[*at][item] += here;
                        }
                    }
                };
                // Regions that are placed already have no multipliers.
                if self.rank[node] >= of.level {
                    add(What::Region, class, node);
                }
                for &arc in
                    problem.nodes[node].out.iter().filter(|arc| self.rank[problem.arcs[**arc].to] >= of.level)
                {
                    let to = problem.arcs[arc].to;
                    let at = walk.choice[arc][place] as usize;
                    // An arm of a branch gets its weight of the mass: the slowest arm counts, and the weights look for it.
                    let (part, of) = self.part(arc, weight);
                    let next = self.allowed[to][at];
                    if next != group {
                        add(What::Out, class, arc);
                        add(What::Into, self.class[next], arc);
                    }
                    mass[to][at] += part_of(here, part, of);
                    let far = self
                        .distance
                        .add(arc, group, self.allowed[to][at])
                        .saturating_add(walk.grown[to][at]);
                    longer[arc] = longer[arc].max(far);
                }
            }
        }
        for (at, devices, items) in &walk.taken {
            items.iter().for_each(|item| over[*at][*item] -= MASS * devices);
        }
        (over, longer)
    }

    /// A step along `along`, which is moved towards `over`.
    fn charge(
        &self,
        multiplier: &mut [Vec<i64>],
        over: &[Vec<i64>],
        along: &mut [Vec<i64>],
        gap: i128,
    ) -> bool {
        // Each kind of multiplier gets a part of the step.
        let mut norm = [0i128; 3];
        for (at, (over, along)) in over.iter().zip(along.iter_mut()).enumerate() {
            let norm = &mut norm[self.scarce[at].what as usize];
            for (item, (over, along)) in over.iter().zip(along.iter_mut()).enumerate() {
                // A multiplier of zero is not lowered, except where it may be negative.
                let is_exact = self.scarce[at].is_exact;
                let over = if multiplier[at][item] == 0 && !is_exact { (*over).max(0) } else { *over };
                *along = over + *along / 2;
                if is_exact || multiplier[at][item] > 0 || *along > 0 {
                    *norm += i128::from(over) * i128::from(over);
                }
            }
        }
        let kinds = norm.iter().filter(|norm| **norm > 0).count() as i128;
        for ((thing, multiplier), along) in self.scarce.iter().zip(multiplier.iter_mut()).zip(along.iter()) {
            let norm = norm[thing.what as usize] * kinds;
            if norm == 0 {
                continue;
            }
            let most = i128::from(i64::MAX >> 16);
            let least = if thing.is_exact { -most } else { 0 };
            for (multiplier, along) in multiplier.iter_mut().zip(along) {
                let step = gap * i128::from(UNIT) * i128::from(MASS) * i128::from(*along) / norm;
                *multiplier = (i128::from(*multiplier) + step).clamp(least, most) as i64;
            }
        }
        kinds > 0
    }

    fn reweigh(&self, weight: &mut [i64], longer: &[i64], gap: i128) -> bool {
        let problem = self.problem;
        let mut norm = 0i128;
        let mean = |node: usize, weight: &[i64]| {
            let out = &problem.nodes[node].out;
            let _ = weight;
            out.iter().map(|arc| i128::from(longer[*arc])).sum::<i128>() / out.len() as i128
        };
        let branches: Vec<usize> =
            problem.order.iter().copied().filter(|n| problem.nodes[*n].out.len() > 1).collect();
        for node in &branches {
            let mean = mean(*node, weight);
            for arc in &problem.nodes[*node].out {
                let d = i128::from(longer[*arc]) - mean;
                norm += d * d;
            }
        }
        if norm == 0 {
            return false;
        }
        let means: Vec<i128> = branches.iter().map(|node| mean(*node, weight)).collect();
        let mut new = weight.to_vec();
        for (node, mean) in branches.iter().zip(&means) {
            for arc in &problem.nodes[*node].out {
                let d = i128::from(longer[*arc]) - mean;
                new[*arc] += (gap * d * i128::from(UNIT) / norm) as i64;
                new[*arc] = new[*arc].clamp(0, UNIT);
            }
        }
        // The weights of the edges that leave a region add up to those that enter it.
        for &node in &problem.order {
            let out = &problem.nodes[node].out;
            if out.is_empty() {
                continue;
            }
            let whole = self.weight_of(node, &new);
            let sum: i64 = out.iter().map(|arc| new[*arc]).sum();
            let mut left = whole;
            for (at, arc) in out.iter().enumerate() {
                let part = match (at + 1 == out.len(), sum) {
                    (true, _) => left,
                    (_, 0) => whole / out.len() as i64,
                    _ => new[*arc] * whole / sum,
                };
                new[*arc] = part;
                left -= part;
            }
        }
        let moved = new != weight;
        weight.copy_from_slice(&new);
        moved
    }
}
