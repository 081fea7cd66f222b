//! Fig. 9: latency of packets at the switch and at a card.

use super::gateway::{BLOCKS, gateway, solved};
use crate::reproduce::{Experiment, Lab, Shown};
use app_allocation::ONE;
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig9",
    about: "Mean latency of the gateway's apps: packets of resident flows stay at the switch, the others visit a card.",
    set: "330 ns at the switch and 5.6 us by a card are put in, from the paper's ranges; so are the shares at the switch with 10,240 flows each (72.9, 75.0, 70.0 %). The plan divides the same memory a little differently. Means follow.",
    leaves_out: "sizes of packets and waiting. The paper gives 273 to 384 ns at the switch and 5.1 to 6.1 us by a card, no means.",
    run,
};

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let problem = gateway(4, 4, 0, 3 * BLOCKS)?;
    let found = solved(&problem)?;
    let rows = problem.apps.iter().zip(&found.apps).map(|(app, plan)| {
        let percent = format!("{:.1} %", 100.0 * plan.share as f64 / ONE as f64);
        let paper = if plan.share == ONE { "0.27 to 0.38" } else { "0.27 to 0.38, 5.1 to 6.1" };
        [app.name.clone(), percent, format!("{:.2}", plan.latency as f64 / 1e6), paper.to_string()]
    });
    let titles = ["<app", "at the switch", "mean, us", "<paper: packets at the switch, by a card"];
    Ok(Table::new(&titles, rows).into())
}
