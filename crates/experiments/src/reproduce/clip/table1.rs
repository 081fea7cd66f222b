//! Table I: mean latency of SNAT.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table1",
    about: "Mean latency of SNAT: all packets at the server, hot flows at the switch, and in software. Which share of packets takes the slow path?",
    set: "mean = slow share x 26.42 us + (1 - slow share) x fast path, solved for the slow share, for fast paths of 0.5, 1, 5 and 7 us (the last two with the generator).",
    leaves_out: "everything but this arithmetic: the paper gives three means, and neither the latency of the fast path nor the share of packets on it. Nothing is run.",
    run,
};

/// The paper's, in microseconds: without offload, with it, and in software.
const SLOW: f64 = 26.42;
const OFFLOADED: f64 = 8.84;
const SOFTWARE: f64 = 23.16;

fn slow_share(fast: f64) -> f64 {
    (OFFLOADED - fast) / (SLOW - fast)
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let saved = percent(1.0 - OFFLOADED / SOFTWARE);
    let more = percent(SLOW / SOFTWARE - 1.0);
    let rows = [0.5, 1.0, 5.0, 7.0].map(|fast| {
        [format!("{fast:.1}"), percent(slow_share(fast)), saved.clone(), more.clone(), "62 %".to_string()]
    });
    let titles = [
        "fast path, us",
        "slow share",
        "below software",
        "slow path above software",
        "paper: below software",
    ];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::slow_share;

    #[test]
    fn a_fast_path_of_half_a_microsecond_leaves_a_third_of_packets_on_the_slow_one() {
        assert!((slow_share(0.5) - 0.322).abs() < 0.001);
        assert!((slow_share(7.0) - 0.095).abs() < 0.001);
    }
}
