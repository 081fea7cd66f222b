//! Random keys, prefixes and traffic.

pub use base_time::Rng;
use dataplane_tables::EntryKey;
use std::collections::BTreeSet;
use std::fmt;

/// Lookups in a run.
pub const LOOKUPS: usize = 1 << 17;

/// Distribution of packets over entries.
#[derive(Clone, Copy)]
pub enum Popularity {
    /// All alike.
    Uniform,
    /// Some more than others, by this exponent.
    Zipf(f64),
}

impl Popularity {
    /// Positions among `n` entries, one for each lookup.
    pub fn draw(self, rng: &mut Rng, n: usize) -> impl Iterator<Item = usize> {
        let mut sums = vec![0.0];
        let exponent = if let Popularity::Zipf(exponent) = self { exponent } else { 0.0 };
        for i in 0..n {
            sums.push(sums[i] + ((i + 1) as f64).powf(-exponent));
        }
        let total = sums[n];
        let drawn: Vec<usize> = (0..LOOKUPS)
            .map(|_| {
                let at = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * total;
                sums.partition_point(|sum| *sum <= at).clamp(1, n) - 1
            })
            .collect();
        drawn.into_iter()
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Popularity::Uniform => write!(f, "uniform"),
            Popularity::Zipf(exponent) => write!(f, "zipf {exponent}"),
        }
    }
}

/// Shares of prefix lengths, in thousandths, about as the Internet's tables have them.
const V4: &[(u32, u64)] = &[
    (24, 600),
    (23, 95),
    (22, 110),
    (21, 50),
    (20, 45),
    (19, 30),
    (18, 15),
    (17, 10),
    (16, 20),
    (15, 5),
    (14, 5),
    (12, 3),
    (8, 2),
    (32, 10),
];
const V6: &[(u32, u64)] = &[
    (48, 460),
    (44, 90),
    (40, 90),
    (36, 50),
    (32, 150),
    (29, 40),
    (46, 40),
    (47, 30),
    (56, 15),
    (64, 15),
    (128, 10),
    (20, 10),
];

/// Different prefixes of a field of 32 or 128 bits, many of them inside of others.
pub fn prefixes(rng: &mut Rng, width: u32, n: usize) -> Vec<EntryKey> {
    let shares = if width == 32 { V4 } else { V6 };
    let mut all = BTreeSet::new();
    // Blocks that providers have, out of which the longer ones are.
    let blocks: Vec<u128> = (0..1 + n / 8).map(|_| block(rng, width)).collect();
    while all.len() < n {
        let mut share = rng.below(shares.iter().map(|(_, s)| s).sum());
        let length = shares
            .iter()
            .find(|(_, s)| {
                share < *s || {
                    share -= s;
                    false
                }
            })
            .map_or(0, |(l, _)| *l);
        let low = if width == 32 { rng.next_u128() & 0xffff } else { rng.next_u128() & (u128::MAX >> 32) };
        let value = blocks[rng.index(blocks.len())] | low;
        let mask = u128::MAX << (width - length) & (u128::MAX >> (128 - width));
        all.insert((value & mask, mask));
    }
    let words = |value: u128| [value as u64, (value >> 64) as u64][..width.div_ceil(64) as usize].to_vec();
    let mut keys: Vec<_> = all
        .into_iter()
        .map(|(value, mask)| EntryKey { value: words(value), mask: words(mask), priority: 0 })
        .collect();
    rng.shuffle(&mut keys);
    keys
}

fn block(rng: &mut Rng, width: u32) -> u128 {
    match width {
        32 => u128::from(1 + rng.below(223)) << 24 | u128::from(rng.below(256)) << 16,
        _ => 1u128 << 125 | u128::from(rng.below(1 << 12)) << 112 | u128::from(rng.below(1 << 13)) << 99,
    }
}

/// A key inside of a prefix.
pub fn inside(rng: &mut Rng, prefix: &EntryKey) -> Vec<u64> {
    let width_mask = if prefix.mask.len() == 1 { u64::from(u32::MAX) } else { u64::MAX };
    prefix.value.iter().zip(&prefix.mask).map(|(v, m)| v | rng.next_u64() & !m & width_mask).collect()
}
