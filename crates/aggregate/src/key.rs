//! The place of a key: lane, index and tag.
//!
//! A number is spread over places by division: `number = (tag * buckets + bucket) * lanes + lane`. A place therefore proves the
//! whole number, and the tag need not hold the bits that lane and index show. Numbers are either permuted keys, which come back
//! ([`Place::of_number`], no collision), or hashes of longer keys ([`hash`]).
//!
//! In layouts with short tags and without eviction a key has several places ([`Layout::choice_bits`]), whose numbers are the highest bits of the tag. The slots are
//! `step` apart, which follows from the other bits, so each place proves the number, too:
//!
//! ```text
//! place 0: slot s, tag t      place 1: slot s + step(t), tag 1 << 31 | t
//! ```

use crate::layout::Layout;

/// A place in a switch: lane and index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot {
    /// The lane.
    pub lane: u8,
    /// The row in the lane's bank; of a key, the first one of its bucket.
    pub index: u16,
}

/// A key as switch and packets know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The first slot of the bucket that may hold the key.
    pub slot: Slot,
    /// Distinguishes the keys of a bucket. In a switch, 0 means empty; a pair whose tag is 0 is never folded there.
    pub tag: u128,
}

impl Place {
    /// The first place of a number below 2^32, or below 2^48 in layouts with at least 131,072 buckets in each bank; only with short tags. No
    /// two numbers share a place.
    pub fn of_number(number: u64, layout: &Layout) -> Option<Place> {
        let half = half_of(layout);
        (number >> (2 * half) == 0 && layout.tag_bits == Layout::SHORT_TAG)
            .then(|| spread(permute(number, half), layout))
    }

    /// The place of an array's element: a row of lanes after the other, a round after the other. Tags are rounds from 1.
    pub fn of_element(element: u64, layout: &Layout) -> Place {
        let (row, lane) = (element / u64::from(layout.lanes), (element % u64::from(layout.lanes)) as u8);
        let index = (row & u64::from(layout.rows() - 1)) as u16;
        Place { slot: Slot { lane, index }, tag: 1 + u128::from(row >> layout.index_bits) }
    }

    /// The element whose place this is.
    pub fn element(&self, layout: &Layout) -> u64 {
        let row = ((self.tag as u64).saturating_sub(1)) << layout.index_bits | u64::from(self.slot.index);
        row * u64::from(layout.lanes) + u64::from(self.slot.lane)
    }

    /// The number whose first place this is.
    pub fn number(&self, layout: &Layout) -> u64 {
        let bucket = u64::from(u32::from(self.slot.index) / layout.ways());
        let rest = (self.tag as u64) << layout.buckets().trailing_zeros() | bucket;
        let spread = rest.wrapping_mul(u64::from(layout.lanes)).wrapping_add(u64::from(self.slot.lane));
        unpermute(spread, half_of(layout))
    }

    /// Numbers that have places.
    pub fn numbers(layout: &Layout) -> u64 {
        1 << (2 * half_of(layout))
    }

    /// The first place of a key of any length, by its hash. Two keys share a place with probability 1 in `lanes` * `buckets` * 2^32 with
    /// short tags, half of that with a choice of two places, and 1 in 2^128 with long tags.
    pub fn of_hashed(key: &[u8], seed: u64, layout: &Layout) -> Place {
        if layout.tag_bits == Layout::LONG_TAG {
            let Place { slot, .. } = spread(hash(key, seed), layout);
            let half = |part: u64| u128::from(hash(key, seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            return Place { tag: half(1) << 64 | half(2), slot };
        }
        let most = (u64::from(layout.lanes) * u64::from(layout.buckets())) << (32 - layout.choice_bits());
        spread(hash(key, seed) % most, layout)
    }

    /// The place of a whole key of 1 to 16 bytes without zeros at its end, for long tags; none for others.
    pub fn of_key(key: &[u8], seed: u64, layout: &Layout) -> Option<Place> {
        if layout.tag_bits != Layout::LONG_TAG || key.len() > 16 || key.last().is_none_or(|last| *last == 0) {
            return None;
        }
        let mut tag = [0; 16];
        tag[..key.len()].copy_from_slice(key);
        let Place { slot, .. } = spread(hash(key, seed), layout);
        Some(Place { tag: u128::from_be_bytes(tag), slot })
    }

    /// The place to which the key's pair is sent if this one holds another key; none after the last one.
    pub fn next(&self, layout: &Layout) -> Option<Place> {
        let choice = self.choice(layout) + 1;
        (choice >> layout.choice_bits() == 0).then(|| self.moved(choice, layout))
    }

    /// The key's first place.
    pub fn first(&self, layout: &Layout) -> Place {
        self.moved(0, layout)
    }

    fn choice(&self, layout: &Layout) -> u64 {
        (self.tag >> (32 - layout.choice_bits())) as u64 & ((1 << layout.choice_bits()) - 1)
    }

    /// Another place of the key, by its number.
    fn moved(&self, choice: u64, layout: &Layout) -> Place {
        let before = self.choice(layout);
        if choice == before {
            return *self;
        }
        let lanes = u64::from(layout.lanes);
        let slots = lanes * u64::from(layout.rows());
        let shift = 32 - layout.choice_bits();
        let tag = self.tag as u64 & ((1 << shift) - 1);
        // Other bits than those of `order`, or the keys of a round would have similar steps.
        let x = (tag ^ tag >> 15).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let step = 1 + (x ^ x >> 32) % (slots - 1);
        let slot = u64::from(self.slot.index) * lanes + u64::from(self.slot.lane);
        let slot = (slot + (slots - step) * before + step * choice) % slots;
        let slot = Slot { lane: (slot % lanes) as u8, index: (slot / lanes) as u16 };
        Place { slot, tag: u128::from(choice << shift | tag) }
    }

    /// Position in hash order of a key's first place, in which all mappers send: the same for all, and independent of the slot, so that the keys of a
    /// slot are far from each other.
    pub fn order(&self) -> u64 {
        let folded = (self.tag as u64) ^ ((self.tag >> 64) as u64).rotate_left(17);
        let x = (folded ^ folded >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        x ^ x >> 33
    }

    /// The bytes of a whole key.
    pub fn key(&self) -> Vec<u8> {
        let bytes = self.tag.to_be_bytes();
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes[..length].to_vec()
    }
}

/// The first place of a number.
fn spread(number: u64, layout: &Layout) -> Place {
    let lanes = u64::from(layout.lanes);
    let (lane, rest) = ((number % lanes) as u8, number / lanes);
    let buckets = u64::from(layout.buckets());
    let index = (rest % buckets) as u16 * layout.ways() as u16;
    Place { tag: u128::from((rest / buckets) as u32), slot: Slot { lane, index } }
}

/// Half the bits of numbers that have places in a layout: 16 to 24.
fn half_of(layout: &Layout) -> u32 {
    let buckets = u64::from(layout.lanes) * u64::from(layout.buckets());
    (buckets.max(1).ilog2().saturating_sub(layout.choice_bits()) / 2).min(8) + 16
}

/// One round of a Feistel network over two halves.
fn mix(side: u64, round: u64, half: u32) -> u64 {
    let x = (side ^ round << half).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (64 - half)
}

/// A fixed permutation of the numbers of two halves that looks random (Luby and Rackoff: four rounds).
fn permute(number: u64, half: u32) -> u64 {
    let (mut left, mut right) = (number >> half, number & ((1 << half) - 1));
    for round in 0..4 {
        (left, right) = (right, left ^ mix(right, round, half));
    }
    left << half | right
}

fn unpermute(number: u64, half: u32) -> u64 {
    let (mut left, mut right) = (number >> half, number & ((1 << half) - 1));
    for round in (0..4).rev() {
        (left, right) = (right ^ mix(left, round, half), left);
    }
    left << half | right
}

/// SipHash-2-4 of `key` (Aumasson and Bernstein 2012), with `seed` as the first half of its key.
pub fn hash(key: &[u8], seed: u64) -> u64 {
    let second = seed.rotate_left(32) ^ 0x7034_7261_636b_2020;
    siphash(key, seed, second)
}

fn siphash(key: &[u8], k0: u64, k1: u64) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let chunks = key.chunks_exact(8);
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    last[7] = key.len() as u8;
    for word in chunks.map(|chunk| chunk.try_into().unwrap_or_default()).chain([last]).map(u64::from_le_bytes)
    {
        v[3] ^= word;
        (0..2).for_each(|_| sip_round(&mut v));
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| sip_round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siphash_is_the_papers() {
        let key = |from: u8| u64::from_le_bytes(std::array::from_fn(|at| from + at as u8));
        let input: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(&input, key(0), key(8)), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn numbers_come_back_from_their_places() {
        let small = Layout { lanes: 3, index_bits: 1, ..Layout::PIPELINE };
        let evicting = Layout { evict: true, ..Layout::PIPELINE };
        let cases = [
            (Layout::PIPELINE, 48),
            (evicting, 48),
            (Layout { lanes: 7, index_bits: 15, ..small }, 48),
            (small, 32),
            (Layout { evict: true, ..small }, 32),
        ];
        for (layout, bits) in cases {
            for number in
                (0..200).chain([1 << (bits - 1), (1 << bits) - 1, 0x1_2345_6789 & ((1 << bits) - 1)])
            {
                let place = Place::of_number(number, &layout).expect("it has a place");
                assert!(place.slot.lane < layout.lanes && u32::from(place.slot.index) < layout.rows());
                assert_eq!(place.slot.index, layout.bucket_of(place.slot.index));
                assert_eq!(place.number(&layout), number);
            }
            assert_eq!(Place::of_number(1 << bits, &layout), None);
        }
    }

    #[test]
    fn a_key_comes_back_from_each_of_its_places() {
        let small = Layout { lanes: 3, index_bits: 1, ..Layout::PIPELINE };
        for (layout, places) in [
            (Layout::PIPELINE, 2),
            (small, 2),
            (Layout { lanes: 1, index_bits: 0, ..small }, 1),
            (Layout { evict: true, ..Layout::PIPELINE }, 1),
            (Layout::SOFTWARE, 1),
            (Layout::DENSE, 1),
        ] {
            let mut found = std::collections::BTreeSet::new();
            let mut lanes = [0; 24];
            for key in 0..2000_u32 {
                let first = Place::of_hashed(&key.to_be_bytes(), 1, &layout);
                let all: Vec<Place> =
                    std::iter::successors(Some(first), |place| place.next(&layout)).collect();
                assert_eq!(all.len(), places, "{layout:?}");
                for place in &all {
                    assert!(place.slot.lane < layout.lanes && u32::from(place.slot.index) < layout.rows());
                    assert_eq!(place.first(&layout), first);
                    assert!(found.insert(*place), "two keys share {place:?}");
                }
                if layout == Layout::PIPELINE {
                    assert_ne!(all[0].slot, all[1].slot);
                    lanes[usize::from(all[1].slot.lane)] += 1;
                }
            }
            // 83 each.
            assert!(
                layout != Layout::PIPELINE || lanes.iter().all(|keys| (40..140).contains(keys)),
                "{lanes:?}"
            );
        }
    }

    #[test]
    fn whole_keys_come_back_from_their_tags() {
        let layout = Layout::SOFTWARE;
        for key in [&b"a"[..], b"Aggregation-16-b", b"zero\0inside"] {
            assert_eq!(Place::of_key(key, 1, &layout).expect("it fits").key(), key);
        }
        for key in [&b""[..], b"Aggregation-17-by", b"end\0"] {
            assert_eq!(Place::of_key(key, 1, &layout), None);
        }
    }
}
