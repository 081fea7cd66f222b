//! Table 1: sizes of count-min sketches for a share of false positives.

use super::{block, percent};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use p4_blocks::measure::{Flows, false_positives};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table1",
    about: "Count-min sketches: false positives among flows that are no heavy hitters, at the paper's sizes.",
    set: "N flows send 10 million packets; a fifth of them sends four fifths, in equal shares with Poisson noise. The threshold is what is expected of a heavy hitter. Conservative updates take one \
          pass, as in the block `count-min-conservative`; each flow's packets come in 20 parts in random order. 20 runs of 1,000 flows, 4 of 10,000, 1 of 100,000.",
    leaves_out: "nothing: the sketch is the block's own, with its hashes, on random keys of 64 bits.",
    run,
};

/// Flows, the paper's limit in percent, and its rows and columns.
const ROWS: [(u32, u32, u64, u64); 9] = [
    (1_000, 10, 4, 512),
    (1_000, 5, 3, 1024),
    (1_000, 1, 3, 2048),
    (10_000, 10, 2, 8192),
    (10_000, 5, 3, 8192),
    (10_000, 1, 4, 16_384),
    (100_000, 10, 3, 65_536),
    (100_000, 5, 2, 131_072),
    (100_000, 1, 4, 131_072),
];

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = ROWS.map(|(count, limit, rows, columns)| {
        let runs = (20_000 / count).clamp(1, 20).max(if count == 10_000 { 4 } else { 1 });
        let [plain, conservative] = ["count-min", "count-min-conservative"].map(|name| {
            let values = block(name).with(&[("rows", rows), ("columns", columns), ("key", 64)]);
            let values = values.unwrap_or_else(|why| panic!("{why}"));
            let of = |run: u32| {
                let seed = u64::from(run);
                false_positives(block(name), &values, &Flows::new(count, seed), seed)
            };
            (0..runs).map(of).sum::<f64>() / f64::from(runs)
        });
        [
            count.to_string(),
            format!("{rows} x {columns}"),
            percent(plain),
            percent(conservative),
            format!("< {limit} %"),
        ]
    });
    Ok(Table::new(&["flows", "<rows x columns", "false positives", "conservative", "paper"], rows).into())
}
