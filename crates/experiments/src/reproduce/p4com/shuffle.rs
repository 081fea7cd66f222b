//! Figures 6 and 7: bytes on the last hop and completion times of one shuffle, by systems and mappers.

use super::systems::{SYSTEMS, ms, percent, run, slots, times, trial, verdict};
use crate::reproduce::{Experiment, Shown};
use rack_emulator::Table;
use reduce_compared::{Data, Mode, Outcome, Trial};

pub const FIG6: Experiment = Experiment {
    name: "fig6",
    about: "Bytes on the last hop, of Hadoop's. The paper's figure has no numbers; its text: P4COM less than DAIET, DAIET less than Hadoop, and less with more mappers.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| Ok(volumes(200_000, 65_536)),
};

pub const FIG7: Experiment = Experiment {
    name: "fig7",
    about: "Time of one shuffle at 1 Gbit/s. The paper's figure has no numbers; its text: 2 to 5 times the throughput, and many losses of DAIET with more mappers.",
    set: SET,
    leaves_out: LEAVES_OUT,
    run: |_| Ok(durations(400_000, 65_536)),
};

const SET: &str = "words: Zipf's law of skew 1.0 over 4,194,304 words, counted by each mapper (200,000 words each for the volumes, 400,000 for the times); array: 65,536 values of each mapper (ResNet20 has 269,467; \
    shares do not depend on it). Tiers 1: all hosts at one switch; 2: two racks. Links of 1 Gbit/s, 5 us, queues of 512 KiB. DAIET and AGG have 16,384 slots (AGG in two banks), P4COM 100,000 keys. Hadoop-like: records with whole keys over TCP; for arrays, plain numbers. \
    Bytes have all headers, preamble and gap, and the texts of keys that travel as hashes. The ideal is one pair for each distinct key, in the packets of `plain`.";
const LEAVES_OUT: &str = "time of mappers and of the reducer's program; disks. TCP is a window with the same congestion control as AGG's. P4COM has the most favourable reading: every key finds a slot, dumps are never lost.";

const CASES: [(u16, bool); 4] = [(3, false), (6, false), (12, false), (12, true)];

/// Runs of the systems that apply, the first of which is Hadoop's.
fn outcomes(data: &Data, has_two_tiers: bool) -> Vec<(&'static str, Outcome)> {
    let base = trial(data, has_two_tiers);
    let more = if data.is_dense { vec![("SwitchML", Mode::SwitchMl)] } else { vec![] };
    let systems = SYSTEMS.into_iter().chain(more);
    systems.map(|(name, mode)| (name, run(&Trial { slots: slots(mode), ..base.clone() }, mode))).collect()
}

fn each(words: u32, length: u32, mut row: impl FnMut(&str, (u16, bool), &Data, &[(&str, Outcome)])) {
    for (mappers, has_two_tiers) in CASES {
        let words = Data::words(mappers, words, super::systems::VOCABULARY, 1000, 7);
        row("words", (mappers, has_two_tiers), &words, &outcomes(&words, has_two_tiers));
    }
    for (mappers, has_two_tiers) in CASES {
        let array = Data::gradients(mappers, length, 7);
        row("array", (mappers, has_two_tiers), &array, &outcomes(&array, has_two_tiers));
    }
}

fn tiers(has_two_tiers: bool) -> String {
    if has_two_tiers { "2" } else { "1" }.to_string()
}

fn volumes(words: u32, length: u32) -> Shown {
    let mut rows = vec![];
    each(words, length, |data_name, (mappers, has_two_tiers), data, outcomes| {
        let hadoop = outcomes[0].1.to.bytes;
        for (name, outcome) in outcomes {
            rows.push([
                data_name.to_string(),
                format!("{mappers}:1"),
                tiers(has_two_tiers),
                name.to_string(),
                (outcome.to.bytes / 1000).to_string(),
                percent(outcome.to.bytes, hadoop),
                percent(outcome.pairs, data.sum()),
                percent(data.distinct(), data.sum()),
                verdict(outcome),
            ]);
        }
    });
    let titles = [
        "<data",
        "mappers",
        "tiers",
        "<system",
        "kB",
        "of Hadoop's",
        "pairs that arrive",
        "ideal",
        "<result",
    ];
    Table::new(&titles, rows).into()
}

fn durations(words: u32, length: u32) -> Shown {
    let mut rows = vec![];
    each(words, length, |data_name, (mappers, has_two_tiers), _, outcomes| {
        let plain = outcomes[1].1.time;
        for (name, outcome) in outcomes {
            rows.push([
                data_name.to_string(),
                format!("{mappers}:1"),
                tiers(has_two_tiers),
                name.to_string(),
                ms(outcome.time),
                times(plain, outcome.time),
                outcome.lost.to_string(),
                verdict(outcome),
            ]);
        }
    });
    let titles = ["<data", "mappers", "tiers", "<system", "ms", "plain / this", "packets lost", "<result"];
    Table::new(&titles, rows).into()
}
