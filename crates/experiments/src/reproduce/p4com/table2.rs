//! Table II: bytes saved on the last hop by sums of gradients, six mappers to one.

use super::systems::{percent, run, slots, trial, verdict};
use crate::reproduce::{Experiment, Shown};
use rack_emulator::Table;
use reduce_compared::{Data, Mode, Trial};

pub const EXPERIMENT: Experiment = Experiment {
    name: "table2",
    about: "Sums of gradients, 6:1: bytes saved on the last hop. The paper reports 62.7 to 66.3 %; at best 5 of 6, 83.3 %.",
    set: "an array of each mapper, in fixed point of 32 bits, of at most 65,536 values of the model (shares do not depend on more). `of arrays`: saved of the numbers themselves, 4 bytes each, over TCP. `of 68-byte pairs`: of pairs with keys \
        of 64 bytes over TCP, the format of the paper. Bytes with all headers, preamble and gap. 393,216 slots.",
    leaves_out: "the training itself: the paper gives the quality of the baseline alone.",
    run: |_| Ok(shown(65_536)),
};

/// Model, parameters, the paper's reduction.
const MODELS: [(&str, u32, &str); 4] = [
    ("ResNet50", 25_559_081, "66.3 % +- 5"),
    ("ResNet20", 269_467, "62.7 % +- 3"),
    ("VGG16", 14_982_987, "63.5 % +- 5"),
    ("U-Net", 1_850_305, "64.3 % +- 5"),
];

const SYSTEMS: [(&str, Mode); 5] = [
    ("P4COM, as printed", Mode::Printed { is_repaired: false }),
    ("SwitchML", Mode::SwitchMl),
    ("AGG, pipeline", Mode::Pipeline),
    ("AGG, software", Mode::Software),
    ("AGG, arrays", Mode::Dense),
];

fn shown(most: u32) -> Shown {
    let rows = MODELS.iter().flat_map(|(model, parameters, paper)| {
        let data = Data::gradients(6, most.min(*parameters), u64::from(*parameters));
        let base = trial(&data, false);
        let arrays = run(&base, Mode::Hadoop).to.bytes;
        let pairs = data.sum().div_ceil(20) * (78 + 9) + data.sum() * 68;
        let row = |(name, mode): (&str, Mode)| {
            let slots = if matches!(mode, Mode::Printed { .. }) { slots(mode) } else { 196_608 };
            let outcome = run(&Trial { slots, ..base.clone() }, mode);
            let saved = |of: u64| percent(of.saturating_sub(outcome.to.bytes), of);
            [
                model.to_string(),
                parameters.to_string(),
                name.to_string(),
                (outcome.to.bytes / 1000).to_string(),
                saved(arrays),
                saved(pairs),
                verdict(&outcome),
                paper.to_string(),
            ]
        };
        SYSTEMS.map(row)
    });
    let titles =
        ["<model", "parameters", "<system", "kB", "of arrays", "of 68-byte pairs", "<result", "<paper"];
    Table::new(&titles, rows.collect::<Vec<_>>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares do not depend on the length of arrays; the short form has a sixteenth of the experiment's.
    #[test]
    fn arrays_are_summed_exactly_and_most_bytes_are_saved() {
        let Shown { table, .. } = shown(if features::is_long() { 65_536 } else { 4_096 });
        let column =
            |title: &str| table.titles.iter().position(|(known, _)| *known == title).expect("a column");
        let [system, result] = ["system", "result"].map(column);
        assert_eq!(table.rows.len(), 20);
        assert!(table.rows.iter().all(|row| row[result] == "exact"), "{table}");
        let saved = |name: &str, of: &str| -> f64 {
            let row = table.rows.iter().find(|row| row[system] == name).expect("a row");
            row[column(of)].trim_end_matches(" %").parse().expect("a share")
        };
        assert!(saved("SwitchML", "of arrays") > 75.0, "{table}");
        assert!(saved("AGG, arrays", "of arrays") > 80.0, "{table}");
        assert!(saved("P4COM, as printed", "of 68-byte pairs") > 70.0, "{table}");
    }
}
