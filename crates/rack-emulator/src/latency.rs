//! Latencies in bounded memory.

use base_time::Duration;

/// Buckets for each doubling: values in one differ by less than one in 128.
const PER_OCTAVE: u32 = 128;

/// How often each latency occurred. Least and greatest are exact; others are known to one in 128, and exactly
/// where all of about that size are equal.
#[derive(Clone, Default, Debug)]
pub(crate) struct Latencies {
    /// Number and sum, in picoseconds, of the latencies in each.
    buckets: Vec<(u64, u128)>,
    count: u64,
    range: Option<(Duration, Duration)>,
}

impl Latencies {
    pub fn add(&mut self, latency: Duration) {
        let bucket = bucket(latency.as_ps());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, (0, 0));
        }
        let (count, sum) = &mut self.buckets[bucket];
        *count += 1;
        *sum += u128::from(latency.as_ps());
        self.count += 1;
        let (least, greatest) = self.range.unwrap_or((latency, latency));
        self.range = Some((least.min(latency), greatest.max(latency)));
    }

    /// Least and greatest; none if nothing was added.
    pub fn range(&self) -> Option<(Duration, Duration)> {
        self.range
    }

    /// Each latency that occurred, the least first, as the mean of its bucket, and how often.
    pub fn counts(&self) -> impl Iterator<Item = (Duration, u64)> {
        let mean = |(count, sum): &(u64, u128)| {
            let mean = sum.checked_div(u128::from(*count)).and_then(|mean| u64::try_from(mean).ok());
            Some((Duration::from_ps(mean?), *count))
        };
        self.buckets.iter().filter_map(mean)
    }

    /// The latency that `percent` percent do not exceed: the mean of its bucket. None if nothing was added.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let (_, greatest) = self.range?;
        Some(percentile(self.counts(), self.count, percent).unwrap_or(greatest))
    }
}

/// The latency that `percent` of 100 do not exceed, of those that occurred, the least first, each with how often; `all` is how many they are.
pub fn percentile(
    mut counts: impl Iterator<Item = (Duration, u64)>,
    all: u64,
    percent: u64,
) -> Option<Duration> {
    let rank = (u128::from(all) * u128::from(percent)).div_ceil(100).max(1);
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
        assert_eq!((latencies.range(), latencies.percentile(50)), (None, None));
        for us in 1..=1000 {
            latencies.add(Duration::from_us(us));
        }
        assert_eq!(latencies.range(), Some((Duration::from_us(1), Duration::from_us(1000))));
        for (percent, us) in [(50, 500), (99, 990)] {
            let found = latencies.percentile(percent).unwrap();
            let exact = Duration::from_us(us);
            assert!(found + exact.scaled(1, 128) >= exact, "{percent}: {found}");
            assert!(exact + exact.scaled(1, 128) >= found, "{percent}: {found}");
        }
        let mut same = Latencies::default();
        (0..3).for_each(|_| same.add(Duration::from_ns(12_345)));
        assert_eq!(same.percentile(50), Some(Duration::from_ns(12_345)));
        assert_eq!(same.counts().collect::<Vec<_>>(), [(Duration::from_ns(12_345), 3)]);
        same.add(Duration::MAX);
        assert_eq!((same.percentile(99), same.percentile(75)), (Some(Duration::MAX), same.percentile(1)));
    }
}
