//! Section II-C: V'/V = 1 / (N rho), beside the same share from the data, and measured.

use super::systems::{VOCABULARY, run, trial};
use crate::reproduce::{Experiment, Shown};
use rack_emulator::Table;
use reduce_compared::{Data, Mode, Trial};

pub const EXPERIMENT: Experiment = Experiment {
    name: "formula",
    about: "The paper's formula V'/V = 1 / (N rho). With rho = pairs / (N * distinct keys) it is the number of distinct keys over the number of pairs, which any data set has. The wire adds headers: every packet of P4COM sends one to the master.",
    set: "Zipf's law over 4,194,304 words, 100,000 words of each mapper; `array`: 20,000 values of each. Pairs that arrive are of AGG's software profile with a slot for each key, and of P4COM as printed with a bound of 100,000 keys. `bytes`: P4COM's on the last hop, of those of the same pairs without a switch. \
        One header for each packet is 87 of 1,447 bytes: 6.0 %.",
    leaves_out: "losses.",
    run: |_| Ok(shown(100_000, 20_000)),
};

fn shown(words: u32, length: u32) -> Shown {
    let mut rows = vec![];
    for skew in [800, 1000, 1200, 1500] {
        for mappers in [3, 6, 12] {
            let data = Data::words(mappers, words, VOCABULARY, skew, 7);
            rows.push(row(format!("words, {:.1}", f64::from(skew) / 1000.0), &data));
        }
    }
    for mappers in [3, 6, 12] {
        rows.push(row("array".to_string(), &Data::gradients(mappers, length, 7)));
    }
    let titles = [
        "<data",
        "N",
        "rho",
        "1 / (N rho)",
        "distinct / pairs",
        "AGG, pairs",
        "P4COM, pairs",
        "P4COM, bytes",
    ];
    Table::new(&titles, rows).into()
}

fn row(name: String, data: &Data) -> [String; 8] {
    let (mappers, sum, distinct) = (data.pairs.len() as f64, data.sum() as f64, data.distinct() as f64);
    let rho = sum / mappers / distinct;
    let base = trial(data, false);
    let agg = run(&Trial { slots: 1 << 22, ..base.clone() }, Mode::Software);
    let printed = run(&Trial { slots: 100_000, ..base }, Mode::Printed { is_repaired: false });
    let packets: u64 = data.pairs.iter().map(|pairs| (pairs.len() as u64).div_ceil(20)).sum();
    let plain = (packets * 87 + data.sum() * 68) as f64;
    [
        name,
        mappers.to_string(),
        format!("{rho:.3}"),
        format!("{:.3}", 1.0 / mappers / rho),
        format!("{:.3}", distinct / sum),
        format!("{:.3}", agg.pairs as f64 / sum),
        format!("{:.3}", printed.pairs as f64 / sum),
        format!("{:.3}", printed.to.bytes as f64 / plain),
    ]
}
