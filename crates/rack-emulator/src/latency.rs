//! Latencies in bounded memory.

use base_time::Duration;

/// Buckets for each doubling: the error is below one in 128.
const PER_OCTAVE: u32 = 128;

/// How often each latency occurred. Least and greatest are exact; others are known to one in 128.
#[derive(Clone, Default, Debug)]
pub(crate) struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    range: Option<(Duration, Duration)>,
}

impl Latencies {
    pub fn add(&mut self, latency: Duration) {
        let bucket = bucket(latency.as_ps());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        let (least, greatest) = self.range.unwrap_or((latency, latency));
        self.range = Some((least.min(latency), greatest.max(latency)));
    }

    /// Least and greatest; none if nothing was added.
    pub fn range(&self) -> Option<(Duration, Duration)> {
        self.range
    }

    /// The latency that `percent` percent do not exceed, rounded up to the end of its bucket; none if nothing was
    /// added.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let (least, greatest) = self.range?;
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += u128::from(*count);
            if below >= rank {
                return Some(Duration::from_ps(last_of(bucket)).clamp(least, greatest));
            }
        }
        Some(greatest)
    }
}

/// The bucket of a value: one for each up to 255, then 128 for each doubling.
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(PER_OCTAVE.ilog2() + 1);
    (shift * PER_OCTAVE) as usize + (value >> shift) as usize
}

/// The greatest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let per_octave = u64::from(PER_OCTAVE);
    let shift = (bucket / per_octave).saturating_sub(1);
    let first = (bucket - shift * per_octave) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let powers = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let mut values: Vec<u64> = powers.chain(0..2000).chain([u64::MAX]).collect();
        values.sort_unstable();
        let mut last = 0;
        for value in values {
            let bucket = bucket(value);
            assert!(bucket >= last, "{value}");
            last = bucket;
            let end = last_of(bucket);
            assert!(end >= value && end - value <= value / 128, "{value} in a bucket to {end}");
        }
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
            assert!(found >= exact && found - exact <= exact.scaled(1, 128), "{percent}: {found}");
        }
        assert_eq!(latencies.percentile(100), Some(Duration::from_us(1000)));
        let mut one = Latencies::default();
        one.add(Duration::from_ns(12_345));
        assert_eq!(one.percentile(50), Some(Duration::from_ns(12_345)));
    }
}
