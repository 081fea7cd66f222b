//! Distribution of an app's traffic over its flows, the most popular flow first.
//!
//! A distribution is a list of classes of flows with equal shares, so its size does not depend on the number of flows:
//! `zipf:0.99` over 10 million flows has about 2,300 classes.

use crate::power::inverse_power;
use std::fmt;

/// All of an app's traffic, in the unit of shares.
pub const ONE: u64 = 1_000_000_000_000;

/// Most flows of an app.
pub const MOST_FLOWS: u64 = 1 << 32;

/// Largest exponent of Zipf's law, in thousandths.
pub const MOST_SKEW: u32 = 4000;

/// Ranks of Zipf's law with a class of their own; those after it share classes whose width is at most 1/128 of the rank.
const OWN_RANKS: u64 = 1024;

/// Shares of an app's flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distribution {
    /// For each class: the number of flows up to its end, and their share of the traffic.
    ends: Vec<(u64, u64)>,
}

/// Why there is no such distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadDistribution {
    /// There are no flows, or no flow has traffic.
    Empty,
    /// More than [`MOST_FLOWS`] flows.
    TooManyFlows,
    /// The weights are too large to be added.
    TooHeavy,
}

impl fmt::Display for BadDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadDistribution::Empty => f.write_str("no flow has traffic"),
            BadDistribution::TooManyFlows => write!(f, "more than {MOST_FLOWS} flows"),
            BadDistribution::TooHeavy => f.write_str("the weights are too large"),
        }
    }
}

impl Distribution {
    /// Zipf's law: the flow of rank k has a share in proportion to `1 / k^(skew / 1000)`.
    ///
    /// A wide class of w flows around rank m has the sum of its first two terms of the Taylor series of the weights at m:
    /// `w f(m) (1 + s (s + 1) (w^2 - 1) / (24 m^2))`. The next term is below 1e-10 of it.
    pub fn zipf(flows: u64, skew: u32) -> Result<Distribution, BadDistribution> {
        let skew = skew.min(MOST_SKEW);
        let mut classes = vec![];
        let mut rank = 1;
        while rank <= flows.min(MOST_FLOWS + 1) {
            let wanted = if rank <= OWN_RANKS { 1 } else { rank / 128 };
            let width = wanted.min(flows - rank + 1);
            // An odd number has a rank in the middle.
            let width = width - u64::from(width % 2 == 0);
            let middle = rank + width / 2;
            let s = u128::from(skew);
            let weight = u128::from(width) * u128::from(inverse_power(middle, skew));
            let wide = (u128::from(width * width - 1) << 40) / (24 * u128::from(middle).pow(2));
            let curved = (weight * (s * (s + 1000)) / 1_000_000 * wide) >> 40;
            classes.push((width, weight + curved));
            rank += width;
        }
        Distribution::of(classes)
    }

    /// Classes of flows: their number and the weight of all of them together, in any order.
    pub fn classes(classes: &[(u64, u64)]) -> Result<Distribution, BadDistribution> {
        Distribution::of(classes.iter().map(|(flows, weight)| (*flows, u128::from(*weight))).collect())
    }

    fn of(mut classes: Vec<(u64, u128)>) -> Result<Distribution, BadDistribution> {
        classes.retain(|(flows, _)| *flows > 0);
        let flows = classes.iter().try_fold(0u64, |sum, (flows, _)| sum.checked_add(*flows));
        if flows.is_none_or(|flows| flows > MOST_FLOWS) {
            return Err(BadDistribution::TooManyFlows);
        }
        let total = classes.iter().try_fold(0u128, |sum, (_, weight)| sum.checked_add(*weight));
        let Some(total) = total.filter(|total| *total < 1 << 108) else {
            return Err(BadDistribution::TooHeavy);
        };
        if total == 0 {
            return Err(BadDistribution::Empty);
        }
        // Weights keep 81 bits: their products with numbers of flows and with `ONE` fit 128.
        let shift = total.ilog2().saturating_sub(80);
        classes.sort_by(|a, b| ((b.1 >> shift) * u128::from(a.0)).cmp(&((a.1 >> shift) * u128::from(b.0))));
        let (mut flows, mut sum) = (0, 0);
        let mut end = |(own, weight): (u64, u128)| {
            flows += own;
            sum += weight >> shift;
            (flows, sum)
        };
        let ends: Vec<(u64, u128)> = classes.into_iter().map(&mut end).collect();
        let total = ends.last().map_or(1, |(_, sum)| *sum).max(1);
        let shares = ends.into_iter().map(|(flows, sum)| (flows, (sum * u128::from(ONE) / total) as u64));
        Ok(Distribution { ends: shares.collect() })
    }

    /// The most popular flows alone: their shares are those of all of the traffic that remains.
    pub fn first(&self, flows: u64) -> Distribution {
        let before = self.ends.iter().take_while(|(end, _)| *end < flows).copied();
        let mut ends: Vec<(u64, u64)> = before.collect();
        ends.push((flows.min(self.flows()), self.share(flows)));
        let all = u128::from(self.share(flows)).max(1);
        for (_, share) in &mut ends {
            *share = (u128::from(*share) * u128::from(ONE) / all) as u64;
        }
        Distribution { ends }
    }

    /// Number of flows.
    pub fn flows(&self) -> u64 {
        self.ends.last().map_or(0, |(flows, _)| *flows)
    }

    /// The share of the `flows` most popular flows, of [`ONE`].
    pub fn share(&self, flows: u64) -> u64 {
        let at = self.ends.partition_point(|(end, _)| *end <= flows);
        let (before, share) = at.checked_sub(1).map_or((0, 0), |before| self.ends[before]);
        let Some((end, with)) = self.ends.get(at) else { return share };
        share + (u128::from(with - share) * u128::from(flows - before) / u128::from(end - before)) as u64
    }

    /// The least number of flows whose share is at least this one.
    pub fn flows_with(&self, share: u64) -> u64 {
        let (mut low, mut high) = (0, self.flows());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.share(middle) >= share { high = middle } else { low = middle + 1 }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_is_the_sum_over_all_ranks() {
        for (flows, skew) in [(1, 990), (1500, 1000), (300_000, 990), (1_000_000, 900), (40_000, 2500)] {
            let zipf = Distribution::zipf(flows, skew).unwrap();
            assert_eq!((zipf.flows(), zipf.share(flows)), (flows, ONE));
            let weight = |rank: u64| (rank as f64).powf(-f64::from(skew) / 1000.0);
            let total: f64 = (1..=flows).map(weight).sum();
            for part in [1, flows / 500, flows / 100, flows / 3] {
                let wanted: f64 = (1..=part).map(weight).sum::<f64>() / total;
                let found = zipf.share(part) as f64 / ONE as f64;
                assert!((found - wanted).abs() < 1e-6, "{part} of {flows}, {skew}: {found}, {wanted}");
            }
        }
    }

    /// Zipf's law with 0.9, 0.95 and 0.99: the share of 10,240 of a million keys, and the keys that have 80 %.
    #[test]
    fn shares_of_a_tofinos_flow_manager() {
        let rounded =
            |skew| (Distribution::zipf(1_000_000, skew).unwrap().share(10_240) + ONE / 2000) / (ONE / 1000);
        assert_eq!([900, 950, 990].map(rounded), [518, 601, 666]);
        let keys = |skew| Distribution::zipf(1_000_000, skew).unwrap().flows_with(ONE / 5 * 4).div_ceil(1000);
        assert_eq!([900, 950, 990].map(keys), [191, 115, 67]);
    }

    #[test]
    fn popular_classes_come_first() {
        let two = Distribution::classes(&[(100, 100), (0, 7), (10, 900)]).unwrap();
        assert_eq!((two.flows(), two.share(10), two.share(60)), (110, ONE / 10 * 9, ONE / 100 * 95));
        assert_eq!(two.flows_with(ONE / 2), 6);
        let first = two.first(60);
        assert_eq!((first.flows(), first.share(10), first.share(60)), (60, 947_368_421_052, ONE));
        assert_eq!(Distribution::zipf(1 << 33, 990), Err(BadDistribution::TooManyFlows));
        assert_eq!(Distribution::classes(&[(3, 0)]), Err(BadDistribution::Empty));
        assert_eq!(Distribution::classes(&[(u64::MAX, 1), (2, 1)]), Err(BadDistribution::TooManyFlows));
        let heavy = Distribution::classes(&[(1, u64::MAX), (MOST_FLOWS - 1, u64::MAX)]).unwrap();
        assert_eq!(heavy.share(1), ONE / 2);
    }
}
