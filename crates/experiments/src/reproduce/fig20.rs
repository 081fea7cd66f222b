//! Figure 20: how long hand-overs take as bursts grow.

use super::hand_over::row;
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig20",
    about: "Latency of hand-overs for longer bursts of packets, at half the load.",
    set: "as fig19 at 50 %; four sources that each send bursts at line rate; the lengths of bursts and of the gaps between them are exponentially distributed.",
    leaves_out: "as fig19; the paper's bursts are those of its generator; it gives no numbers, only that longer bursts lengthen only the tail.",
    run,
};

const BURSTS: [(u64, &str); 5] =
    [(1, "over 60%"), (2, ""), (4, ""), (8, ""), (16, "only the tail is longer")];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (burst, paper) in BURSTS {
        let [quick, median, p99, most] = row(lab, 50, burst)?;
        rows.push([burst.to_string(), quick, median, p99, most, paper.to_string()]);
    }
    Ok(Table::new(&["packets in a burst", "below 1us", "median", "p99", "most", "<paper"], rows).into())
}
