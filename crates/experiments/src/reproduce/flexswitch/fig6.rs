//! Fig. 6: completion times over a fabric by CONGA, exact and approximate, and by hashes. Beside the approximation, the exact form over links that are
//! 10 ns longer: how much of a difference between two runs is chance.

use super::transfers::{PACKET, choose_form, ratio_of_means, times};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::{Diagnostic, Span};
use base_time::Duration;
use host_programs::Value;
use protocol_trials::statistics::{Estimate, Length, bootstrap, distance, mean, quantile};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig6",
    about: "Transfers over two leaves and two spines, by load: mean completion times in ms by CONGA, exact and on limited switches, and by hashes of flows (ECMP); ratios of means; distances of Kolmogorov and Smirnov; 95th percentiles at the end.",
    set: "the rack of `examples/conga`: one of four links between leaves and spines has a quarter of the rate of the others, so paths take 2.5 Gbit/s from left to right; TCP with CUBIC, 1,600 \
          transfers of list 1, Pareto 1.2, 25 packets on average, at most 3 MB. The load is that of the list's mean, 25 packets; the list itself has less, because lengths are cut. `10 ns` is CONGA over links of 5.01 us instead of 5: chance alone. Distances are those from CONGA, of short and medium transfers; 68 are medium, and one is long. Intervals have 95 % of 1,000 resamples of the transfers, for ratios \
          both times of a transfer together.",
    leaves_out: "64 servers and the enterprise workload: the figure has curves without numbers. Links here have 5 us instead of 50, so that the base round trip is far below the gap of flowlets.",
    run,
};

const LOADS: [u64; 5] = [10, 30, 50, 70, 90];
/// Forms of the programs, and delay of the links. All ratios and distances are to the first.
const FORMS: [(&str, Duration); 4] =
    [("EXACT", LINK), ("", LINK), ("EXACT", Duration::from_ns(5_010)), ("ECMP", LINK)];
const LINK: Duration = Duration::from_us(5);
/// Bits of an average transfer with its headers, pairs of hosts, and bits that both paths take in a microsecond.
const BITS: u64 = 8 * 25 * 1538;
const PAIRS: u64 = 16;
const BITS_PER_US: u64 = 2_500;

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    shown(lab, &LOADS)
}

fn shown(lab: &mut Lab<'_>, loads: &[u64]) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for load in loads {
        let gap = Duration::from_us(BITS * PAIRS * 100 / (BITS_PER_US * load));
        let mut all = vec![];
        for (form, delay) in FORMS {
            let racked = lab.changed("conga/RACK.toml", &|rack| {
                choose_form(rack, form);
                rack.links.iter_mut().for_each(|link| link.delay = delay);
                rack.workloads[0].load.set("interval", Value::Time(gap), Span::NONE);
            })?;
            all.push(times(&racked)?);
        }
        let ms: Vec<Vec<f64>> = all.iter().map(|times| times.iter().map(|(_, ms)| *ms).collect()).collect();
        let [exact, limited, again, ecmp] = std::array::from_fn(|at| &ms[at]);
        let mean_of = |times: &[f64]| text(bootstrap(times, mean, 1000, 1));
        let ratio = |times: &[f64]| {
            let pairs: Vec<(f64, f64)> = times.iter().copied().zip(exact.iter().copied()).collect();
            text(bootstrap(&pairs, ratio_of_means, 1000, 1))
        };
        let distances = |times: &[(u32, f64)]| {
            let [one, other] =
                [times, &all[0]].map(|times| [Length::Short, Length::Medium].map(|class| of(times, class)));
            let each = one.iter().zip(&other).map(|(one, other)| format!("{:.3}", distance(one, other)));
            each.collect::<Vec<_>>().join(", ")
        };
        let high = |times: &[f64]| format!("{:.2}", quantile(times, 0.95));
        rows.push([
            format!("{load} %"),
            mean_of(exact),
            mean_of(limited),
            mean_of(ecmp),
            ratio(limited),
            ratio(again),
            ratio(ecmp),
            distances(&all[1]),
            distances(&all[2]),
            high(exact),
            high(limited),
            high(ecmp),
        ]);
    }
    let titles = [
        "load",
        "CONGA",
        "limited",
        "ECMP",
        "limited / CONGA",
        "10 ns / CONGA",
        "ECMP / CONGA",
        "distance limited",
        "distance 10 ns",
        "p95 CONGA",
        "p95 limited",
        "p95 ECMP",
    ];
    Ok(Table::new(&titles, rows).into())
}

/// Milliseconds of the transfers of a class.
fn of(times: &[(u32, f64)], class: Length) -> Vec<f64> {
    times.iter().filter(|(bytes, _)| Length::of(*bytes, PACKET) == class).map(|(_, ms)| *ms).collect()
}

/// `1.23 (1.10 to 1.40)`
fn text(Estimate { value, interval: (low, high) }: Estimate) -> String {
    format!("{value:.2} ({low:.2} to {high:.2})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a cell, `1.23 (1.10 to 1.40)`.
    fn interval(cell: &str) -> [f64; 3] {
        let cell = cell.replace(['(', ')', 't', 'o'], "");
        let numbers: Vec<f64> = cell.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        numbers.try_into().expect("three numbers")
    }

    /// With a slow link, hashes are worse than CONGA at all loads, exact or on limited switches, which are as fast as each other. The short
    /// form has two of the five loads.
    #[test]
    fn conga_is_better_than_hashes() {
        let mut lab = Lab::of_examples("");
        let loads = if features::is_long() { &LOADS[..] } else { &[30, 70] };
        let Shown { table, .. } = shown(&mut lab, loads).expect("the racks run");
        assert_eq!(table.rows.len(), loads.len());
        for (row, load) in table.rows.iter().zip(loads) {
            for cell in &row[1..7] {
                let [value, low, high] = interval(cell);
                assert!(low <= value && value <= high, "{table}");
            }
            let [limited, ecmp, ratio] = [2, 3, 6].map(|column| interval(&row[column]));
            assert!(ratio[1] > 1.0, "{table}");
            assert!(ecmp[0] > 3.0 * limited[0], "{table}");
            // Of short transfers, which are nearly all.
            let (distance, _) = row[7].split_once(", ").expect("of two classes");
            assert!(distance.parse::<f64>().is_ok_and(|distance| distance < 0.03), "{table}");
            // Above half of the load, a transfer more or less that waits for a timeout decides the mean.
            assert!(*load > 50 || (interval(&row[4])[0] - 1.0).abs() < 0.03, "{table}");
        }
    }
}
