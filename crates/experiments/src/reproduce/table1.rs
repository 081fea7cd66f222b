//! Table 1: functions on different hardware.

use super::table3::{at_best, measured};
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table1",
    about: "The highest rate of functions, and power, on different hardware.",
    set: "frames of 1,000 bytes. CPU: one core of this machine, measured as `p4rack profile` does, the highest rate without drops. Rates of FPGAs and the Tofino \
          are the paper's own: the examples' tables of profiles are made of them.",
    leaves_out: "power, which needs hardware to measure; plans add up the paper's watts instead (fig11). The network around a function on a CPU.",
    run,
};

/// Function of the paper, hardware, its Gbit/s and watts; the function of ours that does the same, for CPUs.
const ROWS: [(&str, &str, &str, &str, Option<&str>); 7] = [
    ("compression", "P.ASIC", "9.07", "110.5", None),
    ("compression", "FPGA", "8.35", "27.3", None),
    ("compression", "CPU", "0.10", "140.6", Some("header-compress")),
    ("FEC", "FPGA", "7.95", "27.3", None),
    ("FEC", "CPU", "0.04", "140.6", Some("fec-encode")),
    ("KV cache", "FPGA", "7.73", "27.3", None),
    ("KV cache", "CPU", "-", "140.6", Some("kv-cache")),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (function, hardware, rate, power, ours) in ROWS {
        let points = ours.map(|ours| measured(lab, ours)).transpose()?;
        let best = points.as_deref().and_then(at_best).map(|point| point.rate as f64 / 1e9);
        rows.push([
            function.to_string(),
            hardware.to_string(),
            best.map_or("not measured".to_string(), |rate| format!("{rate:.2}")),
            "not measured".to_string(),
            rate.to_string(),
            power.to_string(),
        ]);
    }
    Ok(Table::new(&["<function", "<hardware", "Gbit/s", "W", "paper's Gbit/s", "paper's W"], rows).into())
}
