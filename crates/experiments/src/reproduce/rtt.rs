//! Section 7.1.1: round trips through a router that marks packets and through the entrance of a tunnel, whole and over two devices.

use super::fig7::FILE;
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::Duration;
use host_programs::ping::PING;
use host_programs::{Load, Value};
use rack_emulator::Table;
use rack_model::{Rack, Regions};

pub const EXPERIMENT: Experiment = Experiment {
    name: "rtt",
    about: "Round trips of pings through a program on one switch and over two devices (section 7.1.1).",
    set: "examples/fat-tree/figure-7 without faults and other traffic: 150 pings, one each millisecond (the paper: 5 times 30 probes). Five switches lie on the path, of which one runs the program; \
          the helper is a network card. Marks are handed over without a header, the tunnel's with one.",
    leaves_out: "the time in hosts and in a software switch: the paper's round trips are of Mininet, 21.94 and 23.76 ms on average.",
    run,
};

/// Apps, each with a workload through it.
const ROWS: [(&str, &str); 2] = [("qos-p3e1", "marked"), ("tunnel-p2e0", "tunnel")];

/// Pings of a measurement.
const COUNT: u64 = 150;

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (app, workload) in ROWS {
        let mut means = vec![];
        for is_whole in [true, false] {
            let racked = lab.changed(FILE, &|rack| pings(rack, app, workload, is_whole))?;
            let (_, report) = lab.run(&racked, None)?;
            let latency = report.workloads.first().and_then(|workload| workload.latency.as_ref());
            means.push(latency.map_or(0, |latency| latency.mean_ps));
        }
        let &[whole, split] = means.as_slice() else { continue };
        let more = (split as f64 / whole.max(1) as f64 - 1.0) * 100.0;
        rows.push([
            app.to_string(),
            rack_emulator::time_words(whole),
            rack_emulator::time_words(split),
            format!("{more:+.1}%"),
            "+8.2%".to_string(),
        ]);
    }
    Ok(Table::new(&["<program", "on the switch", "over two devices", "difference", "paper, at least"], rows)
        .into())
}

/// Nothing but pings along the path of a workload; with `is_whole`, the app's regions run at its switch.
fn pings(rack: &mut Rack, app: &str, workload: &str, is_whole: bool) {
    rack.faults.clear();
    rack.workloads.retain(|one| one.name.value == workload);
    for one in &mut rack.workloads {
        one.load = Load::new(&PING, COUNT, 56).with("interval", Value::Time(Duration::from_ms(1)));
        one.watch.clear();
        one.expect = None;
    }
    for one in rack.apps.iter_mut().filter(|one| is_whole && one.name.value == app) {
        one.map = Regions::ByHand(vec![]);
    }
}
