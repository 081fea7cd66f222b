//! Two sketches of sets of keys, of fixed size: how often keys were asked for, and which may have an end of life.

/// How often each key was asked for, of late. A counter of eight bits at four places of a key; the least is never too small
/// by more than ageing. Each count halves one place in turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frequency {
    pub(crate) counts: Vec<u8>,
    pub(crate) hand: usize,
}

/// Places of `hash` in a table of `size`, which is a power of two.
fn places<const N: usize>(hash: u64, size: usize) -> [usize; N] {
    let step = hash.rotate_left(32) | 1;
    std::array::from_fn(|n| {
        let scattered = hash.wrapping_add(step.wrapping_mul(n as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (scattered >> 32) as usize & (size - 1)
    })
}

impl Frequency {
    /// For a store of `entries`.
    pub fn new(entries: usize) -> Frequency {
        Frequency { counts: vec![0; (entries * 32).next_power_of_two()], hand: 0 }
    }

    /// The key was asked for.
    pub fn count(&mut self, hash: u64) {
        let places = places::<4>(hash, self.counts.len());
        let least = places.iter().map(|place| self.counts[*place]).min().unwrap_or(0);
        for place in places {
            if self.counts[place] == least {
                self.counts[place] = least.saturating_add(1);
            }
        }
        self.counts[self.hand] /= 2;
        self.hand = (self.hand + 1) & (self.counts.len() - 1);
    }

    /// How often.
    pub fn of(&self, hash: u64) -> u8 {
        places::<4>(hash, self.counts.len()).iter().map(|place| self.counts[*place]).min().unwrap_or(0)
    }
}

/// Keys that may have an end of life that the cache does not know: a Bloom filter. It forgets nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mortal {
    pub(crate) bits: Vec<u64>,
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
