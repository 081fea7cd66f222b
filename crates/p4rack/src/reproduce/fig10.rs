//! Figure 10: functions switched on one by one.

use super::fig13::stages;
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig10",
    about: "Functions of Crosspod switched on one by one, as TCP and memcached see them.",
    set: "the plan \"maximum performance\" on the testbed of Figure 8, 1 Gbit/s where the paper has 10 (unless at full rate); 40 TCP connections (the paper does not say how \
          many), each with at most 256 KiB under way; 4 us of propagation there and back; loss from left to right, each frame for itself; a read each 100 us \
          and a write each ms on average, 10,000 keys by Zipf's law (0.99).",
    leaves_out: "the power of real hardware (fig11 computes it); of TCP selective acknowledgements (smoltcp's Reno waits for its timer of 200 ms where Linux does \
                 not). FPGAs take the latency and bear the rate that the paper has measured for each function (Table 3), whatever the load.",
    run,
};

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    stages(lab, "RACK.toml")
}
