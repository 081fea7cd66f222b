//! What the prices of one set of plans tell of all others.
//!
//! Tolls that are found for a set make a bound for every set, since only the number of devices differs (Benders, 1962): with n_c devices of class c,
//!
//! ```text
//! end >= paths - sum over c of n_c x take_c       paths: the cheapest ones with tolls; take_c: the most that a device takes
//! ```
//!
//! What is known of a set at first is the best of all these, and its own tolls are looked for from there.

use crate::charges::{Charges, Counts};
use crate::label::Label;
use crate::price::{Graph, NEVER, Partial, ceil};
use crate::scarce::What;
use std::collections::BTreeMap;

/// So many are kept.
const MAX_CUTS: usize = 512;

/// Tolls by what they are for, and region or edge.
pub type Tolls = BTreeMap<(usize, What, usize), Vec<i64>>;

/// Tolls and what follows from them for all sets.
pub struct Cut {
    objective: usize,
    /// In 1/1024 steps.
    paths: i64,
    /// Classes, whether only devices that are paid for count, and what one takes.
    takes: Vec<(usize, bool, i64)>,
    /// The tolls.
    pub toll: Tolls,
    /// By edge: the part of the variable that counts.
    pub weight: Vec<i64>,
}

impl Cut {
    /// `graph` is for all plans; `toll` is by name and by place.
    pub fn new(
        graph: &Graph,
        root: &Label,
        objective: usize,
        (toll, by_place): (Tolls, Vec<Vec<i64>>),
        weight: &[i64],
    ) -> Cut {
        let of = Partial { label: root, level: 0, faster: (1, 1) };
        let take = |(at, toll): (usize, &Vec<i64>)| {
            let thing = &graph.scarce[at];
            let most = graph.knapsack(0, at, toll, weight).most(0, 0, thing.free(thing.size));
            (thing.class, thing.is_paid, most)
        };
        Cut {
            objective,
            paths: graph.walk(&of, &by_place, weight).prices.paths(),
            takes: by_place.iter().enumerate().map(take).collect(),
            toll,
            weight: weight.to_vec(),
        }
    }

    /// All plans of a set end with no less.
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
    /// One more; the oldest goes if there are too many.
    pub fn add(&mut self, cut: Cut) {
        match self.cuts.get_mut(self.next) {
            Some(oldest) => *oldest = cut,
            None => self.cuts.push(cut),
        }
        self.next = (self.next + 1) % MAX_CUTS;
    }

    /// The one that tells most of a set, by an objective.
    pub fn best(&self, objective: usize, counts: &Counts, charges: &Charges) -> Option<&Cut> {
        let of = self.cuts.iter().filter(|cut| cut.objective == objective);
        of.max_by_key(|cut| cut.least(counts, charges))
    }
}
