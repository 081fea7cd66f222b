//! Figure 10: functions switched on one by one.

use super::fig13::stages;
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig10",
    about: "Functions of Crosspod switched on one by one, measured with TCP and memcached.",
    set: "the plan \"maximum performance\" on the testbed of Figure 8, 1 Gbit/s where the paper has 10 (unless at full rate); 10 TCP connections (CUBIC with selective \
          acknowledgements; the paper does not say how many) with round trips of 2 ms, which at the paper's rate is 200 us; loss from left to right, each frame for itself; a read each 100 us \
          and a write each ms on average, 10,000 keys by Zipf's law (0.99).",
    leaves_out: "the power of real hardware (fig11 computes it). FPGAs have the latency and the rate that the paper measured for each function (Table 3), whatever the load.",
    run,
};

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    stages(lab, "RACK.toml")
}
