//! Scarce resources, in units that are coarse enough to count.
//!
//! ```text
//! of 10 Gbit/s each use takes 2.1: in units of a fifth, 1.05 of 5.  Rounded down each is 1, and whatever is used, 0.05 is lost: 4 can be used, not 5.
//! ```

use crate::room::gcd;

/// Maximum number of units of a device.
pub const UNITS: usize = 127;

/// A scarce resource of the devices of a class.
#[derive(Clone, Debug)]
pub struct Scarce {
    /// The class.
    pub class: usize,
    /// Kind of use.
    pub what: What,
    /// Position of the value among those of a device in use.
    pub place: usize,
    /// Largest capacity of a device.
    pub size: i64,
    /// Number of devices on which the resource may be used.
    pub devices: usize,
    /// True if only charged devices count.
    pub is_paid: bool,
    /// Minimum use in units, by region or edge; zero also where the region cannot run.
    pub uses: Vec<usize>,
    /// Whether the region or edge has a multiplier.
    pub takes: Vec<bool>,
    /// True if all regions that run on the class have a multiplier; multipliers may then be negative.
    pub is_exact: bool,
    /// Number of units of a device.
    pub units: i64,
    /// Minimum loss when something is used, in parts of a unit, of which there are `size`.
    pub lost: i64,
}

/// Kinds of use of a scarce resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// Regions use it.
    Region,
    /// Packets that come from elsewhere do.
    Into,
    /// Packets that go elsewhere do.
    Out,
}

impl Scarce {
    /// `uses` is by region or edge, in steps. Use is rounded down to units; their size is chosen so that, as far as possible, sets that do not fit do not fit in units either.
    pub fn new(class: usize, what: What, place: usize, size: i64, uses: &[i64], most: usize) -> Scarce {
        let made = |units: i64| {
            let part = |used: &i64| i128::from(*used) * i128::from(units);
            let lost = uses.iter().filter(|used| **used > 0).map(|used| part(used) % i128::from(size)).min();
            Scarce {
                class,
                what,
                place,
                size,
                devices: 0,
                is_paid: true,
                takes: vec![],
                is_exact: false,
                uses: uses
                    .iter()
                    .map(|used| (part(used) / i128::from(size)).min(i128::from(UNITS as i64 * 2)) as usize)
                    .collect(),
                units,
                lost: lost.unwrap_or(0) as i64,
            }
        };
        // Exact if all uses and the size are multiples of a unit that is not too small.
        let unit = uses.iter().fold(size, |unit, used| gcd(unit, *used));
        let exact = (size / unit.max(1) <= most as i64).then(|| made(size / unit.max(1)));
        // Otherwise: the number of units with the largest use relative to the capacity.
        let weight = |thing: &Scarce| {
            let sum: usize = thing.uses.iter().sum();
            (sum as i64 * 1_000_000) / (thing.free(size) as i64).max(1)
        };
        let all = (1..=most as i64).rev().map(made);
        let mut thing = exact.or_else(|| all.max_by_key(|thing| weight(thing))).unwrap_or_else(|| made(1));
        thing.takes = thing.uses.iter().map(|used| *used > 0).collect();
        thing
    }

    /// From now on, all regions that run on the class have a multiplier; `takes` is by region.
    pub fn fill_by_region(&mut self, takes: Vec<bool>) {
        self.takes = takes;
        self.is_exact = true;
    }

    /// Identity among all scarce resources.
    pub fn name(&self) -> (usize, What, usize) {
        (self.class, self.what, self.place)
    }

    /// Number of usable units of a free capacity.
    pub fn free(&self, free: i64) -> usize {
        if self.size <= i64::MAX / UNITS as i64 {
            return ((free.clamp(0, self.size) * self.units - self.lost) / self.size.max(1)).max(0) as usize;
        }
        let parts = i128::from(free.clamp(0, self.size)) * i128::from(self.units) - i128::from(self.lost);
        (parts / i128::from(self.size.max(1))).max(0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{Scarce, UNITS, What};

    #[test]
    fn what_fits_in_steps_fits_in_units() {
        let uses = [21, 21, 21, 21, 21, 12, 13, 7, 33, 50];
        for most in [6, UNITS] {
            let thing = Scarce::new(0, What::Region, 0, 100, &uses, most);
            for set in 1u32..1 << uses.len() {
                let items = || (0..uses.len()).filter(|item| set >> item & 1 == 1);
                let steps: i64 = items().map(|item| uses[item]).sum();
                let units: usize = items().map(|item| thing.uses[item]).sum();
                assert!(
                    steps > 100 || units <= thing.free(steps),
                    "{set:b}: {units} of {}",
                    thing.free(steps)
                );
            }
        }
    }

    #[test]
    fn five_of_more_than_a_fifth_do_not_fit() {
        let thing = Scarce::new(0, What::Into, 0, 100, &[21, 21, 21, 21, 21], UNITS);
        assert!(thing.uses.iter().sum::<usize>() > thing.free(100));
    }
}
