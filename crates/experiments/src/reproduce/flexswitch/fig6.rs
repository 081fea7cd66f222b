//! Fig. 6: completion times over a fabric by CONGA, exact and approximate, and by hashes.

use super::transfers::{choose_form, times};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::{Diagnostic, Span};
use base_time::Duration;
use host_programs::Value;
use protocol_trials::statistics::{mean, quantile};
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig6",
    about: "Transfers over two leaves and two spines, by load: mean completion times in ms by CONGA, exact and on limited switches, and by hashes of flows (ECMP); 95th percentiles at the end.",
    set: "the rack of `examples/conga`: one of four links between leaves and spines has a quarter of the rate of the others, so paths take 2.5 Gbit/s from left to right; TCP with CUBIC, 1,600 \
          transfers of list 1, Pareto 1.2, 25 packets on average, at most 3 MB. The load is that of the list's mean, 25 packets; the list itself has less, because lengths are cut.",
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
        let (mut means, mut high) = (vec![], vec![]);
        for form in FORMS {
            let racked = lab.changed("conga/RACK.toml", &|rack| {
                choose_form(rack, form);
                rack.workloads[0].load.set("interval", Value::Time(gap), Span::NONE);
            })?;
            let times: Vec<f64> = times(&racked)?.into_iter().map(|(_, ms)| ms).collect();
            means.push(format!("{:.2}", mean(&times)));
            high.push(format!("{:.2}", quantile(&times, 0.95)));
        }
        rows.push([vec![format!("{load} %")], means, high].concat());
    }
    let titles = ["load", "CONGA", "limited", "ECMP", "p95 CONGA", "p95 limited", "p95 ECMP"];
    let rows = rows.into_iter().map(|row| -> [String; 7] { std::array::from_fn(|at| row[at].clone()) });
    Ok(Table::new(&titles, rows).into())
}
