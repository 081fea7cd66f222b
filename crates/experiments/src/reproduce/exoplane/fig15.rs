//! Fig. 15: how few flows carry most packets.

use super::gateway::{FLOWS, failed};
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::{Distribution, ONE};
use app_trials::traffic::SKEWS;
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig15",
    about: "Share of a million flows that carries 80 % of the packets, and share of the packets of 10,240 flows, by Zipf's law: in the paper's traces 6 % (backbone) and 10 % (data centre) of the flows carry 80 %.",
    set: "the exponents 0.9, 0.95 and 0.99 of the paper's synthetic traces.",
    leaves_out: "the traces, which are not public: Zipf's law with 0.99 comes nearest to the backbone. Epochs and other keys.",
    run,
};

/// The smallest number of flows with this part of the packets.
fn flows_for(flows: &Distribution, part: u64) -> u64 {
    let (mut low, mut high) = (0, FLOWS);
    while low < high {
        let middle = (low + high) / 2;
        if flows.share(middle) >= part { high = middle } else { low = middle + 1 }
    }
    low
}

/// For an exponent in thousandths: flows for 80 %, and the share of 10,240 flows.
fn skew(thousandths: u32) -> Result<(u64, u64), Vec<Diagnostic>> {
    let flows = Distribution::zipf(FLOWS, thousandths).map_err(|why| failed(&why.to_string()))?;
    Ok((flows_for(&flows, ONE / 10 * 8), flows.share(super::gateway::RESIDENT)))
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for thousandths in SKEWS {
        let (most, share) = skew(thousandths)?;
        let percent = |part: f64, all: f64| format!("{:.1} %", 100.0 * part / all);
        rows.push([
            format!("Zipf {:.2}", f64::from(thousandths) / 1000.0),
            most.to_string(),
            percent(most as f64, FLOWS as f64),
            percent(share as f64, ONE as f64),
            "6 % and 10 %".into(),
        ]);
    }
    let titles = ["<flows", "flows for 80 %", "of all", "packets of 10,240 flows", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of the exact weights give 19.1, 11.5 and 6.6 %, and 51.8, 60.1 and 66.6 %.
    #[test]
    fn shares_are_those_of_the_exact_weights() {
        for (thousandths, (few, many)) in SKEWS.into_iter().zip([(191, 518), (115, 601), (66, 666)]) {
            let (most, share) = skew(thousandths).unwrap();
            assert!((most / 1000).abs_diff(few) <= 1, "{thousandths}: {most}");
            assert!((share / (ONE / 1000)).abs_diff(many) <= 1, "{thousandths}: {share}");
        }
    }
}
