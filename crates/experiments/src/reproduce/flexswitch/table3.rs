//! Table 3: completion times of transfers by TCP and by RCP.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::{Diagnostic, Span};
use host_programs::Value;
use host_programs::flow_list::FlowList;
use p4rack::rack::Racked;
use p4rack::up::bring_up;
use protocol_trials::statistics::{Length, bootstrap, mean, quantile};
use rack_emulator::Table;
use rack_model::Rack;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table3",
    about: "Transfers of eight servers to one, by TCP and by RCP on a limited switch: completion times in ms by length (short: below 50 packets, medium: below 500).",
    set: "8,000 transfers of list 1 for both: Poisson, Pareto 1.2, 25 packets on average, at most 15 MB, at 55 % of the receiver's link on average. Links of 1 Gbit/s with 40 us and 256 frames at \
          the switch. TCP has CUBIC, SACK, RACK-TLP and timeouts of at least 200 ms. Intervals have 95 % of 1,000 resamples of the transfers, both times of a transfer together.",
    leaves_out: "four ToRs and two cores, which carry 50 to 60 % in the paper; here the receiver's link is the only bottleneck. The paper has 10 Gbit/s, and its TCP that of its hosts in 2017. Its \
                 times are not comparable, their ratios are.",
    run,
};

/// Transfers of each of the eight servers.
const COUNT: u64 = 1000;
/// Data in a full packet.
const PACKET: u32 = 1444;
/// The paper's means, medians and 95th percentiles in ms, by TCP and by RCP.
const PAPER: [([f64; 3], [f64; 3]); 3] = [
    ([10.32, 0.85, 2.92], [0.85, 0.73, 2.05]),
    ([67.97, 5.33, 216.99], [5.07, 3.18, 14.85]),
    ([649.0, 59.7, 3560.0], [50.4, 36.9, 137.0]),
];

/// The transfers of a rack: length, and time in ms.
fn times(racked: &Racked) -> Result<Vec<(u32, f64)>, Vec<Diagnostic>> {
    let workload = &racked.rack.workloads[0];
    let mut running = bring_up(racked)?;
    running.emulator.keep_samples(true);
    running.run()?;
    let pairs: Vec<_> = workload.pairs().collect();
    let lists: Vec<Vec<u32>> = (0..)
        .zip(&pairs)
        .map(|(pair, _)| FlowList::new(&workload.load, pair).map(|flow| flow.bytes).collect())
        .collect();
    let mut out = vec![];
    for sample in running.emulator.take_samples() {
        let Some(pair) = pairs.iter().position(|pair| *pair == (sample.from, sample.to)) else { continue };
        let bytes = lists[pair].get(sample.sequence as usize).copied().unwrap_or(0);
        let ms = sample.received.since(sample.sent).as_ns() as f64 / 1e6;
        out.push(((pair, sample.sequence), (bytes, ms)));
    }
    out.sort_by_key(|(place, _)| *place);
    Ok(out.into_iter().map(|(_, time)| time).collect())
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let change = |rack: &mut Rack| {
        if let Some(workload) = rack.workloads.first_mut() {
            workload.load.count = COUNT;
            workload.load.set("list", Value::Number(1), Span::NONE);
        }
    };
    let tcp = lab.changed("tcp.toml", &change)?;
    let rcp = lab.changed("RACK.toml", &change)?;
    let (tcp, rcp) = (times(&tcp)?, times(&rcp)?);
    let pairs: Vec<(u32, f64, f64)> =
        tcp.iter().zip(&rcp).map(|((bytes, tcp), (_, rcp))| (*bytes, *tcp, *rcp)).collect();
    let rows = Length::ALL.into_iter().zip(PAPER).map(|(class, (tcp_there, rcp_there))| {
        let of = pairs.iter().filter(|(bytes, ..)| Length::of(*bytes, PACKET) == class);
        let of: Vec<(f64, f64)> = of.map(|(_, tcp, rcp)| (*tcp, *rcp)).collect();
        let (tcp, rcp): (Vec<f64>, Vec<f64>) = of.iter().copied().unzip();
        let ratio = bootstrap(&of, ratio_of_means, 1000, 1);
        let (low, high) = ratio.interval;
        [
            format!("{class:?}").to_lowercase(),
            of.len().to_string(),
            three(shape(&tcp)),
            three(shape(&rcp)),
            format!("{:.1} ({low:.1} to {high:.1})", ratio.value),
            three(tcp_there),
            three(rcp_there),
            format!("{:.1}", tcp_there[0] / rcp_there[0]),
        ]
    });
    let titles = [
        "length",
        "transfers",
        "TCP: mean, median, p95",
        "RCP: mean, median, p95",
        "ratio of means",
        "paper: TCP",
        "paper: RCP",
        "paper: ratio",
    ];
    Ok(Table::new(&titles, rows).into())
}

fn ratio_of_means(rows: &[(f64, f64)]) -> f64 {
    let sum = |of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
    sum(|row| row.0) / sum(|row| row.1)
}

fn shape(times: &[f64]) -> [f64; 3] {
    [mean(times), quantile(times, 0.5), quantile(times, 0.95)]
}

/// `0.85, 0.73, 2.05`
fn three(values: [f64; 3]) -> String {
    values.map(|value| format!("{value:.2}")).join(", ")
}
