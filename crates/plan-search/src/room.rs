//! Whether the remaining capacity can suffice for the regions that are not placed.
//!
//! The uses of a device add up to one of few sums, so of 30 % left perhaps only 28 % can be used. And with weights w(c, v) >= 0
//! for variable v of class c, there is no plan if
//!
//! ```text
//! sum over remaining regions r of min over classes c of r ( sum over v of w(c, v) use(r, c, v) )  >  sum over c, v of w(c, v) left(c, v)
//! ```
//!
//! This is Farkas' lemma. The weights are found by a subgradient method.

use crate::charges::{Charges, Counts};
use crate::label::Label;
use crate::problem::Problem;
use smallvec::{SmallVec, smallvec};

/// Free capacity by class and device variable, in one row; [`i64::MAX`] if unlimited.
pub type Left = SmallVec<[i64; 16]>;

/// Capacity of a set of plans.
pub struct Room<'r> {
    problem: &'r Problem,
    /// Maximum number of devices in use, by class.
    most: Vec<u16>,
    /// Largest capacity of a device, by class and variable.
    size: Vec<i64>,
    /// Total capacity of all devices, by class and variable.
    all: Vec<i64>,
    /// Common divisor of all uses, by class and variable; zero if the possible sums are not known.
    unit: Vec<i64>,
    /// Bit set of the possible sums of the remaining regions' uses, in units, by level, class and variable.
    sums: Vec<Vec<u128>>,
    /// One for each weighting of the resources.
    weights: Vec<Weights>,
    /// True if only charged devices are counted.
    is_paid: Vec<bool>,
}

/// Weights of resources.
struct Weights {
    /// Weights by class and variable.
    of: Vec<i64>,
    /// Weighted minimum use of the remaining regions, by level.
    rest: Vec<i128>,
}

/// Input of a room.
pub struct Uses<'u> {
    /// Devices.
    pub charges: &'u Charges,
    /// Numbers of charged devices per class.
    pub counts: &'u Counts,
    /// Class of each group of equal devices.
    pub class: &'u [usize],
    /// Groups on which each region may run.
    pub allowed: &'u [Vec<usize>],
    /// Minimum use, by region, class and variable.
    pub uses: &'u [Vec<Vec<i64>>],
    /// Whether a region that is not charged uses the variable, by class and variable.
    pub is_free: &'u [Vec<bool>],
    /// Capacities of the devices, largest first, by class and variable.
    pub sizes: &'u [Vec<Vec<i64>>],
    /// Whether the minimum use of every region is its use, by class and variable.
    pub is_certain: &'u [Vec<bool>],
}

impl<'r> Room<'r> {
    /// For a set of plans.
    pub fn new(problem: &'r Problem, from: &Uses) -> Room<'r> {
        let vars = problem.scopes.device.len();
        let cells = problem.classes * vars;
        let mut room = Room {
            problem,
            most: vec![0; problem.classes],
            size: vec![0; cells],
            all: vec![i64::MAX; cells],
            unit: vec![0; cells],
            sums: vec![],
            weights: vec![],
            is_paid: vec![false; problem.classes],
        };
        for class in 0..problem.classes {
            let is_free = from.is_free[class].contains(&true);
            room.is_paid[class] = !is_free;
            room.most[class] = match is_free {
                true => from.charges.most(class),
                false => from.counts.most(class, from.charges),
            };
            for var in 0..vars {
                let sizes = &from.sizes[class][var];
                let cell = class * vars + var;
                room.size[cell] = sizes.first().copied().unwrap_or(0);
                let most = sizes.iter().take(usize::from(room.most[class]));
                room.all[cell] = most.fold(0i64, |sum, size| sum.saturating_add(*size));
                let on = |node: usize| from.allowed[node].iter().any(|group| from.class[*group] == class);
                let uses =
                    (0..from.uses.len()).filter(|node| on(*node)).map(|node| from.uses[node][class][var]);
                // If every use is a multiple of one unit, the rest of a device that is smaller than the unit is lost.
                room.unit[cell] = if from.is_certain[class][var] { uses.fold(0, gcd) } else { 0 };
            }
        }
        room.add_sums(from);
        room
    }

    fn vars(&self) -> usize {
        self.problem.scopes.device.len()
    }

    fn add_sums(&mut self, from: &Uses) {
        let vars = self.vars();
        let levels = self.problem.order.len() + 1;
        self.sums = vec![vec![1u128; self.all.len()]; levels];
        for (cell, unit) in self.unit.iter_mut().enumerate() {
            // Sums are bits of a `u128`: a device of 128 units or more has none.
            if *unit > 0 && self.size[cell] / *unit >= 128 {
                *unit = 0;
            }
        }
        for level in (0..levels - 1).rev() {
            let node = self.problem.order[level];
            let mut sums = self.sums[level + 1].clone();
            for class in 0..self.problem.classes {
                if !from.allowed[node].iter().any(|group| from.class[*group] == class) {
                    continue;
                }
                for var in 0..vars {
                    let cell = class * vars + var;
                    let unit = self.unit[cell];
                    if unit > 0 {
                        let used = from.uses[node][class][var] / unit;
                        if used < 128 {
                            // Subset sums: bit n is set if some of the regions from this level on use n units together.
                            sums[cell] |= sums[cell] << used;
                        }
                    }
                }
            }
            self.sums[level] = sums;
        }
    }

    /// The part of a device's free capacity that can be used.
    fn usable(&self, level: usize, cell: usize, free: i64) -> i64 {
        let unit = self.unit[cell];
        if unit == 0 {
            return free;
        }
        let most = (free / unit).clamp(0, 127) as u32;
        let below = self.sums[level][cell] & (u128::MAX >> (127 - most));
        i64::from(127 - below.leading_zeros()) * unit
    }

    /// Capacity left for the regions from `level` on.
    pub fn left(&self, label: &Label, level: usize) -> Left {
        let (vars, charges) = (self.vars(), self.problem.scopes.once.len());
        let mut left: Left = smallvec![0; self.all.len()];
        let mut unused: SmallVec<[u16; 16]> = self.most.iter().copied().collect();
        let mut used: Left = smallvec![0; self.all.len()];
        for device in &label.uses {
            let class = self.problem.class[device.device];
            // All regions that use the class charge their device, so an uncharged one is as good as unused.
            if self.is_paid[class] && !device.is_paid {
                continue;
            }
            unused[class] = unused[class].saturating_sub(1);
            for var in 0..vars {
                let cell = class * vars + var;
                let value = device.values[charges + var];
                let limit = self.problem.limits[device.device][var];
                used[cell] += value;
                left[cell] = i64::saturating_add(
                    left[cell],
                    match limit {
                        i64::MAX => i64::MAX,
                        limit => self.usable(level, cell, limit - value),
                    },
                );
            }
        }
        for class in 0..self.problem.classes {
            for var in 0..vars {
                let cell = class * vars + var;
                let whole = match self.size[cell] {
                    i64::MAX => i64::MAX,
                    size => self.usable(level, cell, size),
                };
                let whole = whole.saturating_mul(i64::from(unused[class]));
                // `whole` counts each unused device as the largest; all together have no more than their sum.
                let by_all = if self.all[cell] == i64::MAX { i64::MAX } else { self.all[cell] - used[cell] };
                left[cell] = left[cell].saturating_add(whole).min(by_all);
            }
        }
        left
    }

    /// Whether the capacity left can suffice.
    pub fn suffices(&self, left: &Left, level: usize) -> bool {
        self.weights.iter().all(|weights| {
            let mut sum = 0i128;
            for (weight, left) in weights.of.iter().zip(left) {
                if *weight > 0 {
                    sum += i128::from(*weight) * i128::from(*left);
                }
            }
            weights.rest[level] <= sum
        })
    }

    /// Weighted capacity of the devices over weighted minimum use, in parts of 1024, for the weights where it is smallest.
    pub fn spare(&self, devices: &[u16]) -> i128 {
        let vars = self.vars();
        let weighed = |weights: &Weights| {
            let cells = weights.of.iter().enumerate().filter(|(_, weight)| **weight > 0);
            let all = cells.map(|(cell, weight)| {
                let class = cell / vars;
                let devices = if self.is_paid[class] { devices[class] } else { self.most[class] };
                i128::from(*weight) * i128::from(self.usable(0, cell, self.size[cell])) * i128::from(devices)
            });
            all.sum::<i128>() * 1024 / weights.rest[0].max(1)
        };
        self.weights.iter().map(weighed).min().unwrap_or(i128::MAX)
    }

    /// Finds weights; `root` is an empty label.
    pub fn weigh(&mut self, from: &Uses, root: &Label, steps: usize) {
        const PART: i128 = 1 << 20;
        let left = self.left(root, 0);
        let mut of: Vec<i128> =
            left.iter().map(|left| if *left > 0 && *left < i64::MAX { PART } else { 0 }).collect();
        if of.iter().all(|weight| *weight == 0) {
            return;
        }
        // Each cell has a weight such that its whole capacity counts as one.
        let mut best: Vec<(i128, Weights)> = vec![];
        for step in 0..steps {
            let scaled: Vec<i64> = of
                .iter()
                .zip(&left)
                .map(
                    |(weight, left)| {
                        if *weight == 0 { 0 } else { ((weight << 20) / i128::from(*left)) as i64 }
                    },
                )
                .collect();
            let (rest, used) = self.lightest(from, &scaled);
            let total: i128 = scaled
                .iter()
                .zip(&left)
                .filter(|(w, _)| **w > 0)
                .map(|(w, l)| i128::from(*w) * i128::from(*l))
                .sum();
            if total == 0 {
                break;
            }
            let ratio = rest[0] * PART / total;
            let mut over = vec![0i128; of.len()];
            for cell in 0..of.len() {
                if left[cell] > 0 && left[cell] < i64::MAX {
                    // The relative use of the capacity, minus the mean.
                    over[cell] = used[cell] * PART / i128::from(left[cell]) - ratio;
                }
            }
            best.push((ratio, Weights { of: scaled, rest }));
            best.sort_by_key(|(ratio, _)| std::cmp::Reverse(*ratio));
            // Each weighting that is kept costs a sum per label in `suffices`.
            best.truncate(4);
            // Steps shrink with the harmonic series, for which a subgradient method converges.
            let pace = 8 + step as i128;
            for (weight, over) in of.iter_mut().zip(&over) {
                if *weight > 0 || *over > 0 {
                    *weight = (*weight + *weight.max(&mut (PART / 64)) * *over * 4 / (PART * pace)).max(0);
                }
            }
            // The weighted minimum use exceeds the capacity: these weights already prove that nothing fits.
            if best[0].0 > PART + PART / 1000 {
                break;
            }
        }
        self.weights = best.into_iter().map(|(_, weights)| weights).collect();
    }

    /// Weighted minimum use of the remaining regions by level, and the use of each cell in the minimum.
    fn lightest(&self, from: &Uses, weights: &[i64]) -> (Vec<i128>, Vec<i128>) {
        let vars = self.vars();
        let order = &self.problem.order;
        let mut rest = vec![0i128; order.len() + 1];
        let mut used = vec![0i128; weights.len()];
        for level in (0..order.len()).rev() {
            let node = order[level];
            let weigh = |class: usize| -> i128 {
                let uses = from.uses[node][class].iter().enumerate();
                uses.map(|(var, used)| i128::from(weights[class * vars + var]) * i128::from(*used)).sum()
            };
            let classes = from.allowed[node].iter().map(|group| from.class[*group]);
            let best = classes.map(|class| (weigh(class), class)).min();
            let (least, class) = best.unwrap_or((0, 0));
            rest[level] = rest[level + 1] + least;
            if best.is_some() {
                for (var, more) in from.uses[node][class].iter().enumerate() {
                    used[class * vars + var] += i128::from(*more);
                }
            }
        }
        (rest, used)
    }
}

/// The greatest common divisor.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}
