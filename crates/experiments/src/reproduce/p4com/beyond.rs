//! Beyond the paper: slots, skew, a slow mapper, and a restart of the switch in the middle of a job.

use super::systems::{SYSTEMS, VOCABULARY, ms, percent, run, slots, times, trial, verdict};
use crate::reproduce::{Experiment, Shown};
use base_time::Time;
use rack_emulator::Table;
use reduce_compared::{Data, Mode, Trial};

pub const MEMORY: Experiment = Experiment {
    name: "memory",
    about: "Bytes on the last hop by the slots of the switch, 6:1. Mappers of AGG and P4COM send in the same order, so pairs of a key meet in fewer slots than there are keys; DAIET saves what fits.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| Ok(memory(200_000)),
};

pub const SKEW_SYSTEMS: Experiment = Experiment {
    name: "skew-systems",
    about: "Bytes on the last hop by the skew of the words, 6:1, for each system.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| Ok(skews(200_000)),
};

pub const STRAGGLERS: Experiment = Experiment {
    name: "stragglers",
    about: "One mapper of six whose link has a tenth of the rate: time, and pairs that still meet in the switch.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| Ok(stragglers(200_000)),
};

pub const RESTART: Experiment = Experiment {
    name: "restart",
    about: "The switch restarts when the mappers have sent for half of their time, 6:1. AGG notices and sends rounds again that were not committed; the others lose what the switch held.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| Ok(restarts(200_000)),
};

const SET: &str = "Zipf's law (skew 1.0 unless it varies) over 4,194,304 words, 200,000 words of each of six mappers, one switch, links of 1 Gbit/s and 5 us. DAIET and AGG have 16,384 slots (AGG in two banks), P4COM 100,000 keys, unless slots vary: then all have as many. \
    Bytes towards the reducer, with all headers and the texts of keys that travel as hashes.";
const LEAVES_OUT: &str =
    "time of mappers and of the reducer's program; the time that a switch needs to restart.";

fn six(words: u32, skew: u32) -> Data {
    Data::words(6, words, VOCABULARY, skew, 7)
}

fn memory(words: u32) -> Shown {
    let data = six(words, 1000);
    let base = trial(&data, false);
    let hadoop = run(&base, Mode::Hadoop).to.bytes;
    let mut rows = vec![];
    for slots in [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18] {
        for (name, mode) in SYSTEMS.into_iter().skip(2) {
            // Two banks share the slots.
            let halves = if matches!(mode, Mode::Pipeline | Mode::Software) { 2 } else { 1 };
            let outcome = run(&Trial { slots: slots / halves, ..base.clone() }, mode);
            rows.push([
                slots.to_string(),
                name.to_string(),
                (outcome.to.bytes / 1000).to_string(),
                percent(outcome.to.bytes, hadoop),
                percent(outcome.pairs, data.sum()),
                verdict(&outcome),
            ]);
        }
    }
    Table::new(&["slots", "<system", "kB", "of Hadoop's", "pairs that arrive", "<result"], rows).into()
}

fn skews(words: u32) -> Shown {
    let mut rows = vec![];
    for skew in [800, 1000, 1200, 1500] {
        let data = six(words, skew);
        let base = trial(&data, false);
        let hadoop = run(&base, Mode::Hadoop).to.bytes;
        for (name, mode) in SYSTEMS {
            let outcome = run(&Trial { slots: slots(mode), ..base.clone() }, mode);
            rows.push([
                format!("{:.1}", f64::from(skew) / 1000.0),
                name.to_string(),
                (outcome.to.bytes / 1000).to_string(),
                percent(outcome.to.bytes, hadoop),
                percent(outcome.pairs, data.sum()),
                percent(data.distinct(), data.sum()),
                verdict(&outcome),
            ]);
        }
    }
    Table::new(&["skew", "<system", "kB", "of Hadoop's", "pairs that arrive", "ideal", "<result"], rows)
        .into()
}

fn stragglers(words: u32) -> Shown {
    let data = six(words, 1000);
    let base = trial(&data, false);
    let row = |(name, mode): (&str, Mode)| {
        let usual = Trial { slots: slots(mode), ..base.clone() };
        let mut slow = usual.clone();
        slow.links.slow = Some(0);
        let (usual, slow) = (run(&usual, mode), run(&slow, mode));
        [
            name.to_string(),
            ms(usual.time),
            ms(slow.time),
            times(slow.time, usual.time),
            percent(usual.pairs, data.sum()),
            percent(slow.pairs, data.sum()),
            verdict(&slow),
        ]
    };
    let titles = ["<system", "ms", "ms, one slow", "slow / usual", "pairs", "pairs, one slow", "<result"];
    Table::new(&titles, SYSTEMS.map(row)).into()
}

fn restarts(words: u32) -> Shown {
    let data = six(words, 1000);
    let base = trial(&data, false);
    let row = |(name, mode): (&str, Mode)| {
        let usual = Trial { slots: slots(mode), ..base.clone() };
        let before = run(&usual, mode);
        let middle = Time::ZERO + before.sent.scaled(1, 2);
        let after = run(&Trial { restarts: vec![(middle, 0)], ..usual }, mode);
        [
            name.to_string(),
            before.rounds.to_string(),
            ms(before.time),
            ms(after.time),
            times(after.time, before.time),
            verdict(&after),
        ]
    };
    let switched = SYSTEMS.into_iter().skip(2).map(row);
    Table::new(
        &["<system", "rounds", "ms", "ms, restart", "restart / usual", "<result"],
        switched.collect::<Vec<_>>(),
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short form has a tenth of the experiment's words.
    #[test]
    fn ours_alone_are_exact_after_a_restart_of_the_switch() {
        let Shown { table, .. } = restarts(if features::is_long() { 200_000 } else { 20_000 });
        assert_eq!(table.rows.len(), 6);
        for row in &table.rows {
            let (system, result) = (&row[0], &row[5]);
            assert_eq!(result == "exact", system.starts_with("AGG"), "{table}");
        }
    }
}
