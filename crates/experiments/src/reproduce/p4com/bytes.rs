//! Bytes on the reducer's link, with and without a switch that folds.

use crate::reproduce::{Experiment, Lab, Shown};
use aggregate::estimate::{Estimate, fewest_rounds};
use aggregate::traffic::{Traffic, Trial};
use aggregate::{Layout, Op, Pair, Place};
use base_diag::Diagnostic;
use base_time::Rng;
use rack_emulator::Table;

pub const BYTES: Experiment = Experiment {
    name: "bytes",
    about: "Word count: bytes on the reducer's link that a switch saves, by mappers. At best it leaves a pair for each word; the paper says 1/N.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| {
        Ok(shown(&[(1000, 3, 1_000_000), (1000, 3, 6_000_000), (1000, 6, 1_000_000), (1000, 12, 1_000_000)]))
    },
};

pub const SKEWS: Experiment = Experiment {
    name: "skews",
    about: "Word count: bytes on the reducer's link that a switch saves, by the skew of the words.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_: &mut Lab<'_>| -> Result<Shown, Vec<Diagnostic>> {
        Ok(shown(&[
            (800, 6, 500_000),
            (1000, 6, 1_000_000),
            (1200, 6, 3_000_000),
            (1500, 6, 10_000_000),
            (1500, 6, 300_000_000),
        ]))
    },
};

const SET: &str = "mappers draw words (Zipf's law, 4,194,304 words) and combine equal ones. A bank of the switch has slots for at most 1 % of the \
    distinct words, a power of two in each lane. Mappers send in step, at most 0.1 % of their packets apart. software: eviction, a round for 1,048,576 pairs of a mapper; pipeline: 24 lanes, the rounds that the estimate gives. Plain: \
    the same pairs in packets of 1,500 bytes. All packets count with headers, check sum, preamble and gap: acknowledgements, requests, control. `to`: towards the reducer; `both`: and from it.";
const LEAVES_OUT: &str =
    "losses and repeated packets; time. The switch is the model that the printed program is compared with.";

const VOCABULARY: u32 = 1 << 22;

/// Skew in thousandths, mappers, words of each.
type Cell = (u32, u64, u64);

fn shown(cells: &[Cell]) -> Shown {
    let rows = cells.iter().flat_map(|cell| measured(*cell));
    let titles = [
        "skew",
        "mappers",
        "pairs",
        "<profile",
        "rounds",
        "ideal",
        "pairs saved",
        "plain kB",
        "kB",
        "to saved",
        "of ideal",
        "both saved",
        "both of ideal",
    ];
    Table::new(&titles, rows).into()
}

/// The distinct words of each mapper. A word with the share `p` is among `n` draws with the probability 1 - (1 - p)^n.
fn keys((skew, mappers, words): Cell) -> Vec<Vec<u32>> {
    let weight = |rank: u32| f64::from(rank + 1).powf(-f64::from(skew) / 1000.0);
    let all: f64 = (0..VOCABULARY).map(weight).sum();
    let of_mapper = |mapper| {
        let mut chance = Rng::new(7).split_index(mapper);
        let is_there = |rank: &u32| {
            let log_of_none = words as f64 * (-weight(*rank) / all).ln_1p();
            (chance.below(1 << 52) as f64) < -log_of_none.exp_m1() * (1u64 << 52) as f64
        };
        (0..VOCABULARY).filter(is_there).collect()
    };
    (0..mappers).map(of_mapper).collect()
}

fn measured((skew, mappers, words): Cell) -> Vec<[String; 13]> {
    let keys = keys((skew, mappers, words));
    let sum: usize = keys.iter().map(Vec::len).sum();
    let mut all = keys.concat();
    all.sort_unstable();
    all.dedup();
    let distinct = all.len();
    let ideal = 1.0 - distinct as f64 / sum as f64;
    let profiles = [("software", Layout::SOFTWARE), ("pipeline", Layout::PIPELINE)];
    let row = |(name, base): (&str, Layout)| {
        // Slots for 1 % of the keys at most.
        let index_bits = (distinct / 100 / usize::from(base.lanes)).max(1).ilog2() as u8;
        let layout = Layout { index_bits, ..base };
        let pair = |key: &u32| Pair { place: Place::of_hashed(&key.to_be_bytes(), 1, &layout), value: 1 };
        let pairs: Vec<Vec<Pair>> = keys.iter().map(|keys| keys.iter().map(pair).collect()).collect();
        let estimate =
            Estimate { mappers: mappers as u32, pairs: sum as u64, distinct: distinct as u64, children: 0 };
        let most = keys.iter().map(Vec::len).max().unwrap_or(0) as u64;
        // Packets of plain jobs are as long as those of the software profile.
        let fewest = fewest_rounds(most, &Layout::SOFTWARE);
        let rounds = if layout.evict { fewest } else { estimate.rounds(&layout) };
        let run = |rounds, is_switched| {
            let trial = Trial { layout, op: Op::Add, rounds, is_switched, pairs: &pairs };
            let traffic = trial.run().unwrap_or_else(|problem| panic!("{problem}"));
            assert!(traffic.is_exact, "the result is not that of a serial fold");
            traffic
        };
        let (plain, folded) = (run(fewest, false), run(rounds, true));
        let share = |of: fn(&Traffic) -> u64| 1.0 - of(&folded) as f64 / of(&plain) as f64;
        let (pairs, to, both) = (share(|t| t.pairs), share(|t| t.to), share(Traffic::bytes));
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        [
            format!("{:.1}", f64::from(skew) / 1000.0),
            mappers.to_string(),
            sum.to_string(),
            name.to_string(),
            rounds.to_string(),
            percent(ideal),
            format!("{:.2}", pairs / ideal),
            (plain.bytes() / 1000).to_string(),
            (folded.bytes() / 1000).to_string(),
            percent(to),
            format!("{:.2}", to / ideal),
            percent(both),
            format!("{:.2}", both / ideal),
        ]
    };
    profiles.map(row).into()
}
