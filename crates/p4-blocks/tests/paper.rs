//! The tables and the figure of FlexSwitch's building blocks, and what is to beat them.

use p4_blocks::measure::{Flows, arithmetic, cardinality, false_positives};
use p4_blocks::{Block, Values, find};

fn block(name: &str) -> &'static Block {
    find(name).unwrap_or_else(|| panic!("no block {name}"))
}

fn with(name: &str, changes: &[(&str, u64)]) -> Values {
    block(name).with(changes).unwrap_or_else(|why| panic!("{why}"))
}

/// Table 1: at the paper's sizes the false positives are below its limits, within half a point; conservative updates halve them with 3 rows or more.
#[test]
fn count_min_has_the_false_positives_of_table_1() {
    let all = features::setting("P4RACK_ALL", 0) > 0;
    let paper = [
        (1_000, 10.0, 4, 512, 20),
        (1_000, 5.0, 3, 1024, 20),
        (1_000, 1.0, 3, 2048, 20),
        (10_000, 10.0, 2, 8192, 4),
        (10_000, 5.0, 3, 8192, 4),
        (10_000, 1.0, 4, 16_384, 4),
        (100_000, 10.0, 3, 65_536, 1),
        (100_000, 5.0, 2, 131_072, 1),
        (100_000, 1.0, 4, 131_072, 1),
    ];
    for (count, limit, rows, columns, runs) in paper {
        let runs = if all { runs } else { 1.max(runs / 8) };
        if count == 100_000 && rows == 4 && !all {
            continue;
        }
        let [plain, conservative] = ["count-min", "count-min-conservative"].map(|name| {
            let values = with(name, &[("rows", rows), ("columns", columns), ("key", 64)]);
            let run = |seed| false_positives(block(name), &values, &Flows::new(count, seed), seed);
            100.0 * (0..runs).map(run).sum::<f64>() / runs as f64
        });
        let row =
            format!("{count} flows, {rows} x {columns}: {plain:.2} %, conservative {conservative:.2} %");
        assert!(plain <= limit + 0.5 && plain >= limit / 3.0, "{row}");
        assert!(conservative < plain, "{row}");
        assert!(rows < 3 || 2.0 * conservative <= plain, "{row}");
    }
}

/// Table 2: the paper's sizes are the least with a mean error below its limits, within half a point: the least mantissa, and then the least fraction.
#[test]
fn products_have_the_sizes_of_table_2() {
    let paper = [
        (16, 10.0, 3, 6),
        (16, 5.0, 4, 7),
        (16, 1.0, 6, 9),
        (32, 10.0, 3, 7),
        (32, 5.0, 4, 8),
        (32, 1.0, 6, 10),
        (64, 10.0, 3, 9),
        (64, 5.0, 4, 9),
        (64, 1.0, 6, 11),
    ];
    for (bits, limit, mantissa, fraction) in paper {
        let error = |mantissa: u64, fraction: u64| {
            let values = with("multiply", &[("bits", bits), ("mantissa", mantissa), ("fraction", fraction)]);
            100.0 * arithmetic(block("multiply"), &values, 40_000, 1).mean
        };
        let ours = error(mantissa, fraction);
        assert!(ours < limit, "{bits} bits, {mantissa}, {fraction}: {ours:.2} %");
        let [less_mantissa, less_fraction] = [error(mantissa - 1, 12), error(mantissa, fraction - 1)];
        // Half a point for the paper's sample: 16 bits with mantissa 3 reach 4.8 %.
        assert!(less_mantissa >= limit - 0.5, "{bits} bits, {}, 12: {less_mantissa:.2} %", mantissa - 1);
        assert!(less_fraction >= limit, "{bits} bits, {mantissa}, {}: {less_fraction:.2} %", fraction - 1);
    }
}

/// Normalised operands: at most 0.6 % with at most 200 rows for 32 bits. The paper has 0.85 % with 1,919.
#[test]
fn normalised_products_beat_table_2() {
    let values = with("multiply-normalised", &[]);
    let tables = (block("multiply-normalised").cost)(&values).tables;
    // The tables of the second operand are copies, as the paper counts.
    let rows: u64 =
        tables.iter().filter(|table| !table.table.ends_with("_b")).map(|table| table.entries).sum();
    let errors = arithmetic(block("multiply-normalised"), &values, 100_000, 1);
    assert!(rows <= 200 && errors.mean <= 0.006, "{rows} rows, {errors:?}");
    assert!(errors.bias.abs() < 0.001, "{errors:?}");
    // With bits after the point, quotients are as good.
    let values = with("divide-normalised", &[("point", 16)]);
    let errors = arithmetic(block("divide-normalised"), &values, 100_000, 1);
    assert!(errors.mean <= 0.006, "{errors:?}");
}

/// Fig. 2: HyperLogLog within 5 % of its theory (mean error 0.8 x 1.04 / sqrt(cells)), the bitmap at most 1 % at 8 KB; read at every packet.
#[test]
fn cardinality_is_as_good_as_theory() {
    let all = features::setting("P4RACK_ALL", 0) > 0;
    for cells in [16, 32, 64, 256, 1024, 4096] {
        let values = with("hyperloglog", &[("cells", cells), ("key", 64), ("mantissa", 8)]);
        // Between linear counting and the harmonic mean (3 keys for each cell) the original estimate is 1.1 times the limit.
        let counts = [100, 1_000, 10_000, 3 * cells, 5 * cells];
        let runs = if all { 3000 } else { 60 };
        let errors = cardinality(block("hyperloglog"), &values, &counts, runs, cells);
        let theory = 0.8 * 1.04 / (cells as f64).sqrt();
        // The mean of few runs is off by a part of itself: 0.76 / sqrt(runs), thrice.
        let slack = if all { 1.05 } else { 1.05 + 2.3 / f64::from(runs).sqrt() };
        for (count, error) in counts.iter().zip(errors) {
            assert!(
                error.mean <= slack * theory,
                "{cells} cells, {count} keys: {error:?}, theory {theory:.4}"
            );
        }
    }
    let values = with("bitmap", &[("key", 64)]);
    let counts = [100, 1_000, 10_000, 25_000, 50_000];
    for error in cardinality(block("bitmap"), &values, &counts, if all { 100 } else { 4 }, 1) {
        assert!(error.mean <= 0.01, "{error:?}");
    }
}

/// With few cells the harmonic mean alone is 3.5 % (32 cells) or 7 % (16 cells) too large.
#[test]
fn few_cells_have_no_bias() {
    for cells in [16, 32, 64] {
        let values = with("hyperloglog", &[("cells", cells), ("key", 64), ("mantissa", 8)]);
        let counts = [3 * cells, 10 * cells];
        for (count, error) in counts.iter().zip(cardinality(block("hyperloglog"), &values, &counts, 2000, 1))
        {
            // Four standard errors of the mean of 2,000 runs, and 0.4 % for linear counting.
            let limit = 4.0 * 1.04 / (2000.0 * cells as f64).sqrt() + 0.004;
            assert!(error.bias.abs() <= limit, "{cells} cells, {count} keys: {error:?}, limit {limit:.4}");
        }
    }
}
