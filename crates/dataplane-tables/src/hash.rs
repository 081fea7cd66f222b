//! The seeded hash of keys.
//!
//! Two words at a time are folded by a 64 x 64 -> 128 bit product whose halves are exclusive-ored, as wyhash and its
//! kin do, and the result once more, so that every bit of the hash depends on every bit of the key: tables take their
//! bucket from the low end and their tag from the high end.
//!
//! ```text
//! h = s0;  h = fold(h ^ w0, s1 ^ w1);  h = fold(h ^ w2, s2 ^ w3);  ...
//! a last word without a partner: h = h ^ fold(w ^ s3, s1), computed beside the others
//! hash = fold(h ^ s3, s2)
//! ```
//!
//! The words of the seed are secret to whoever sends packets or writes entries: keys that collide under one seed do
//! not under another. A table that finds too many collisions takes its next seed. Not a cryptographic hash: someone
//! who can time single lookups may learn about the seed, but a lookup is bounded whatever the keys are.
//! CRC32 instructions were not taken: they are linear, so that crafted keys collide under every seed.

/// Operations on words: of the processor, or of code that is generated.
pub trait Words {
    /// A word of 64 bits.
    type Word: Copy;
    /// Exclusive or.
    fn xor(&mut self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Exclusive or of the halves of the product.
    fn fold(&mut self, a: Self::Word, b: Self::Word) -> Self::Word;
}

/// The hash of `key` under the words of a seed.
#[inline(always)]
pub fn hash<O: Words>(ops: &mut O, [s0, s1, s2, s3]: [O::Word; 4], key: &[O::Word]) -> O::Word {
    let (pairs, rest) = key.as_chunks::<2>();
    let (mut h, mut s) = (s0, s1);
    for [a, b] in pairs {
        let (a, b) = (ops.xor(h, *a), ops.xor(s, *b));
        h = ops.fold(a, b);
        s = s2;
    }
    if let [last] = rest {
        let last = ops.xor(*last, s3);
        let last = ops.fold(last, s1);
        h = ops.xor(h, last);
    }
    h = ops.xor(h, s3);
    ops.fold(h, s2)
}

/// Operations of the processor.
struct Numbers;

impl Words for Numbers {
    type Word = u64;

    #[inline(always)]
    fn xor(&mut self, a: u64, b: u64) -> u64 {
        a ^ b
    }

    #[inline(always)]
    fn fold(&mut self, a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    }
}

/// Four secret words, derived from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seed([u64; 4]);

impl Seed {
    /// Seed from splitmix64. The multipliers are odd.
    pub(crate) fn new(seed: u64) -> Seed {
        let word = |i: u64| {
            let z = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        Seed([word(0), word(1) | 1, word(2) | 1, word(3)])
    }

    /// The one to take if this one is bad.
    pub(crate) fn next(self) -> Seed {
        Seed::new(self.0[0] ^ self.0[3].rotate_left(17))
    }

    /// The hash of a key of any length.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u64]) -> u64 {
        hash(&mut Numbers, self.0, key)
    }

    /// The seed of these words.
    pub(crate) fn of(words: [u64; 4]) -> Seed {
        Seed(words)
    }

    /// The words.
    pub(crate) fn words(self) -> [u64; 4] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flipping one bit of the key flips each bit of the hash about every other time.
    #[test]
    fn avalanche() {
        for words in 1..=5 {
            let mut flips = [0; 64];
            let mut tried = 0;
            for seed in 0..20 {
                let seed = Seed::new(seed);
                let key: Vec<u64> = (0..words).map(|i| i * 3).collect();
                for bit in 0..64 * words as usize {
                    let mut other = key.clone();
                    other[bit / 64] ^= 1 << (bit % 64);
                    let differs = seed.hash(&key) ^ seed.hash(&other);
                    (0..64).for_each(|i| flips[i] += (differs >> i & 1) as u32);
                    tried += 1;
                }
            }
            for (bit, count) in flips.into_iter().enumerate() {
                let share = f64::from(count) / f64::from(tried);
                assert!((0.44..0.56).contains(&share), "{words} words, bit {bit}: {share}");
            }
        }
    }
}
