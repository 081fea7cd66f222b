//! Errors of approximate values: shares, mean, percentiles.

/// Approximate and exact values of one output.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Relative errors with signs; of an exact 0, the approximate value itself.
    errors: Vec<f64>,
    /// Pairs that are equal.
    equal: u64,
}

impl Distribution {
    /// A pair of values.
    pub fn add(&mut self, approximate: u128, exact: u128) {
        self.equal += u64::from(approximate == exact);
        let (given, truth) = (approximate as f64, exact as f64);
        self.errors.push((given - truth) / truth.max(1.0));
    }

    /// Pairs.
    pub fn count(&self) -> u64 {
        self.errors.len() as u64
    }

    /// Share of equal pairs; 1 without any.
    pub fn equal(&self) -> f64 {
        if self.errors.is_empty() { 1.0 } else { self.equal as f64 / self.errors.len() as f64 }
    }

    /// Mean of the errors with their signs.
    pub fn bias(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.errors.len().max(1) as f64
    }

    /// Absolute errors, the least first.
    fn sorted(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.errors.iter().map(|error| error.abs()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Mean, median, 90th and 99th percentile, and maximum of the absolute errors.
    pub fn summary(&self) -> [f64; 5] {
        let sorted = self.sorted();
        let at = |hundredths: usize| {
            let rank = (sorted.len() * hundredths).div_ceil(100).max(1) - 1;
            sorted.get(rank).copied().unwrap_or(0.0)
        };
        let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
        [mean, at(50), at(90), at(99), at(100)]
    }

    /// Points of the cumulative distribution of absolute errors, at most `most` of them: error, and share of pairs with at most this error.
    pub fn curve(&self, most: usize) -> Vec<(f64, f64)> {
        let sorted = self.sorted();
        let step = sorted.len().div_ceil(most.max(1)).max(1);
        let last = sorted.len().checked_sub(1);
        let ranks = (0..sorted.len()).step_by(step).chain(last);
        ranks.map(|rank| (sorted[rank], (rank + 1) as f64 / sorted.len() as f64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_absolute_errors() {
        let mut distribution = Distribution::default();
        assert_eq!((distribution.summary(), distribution.equal()), ([0.0; 5], 1.0));
        for error in 1..=100u128 {
            distribution.add(if error % 2 == 0 { 1000 + error } else { 1000 - error }, 1000);
        }
        let [mean, median, ninety, last, most] = distribution.summary();
        assert_eq!([median, ninety, last, most], [0.05, 0.09, 0.099, 0.1]);
        assert!((mean - 0.0505).abs() < 1e-12 && (distribution.bias() - 0.0005).abs() < 1e-12);
        assert_eq!(distribution.equal(), 0.0);
        assert_eq!(distribution.curve(4).last(), Some(&(0.1, 1.0)));
        distribution.add(3, 0);
        assert_eq!(distribution.summary()[4], 3.0);
    }
}
