//! Sizes from a wanted error.

use crate::cardinality::cells_of_a_group;
use crate::measure::{self, Flows, Operands};
use crate::{Block, Values};

/// Sizes that were chosen.
#[derive(Clone, PartialEq, Debug)]
pub struct Sized {
    /// The sizes.
    pub values: Values,
    /// The error that is expected with them.
    pub error: f64,
}

/// The measure of a block's error, in words; `None` if the error does not depend on sizes.
pub fn error_of(block: &Block) -> Option<&'static str> {
    Some(match block.name {
        "bitmap" | "hyperloglog" => "mean relative error of the number of keys",
        "count-min" | "count-min-conservative" | "count-min-decay" => {
            "share of flows that are wrongly counted as heavy hitters"
        }
        "multiply" | "multiply-normalised" => "mean relative error of a product",
        "divide" | "divide-normalised" => "mean relative error of a quotient",
        "min-timestamp" => "share of idle keys that look alive",
        "flowlet" => "share of new bursts that are missed",
        "wcmp" => "most that a port gets above its share, relative to the share",
        _ => return None,
    })
}

/// The error expected of a block with these sizes, for traffic of `flows` flows, or so many in each group; `None` if no size changes it.
pub fn expected_error(block: &Block, values: &Values, flows: u32) -> Option<f64> {
    Workload::default().expected_error(block, values, flows)
}

/// Operands and flows that the sizes of a block are measured with, drawn once for all of them.
#[derive(Default)]
struct Workload {
    operands: Option<Operands>,
    flows: Option<Flows>,
}

impl Workload {
    fn expected_error(&mut self, block: &Block, values: &Values, flows: u32) -> Option<f64> {
        let keys = f64::from(flows);
        Some(match block.name {
            "bitmap" => mean_of(linear_counting(keys, cells_of_a_group(values) as f64)),
            "hyperloglog" => {
                // Ertl's estimate is never worse than either; with few keys it is that of linear counting.
                let cells = cells_of_a_group(values) as f64;
                mean_of(linear_counting(keys, cells).min(1.04 / cells.sqrt()))
            }
            // An epoch of decay is a plain sketch.
            "count-min" | "count-min-conservative" | "count-min-decay" => {
                let flows = self.flows.get_or_insert_with(|| Flows::new(flows.max(5), SEED));
                measure::false_positives(block, values, flows, SEED)
            }
            "multiply" | "multiply-normalised" | "divide" | "divide-normalised" => {
                self.arithmetic(block, values, SAMPLES)
            }
            "min-timestamp" | "flowlet" => {
                let rows = if block.name == "flowlet" { 2 } else { values.small("rows") };
                let untouched = power(1.0 - 1.0 / values.get("columns") as f64, flows);
                power(1.0 - untouched, rows)
            }
            "wcmp" => crate::balance::oversubscription(values),
            _ => return None,
        })
    }

    /// Mean error of products or quotients. Sizes of a block differ in neither bits nor point.
    fn arithmetic(&mut self, block: &Block, values: &Values, samples: u32) -> f64 {
        let operands = self.operands.get_or_insert_with(|| Operands::new(block, values, SAMPLES, SEED));
        operands.errors(block, values, samples).mean
    }

    /// A few products or quotients have twice the wanted error already: many are not needed.
    fn is_far_off(&mut self, block: &Block, values: &Values, wanted: f64) -> bool {
        let is_arithmetic = block.name.starts_with("multiply") || block.name.starts_with("divide");
        is_arithmetic && self.arithmetic(block, values, 400) > 2.0 * wanted
    }
}

const SEED: u64 = 1;

/// Products or quotients that are measured.
const SAMPLES: u32 = 20_000;

/// The cheapest sizes with at most this error; `given` keeps the parameters of `fixed` as they are. Otherwise the nearest, with its error.
pub fn size(
    block: &Block,
    given: &Values,
    fixed: &[&str],
    flows: u32,
    wanted: f64,
) -> Option<Result<Sized, Sized>> {
    error_of(block)?;
    let mut nearest: Option<Sized> = None;
    let mut workload = Workload::default();
    for values in candidates(block, given, fixed) {
        let error = workload.expected_error(block, &values, flows)?;
        let sized = Sized { values, error };
        if error <= wanted {
            return Some(Ok(sized));
        }
        // Without a bound for any, or if everything is wrong with any, the largest is the nearest.
        let is_larger = |nearest: &Sized| nearest.error.is_infinite() || (nearest.error, error) == (1.0, 1.0);
        if nearest.as_ref().is_none_or(|nearest| error < nearest.error || is_larger(nearest)) {
            nearest = Some(sized);
        }
    }
    nearest.map(Err)
}

/// All sizes with at most this error of which none is better in memory, stages, hashes and ternary entries at once; the one with the least
/// memory first.
pub(crate) fn sizes(block: &Block, given: &Values, fixed: &[&str], flows: u32, wanted: f64) -> Vec<Sized> {
    let mut kept: Vec<([u64; 3], Sized)> = vec![];
    let mut workload = Workload::default();
    for values in candidates(block, given, fixed) {
        let needs = needs(block, &values);
        // Candidates come by memory, so a known one with no greater needs is better in everything.
        if kept.iter().any(|(known, _)| known.iter().zip(&needs).all(|(known, own)| known <= own)) {
            continue;
        }
        if workload.is_far_off(block, &values, wanted) {
            continue;
        }
        let error = workload.expected_error(block, &values, flows);
        if let Some(error) = error.filter(|error| *error <= wanted) {
            kept.push((needs, Sized { values, error }));
        }
    }
    kept.into_iter().map(|(_, sized)| sized).collect()
}

/// Stages, hashes (each has a register array in the sketches) and ternary entries.
fn needs(block: &Block, values: &Values) -> [u64; 3] {
    let cost = (block.cost)(values);
    let ternary = cost.tables.iter().filter(|table| table.ternary).map(|table| table.entries).sum();
    [cost.stages.into(), cost.hashes.into(), ternary]
}

/// All sizes that are tried, the cheapest first.
fn candidates(block: &Block, given: &Values, fixed: &[&str]) -> Vec<Values> {
    let ranges: [(&str, Vec<u64>); 6] = [
        ("rows", (1..=4).collect()),
        ("columns", powers(6, 20)),
        ("cells", powers(5, 20)),
        ("slots", powers(1, 12)),
        ("mantissa", (2..=10).collect()),
        ("fraction", (5..=13).collect()),
    ];
    let mut all = vec![given.clone()];
    for (name, range) in ranges {
        let has = block.parameters.iter().any(|parameter| parameter.name == name);
        // The look-up of a number of keys is not what its error comes from.
        let is_look_up = name == "mantissa" && ["bitmap", "hyperloglog"].contains(&block.name);
        if has && !is_look_up && !fixed.contains(&name) {
            all = all
                .iter()
                .flat_map(|values| range.iter().filter_map(|value| block.changed(values, name, *value)))
                .collect();
        }
    }
    all.retain(|values| (block.check)(values).is_ok());
    all.sort_by_cached_key(|values| {
        let cost = (block.cost)(values);
        // A row of a ternary table is as large as some of an exact one.
        let entries: u64 =
            cost.tables.iter().map(|table| table.entries * if table.ternary { 4 } else { 1 }).sum();
        (cost.state_bits + 64 * entries, cost.stages)
    });
    all
}

fn powers(from: u32, to: u32) -> Vec<u64> {
    (from..=to).map(|bits| 1 << bits).collect()
}

/// Standard error of linear counting (Whang, Vander-Zanden and Taylor 1990); without bound once less than a cell is expected to be empty.
fn linear_counting(keys: f64, cells: f64) -> f64 {
    let load = keys / cells;
    let full = exp(load);
    if full > cells { f64::INFINITY } else { (full - load - 1.0).max(0.0).sqrt() / (load * cells.sqrt()) }
}

/// The mean of the absolute value of a normal law is this much of its deviation.
fn mean_of(deviation: f64) -> f64 {
    0.798 * deviation
}

/// e^x for x >= 0 by its series, with the same bits on every machine.
fn exp(x: f64) -> f64 {
    let (halvings, small) = (16, x / 65_536.0);
    let series = 1.0 + small * (1.0 + small / 2.0 * (1.0 + small / 3.0 * (1.0 + small / 4.0)));
    (0..halvings).fold(series, |power, _| power * power)
}

/// base^exponent by squaring.
fn power(base: f64, exponent: u32) -> f64 {
    (0..32).rev().fold(1.0, |value, bit| value * value * if exponent >> bit & 1 == 1 { base } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn powers_are_right() {
        for x in [0.0, 0.01, 0.5, 1.0, 3.0, 12.0] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-9, "e^{x}");
        }
        assert!((power(0.999, 5000) / 0.999f64.powi(5000) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_cheapest_sizes_with_the_error_are_chosen() {
        let bitmap = find("bitmap").expect("a block");
        let sized =
            size(bitmap, &bitmap.defaults(), &[], 50_000, 0.05).expect("sizes change it").expect("possible");
        assert_eq!(sized.values.get("cells"), 8192);
        assert!(sized.error <= 0.05, "{}", sized.error);
        let smaller = bitmap.with(&[("cells", 4096)]).expect("possible");
        assert!(expected_error(bitmap, &smaller, 50_000).expect("an error") > 0.05);
    }

    /// e^7 is 1,097.
    #[test]
    fn a_bitmap_without_an_empty_cell_has_no_bound() {
        let bitmap = find("bitmap").expect("a block");
        let values = bitmap.with(&[("cells", 1024)]).expect("possible");
        let error = |flows| expected_error(bitmap, &values, flows).expect("an error");
        assert!(error(6_900) < 0.2, "{}", error(6_900));
        assert_eq!(error(7_168), f64::INFINITY);
    }

    /// Logarithms of 4 bits take half as many ternary rows as those of 5, and powers with 10 bits twice as many exact ones as those with 9.
    #[test]
    fn ternary_rows_are_large_and_few_of_them_are_worth_memory() {
        let multiply = find("multiply").expect("a block");
        let found = |wanted| -> Vec<(u64, u64)> {
            let all = sizes(multiply, &multiply.defaults(), &["bits"], 1, wanted);
            all.iter().map(|sized| (sized.values.get("mantissa"), sized.values.get("fraction"))).collect()
        };
        assert_eq!(found(0.0275), [(4, 10)]);
        // The second has half the ternary rows of the first, and more memory.
        assert_eq!(found(0.0263), [(5, 9), (4, 12)]);
    }

    #[test]
    fn other_sizes_take_less_of_something() {
        let sketch = find("count-min").expect("a block");
        let all = sizes(sketch, &sketch.defaults(), &["key"], 200, 0.05);
        let rows: Vec<u64> = all.iter().map(|sized| sized.values.get("rows")).collect();
        assert!(all.iter().all(|sized| sized.error <= 0.05), "{all:?}");
        assert!(all.len() > 1 && rows.windows(2).all(|pair| pair[0] > pair[1]), "{rows:?}");
        let first = size(sketch, &sketch.defaults(), &["key"], 200, 0.05).expect("sizes").expect("possible");
        assert_eq!(all[0], first);
    }

    #[test]
    fn an_error_that_no_size_reaches_gives_the_nearest() {
        let multiply = find("multiply").expect("a block");
        let given = multiply.with(&[("mantissa", 3)]).expect("possible");
        let nearest = size(multiply, &given, &["mantissa"], 1, 0.001)
            .expect("sizes change it")
            .expect_err("out of reach");
        assert_eq!(nearest.values.get("mantissa"), 3);
        assert!(nearest.error > 0.03 && nearest.error < 0.1, "{}", nearest.error);
    }
}
