//! Randomness from a seed, the same on every machine and in every release.
//!
//! The generator is PCG XSL 128/64. Ranges, chances, shuffles and seeds of streams are derived from it
//! here and not taken from a library, whose algorithms may change between versions.

use crate::Duration;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

/// A stream of random numbers.
///
/// [`split`](Rng::split) gives a stream of its own for each label. It depends on the seed and the labels alone
/// and not on how much was drawn: a new consumer disturbs no other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rng {
    key: u128,
    generator: Pcg64,
}

impl Rng {
    /// The root stream of `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng::from_key(absorb(u128::from(seed), b"seed"))
    }

    /// An independent stream named `label`.
    pub fn split(&self, label: &str) -> Rng {
        Rng::from_key(absorb(self.key, label.as_bytes()))
    }

    /// An independent stream for the `index`-th of several alike.
    pub fn split_index(&self, index: u64) -> Rng {
        Rng::from_key(absorb(self.key ^ 1, &index.to_le_bytes()))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// 128 random bits.
    pub fn next_u128(&mut self) -> u128 {
        u128::from(self.next_u64()) << 64 | u128::from(self.next_u64())
    }

    /// 8 random bits.
    pub fn next_u8(&mut self) -> u8 {
        (self.next_u64() >> 56) as u8
    }

    /// One random bit.
    pub fn next_bool(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// Uniform in `0..bound`; 0 if `bound` is 0. Without bias: draws that would favour small numbers are
    /// repeated.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let excess = (u64::MAX % bound + 1) % bound;
        loop {
            let draw = self.next_u64();
            if draw <= u64::MAX - excess {
                return draw % bound;
            }
        }
    }

    /// [`below`](Rng::below) for indices.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Uniform in `low..=high`; `low` if the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match high.checked_sub(low) {
            None => low,
            Some(u64::MAX) => self.next_u64(),
            Some(span) => low + self.below(span + 1),
        }
    }

    /// True `numerator` times out of `denominator`; always if `numerator >= denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// True with a probability in millionths, as loss rates are given.
    pub fn chance_ppm(&mut self, ppm: u32) -> bool {
        self.chance(u64::from(ppm), 1_000_000)
    }

    /// Exponentially distributed with the mean `mean`, as gaps of a Poisson process are. Exact up to the resolution of
    /// 2^-64 of the mean, and without a logarithm (von Neumann: Various techniques used in connection with random
    /// digits, 1951): runs of falling draws are made until one has an odd length; the first draw of that one is the
    /// fraction, the number of the others the whole part.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        for whole in 0.. {
            let first = self.next_u64();
            let (mut last, mut length) = (first, 1);
            loop {
                let draw = self.next_u64();
                if draw >= last {
                    break;
                }
                (last, length) = (draw, length + 1);
            }
            if length % 2 == 1 {
                let fraction = (u128::from(mean.as_ps()) * u128::from(first)) >> 64;
                return mean * whole + Duration::from_ps(fraction as u64);
            }
        }
        mean
    }

    /// One of `items`; none if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.index(items.len()))
    }

    /// Brings `items` into a random order, all orders alike.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let draw = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&draw[..chunk.len()]);
        }
    }

    /// `length` random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }

    fn from_key(key: u128) -> Rng {
        let state = absorb(key, b"state");
        let stream = absorb(key, b"stream");
        Rng { key, generator: Pcg64::new(state, stream) }
    }
}

/// Folds `bytes` and their number into `key`; every bit of the result depends on every bit of both.
fn absorb(key: u128, bytes: &[u8]) -> u128 {
    let mut high = mix((key >> 64) as u64 ^ bytes.len() as u64);
    let mut low = mix(key as u64 ^ high);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        high = mix(high ^ u64::from_le_bytes(word));
        low = mix(low.wrapping_add(high));
    }
    high = mix(high ^ low);
    u128::from(high) << 64 | u128::from(mix(low ^ high))
}

/// The step and the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
