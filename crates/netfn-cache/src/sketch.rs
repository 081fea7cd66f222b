//! Two sketches of sets of keys, of fixed size: how often keys were asked for, and which may have an end of life.

/// Recent requests for each key. A counter of eight bits at four places of a key, all in one cache line; the least
/// is never too small by more than ageing. Each count halves one place in turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frequency {
    pub(crate) counts: Vec<[u8; LINE]>,
    pub(crate) hand: usize,
}

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// The places of `hash` in its line: one in each quarter.
fn quarters(hash: u64) -> [usize; 4] {
    std::array::from_fn(|n| n * LINE / 4 + (hash >> (48 + 4 * n)) as usize % (LINE / 4))
}

impl Frequency {
    /// For a store of `entries`.
    pub fn new(entries: usize) -> Frequency {
        Frequency { counts: vec![[0; LINE]; (entries / 2).next_power_of_two()], hand: 0 }
    }

    fn line(&self, hash: u64) -> usize {
        (hash >> 16) as usize & (self.counts.len() - 1)
    }

    /// The key was asked for.
    pub fn count(&mut self, hash: u64) {
        let at = self.line(hash);
        let line = &mut self.counts[at];
        let least = least(line, hash);
        for place in quarters(hash) {
            if line[place] == least {
                line[place] = least.saturating_add(1);
            }
        }
        self.counts[self.hand / LINE][self.hand % LINE] /= 2;
        self.hand = (self.hand + 1) & (self.counts.len() * LINE - 1);
    }

    /// Estimated number of requests for the key.
    pub fn of(&self, hash: u64) -> u8 {
        least(&self.counts[self.line(hash)], hash)
    }
}

fn least(line: &[u8; LINE], hash: u64) -> u8 {
    let [a, b, c, d] = quarters(hash).map(|place| line[place]);
    a.min(b).min(c.min(d))
}

/// Keys that may have an end of life that the cache does not know: a Bloom filter. It forgets nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mortal {
    pub(crate) bits: Vec<u64>,
}

/// Places of `hash` in a table of `size`, which is a power of two.
fn places<const N: usize>(hash: u64, size: usize) -> [usize; N] {
    let step = hash.rotate_left(32) | 1;
    std::array::from_fn(|n| {
        let scattered = hash.wrapping_add(step.wrapping_mul(n as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (scattered >> 32) as usize & (size - 1)
    })
}

impl Mortal {
    /// For a store of `entries`.
    pub fn new(entries: usize) -> Mortal {
        Mortal { bits: vec![0; entries.next_power_of_two()] }
    }

    /// The key may have one.
    pub fn add(&mut self, hash: u64) {
        for place in places::<3>(hash, self.bits.len() * 64) {
            self.bits[place / 64] |= 1 << (place % 64);
        }
    }

    /// False only if the key was never added.
    pub fn may_have(&self, hash: u64) -> bool {
        let places = places::<3>(hash, self.bits.len() * 64);
        places.iter().all(|place| self.bits[place / 64] >> (place % 64) & 1 == 1)
    }
}
