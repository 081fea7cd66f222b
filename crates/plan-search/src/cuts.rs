//! Bounds for all sets of plans from the multipliers of one set.
//!
//! Multipliers found for a set give a bound for every set, because only the number of devices differs (Benders, 1962): with n_c devices of class c,
//!
//! ```text
//! end >= paths - sum over c of n_c x take_c       paths: the cheapest with multipliers; take_c: the knapsack's maximum
//! ```
//!
//! The first bound of a set is the best of these, and its own multipliers start from there.

use crate::charges::{Charges, Counts};
use crate::label::Label;
use crate::price::{Graph, NEVER, Partial, ceil};
use crate::scarce::What;
use std::collections::BTreeMap;

/// Cuts that are kept; a new one replaces the oldest.
const MAX_CUTS: usize = 512;

/// Multipliers by scarce resource, and region or edge.
pub type Multipliers = BTreeMap<(usize, What, usize), Vec<i64>>;

/// Multipliers and the bound they give for all sets.
pub struct Cut {
    objective: usize,
    /// In 1/1024 steps.
    paths: i64,
    /// Class, whether only charged devices count, and the knapsack value of one device.
    takes: Vec<(usize, bool, i64)>,
    pub multiplier: Multipliers,
    /// Weight of each edge; [`UNIT`] is one.
    pub weight: Vec<i64>,
}

impl Cut {
    /// `graph` is for all plans; the multipliers are by name and by place.
    pub fn new(
        graph: &Graph,
        root: &Label,
        objective: usize,
        (multiplier, by_place): (Multipliers, Vec<Vec<i64>>),
        weight: &[i64],
    ) -> Cut {
        let of = Partial { label: root, level: 0, faster: (1, 1) };
        let take = |(at, multiplier): (usize, &Vec<i64>)| {
            let thing = &graph.scarce[at];
            let most = graph.knapsack(0, at, multiplier, weight).most(0, 0, thing.free(thing.size));
            (thing.class, thing.is_paid, most)
        };
        Cut {
            objective,
            paths: graph.walk(&of, &by_place, weight).prices.paths(),
            takes: by_place.iter().enumerate().map(take).collect(),
            multiplier,
            weight: weight.to_vec(),
        }
    }

    /// Decrease of the bound by one more device of a class.
    pub fn of_class(&self, class: usize) -> i64 {
        let takes = self.takes.iter().filter(|(of, _, _)| *of == class);
        takes.map(|(_, _, take)| *take).fold(0, i64::saturating_add)
    }

    /// A lower bound on all plans of a set.
    pub fn least(&self, counts: &Counts, charges: &Charges) -> i64 {
        if self.paths == NEVER {
            return NEVER;
        }
        let taken = self.takes.iter().map(|(class, is_paid, take)| {
            let devices = if *is_paid { counts.most(*class, charges) } else { charges.most(*class) };
            take.saturating_mul(i64::from(devices))
        });
        ceil(self.paths.saturating_sub(taken.fold(0, i64::saturating_add)))
    }
}

/// The latest.
#[derive(Default)]
pub struct Cuts {
    cuts: Vec<Cut>,
    /// The one that is replaced next.
    next: usize,
}

impl Cuts {
    /// Adds a cut, and drops the oldest if there are too many.
    pub fn add(&mut self, cut: Cut) {
        match self.cuts.get_mut(self.next) {
            Some(oldest) => *oldest = cut,
            None => self.cuts.push(cut),
        }
        self.next = (self.next + 1) % MAX_CUTS;
    }

    /// The highest bound for a set and an objective, and its cut.
    pub fn best(&self, objective: usize, counts: &Counts, charges: &Charges) -> Option<(i64, &Cut)> {
        let of = self.cuts.iter().filter(|cut| cut.objective == objective);
        of.map(|cut| (cut.least(counts, charges), cut)).max_by_key(|(least, _)| *least)
    }
}
