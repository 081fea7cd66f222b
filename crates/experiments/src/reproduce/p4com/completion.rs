//! Time of a large shuffle beside the plain mode: the same pairs in the same format, without a switch.

use super::systems::{VOCABULARY, ms, percent, run, times, trial, verdict};
use crate::reproduce::{Experiment, Shown};
use rack_emulator::Table;
use reduce_compared::{Data, Mode, Outcome, Trial};

pub const EXPERIMENT: Experiment = Experiment {
    name: "completion",
    about: "Time of one shuffle at 1 Gbit/s, 12:1, beside the same pairs in the same format without a switch. At best it is shorter by the number of pairs of a distinct key; the paper says 2 to 5 times.",
    set: "words of Zipf's law, skew 1.0, over a vocabulary, counted by each of 12 mappers at one switch; links of 1 Gbit/s, 5 us. The software profile has slots in each bank for the stated number of keys, the pipeline profile 196,608 (24 lanes of 8,192). \
        The time of the pipeline profile includes the texts of keys, which are requested once for each, with and without a switch.",
    leaves_out: "time of mappers and of the reducer's program.",
    run: |lab| {
        let large = [400_000, 2_000_000, 10_000_000].map(|words| (words, VOCABULARY));
        Ok(shown(&[&[(312_500, 1 << 17)], &large[..]].concat(), lab.show_progress))
    },
};

/// System, mode, the same without a switch, slots.
const SYSTEMS: [(&str, Mode, Mode, u64); 3] = [
    ("AGG, software", Mode::Software, Mode::PlainWhole, 8_192),
    ("AGG, software", Mode::Software, Mode::PlainWhole, 65_536),
    ("AGG, pipeline", Mode::Pipeline, Mode::Plain, 196_608),
];

/// By words of each mapper and the vocabulary.
fn shown(cells: &[(u32, u32)], show_progress: &mut dyn FnMut(&str)) -> Shown {
    let all = cells.len() * SYSTEMS.len();
    let mut rows = vec![];
    for (words, vocabulary) in cells {
        let data = Data::words(12, *words, *vocabulary, 1000, 7);
        let base = trial(&data, false);
        let (sum, distinct) = (data.sum(), data.distinct());
        // Several systems have the same format.
        let mut plains: Vec<(Mode, Outcome)> = vec![];
        for (name, mode, plain, slots) in SYSTEMS {
            show_progress(&format!("row {} of {all}: {words} words, {name}, {slots} slots", rows.len() + 1));
            let known = plains.iter().find(|(mode, _)| *mode == plain).map(|(_, outcome)| *outcome);
            let plain = known.unwrap_or_else(|| {
                let outcome = run(&base, plain);
                plains.push((plain, outcome));
                outcome
            });
            let outcome = run(&Trial { slots, ..base.clone() }, mode);
            let row = [
                words.to_string(),
                vocabulary.to_string(),
                name.to_string(),
                slots.to_string(),
                outcome.rounds.to_string(),
                ms(plain.time),
                ms(outcome.time),
                times(plain.time, outcome.time),
                format!("{:.2}", sum as f64 / distinct.max(1) as f64),
                percent(outcome.pairs, sum),
                percent(distinct, sum),
                verdict(&outcome),
            ];
            show_progress(&row.join(", "));
            rows.push(row);
        }
    }
    let titles = [
        "words",
        "vocabulary",
        "<system",
        "slots",
        "rounds",
        "plain ms",
        "ms",
        "plain / this",
        "at best",
        "pairs that arrive",
        "ideal",
        "<result",
    ];
    Table::new(&titles, rows).into()
}
