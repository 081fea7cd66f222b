//! Fig. 15: how few flows carry most packets.

use super::gateway::{FLOWS, failed};
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::{Distribution, ONE};
use app_trials::traffic::{BACKBONE_TRACE, DATA_CENTRE_TRACE, SKEWS, Trace};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig15",
    about: "Share of the flows that carries 80 % of the packets, and share of the packets of 10,240 flows, by Zipf's law: in the paper's traces 6 % (backbone) and 10 % (data centre, 516 flows) carry 80 %.",
    set: "the exponents 0.9, 0.95 and 0.99 of the paper's synthetic traces, and a million flows. The stand-ins for the two traces have the exponent with which the paper's part of the flows carries 80 %.",
    leaves_out: "the traces, which are not public. Epochs and other keys.",
    run,
};

/// The smallest number of flows with this part of the packets.
fn flows_for(flows: &Distribution, part: u64) -> u64 {
    let (mut low, mut high) = (0, flows.flows());
    while low < high {
        let middle = (low + high) / 2;
        if flows.share(middle) >= part { high = middle } else { low = middle + 1 }
    }
    low
}

/// For an exponent in thousandths: flows for 80 %, and the share of 10,240 flows.
fn skew(flows: u64, thousandths: u32) -> Result<(u64, u64), Vec<Diagnostic>> {
    let flows = Distribution::zipf(flows, thousandths).map_err(|why| failed(&why.to_string()))?;
    Ok((flows_for(&flows, ONE / 10 * 8), flows.share(super::gateway::RESIDENT.min(flows.flows()))))
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let synthetic = SKEWS.map(|thousandths| (String::new(), FLOWS, thousandths, ""));
    let of = |Trace { flows, skew, .. }: Trace, name: &str, paper| {
        (format!(", stand-in for the {name}"), u64::from(flows), skew, paper)
    };
    let traces =
        [of(BACKBONE_TRACE, "backbone", "6 %"), of(DATA_CENTRE_TRACE, "data centre", "516 flows, 10 %")];
    let mut rows = vec![];
    for (name, flows, thousandths, paper) in synthetic.into_iter().chain(traces) {
        let (most, share) = skew(flows, thousandths)?;
        let percent = |part: f64, all: f64| format!("{:.1} %", 100.0 * part / all);
        rows.push([
            format!("Zipf {:.3}{name}", f64::from(thousandths) / 1000.0),
            flows.to_string(),
            most.to_string(),
            percent(most as f64, flows as f64),
            percent(share as f64, ONE as f64),
            paper.into(),
        ]);
    }
    let titles = ["<traffic", "flows", "flows for 80 %", "of all", "packets of 10,240 flows", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of the exact weights give 19.1, 11.5 and 6.6 %, and 51.8, 60.1 and 66.6 %.
    #[test]
    fn shares_are_those_of_the_exact_weights() {
        for (thousandths, (few, many)) in SKEWS.into_iter().zip([(191, 518), (115, 601), (66, 666)]) {
            let (most, share) = skew(FLOWS, thousandths).unwrap();
            assert!((most / 1000).abs_diff(few) <= 1, "{thousandths}: {most}");
            assert!((share / (ONE / 1000)).abs_diff(many) <= 1, "{thousandths}: {share}");
        }
    }

    /// 6 % and 10 % of the flows of the traces.
    #[test]
    fn stand_ins_have_the_skew_of_their_traces() {
        for (trace, few) in [(BACKBONE_TRACE, 360_000), (DATA_CENTRE_TRACE, 516)] {
            let (most, _) = skew(trace.flows.into(), trace.skew).unwrap();
            assert!(most.abs_diff(few) * 100 <= few, "{trace:?}: {most}");
        }
    }
}
