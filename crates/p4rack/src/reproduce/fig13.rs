//! Figure 13: TCP over a link that loses frames, with and without error correction.

use super::{Experiment, Lab, Shown};
use crate::up::{run_stages, stages_page};
use base_diag::Diagnostic;
use rack_emulator::stage_table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig13",
    about: "What loss leaves of TCP, with and without error correction.",
    set: "40 TCP connections (10 in the paper), each with at most 256 KiB under way, for a second (10 times a minute in the paper); 1 Gbit/s where the paper \
          has 10 (unless at full rate); 4 us of propagation there and back; loss from left to right, each frame for itself; k = 5, h = 1 as in the paper.",
    leaves_out: "of TCP selective acknowledgements (smoltcp's Reno waits for its timer of 200 ms where Linux does not). FPGAs take the latency and bear the rate that the paper has \
                 measured (Table 3), whatever the load.",
    run,
};

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    stages(lab, "figure-13.toml")
}

/// All stages of a rack beside each other.
pub fn stages(lab: &mut Lab<'_>, file: &str) -> Result<Shown, Vec<Diagnostic>> {
    let racked = lab.rack(file)?;
    let mut told = String::new();
    let stages = run_stages(&racked, 1_000, &mut |stage, _| {
        if told != stage.name.value {
            told.clone_from(&stage.name.value);
            (lab.tell)(&format!("{} {told}", racked.rack.name.value));
        }
        Ok(())
    })?;
    Ok(Shown { table: stage_table(&racked.rack.stages, &stages), page: Some(stages_page(&racked, &stages)) })
}
