//! Table 2: rows of the tables for approximate products.

use super::{block, percent};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use p4_blocks::{Values, measure::arithmetic};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table2",
    about: "Products by tables of logarithms: the least mantissa m and then the least fraction l with a mean error below a limit, and normalised products.",
    set: "operands are log-uniform, and their product fits; 20,000 products for each size. Rows of one table of logarithms and of the table of powers, as the paper counts. The normalised form has 6 \
          bits of mantissa: rows of shapes, logarithms, powers and places.",
    leaves_out: "nothing: the errors are of the blocks' models, which their P4 is bit-equal to.",
    run,
};

/// Bits, the paper's limit in percent, its m and l, and its rows.
const ROWS: [(u64, u32, u64, u64, u64); 9] = [
    (16, 10, 3, 6, 59),
    (16, 5, 4, 7, 111),
    (16, 1, 6, 9, 383),
    (32, 10, 3, 7, 123),
    (32, 5, 4, 8, 239),
    (32, 1, 6, 10, 895),
    (64, 10, 3, 9, 251),
    (64, 5, 4, 9, 495),
    (64, 1, 6, 11, 1919),
];

/// Products for each size, and the finest fraction that is tried.
const SAMPLES: u32 = 20_000;
const FINEST: u64 = 12;

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = ROWS.map(|(bits, limit, m, l, logs)| {
        let limit_share = f64::from(limit) / 100.0;
        let reaches = |m: u64, l: u64| {
            let values = product(bits, m, l)?;
            let error = arithmetic(block("multiply"), &values, SAMPLES, 2).mean;
            (error < limit_share).then_some((m, l, values, error))
        };
        // A mantissa that is too short for the finest fraction is too short for all.
        let found = (1..=8).find(|m| reaches(*m, FINEST).is_some());
        let found = found.and_then(|m| (4..=FINEST).find_map(|l| reaches(m, l)));
        let (ours, entries, error) = found.map_or(("none".to_string(), 0, 1.0), |(m, l, values, error)| {
            let logs = (block("multiply").cost)(&values).tables[0].entries;
            (format!("{m}, {l}"), logs + (1 << l), error)
        });
        let normalised = block("multiply-normalised");
        let values = normalised.with(&[("bits", bits)]).unwrap_or_else(|why| panic!("{why}"));
        // The table of logarithms is there once for each operand; the paper counts it once.
        let tables = (normalised.cost)(&values).tables;
        let once = tables.iter().filter(|table| !table.table.ends_with("_b"));
        [
            bits.to_string(),
            format!("< {limit} %"),
            ours,
            percent(error),
            entries.to_string(),
            format!("{m}, {l}"),
            product(bits, m, l).map_or("none".to_string(), |values| {
                percent(arithmetic(block("multiply"), &values, SAMPLES, 2).mean)
            }),
            (logs + (1 << l)).to_string(),
            percent(arithmetic(normalised, &values, SAMPLES, 2).mean),
            once.map(|table| table.entries).sum::<u64>().to_string(),
        ]
    });
    let titles = [
        "bits",
        "<limit",
        "<m, l",
        "error",
        "rows",
        "<paper's m, l",
        "its error",
        "paper's rows",
        "normalised",
        "its rows",
    ];
    Ok(Table::new(&titles, rows).into())
}

fn product(bits: u64, mantissa: u64, fraction: u64) -> Option<Values> {
    block("multiply").with(&[("bits", bits), ("mantissa", mantissa), ("fraction", fraction)]).ok()
}
