//! Figure 19: how long hand-overs take as the load grows.

use super::hand_over::row;
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig19",
    about: "Latency of hand-overs for growing load on the link between two switches.",
    set: "10 Gbit/s; one stream of UDP with gaps by chance (Poisson), payloads of 500 bytes; 20,000 packets for each load. A hand-over is from the queue of one switch to the other's port: \
          waiting, 0.47 us on the cable, 50 ns of delay.",
    leaves_out: "the switches' own latency before and after; other traffic with its bursts and lengths, which the paper does not state; the paper's packets carry a header of 36 bytes.",
    run,
};

const LOADS: [(u64, &str); 6] = [(10, ""), (30, "over 80%"), (50, "over 60%"), (70, ""), (90, ""), (95, "")];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (percent, paper) in LOADS {
        let [quick, median, p99, most] = row(lab, percent, 1)?;
        rows.push([format!("{percent}%"), quick, median, p99, most, paper.to_string()]);
    }
    Ok(Table::new(&["load", "below 1us", "median", "p99", "most", "<paper, below 1us"], rows).into())
}
