//! Sets of plans without a plan, because their regions do not fit on their devices.
//!
//! A *resource* is a device variable of a class. Let n_t be the number of devices in the set with resource t, and v(t, r) >= 0 a multiplier of resource t and region r. The set has no plan if
//!
//! ```text
//! sum over r of min over classes c of r ( sum over resources t of c of v(t, r) )
//!   > sum over t of n_t x max over sets S of regions that fit on a device by t ( sum over r in S of v(t, r) )
//! ```
//!
//! This is Farkas' lemma for the linear program over all sets S (Gilmore and Gomory, 1961). [`crate::room`] compares sums of areas; this bound also counts area that no region can
//! fill: three regions that use 60 % each do not fit on two devices. Multipliers that prove it for one set of plans are tried on all others, because only n_t and the
//! classes of a region depend on the set (Benders, 1962). They are found by a subgradient method.

use crate::scarce::{Scarce, What};

/// Certificates that are kept; a new one replaces the oldest.
const MAX_MISFITS: usize = 64;
/// The first multiplier of a region that fills a device.
const DEVICE: i64 = 1 << 30;
/// Fixed-point one for parts of a bound.
const WHOLE: i64 = 1 << 20;
/// Distance from the bound to the value aimed at, in parts of the left side. It is halved after [`PATIENCE`] steps without a better bound; below the least distance it starts again.
const REACH: i64 = WHOLE / 32;
const LEAST_REACH: i64 = REACH / 256;
const PATIENCE: usize = 10;
/// After [`GLANCE`] steps, the search ends if the right side is larger by an eighth.
const GLANCE: usize = 8;
const AMPLE: i64 = WHOLE / 8;

/// The set of plans in question.
pub struct Set<'s> {
    /// Number of devices that may be charged, by class.
    pub paid: Vec<u16>,
    /// Classes on which each region may run.
    pub allowed: &'s [Vec<usize>],
}

/// A device variable of a class.
struct Resource {
    class: usize,
    /// Only charged devices have it.
    is_paid: bool,
    /// Devices of the class.
    devices: usize,
    /// Use of each region, in units.
    uses: Vec<usize>,
    /// Units of a device.
    size: usize,
}

/// A certificate.
struct Misfit {
    /// v(t, r), by resource and region.
    multipliers: Vec<Vec<i64>>,
    /// Maximum over the sets S, by resource.
    held: Vec<i64>,
}

/// Certificates of a problem.
#[derive(Default)]
pub struct Fit {
    resources: Vec<Resource>,
    misfits: Vec<Misfit>,
    /// The certificate that is replaced next.
    next: usize,
}

impl Fit {
    /// No certificates yet. `scarce` is for all plans.
    pub fn new(scarce: &[Scarce]) -> Fit {
        let resource = |thing: &Scarce| Resource {
            class: thing.class,
            is_paid: thing.is_paid,
            devices: thing.devices,
            uses: thing.uses.clone(),
            size: thing.free(thing.size),
        };
        let resources = scarce.iter().filter(|thing| thing.what == What::Region).map(resource).collect();
        Fit { resources, ..Fit::default() }
    }

    /// There are no resources, for instance because there was no [`Fit::new`].
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Whether a certificate found before holds for a set.
    pub fn is_misfit(&self, set: &Set) -> bool {
        let devices = self.devices(set);
        let holds = |known: &Misfit| self.demand(set, &known.multipliers).0 > supply(&devices, &known.held);
        self.misfits.iter().any(holds)
    }

    /// Searches a certificate for a set. Returns whether there is one; it is kept.
    pub fn find_misfit(&mut self, set: &Set, steps: usize) -> bool {
        let devices = self.devices(set);
        let mut multipliers: Vec<Vec<i64>> = self.resources.iter().map(Resource::first).collect();
        let mut along: Vec<Vec<i64>> = multipliers.iter().map(|of| vec![0; of.len()]).collect();
        let (mut best, mut idle, mut reach) = (i64::MIN, 0, REACH);
        for step in 0..steps {
            let (demand, picks) = self.demand(set, &multipliers);
            let (held, sets): (Vec<i64>, Vec<Vec<usize>>) =
                self.resources.iter().zip(&multipliers).map(|(of, values)| of.most(values)).unzip();
            let bound = demand.saturating_sub(supply(&devices, &held));
            if bound > 0 {
                self.keep(Misfit { multipliers, held });
                return true;
            }
            if demand <= 0 {
                return false;
            }
            // Multiplying all multipliers by a number changes nothing, so the bound is a part of the left side.
            let part = i64::try_from(i128::from(bound) * i128::from(WHOLE) / i128::from(demand));
            let part = part.unwrap_or(i64::MIN / 2);
            idle = if part > best { 0 } else { idle + 1 };
            best = best.max(part);
            if step == GLANCE && best < -AMPLE {
                return false;
            }
            if idle >= PATIENCE {
                (reach, idle) = (if reach > LEAST_REACH { reach / 2 } else { REACH }, 0);
            }
            let aim = (best + reach).max(reach / 2) - part;
            let mut norm = 0i128;
            for (at, of) in self.resources.iter().enumerate() {
                let mut over: Vec<i64> =
                    picks.iter().map(|class| i64::from(*class == Some(of.class))).collect();
                sets[at].iter().for_each(|node| over[*node] -= devices[at]);
                norm += over.iter().map(|over| i128::from(over * over)).sum::<i128>();
                along[at].iter_mut().zip(over).for_each(|(along, over)| *along = *along / 2 + over * WHOLE);
            }
            if norm == 0 {
                return false;
            }
            let scale = norm * i128::from(WHOLE) * i128::from(WHOLE);
            for (value, along) in multipliers.iter_mut().flatten().zip(along.iter().flatten()) {
                let more = i128::from(aim) * i128::from(demand) * i128::from(*along) / scale;
                let moved = i128::from(*value) + more;
                *value = moved.clamp(0, i128::from(DEVICE) << 12) as i64;
            }
        }
        false
    }

    fn keep(&mut self, misfit: Misfit) {
        match self.misfits.get_mut(self.next) {
            Some(oldest) => *oldest = misfit,
            None => self.misfits.push(misfit),
        }
        self.next = (self.next + 1) % MAX_MISFITS;
    }

    /// n_t, by resource.
    fn devices(&self, set: &Set) -> Vec<i64> {
        let of = |of: &Resource| match of.is_paid {
            true => i64::from(set.paid[of.class]),
            false => of.devices as i64,
        };
        self.resources.iter().map(of).collect()
    }

    /// The left side of the inequality, and by region the class with the minimum.
    fn demand(&self, set: &Set, multipliers: &[Vec<i64>]) -> (i64, Vec<Option<usize>>) {
        let (mut sum, mut picks) = (0i64, vec![]);
        for (node, classes) in set.allowed.iter().enumerate() {
            let value = |class: usize| -> i64 {
                let own = self.resources.iter().zip(multipliers).filter(|(of, _)| of.class == class);
                own.map(|(_, values)| values[node]).sum()
            };
            let least = classes.iter().map(|class| (value(*class), *class)).min();
            sum += least.map_or(0, |(value, _)| value);
            picks.push(least.map(|(_, class)| class));
        }
        (sum, picks)
    }
}

impl Resource {
    /// Multipliers proportional to what regions use.
    fn first(&self) -> Vec<i64> {
        self.uses.iter().map(|used| DEVICE / self.size.max(1) as i64 * *used as i64).collect()
    }

    /// The maximum over sets S, and the regions of S: a knapsack.
    fn most(&self, values: &[i64]) -> (i64, Vec<usize>) {
        let fits = |node: &usize| values[*node] > 0 && self.uses[*node] <= self.size;
        let items: Vec<usize> = (0..values.len()).filter(fits).collect();
        let width = self.size + 1;
        let mut rows = vec![0; width * (items.len() + 1)];
        for (at, &node) in items.iter().enumerate() {
            let (before, after) = rows[at * width..(at + 2) * width].split_at_mut(width);
            after.copy_from_slice(before);
            for (most, without) in after[self.uses[node]..].iter_mut().zip(before.iter()) {
                *most = (*most).max(without + values[node]);
            }
        }
        let (mut free, mut set) = (self.size, vec![]);
        for (at, &node) in items.iter().enumerate().rev() {
            if rows[(at + 1) * width + free] > rows[at * width + free] {
                set.push(node);
                free -= self.uses[node];
            }
        }
        (rows[items.len() * width + self.size], set)
    }
}

/// The right side of the inequality.
fn supply(devices: &[i64], held: &[i64]) -> i64 {
    devices.iter().zip(held).map(|(devices, held)| devices.saturating_mul(*held)).fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests;
