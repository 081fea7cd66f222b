//! Traffic that a switch saves, in pairs, beside the ideal: `cargo run --release -p aggregate --example saved -- [WORDS]`.
//!
//! Mappers draw words (Zipf's law, 5,105,919 words) and combine equal ones. The ideal saves all pairs but one for each distinct word.
//! Slots are for 1 % of the distinct words. Mappers are at most 0.1 % of the hash space apart.
//!
//! - eviction: a word has a bucket of slots, and a new pair takes the place of the oldest one, which travels on (software profile);
//! - rounds: the first word keeps a slot, others are sent to their next places, and a round has a word for every fourth slot (pipeline profile). A switch with
//!   slots for 1 % of the words needs 400 of them.

use aggregate::{Layout, Place};
use base_time::{Rng, Zipf};
use std::collections::BTreeSet;

const WORDS: u32 = 5_105_919;

/// The sum of places in hash order over all mappers, each shifted by up to 0.05 % either way; and the number of distinct words.
fn stream(mappers: u64, zipf: &Zipf, words: u64, layout: &Layout) -> (Vec<Place>, usize) {
    let mut all = vec![];
    for mapper in 0..mappers {
        let mut chance = Rng::new(7).split_index(mapper);
        let own: BTreeSet<u32> = (0..words).map(|_| zipf.draw(&mut chance) as u32).collect();
        let apart = chance.between(0, 2 * (u64::MAX / 2000)) as i128 - i128::from(u64::MAX / 2000);
        all.extend(own.iter().filter_map(|word| {
            let place = Place::of_number(u64::from(*word), layout)?;
            Some((i128::from(place.order()) + apart, place))
        }));
    }
    all.sort_unstable();
    let mut distinct: Vec<Place> = all.iter().map(|(_, place)| *place).collect();
    distinct.sort_unstable();
    distinct.dedup();
    (all.into_iter().map(|(_, place)| place).collect(), distinct.len())
}

/// Pairs that reach the reducer where a pair evicts another one.
fn evicting(stream: &[Place], slots: usize) -> usize {
    let ways = Layout::SOFTWARE.ways() as usize;
    let mut held: Vec<Vec<Option<Place>>> = vec![vec![None; ways]; slots / ways];
    let mut reached = 0;
    for place in stream {
        let bucket = &mut held[slot_of(place, slots / ways)];
        if !bucket.contains(&Some(*place)) {
            bucket.rotate_right(1);
            reached += usize::from(bucket[0].replace(*place).is_some());
        }
    }
    reached + held.iter().flatten().flatten().count()
}

/// The same where the first word keeps a slot, in rounds with barriers between them. Words that find no slot are sent to their next places after the others.
fn rounds(stream: &[Place], slots: usize, rounds: u32, layout: &Layout) -> usize {
    let mut by_round: Vec<Vec<Place>> = vec![vec![]; rounds as usize];
    for place in stream {
        by_round[aggregate::pack::round_of(place, rounds) as usize].push(*place);
    }
    let mut reached = 0;
    for round in by_round {
        let mut held: Vec<Option<Place>> = vec![None; slots];
        let mut next = round;
        while !next.is_empty() {
            let is_left = |place: &Place| *held[slot_of(place, slots)].get_or_insert(*place) != *place;
            let left: Vec<Place> = next.into_iter().filter(is_left).collect();
            next = left.iter().filter_map(|place| place.next(layout)).collect();
            reached += left.len() - next.len();
        }
        reached += held.iter().flatten().count();
    }
    reached
}

/// Any number of slots, not only a power of two in each lane.
fn slot_of(place: &Place, slots: usize) -> usize {
    aggregate::key::hash(
        &place.tag.to_be_bytes(),
        u64::from(place.slot.index) << 8 | u64::from(place.slot.lane),
    ) as usize
        % slots
}

fn main() {
    let words = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    println!("skew mappers    pairs distinct  ideal | eviction of ideal | rounds of ideal");
    for skew in [800, 1000, 1200, 1500] {
        let zipf = Zipf::new(WORDS, skew);
        for mappers in [3, 6, 12] {
            let layout = Layout::PIPELINE;
            let (stream, distinct) = stream(mappers, &zipf, words, &layout);
            let slots = distinct.div_ceil(100);
            let saved = |reached: usize| 1.0 - reached as f64 / stream.len() as f64;
            let ideal = saved(distinct);
            let [evicting, rounds] =
                [evicting(&stream, slots), rounds(&stream, slots, 400, &layout)].map(saved);
            println!(
                "{:4.1} {mappers:7} {:8} {distinct:8} {:5.1}% | {:7.1}% {:7.3} | {:5.1}% {:7.3}",
                f64::from(skew) / 1000.0,
                stream.len(),
                100.0 * ideal,
                100.0 * evicting,
                evicting / ideal,
                100.0 * rounds,
                rounds / ideal,
            );
        }
    }
}
