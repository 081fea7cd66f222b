//! Fig. 2: error of the number of flows against memory.

use super::{block, percent};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use p4_blocks::measure::cardinality;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig2",
    about: "Number of flows, as each packet sees it: mean error of HyperLogLog and of a bitmap in the same memory.",
    set: "random keys of 64 bits; HyperLogLog has a bucket for each byte, the bitmap a cell for each bit. 400 runs, 100 from 4 KB on, 2,000 of HyperLogLog in 32 bytes, whose runs differ most. A bitmap that is full knows nothing.",
    leaves_out: "the paper's text gives ranges: above 20 % below 64 B, 15 to 5 % up to 1 KB, about 4 % above.",
    run,
};

/// Flows that were seen.
const COUNTS: [u64; 4] = [100, 1_000, 10_000, 50_000];

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = [32, 64, 256, 1024, 4096, 8192].map(|bytes: u64| {
        // The mean of runs is off by about 0.75 / sqrt(runs) of itself.
        let runs = if bytes >= 4096 { 100 } else { 400 };
        let most_runs = if bytes == 32 { 2000 } else { runs };
        let of = |name: &str, cells: u64, runs: u32| -> [String; 4] {
            let values = block(name).with(&[("cells", cells), ("key", 64), ("mantissa", 8)]);
            let values = values.unwrap_or_else(|why| panic!("{why}"));
            let errors = cardinality(block(name), &values, &COUNTS, runs, bytes);
            std::array::from_fn(|at| percent(errors[at].mean))
        };
        let limit = match bytes {
            ..64 => "> 20 %",
            64..=1024 => "15 to 5 %",
            _ => "4 %",
        };
        let ([a, b, c, d], [e, f, g, h]) =
            (of("hyperloglog", bytes, most_runs), of("bitmap", 8 * bytes, runs));
        [bytes.to_string(), a, b, c, d, e, f, g, h, limit.to_string()]
    });
    let titles = [
        "bytes",
        "HLL 100",
        "HLL 1,000",
        "HLL 10,000",
        "HLL 50,000",
        "bitmap 100",
        "bitmap 1,000",
        "bitmap 10,000",
        "bitmap 50,000",
        "paper",
    ];
    Ok(Table::new(&titles, rows).into())
}
