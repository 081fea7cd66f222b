//! Zipf's law: the k-th of n is drawn with a probability in proportion to 1 / k^s.
//!
//! Weights are integers, computed without floats: the same on every machine.

use crate::Rng;

/// The most ranks there are.
const MOST: u32 = 1 << 22;

/// Draws ranks.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// The sum of the weights up to each rank.
    sums: Vec<u64>,
}

impl Zipf {
    /// Ranks `0..count`; `skew` is the exponent in thousandths.
    pub fn new(count: u32, skew: u32) -> Zipf {
        let mut sum = 0;
        let weight = |rank: u32| {
            sum += weight(rank, skew);
            sum
        };
        Zipf { sums: (1..=count.clamp(1, MOST)).map(weight).collect() }
    }

    /// The next rank.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let all = self.sums.last().copied().unwrap_or(1);
        let at = rng.below(all);
        self.sums.partition_point(|sum| *sum <= at)
    }
}

/// 2^40 / rank^(skew / 1000), at least 1.
fn weight(rank: u32, skew: u32) -> u64 {
    let exponent = u64::from(skew.min(4000)) * log2(rank) / 1000;
    let (whole, part) = (exponent >> 32, exponent & 0xffff_ffff);
    if whole >= 40 {
        return 1;
    }
    (exp2_minus(part) >> whole >> 22).max(1)
}

/// The logarithm of a number to base 2, with 32 bits after the point.
fn log2(number: u32) -> u64 {
    let whole = u64::from(number.max(1).ilog2());
    // The number as a value in 1..2 with 62 bits after the point; squaring it doubles its logarithm.
    let mut value = u64::from(number.max(1)) << (62 - whole);
    let mut part = 0;
    for _ in 0..32 {
        value = ((u128::from(value) * u128::from(value)) >> 62) as u64;
        part <<= 1;
        if value >= 1 << 63 {
            part |= 1;
            value >>= 1;
        }
    }
    whole << 32 | part
}

/// 2^-(1/2), 2^-(1/4), ... with 62 bits after the point: each is the root of the one before.
const ROOTS: [u64; 32] = {
    let mut roots = [0; 32];
    let mut factor = 1u64 << 61;
    let mut at = 0;
    while at < 32 {
        factor = ((factor as u128) << 62).isqrt() as u64;
        roots[at] = factor;
        at += 1;
    }
    roots
};

/// 2^(62 - part / 2^32) for a part below 2^32.
fn exp2_minus(part: u64) -> u64 {
    let mut value = 1u64 << 62;
    for (bit, root) in (0..32).rev().zip(ROOTS) {
        if part >> bit & 1 == 1 {
            value = ((u128::from(value) * u128::from(root)) >> 62) as u64;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_powers() {
        for (rank, skew) in [(1, 990), (2, 1000), (10, 900), (1000, 950), (1_000_000, 990)] {
            let wanted = 2f64.powi(40) / f64::from(rank).powf(f64::from(skew) / 1000.0);
            let off = weight(rank, skew) as f64 / wanted - 1.0;
            assert!(off.abs() < 1e-5, "{rank}^{skew}: {} {wanted}", weight(rank, skew));
        }
        assert_eq!(weight(7, 0), 1 << 40);
    }

    #[test]
    fn the_first_rank_is_drawn_as_often_as_it_should_be() {
        let zipf = Zipf::new(1_000_000, 990);
        let mut rng = Rng::new(1);
        let first = (0..100_000).filter(|_| zipf.draw(&mut rng) == 0).count();
        // Its share is 1 / (the sum of k^-0.99 over a million ranks) = 1 / 15.4.
        assert!((6_000..7_000).contains(&first), "{first}");
    }

    #[test]
    fn ranks_alike_are_drawn_alike() {
        let zipf = Zipf::new(10, 0);
        let mut rng = Rng::new(1);
        let mut seen = [0; 10];
        (0..10_000).for_each(|_| seen[zipf.draw(&mut rng)] += 1);
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
    }
}
