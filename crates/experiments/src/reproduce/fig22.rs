//! Figure 22: packets lost when a device fails, and the next one takes over.

use super::failing::{AFTER, fault, no_controller, outcome, percent, run, share_of_cable, stream};
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::{Duration, Rate};
use host_programs::udp::{POISSON, UDP};
use rack_emulator::Table;
use rack_model::{DeviceId, Failover, FaultKind, LinkId, Rack};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig22",
    about: "Packets lost in the 100 ms after the failure of a device with spares, noticed in the data plane, with the default thresholds.",
    set: "packets with 1,000 bytes of payload; 10 Gbit/s everywhere, a Tofino takes 500 ns for each pass; the device fails at 10 ms. Loads are of the cable to the device, with gaps by chance. \
          The paper's controller polls the link every 1 ms. `limit`: packets in the time in which the thresholds find a silent device and in two round trips, for each failure; with drawn gaps three standard deviations more.",
    leaves_out: "the time that an interface needs to report that its link is down: here none. The paper's stream runs for 30 s.",
    run: table,
};

const DOWN: FaultKind = FaultKind::DeviceDown(DeviceId(1));
const DOWN_TOO: FaultKind = FaultKind::DeviceDown(DeviceId(2));
const UNPLUGGED: FaultKind = FaultKind::LinkDown(LinkId(super::failing::CABLE as u32));

/// Failures, each with its delay after the first.
type Failures = &'static [(FaultKind, Duration)];

const ROWS: [(&str, Failures, bool, &str); 5] = [
    ("nothing fails", &[], true, ""),
    ("the link goes down", &[(UNPLUGGED, Duration::ZERO)], true, "<= 3%"),
    ("the device dies", &[(DOWN, Duration::ZERO)], true, ""),
    ("the same, no controller", &[(DOWN, Duration::ZERO)], false, ""),
    (
        "two devices die, no controller",
        &[(DOWN, Duration::ZERO), (DOWN_TOO, Duration::from_ms(5))],
        false,
        "",
    ),
];

/// A load: its name, its rate, and true if the gaps between packets are drawn.
type Stream = (&'static str, fn(&Rack) -> Rate, bool);

const LOADS: [Stream; 4] = [
    ("1 Gbit/s", |_| Rate::from_bits_per_s(1_000_000_000), false),
    ("1%", |rack| share_of_cable(rack, 10), true),
    ("50%", |rack| share_of_cable(rack, 500), true),
    ("95%", |rack| share_of_cable(rack, 950), true),
];

/// Microseconds of a round trip between the switch and a device: two cables, two frames, one pass.
const ROUND_TRIP: u64 = 3;

/// The most packets that may be lost, at so many in 100 ms.
fn limit(failures: Failures, all: u64, is_drawn: bool) -> u64 {
    let limits = Failover::default();
    let packet = AFTER.as_ps() / Duration::from_us(1).as_ps() / all.max(1);
    let tick = limits.tick.as_ps() / Duration::from_us(1).as_ps();
    let silence = limits.thresholds.detection(packet.clamp(1, tick)) + 2 * ROUND_TRIP;
    let one = |(kind, _): &(FaultKind, Duration)| {
        // A port that goes down is known at once.
        let us = if matches!(kind, FaultKind::LinkDown(_)) { 2 * ROUND_TRIP } else { silence };
        let packets = us as f64 * all as f64 * 1e-5;
        (packets + if is_drawn { 3.0 * packets.sqrt() } else { 0.0 }).ceil() as u64
    };
    failures.iter().map(one).sum()
}

fn table(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (load, rate, is_drawn) in LOADS {
        for (name, failures, has_controller, paper) in ROWS {
            let change = |rack: &mut Rack| {
                stream(rack, if is_drawn { &POISSON } else { &UDP }, rate(rack));
                rack.faults = failures.iter().map(|(kind, after)| fault(kind.clone(), *after)).collect();
                rack.faults.extend((!has_controller).then(no_controller));
            };
            let (lost, all, edge) = run(lab, &change)?;
            let [used, changes] = outcome(&edge);
            let limit = limit(failures, all, is_drawn);
            let paper = if is_drawn { "" } else { paper };
            rows.push([
                load.to_string(),
                name.to_string(),
                lost.to_string(),
                limit.to_string(),
                percent(lost, all),
                used,
                changes,
                paper.to_string(),
            ]);
        }
    }
    Ok(Table::new(&["<load", "<failure", "lost", "limit", "of 100 ms", "<in use", "changes", "<paper"], rows)
        .into())
}
