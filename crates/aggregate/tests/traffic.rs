//! Pairs that a switch keeps from the reducer in whole jobs, beside those that it could at best.

use aggregate::estimate::Estimate;
use aggregate::traffic::Trial;
use aggregate::{Layout, Op, Pair, Place};
use base_time::Rng;

const MAPPERS: u64 = 6;

/// The distinct words of each mapper, which draws by Zipf's law. A word with the share `p` is among `n` draws with the probability 1 - (1 - p)^n.
fn keys(words: f64, vocabulary: u32) -> Vec<Vec<u32>> {
    let weight = |rank: u32| 1.0 / f64::from(rank + 1);
    let all: f64 = (0..vocabulary).map(weight).sum();
    let of_mapper = |mapper| {
        let mut chance = Rng::new(7).split_index(mapper);
        let is_there = |rank: &u32| {
            let log_of_none = words * (-weight(*rank) / all).ln_1p();
            (chance.below(1 << 52) as f64) < -log_of_none.exp_m1() * (1u64 << 52) as f64
        };
        (0..vocabulary).filter(is_there).collect()
    };
    (0..MAPPERS).map(of_mapper).collect()
}

/// Shares of the ideal saving, of pairs and of bytes on the reducer's link in both directions, with slots for at most 1 % of the distinct words.
fn saved(keys: &[Vec<u32>], base: Layout) -> (f64, f64) {
    let sum: usize = keys.iter().map(Vec::len).sum();
    let mut all = keys.concat();
    all.sort_unstable();
    all.dedup();
    let distinct = all.len();
    let index_bits = (distinct / 100 / usize::from(base.lanes)).max(1).ilog2() as u8;
    let layout = Layout { index_bits, ..base };
    let pair = |key: &u32| Pair { place: Place::of_hashed(&key.to_be_bytes(), 1, &layout), value: 1 };
    let pairs: Vec<Vec<Pair>> = keys.iter().map(|keys| keys.iter().map(pair).collect()).collect();
    let estimate =
        Estimate { mappers: MAPPERS as u32, pairs: sum as u64, distinct: distinct as u64, children: 0 };
    let rounds = if layout.evict { 1 } else { estimate.rounds(&layout) };
    let run = |rounds, is_switched| {
        let traffic =
            Trial { layout, op: Op::Add, rounds, is_switched, pairs: &pairs }.run().expect("it packs");
        assert!(traffic.is_exact);
        traffic
    };
    let (plain, traffic) = (run(1, false), run(rounds, true));
    let ideal = (sum - distinct) as f64;
    let bytes = 1.0 - traffic.bytes() as f64 / plain.bytes() as f64;
    ((sum as u64 - traffic.pairs) as f64 / ideal, bytes * sum as f64 / ideal)
}

/// With one slot for each key, the software profile would save 0.842. With mappers that have sent the same share of their pairs, not of their packets, the
/// pipeline profile would save 0.660 (numbers of the long form). In so small a job, headers, acknowledgements and requests take their part of the bytes.
#[test]
fn mappers_in_step_save_what_they_can() {
    let is_long = features::is_long();
    let keys = if is_long { keys(200_000.0, 1 << 22) } else { keys(100_000.0, 1 << 20) };
    let ((software, of_software), (pipeline, of_pipeline)) =
        (saved(&keys, Layout::SOFTWARE), saved(&keys, Layout::PIPELINE));
    let least = if is_long { [0.91, 0.72, 0.9, 0.66] } else { [0.94, 0.78, 0.9, 0.45] };
    let found = [software, pipeline, of_software, of_pipeline];
    assert!(found.iter().zip(least).all(|(found, least)| *found > least), "{found:?}");
}
