//! Latencies in bounded memory.

use base_time::Duration;

/// Buckets for each doubling: values in one differ by less than one in 128.
const PER_OCTAVE: u32 = 128;

/// Number of occurrences of each latency. Least and greatest are exact; others are known to one in 128, and exactly
/// where all of about that size are equal.
#[derive(Clone, Default, Debug)]
pub struct Latencies {
    /// Number and sum, in picoseconds, of the latencies in each.
    buckets: Vec<(u64, u128)>,
    count: u64,
    /// Least, greatest and first.
    range: Option<(Duration, Duration, Duration)>,
    /// Sums of the differences to the first, and of their squares, in picoseconds: a small spread stays exact beside a large mean.
    differences: (i128, u128),
}

impl Latencies {
    /// One more.
    pub fn add(&mut self, latency: Duration) {
        let bucket = bucket(latency.as_ps());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, (0, 0));
        }
        let (count, sum) = &mut self.buckets[bucket];
        *count += 1;
        *sum += u128::from(latency.as_ps());
        self.count += 1;
        let (least, greatest, first) = self.range.unwrap_or((latency, latency, latency));
        self.range = Some((least.min(latency), greatest.max(latency), first));
        let difference = i128::from(latency.as_ps()) - i128::from(first.as_ps());
        let (sum, squares) = &mut self.differences;
        *sum += difference;
        *squares = squares.saturating_add(difference.unsigned_abs().pow(2));
    }

    /// Least and greatest; none if nothing was added.
    pub fn range(&self) -> Option<(Duration, Duration)> {
        self.range.map(|(least, greatest, _)| (least, greatest))
    }

    /// The mean, rounded down to a picosecond; none if nothing was added.
    pub fn mean(&self) -> Option<Duration> {
        let (.., first) = self.range?;
        let mean = i128::from(first.as_ps()) + self.differences.0.div_euclid(i128::from(self.count));
        Some(Duration::from_ps(u64::try_from(mean).unwrap_or(0)))
    }

    /// The standard deviation of all that were added: `sqrt(mean(x²) - mean(x)²)`. None if nothing was added.
    pub fn deviation(&self) -> Option<Duration> {
        self.range?;
        let (sum, squares) = self.differences;
        let (count, sum) = (u128::from(self.count), sum.unsigned_abs());
        // Exact where the products fit; otherwise the spread is so large that a picosecond of the mean does not matter.
        let variance = match (count.checked_mul(squares), sum.checked_mul(sum)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) / (count * count),
            _ => (squares / count).saturating_sub((sum / count).saturating_pow(2)),
        };
        Some(Duration::from_ps(u64::try_from(variance.isqrt()).unwrap_or(u64::MAX)))
    }

    /// Each latency that occurred, the least first, as the mean of its bucket, and how often.
    pub fn counts(&self) -> impl Iterator<Item = (Duration, u64)> {
        let mean = |(count, sum): &(u64, u128)| {
            let mean = sum.checked_div(u128::from(*count)).and_then(|mean| u64::try_from(mean).ok());
            Some((Duration::from_ps(mean?), *count))
        };
        self.buckets.iter().filter_map(mean)
    }

    /// The latency that `permille` of 1000 do not exceed: the mean of its bucket. None if nothing was added.
    pub fn percentile(&self, permille: u64) -> Option<Duration> {
        let (_, greatest) = self.range()?;
        Some(percentile(self.counts(), self.count, permille).unwrap_or(greatest))
    }
}

/// The latency that `permille` of 1000 do not exceed, of those that occurred, the least first, each with how often; `all` is how many they are.
pub fn percentile(
    mut counts: impl Iterator<Item = (Duration, u64)>,
    all: u64,
    permille: u64,
) -> Option<Duration> {
    let rank = (u128::from(all) * u128::from(permille)).div_ceil(1000).max(1);
    let mut below = 0;
    let found = counts.find(|(_, count)| {
        below += u128::from(*count);
        below >= rank
    });
    found.map(|(latency, _)| latency)
}

/// The bucket of a value: one for each up to 255, then 128 for each doubling.
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(PER_OCTAVE.ilog2() + 1);
    (shift * PER_OCTAVE) as usize + (value >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let powers = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let mut values: Vec<u64> = powers.chain(0..2000).chain([u64::MAX]).collect();
        values.sort_unstable();
        let mut first: Vec<(usize, u64)> = vec![];
        for value in values {
            let bucket = bucket(value);
            match first.last() {
                Some((last, start)) if *last == bucket => assert!(value - start <= start / 128, "{value}"),
                last => {
                    assert!(last.is_none_or(|(last, _)| *last < bucket), "{value}");
                    first.push((bucket, value));
                }
            }
        }
        assert!(first.len() > 500);
    }

    #[test]
    fn percentiles_are_close_and_the_ends_exact() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.range(), latencies.percentile(500)), (None, None));
        assert_eq!((latencies.mean(), latencies.deviation()), (None, None));
        for us in 1..=1000 {
            latencies.add(Duration::from_us(us));
        }
        assert_eq!(latencies.range(), Some((Duration::from_us(1), Duration::from_us(1000))));
        for (permille, us) in [(500, 500), (900, 900), (990, 990), (999, 999)] {
            let found = latencies.percentile(permille).unwrap();
            let exact = Duration::from_us(us);
            assert!(found + exact.scaled(1, 128) >= exact, "{permille}: {found}");
            assert!(exact + exact.scaled(1, 128) >= found, "{permille}: {found}");
        }
        let mut same = Latencies::default();
        (0..3).for_each(|_| same.add(Duration::from_ns(12_345)));
        assert_eq!(same.percentile(500), Some(Duration::from_ns(12_345)));
        assert_eq!(same.counts().collect::<Vec<_>>(), [(Duration::from_ns(12_345), 3)]);
        same.add(Duration::MAX);
        assert_eq!((same.percentile(990), same.percentile(750)), (Some(Duration::MAX), same.percentile(10)));
    }

    #[test]
    fn mean_and_deviation_are_those_of_all_values() {
        let mut latencies = Latencies::default();
        // Of 1 to 1000: mean 500.5, variance (1000² - 1) / 12.
        (1..=1000).for_each(|us| latencies.add(Duration::from_us(us)));
        assert_eq!(latencies.mean(), Some(Duration::from_ns(500_500)));
        assert_eq!(latencies.deviation(), Some(Duration::from_ps(288_674_990)));
        // A picosecond of spread beside a second.
        let mut close = Latencies::default();
        (0..1000).for_each(|n| close.add(Duration::from_s(1) + Duration::from_ps(n % 2 * 2)));
        assert_eq!(close.mean(), Some(Duration::from_s(1) + Duration::from_ps(1)));
        assert_eq!(close.deviation(), Some(Duration::from_ps(1)));
        let mut extreme = Latencies::default();
        for latency in [Duration::ZERO, Duration::MAX, Duration::MAX, Duration::ZERO] {
            extreme.add(latency);
        }
        assert_eq!(extreme.mean(), Some(Duration::from_ps(u64::MAX / 2)));
        assert!(extreme.deviation().is_some());
    }
}
