//! Fig. 6: completion times over a fabric by CONGA, exact and approximate, and by hashes.

use super::transfers::{choose_form, ratio_of_means, times};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::{Diagnostic, Span};
use base_time::Duration;
use host_programs::Value;
use protocol_trials::statistics::{Estimate, bootstrap, mean, quantile};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig6",
    about: "Transfers over two leaves and two spines, by load: mean completion times in ms by CONGA, exact and on limited switches, and by hashes of flows (ECMP); ratios of means; 95th percentiles at the end.",
    set: "the rack of `examples/conga`: one of four links between leaves and spines has a quarter of the rate of the others, so paths take 2.5 Gbit/s from left to right; TCP with CUBIC, 1,600 \
          transfers of list 1, Pareto 1.2, 25 packets on average, at most 3 MB. The load is that of the list's mean, 25 packets; the list itself has less, because lengths are cut. Intervals have 95 % of 1,000 resamples of the transfers, for ratios \
          both times of a transfer together.",
    leaves_out: "64 servers and the enterprise workload: the figure has curves without numbers. Links here have 5 us instead of 50, so that the base round trip is far below the gap of flowlets.",
    run,
};

const LOADS: [u64; 5] = [10, 30, 50, 70, 90];
const FORMS: [&str; 3] = ["EXACT", "", "ECMP"];
/// Bits of an average transfer with its headers, pairs of hosts, and bits that both paths take in a microsecond.
const BITS: u64 = 8 * 25 * 1538;
const PAIRS: u64 = 16;
const BITS_PER_US: u64 = 2_500;

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for load in LOADS {
        let gap = Duration::from_us(BITS * PAIRS * 100 / (BITS_PER_US * load));
        let mut all: Vec<Vec<f64>> = vec![];
        for form in FORMS {
            let racked = lab.changed("conga/RACK.toml", &|rack| {
                choose_form(rack, form);
                rack.workloads[0].load.set("interval", Value::Time(gap), Span::NONE);
            })?;
            all.push(times(&racked)?.into_iter().map(|(_, ms)| ms).collect());
        }
        let means = all.iter().map(|times| shown(bootstrap(times, mean, 1000, 1))).collect();
        let ratios = all.iter().skip(1).map(|times| {
            let pairs: Vec<(f64, f64)> = times.iter().copied().zip(all[0].iter().copied()).collect();
            shown(bootstrap(&pairs, ratio_of_means, 1000, 1))
        });
        let high = all.iter().map(|times| format!("{:.2}", quantile(times, 0.95))).collect();
        rows.push([vec![format!("{load} %")], means, ratios.collect(), high].concat());
    }
    let titles = [
        "load",
        "CONGA",
        "limited",
        "ECMP",
        "limited / CONGA",
        "ECMP / CONGA",
        "p95 CONGA",
        "p95 limited",
        "p95 ECMP",
    ];
    let rows = rows.into_iter().map(|row| -> [String; 9] { std::array::from_fn(|at| row[at].clone()) });
    Ok(Table::new(&titles, rows).into())
}

/// `1.23 (1.10 to 1.40)`
fn shown(Estimate { value, interval: (low, high) }: Estimate) -> String {
    format!("{value:.2} ({low:.2} to {high:.2})")
}
