//! Cells: ranges of a variable's values from which all later rules select the same tiers.
//!
//! ```text
//! bounds of rules left          1G          3G                10G
//!                        -------|-----------|------------------|-----
//! two plans, all they can become      [==]
//!                                      [===]                          same cell: the lower value is no worse
//! ```
//!
//! If the tightest tier counts, a lower value is not better by itself: it may select another rule. If all later values
//! of both lie between the same two bounds, it cannot.

use crate::derive::Derivation;
use crate::problem::{Offer, Problem};
use plan_model::{Change, Factor};

/// Cells by level and path variable.
pub struct Cells {
    levels: Vec<Vec<Range>>,
}

/// Possible changes of a variable after a level.
#[derive(Clone)]
struct Range {
    /// The product of all factors below one, and of those above.
    shrinks: Factor,
    grows: Factor,
    /// The sum of what may be added.
    adds: i64,
    /// Something may be taken away: nothing is known.
    is_unknown: bool,
    /// Bounds between which tiers change, in order.
    bounds: Vec<i64>,
}

impl Cells {
    /// The cells of a problem.
    pub fn new(problem: &Problem) -> Cells {
        let none =
            Range { shrinks: Factor::ONE, grows: Factor::ONE, adds: 0, is_unknown: false, bounds: vec![] };
        let mut levels = vec![vec![none; problem.scopes.path.len()]];
        for node in problem.order.iter().rev() {
            let mut ranges = levels.last().cloned().unwrap_or_default();
            for (var, range) in ranges.iter_mut().enumerate() {
                for offer in problem.offers[*node].iter().flatten() {
                    let share = match problem.roles.rate == Some(var) {
                        true => problem.nodes[*node].share,
                        false => Factor::ONE,
                    };
                    range.bound_by(offer, var, share);
                }
                let offers = || problem.offers[*node].iter().flatten().map(|offer| changes(offer, var));
                let least = offers().map(|c| c.0).min().unwrap_or(Factor::ONE);
                let most = offers().map(|c| c.1).max().unwrap_or(Factor::ONE);
                range.shrinks = Factor(least.of(range.shrinks.0));
                range.grows = Factor(most.of(range.grows.0));
                range.adds = range.adds.saturating_add(offers().map(|c| c.2).max().unwrap_or(0));
                range.is_unknown |= offers().any(|c| c.3);
                range.bounds.sort_unstable();
                range.bounds.dedup();
            }
            levels.push(ranges);
        }
        levels.reverse();
        Cells { levels }
    }

    /// Values in one cell lead to the same tiers; a value that may cross a bound has a separate cell.
    pub fn cell(&self, level: usize, var: usize, value: i64) -> (bool, i64) {
        let range = &self.levels[level][var];
        if range.bounds.is_empty() {
            return (true, 0);
        }
        // Factors are rounded one after the other.
        let slack = (value.saturating_abs() >> 16) + 64;
        let low = range.shrinks.of(value).saturating_sub(slack);
        let high = range.grows.of(value.saturating_add(range.adds)).saturating_add(slack);
        let below = |value: i64| range.bounds.partition_point(|bound| *bound < value);
        match !range.is_unknown && value >= 0 && below(low) == below(high) {
            true => (true, below(low) as i64),
            false => (false, value),
        }
    }
}

impl Range {
    fn bound_by(&mut self, offer: &Offer, var: usize, share: Factor) {
        for (_, derivations) in offer.needs.iter().filter(|(_, all)| all.len() > 1) {
            for (at, low, high) in derivations.iter().flat_map(Derivation::bounds) {
                if *at != var || share.0 <= 0 {
                    continue;
                }
                for bound in [*low, *high].into_iter().filter(|b| *b > i64::MIN && *b < i64::MAX) {
                    let whole = i128::from(bound) * i128::from(Factor::ONE.0) / i128::from(share.0);
                    let whole = i64::try_from(whole).unwrap_or(i64::MAX);
                    self.bounds.extend([whole.saturating_sub(1), whole, whole.saturating_add(1)]);
                }
            }
        }
    }
}

/// The smallest and the largest factor, the largest sum, and whether something is taken away: on any path, with any derivations.
fn changes(offer: &Offer, var: usize) -> (Factor, Factor, i64, bool) {
    let (mut least, mut most, mut adds, mut is_unknown) = (Factor::ONE, Factor::ONE, 0i64, false);
    for (_, derivations) in &offer.needs {
        let (mut small, mut large, mut sum) = (Factor::ONE, Factor::ONE, 0i64);
        for derivation in derivations {
            let (mut product, mut added) = (Factor::ONE, 0i64);
            for (_, change) in derivation.path.iter().filter(|(at, _)| *at == var) {
                match change {
                    Change::Multiply(factor) => product = Factor(factor.of(product.0)),
                    Change::Add(more) => {
                        added = added.saturating_add(*more);
                        is_unknown |= *more < 0;
                    }
                    // Behind it all values are equal.
                    Change::Assign(_) => {}
                }
            }
            small = small.min(product);
            large = large.max(product);
            sum = sum.max(added);
        }
        least = Factor(small.of(least.0));
        most = Factor(large.of(most.0));
        adds = adds.saturating_add(sum);
    }
    (least, most, adds, is_unknown)
}
