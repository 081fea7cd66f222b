//! Statistics of completion times.

use base_time::Rng;

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The value below which a share of the values lies (nearest rank); 0 of nothing.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// The distance of Kolmogorov and Smirnov: the largest difference of the two empirical distribution functions, from 0 to 1.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    if a.is_empty() || b.is_empty() {
        return if a.len() == b.len() { 0.0 } else { 1.0 };
    }
    let below = |values: &[f64], limit: f64| {
        values.partition_point(|value| *value <= limit) as f64 / values.len() as f64
    };
    a.iter().chain(&b).map(|limit| (below(&a, *limit) - below(&b, *limit)).abs()).fold(0.0, f64::max)
}

/// An estimate with an interval of confidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Estimate from all values.
    pub value: f64,
    /// Ends of the interval.
    pub interval: (f64, f64),
}

/// A statistic of rows with the interval that has 95 % of its values in `rounds` resamples of the rows (percentile bootstrap, Efron 1979). A row
/// may have one flow's times under several schemes: then they are resampled together.
pub fn bootstrap<T: Clone>(rows: &[T], statistic: impl Fn(&[T]) -> f64, rounds: u32, seed: u64) -> Estimate {
    let mut rng = Rng::new(seed).split("bootstrap");
    let mut resampled = |_| {
        let rows: Vec<T> = rows.iter().filter_map(|_| rng.pick(rows).cloned()).collect();
        statistic(&rows)
    };
    let values: Vec<f64> = (0..rounds).map(&mut resampled).collect();
    Estimate { value: statistic(rows), interval: (quantile(&values, 0.025), quantile(&values, 0.975)) }
}

/// FlexSwitch's classes of flows, by packets: below 50, below 500, and all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Length {
    /// Less than 50 packets.
    Short,
    /// 50 to 499 packets.
    Medium,
    /// At least 500 packets.
    Long,
}

impl Length {
    /// All of them.
    pub const ALL: [Length; 3] = [Length::Short, Length::Medium, Length::Long];

    /// The class of a flow.
    pub fn of(bytes: u32, bytes_of_packet: u32) -> Length {
        match bytes.div_ceil(bytes_of_packet.max(1)) {
            ..50 => Length::Short,
            50..500 => Length::Medium,
            _ => Length::Long,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_largest_gap() {
        let even: Vec<f64> = (0..100).map(f64::from).collect();
        let moved: Vec<f64> = even.iter().map(|value| value + 10.0).collect();
        assert!((distance(&even, &moved) - 0.1).abs() < 1e-9);
        assert_eq!(distance(&even, &even), 0.0);
        assert_eq!(distance(&[1.0], &[2.0, 3.0]), 1.0);
        assert_eq!((distance(&[], &[1.0]), distance(&[], &[])), (1.0, 0.0));
        // Ties are one step: half of one lies at 1, all of the other.
        assert_eq!(distance(&[1.0, 2.0], &[1.0, 1.0]), 0.5);
    }

    #[test]
    fn quantiles_are_ranks() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!([0.0, 0.5, 0.95, 1.0].map(|share| quantile(&values, share)), [1.0, 50.0, 95.0, 100.0]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn the_interval_of_a_mean_has_its_known_width() {
        // Uniform in 0..1: the standard error of the mean of 1,000 is 1 / sqrt(12,000).
        let mut rng = Rng::new(3);
        let values: Vec<f64> = (0..1000).map(|_| rng.below(1 << 20) as f64 / f64::from(1 << 20)).collect();
        let Estimate { value, interval: (low, high) } = bootstrap(&values, mean, 2000, 1);
        let wanted = 2.0 * 1.96 / 12_000f64.sqrt();
        assert!((high - low - wanted).abs() < 0.1 * wanted, "{low} {high}");
        assert!(low < value && value < high);
        assert_eq!(bootstrap(&values, mean, 100, 1), bootstrap(&values, mean, 100, 1));
    }

    #[test]
    fn classes_are_the_paper_s() {
        let of = |packets: u32| Length::of(packets * 1000, 1000);
        assert_eq!([49, 50, 499, 500].map(of), [Length::Short, Length::Medium, Length::Medium, Length::Long]);
    }
}
