//! Table 3: each function alone, on each target.

use super::{Experiment, Lab, Shown};
use crate::profile::{Core, Measured, Point, Settings, measure};
use base_diag::Diagnostic;
use base_diag::codes::emulate as codes;
use rack_emulator::Table;
use rack_model::Call;

pub const EXPERIMENT: Experiment = Experiment {
    name: "table3",
    about: "Highest rate and latency of each function on each target.",
    set: "frames of 1,000 bytes. CPU: one core of this machine, measured as `p4rack profile` does: the latency is what 99 of 100 frames take at most at the highest rate, waiting among it. \
          FPGA: what the racks of the examples set: the paper's latencies (of the cache at a tenth of its rate), and what came in then, where the paper's table has what went out.",
    leaves_out: "FPGAs: none was available, and emulated ones have the configured latency and rate. The network around a function on a CPU, which dominates the paper's latencies there.",
    run,
};

/// Ours, target, Mbit/s and microseconds of the paper.
const ROWS: [(&str, &str, &str, &str); 10] = [
    ("header-compress", "CPU", "95.2", "5800"),
    ("header-decompress", "CPU", "198.75", "5900"),
    ("fec-encode", "CPU", "35", "300"),
    ("fec-decode", "CPU", "64.47", "90"),
    ("kv-cache", "CPU", "-", "-"),
    ("header-compress", "FPGA", "8350", "5.24"),
    ("header-decompress", "FPGA", "8890", "4.47"),
    ("fec-encode", "FPGA", "8130", "4.75"),
    ("fec-decode", "FPGA", "7950", "32.8"),
    ("kv-cache", "FPGA", "7730", "15.9"),
];

/// Different frames of each workload, and nanoseconds of each rate, fewer with `--until`.
const FRAMES: usize = 2500;
const SPAN: u64 = 20_000_000;

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let racked = lab.rack("RACK.toml")?;
    let mut rows = vec![];
    for (function, target, rate, latency) in ROWS {
        let ours = match target {
            "CPU" => {
                let points = measured(lab, function)?;
                at_best(&points).map(|best| (Some(best.rate), best.latency_ns as f64 / 1000.0))
            }
            _ => {
                let offers = racked.rack.devices.iter().map(|device| device.call(function)).max();
                let rate = |call: Call| call.full_rate.map(|rate| rate.bits_per_s());
                offers.map(|call| (rate(call), call.time.as_ps() as f64 / 1e6))
            }
        };
        let our_rate =
            ours.and_then(|(rate, _)| rate).map_or("-".to_string(), |bits| (bits / 1_000_000).to_string());
        let our_latency = ours.map_or("-".to_string(), |(_, us)| format!("{us:.2}"));
        rows.push([function, target, &our_rate, &our_latency, rate, latency].map(str::to_string));
    }
    Ok(Table::new(&["<function", "<target", "Mbit/s", "us", "paper's Mbit/s", "paper's us"], rows).into())
}

/// Measures a function on one core of this machine.
pub fn measured(lab: &mut Lab<'_>, function: &str) -> Result<Vec<Point>, Vec<Diagnostic>> {
    (lab.show_progress)(function);
    let class = "cpu".to_string();
    let span = lab.until.map_or(SPAN, |until| until.as_ns().clamp(SPAN / 20, SPAN));
    let settings = Settings { sizes: vec![1000], frames: FRAMES, span, class, power: 0, cost: 0 };
    let measured = measure(function, &settings, &mut Core::new(), &mut |_, _| ()).map_err(|why| {
        vec![Diagnostic::error(codes::EMULATION, format!("`{function}` cannot be measured")).note(why)]
    })?;
    Ok(measured.into_iter().flat_map(|Measured { points, .. }| points).collect())
}

/// The point with the highest rate.
pub fn at_best(points: &[Point]) -> Option<&Point> {
    points.iter().max_by_key(|point| point.rate)
}
