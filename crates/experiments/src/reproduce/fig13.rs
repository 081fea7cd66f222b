//! Figure 13: TCP over a link that loses frames, with and without error correction.

use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use p4rack::up::{run_stages, stages_page};
use rack_emulator::stage_table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig13",
    about: "Goodput of TCP under loss, with and without error correction.",
    set: "10 TCP connections (CUBIC with selective acknowledgements) for a second (10 times a minute in the paper); 1 Gbit/s where the paper has 10 (unless at full rate); \
          round trips of 2 ms, which at the paper's rate is 200 us, for the paper does not say how long its hosts take; loss from left to right, each frame for itself; \
          k = 5, h = 1 as in the paper.",
    leaves_out: "FPGAs take the latency and bear the rate that the paper has measured (Table 3), whatever the load. So correction costs a third of the goodput where little is \
                 lost: the encoder takes 677 Mbit/s of frames, and that is 653 Mbit/s of TCP's payload. With a quicker encoder the sixth frame of each five is what it costs.",
    run,
};

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    stages(lab, "figure-13.toml")
}

/// All stages of a rack beside each other.
pub fn stages(lab: &mut Lab<'_>, file: &str) -> Result<Shown, Vec<Diagnostic>> {
    let racked = lab.rack(file)?;
    let mut announced = String::new();
    let stages = run_stages(&racked, 1_000, &|_| (), &mut |stage, _| {
        if announced != stage.name.value {
            announced.clone_from(&stage.name.value);
            (lab.show_progress)(&format!("{} {announced}", racked.rack.name.value));
        }
        Ok(())
    })?;
    Ok(Shown { table: stage_table(&racked.rack.stages, &stages), page: Some(stages_page(&racked, &stages)) })
}
