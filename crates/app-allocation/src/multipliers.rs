//! Lagrange multipliers for [`crate::choose`]: a lower bound of every choice's cost, and a first choice.

use crate::choose::{Candidate, Group};

/// Multipliers and bounds are in units of 2^-SHIFT of a cost.
pub(crate) const SHIFT: u32 = 16;

/// Largest product of a multiplier and a capacity.
const MOST: i128 = 1 << 112;

/// Steps of the subgradient method.
const STEPS: usize = 160;

pub(crate) struct Start {
    /// For a unit of each row.
    pub multipliers: Vec<i128>,
    pub bound: i128,
    /// Items of the groups, and the cost of all.
    pub choice: Option<(Vec<usize>, i128)>,
}

/// Cost of an item, with its units paid by the multipliers.
pub(crate) fn reduced(item: &Candidate, multipliers: &[i128]) -> i128 {
    let used = multipliers.iter().zip(&item.uses).map(|(m, used)| m * i128::from(*used));
    (item.cost << SHIFT) + used.sum::<i128>()
}

/// The best item of each group for these multipliers, the bound, and by how much each row is overused.
struct Dual {
    picks: Vec<usize>,
    bound: i128,
    over: Vec<i128>,
}

/// The bound for one multiplier, and by how much it grows with the multiplier.
struct Tangent {
    at: i128,
    bound: i128,
    over: i128,
}

impl Tangent {
    /// Where it meets one of a larger multiplier, rounded down.
    fn meets(&self, other: &Tangent) -> i128 {
        let rise = self.bound - other.bound + other.over * (other.at - self.at);
        let steeper = self.over - other.over;
        if steeper > 0 { self.at + (-rise).div_euclid(steeper) } else { self.at }
    }
}

struct Instance<'a> {
    groups: &'a [Group],
    capacities: &'a [u64],
}

pub(crate) fn find(groups: &[Group], capacities: &[u64]) -> Start {
    let instance = Instance { groups, capacities };
    let mut multipliers = vec![0; capacities.len()];
    for row in 0..capacities.len() {
        instance.balance(&mut multipliers, row);
    }
    let first = instance.dual(&multipliers);
    let mut start = Start { bound: first.bound, multipliers: multipliers.clone(), choice: None };
    instance.repair(first.picks, &multipliers, &mut start.choice);
    if capacities.len() > 1 {
        instance.climb(&mut start);
    }
    if let Some((picks, _)) = &mut start.choice {
        for (pick, group) in picks.iter_mut().zip(groups) {
            *pick = group[*pick].at;
        }
    }
    start
}

impl Instance<'_> {
    fn dual(&self, multipliers: &[i128]) -> Dual {
        let room: i128 = multipliers.iter().zip(self.capacities).map(|(m, c)| m * i128::from(*c)).sum();
        let mut dual = Dual { picks: vec![], bound: -room, over: vec![] };
        for group in self.groups {
            let costs = group.iter().map(|item| reduced(item, multipliers)).enumerate();
            if let Some((at, cost)) = costs.min_by_key(|(_, cost)| *cost) {
                dual.picks.push(at);
                dual.bound += cost;
            }
        }
        dual.over = self.over(&dual.picks);
        dual
    }

    fn over(&self, picks: &[usize]) -> Vec<i128> {
        let used = |row: usize| {
            self.groups.iter().zip(picks).map(|(g, at)| i128::from(g[*at].uses[row])).sum::<i128>()
        };
        self.capacities.iter().enumerate().map(|(row, capacity)| used(row) - i128::from(*capacity)).collect()
    }

    /// Sets the multiplier of a row to the best one for those of the others: the use of a row falls as its multiplier grows.
    ///
    /// The bound as a function of the multiplier is concave, and each [`Dual`] is a tangent of it. Where two tangents meet, the best multiplier is
    /// near; bisection in between limits the number of steps.
    fn balance(&self, multipliers: &mut [i128], row: usize) {
        let most = MOST / i128::from(self.capacities[row].max(1)) / self.capacities.len() as i128;
        let mut tangent = |at: i128| {
            multipliers[row] = at;
            let dual = self.dual(multipliers);
            Tangent { at, bound: dual.bound, over: dual.over[row] }
        };
        let mut low = tangent(0);
        let mut high = tangent(i128::from(low.over > 0));
        while high.over > 0 && high.at < most {
            let next = tangent((high.at << 8).min(most));
            low = std::mem::replace(&mut high, next);
        }
        for step in 0.. {
            let space = high.at - low.at;
            if space <= 1 {
                break;
            }
            let next = if step % 3 == 2 { low.at + space / 2 } else { low.meets(&high) };
            let next = tangent(next.clamp(low.at + 1, high.at - 1));
            if next.over <= 0 { high = next } else { low = next }
        }
        multipliers[row] = if low.bound > high.bound { low.at } else { high.at };
    }

    /// Improves the bound by the subgradient method with Polyak's steps. Floats only set the length of steps: each bound is exact.
    fn climb(&self, start: &mut Start) {
        let mut multipliers = start.multipliers.clone();
        let (mut pace, mut idle) = (1.0, 0);
        for step in 0..STEPS {
            let dual = self.dual(&multipliers);
            if dual.bound > start.bound {
                (start.bound, start.multipliers) = (dual.bound, multipliers.clone());
                idle = 0;
            } else {
                idle += 1;
                if idle % 8 == 0 {
                    // The bound stands still: the steps are too long.
                    pace *= 0.5;
                }
            }
            if step % 16 == 0 {
                self.repair(dual.picks.clone(), &multipliers, &mut start.choice);
            }
            // Polyak's step aims at the cost of the best choice; without one, at 1/64 above the bound.
            let above = match &start.choice {
                Some((_, cost)) => ((*cost << SHIFT) - dual.bound) as f64,
                None => dual.bound.unsigned_abs() as f64 / 64.0,
            };
            let scaled: Vec<f64> =
                dual.over.iter().zip(self.capacities).map(|(o, c)| *o as f64 / (*c).max(1) as f64).collect();
            let norm: f64 = scaled.iter().map(|over| over * over).sum();
            if norm == 0.0 {
                break;
            }
            for (row, over) in scaled.iter().enumerate() {
                let capacity = self.capacities[row].max(1);
                let change = pace * above * over / norm / capacity as f64;
                let most = MOST / i128::from(capacity) / self.capacities.len() as i128;
                multipliers[row] = multipliers[row].saturating_add(change as i128).clamp(0, most);
            }
        }
        let last = self.dual(&start.multipliers);
        self.repair(last.picks, &start.multipliers.clone(), &mut start.choice);
    }

    /// Makes a choice of these items, if it can, and keeps it if it is the best.
    fn repair(&self, mut picks: Vec<usize>, multipliers: &[i128], best: &mut Option<(Vec<usize>, i128)>) {
        let mut over = self.over(&picks);
        for _ in 0..8 * picks.len() {
            let worst = (0..over.len()).filter(|row| over[*row] > 0);
            let relative = |row: usize| over[row] as f64 / self.capacities[row].max(1) as f64;
            let Some(row) = worst.max_by(|a, b| relative(*a).total_cmp(&relative(*b))) else { break };
            let Some((group, at)) = self.cheapest_relief(&picks, multipliers, row) else { return };
            self.swap(&mut picks, &mut over, group, at);
        }
        if over.iter().any(|over| *over > 0) {
            return;
        }
        while let Some((group, at)) = self.best_gain(&picks, &over) {
            self.swap(&mut picks, &mut over, group, at);
        }
        let cost = self.groups.iter().zip(&picks).map(|(group, at)| group[*at].cost).sum();
        if best.as_ref().is_none_or(|(_, known)| cost < *known) {
            *best = Some((picks, cost));
        }
    }

    fn swap(&self, picks: &mut [usize], over: &mut [i128], group: usize, at: usize) {
        let (old, new) = (&self.groups[group][picks[group]], &self.groups[group][at]);
        for (over, (old, new)) in over.iter_mut().zip(old.uses.iter().zip(&new.uses)) {
            *over += i128::from(*new) - i128::from(*old);
        }
        picks[group] = at;
    }

    /// The change that frees units of a row at the least cost for each.
    fn cheapest_relief(&self, picks: &[usize], multipliers: &[i128], row: usize) -> Option<(usize, usize)> {
        let mut best: Option<(f64, (usize, usize))> = None;
        for (number, group) in self.groups.iter().enumerate() {
            let now = &group[picks[number]];
            for (at, item) in group.iter().enumerate().filter(|(_, item)| item.uses[row] < now.uses[row]) {
                let cost = reduced(item, multipliers) - reduced(now, multipliers);
                let each = cost as f64 / (now.uses[row] - item.uses[row]) as f64;
                if best.as_ref().is_none_or(|(known, _)| each < *known) {
                    best = Some((each, (number, at)));
                }
            }
        }
        best.map(|(_, change)| change)
    }

    /// The change that saves most and fits.
    fn best_gain(&self, picks: &[usize], over: &[i128]) -> Option<(usize, usize)> {
        let mut best: Option<(i128, (usize, usize))> = None;
        for (number, group) in self.groups.iter().enumerate() {
            let now = &group[picks[number]];
            let fits = |item: &Candidate| {
                let uses = item.uses.iter().zip(&now.uses);
                uses.zip(over).all(|((new, old), over)| over + i128::from(*new) - i128::from(*old) <= 0)
            };
            let cheaper = group.iter().enumerate().filter(|(_, item)| item.cost < now.cost && fits(item));
            if let Some((at, item)) = cheaper.min_by_key(|(_, item)| item.cost)
                && best.is_none_or(|(known, _)| now.cost - item.cost > known)
            {
                best = Some((now.cost - item.cost, (number, at)));
            }
        }
        best.map(|(_, change)| change)
    }
}
