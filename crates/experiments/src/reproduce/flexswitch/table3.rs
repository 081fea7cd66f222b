//! Table 3: completion times of transfers by TCP and by RCP.

use super::transfers::{PACKET, draw, ratio_of_means, shape, three, times};
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use protocol_trials::statistics::{Length, bootstrap, mean};
use rack_emulator::Table;
use rack_model::Rack;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table3",
    about: "Transfers of eight servers to one, by TCP and by RCP on a limited switch: completion times in ms by length (short: below 50 packets, medium: below 500).",
    set: "8,000 transfers of list 1 for both: Poisson, Pareto 1.2, 25 packets on average, at most 15 MB, at 55 % of the receiver's link on average. Links of 1 Gbit/s with 40 us and 256 frames at \
          the switch. TCP has CUBIC, SACK, RACK-TLP and timeouts of at least 200 ms. `alone` is the mean time of a transfer that has the links to itself, and `at most` the ratio \
          of TCP's mean to it, which no scheme exceeds. Intervals have 95 % of 1,000 resamples of the transfers, both times of a transfer together.",
    leaves_out: "four ToRs and two cores, which carry 50 to 60 % in the paper; here the receiver's link is the only bottleneck. The paper has 10 Gbit/s, and its TCP that of its hosts in 2017. Its \
                 times are not comparable, their ratios are.",
    run,
};

/// Transfers of each of the eight servers.
const COUNT: u64 = 1000;
/// The paper's means, medians and 95th percentiles in ms, by TCP and by RCP.
const PAPER: [([f64; 3], [f64; 3]); 3] = [
    ([10.32, 0.85, 2.92], [0.85, 0.73, 2.05]),
    ([67.97, 5.33, 216.99], [5.07, 3.18, 14.85]),
    ([649.0, 59.7, 3560.0], [50.4, 36.9, 137.0]),
];

/// Milliseconds of a transfer that has the links to itself: frames of 1,538 bytes with 1,460 of data by TCP, the most that fits, at 1 Gbit/s, and 80 us.
fn alone(bytes: u32) -> f64 {
    f64::from(bytes) * 8e-6 * 1538.0 / 1460.0 + 0.08
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let change = |rack: &mut Rack| draw(rack, COUNT);
    let tcp = lab.changed("rcp/tcp.toml", &change)?;
    let rcp = lab.changed("rcp/RACK.toml", &change)?;
    let (tcp, rcp) = (times(&tcp)?, times(&rcp)?);
    let pairs: Vec<(u32, f64, f64)> =
        tcp.iter().zip(&rcp).map(|((bytes, tcp), (_, rcp))| (*bytes, *tcp, *rcp)).collect();
    let rows = Length::ALL.into_iter().zip(PAPER).map(|(class, (tcp_there, rcp_there))| {
        let of = || pairs.iter().filter(|(bytes, ..)| Length::of(*bytes, PACKET) == class);
        let alone = mean(&of().map(|(bytes, ..)| alone(*bytes)).collect::<Vec<_>>());
        let of: Vec<(f64, f64)> = of().map(|(_, tcp, rcp)| (*tcp, *rcp)).collect();
        let (tcp, rcp): (Vec<f64>, Vec<f64>) = of.iter().copied().unzip();
        let ratio = bootstrap(&of, ratio_of_means, 1000, 1);
        let (low, high) = ratio.interval;
        [
            format!("{class:?}").to_lowercase(),
            of.len().to_string(),
            three(shape(&tcp)),
            three(shape(&rcp)),
            format!("{:.1} ({low:.1} to {high:.1})", ratio.value),
            format!("{alone:.2}"),
            format!("{:.1}", mean(&tcp) / alone),
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
        "alone",
        "at most",
        "paper: TCP",
        "paper: RCP",
        "paper: ratio",
    ];
    Ok(Table::new(&titles, rows).into())
}
