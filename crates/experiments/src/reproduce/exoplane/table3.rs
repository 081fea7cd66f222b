//! Table 3: throughput of one to four apps, pinned as a whole or by flows.

use super::gateway::{APPS, BLOCKS, FLOWS, TRAFFIC, failed, gateway, solved, throughput};
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::{Class, Distribution, Quantum};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table3",
    about: "Total throughput of one to four apps, each as a whole at the switch or at one of four cards, and with flows at both.",
    set: "98.68 Gbit/s for each app, 39.47 for a card. Whole apps: the switch has room for the VPN gateway and UnivMon (put in, as in the paper); every card is a place of its own.",
    leaves_out: "packets that the paper's testbed lost: its cards took 37.5 to 38.5 Gbit/s, so that whole apps have up to 1.9 % less there. The paper's \"up to 69.3 % lower\" is 69.3 % higher by its own numbers.",
    run,
};

const PAPER: [(f64, f64); 4] = [(98.6, 98.6), (137.1, 197.2), (174.6, 295.6), (271.3, 394.1)];

/// Gbit/s with flows at switch and cards.
fn by_flows(apps: usize) -> Result<f64, Vec<Diagnostic>> {
    let problem = gateway(apps, 4, 0, BLOCKS * APPS.len() as u64)?;
    Ok(throughput(&problem, &solved(&problem)?).iter().sum())
}

/// Gbit/s with each app at one place.
fn whole(apps: usize) -> Result<f64, Vec<Diagnostic>> {
    let mut problem = gateway(apps, 1, 0, FLOWS.div_ceil(1024))?;
    let card = problem.classes.remove(0);
    problem.classes =
        (1..=4).map(|number| Class { name: format!("card {number}"), ..card.clone() }).collect();
    for app in &mut problem.apps {
        app.flows = Distribution::classes(&[(FLOWS, 1)]).map_err(|why| failed(&why.to_string()))?;
        app.quantum = Quantum::Flows(FLOWS);
        let at_card = app.at_classes[0].clone();
        app.at_classes = vec![at_card; 4];
    }
    Ok(throughput(&problem, &solved(&problem)?).iter().sum())
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (apps, (paper_whole, paper_flows)) in (1..).zip(PAPER) {
        let (whole, flows) = (whole(apps)?, by_flows(apps)?);
        rows.push([
            apps.to_string(),
            format!("{whole:.1}"),
            format!("{flows:.1}"),
            format!("{:.2}", flows / whole),
            format!("{:.1} %", 100.0 * flows / (apps as f64 * TRAFFIC)),
            format!("{paper_whole:.1}"),
            format!("{paper_flows:.1}"),
        ]);
    }
    let titles = [
        "apps",
        "whole apps, Gbit/s",
        "flows, Gbit/s",
        "ratio",
        "of line rate",
        "paper: whole apps",
        "paper: flows",
    ];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::{PAPER, by_flows, whole};

    #[test]
    fn totals_are_near_the_papers() {
        for (apps, (paper_whole, paper_flows)) in (1..).zip(PAPER) {
            let (whole, flows) = (whole(apps).unwrap(), by_flows(apps).unwrap());
            assert!((whole / paper_whole - 1.0).abs() < 0.02, "{apps} whole: {whole}");
            assert!((flows / paper_flows - 1.0).abs() < 0.01, "{apps} by flows: {flows}");
        }
    }
}
