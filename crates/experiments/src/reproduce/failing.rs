//! A stream over a device with spares, which fails or is congested.

use super::Lab;
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Probability, Rate, Time};
use host_programs::{Load, Value, kind::Kind};
use rack_emulator::{EdgeReport, RunReport};
use rack_model::{Fault, FaultKind, Rack};

/// The rack of these experiments.
pub const FILE: &str = "spares.toml";

/// Bytes of payload.
pub const PAYLOAD: u64 = 1000;

/// Bytes of a packet on the cable to the device, beside the payload: Ethernet, IPv4, UDP, overhead, the hand-over's header.
const BESIDES: u64 = 14 + 20 + 8 + 24 + 31;

/// The cable to the device, as the file has it.
pub const CABLE: usize = 2;

/// When the device fails.
pub const FAILS: Duration = Duration::from_ms(10);

/// Time after the failure in which losses are counted, as in the paper.
pub const AFTER: Duration = Duration::from_ms(100);

/// Payload that uses so much of the cable to the device, in thousandths.
pub fn share_of_cable(rack: &Rack, thousandths: u64) -> Rate {
    let cable = rack.links.get(CABLE).map_or(0, |link| link.rate.bits_per_s());
    Rate::from_bits_per_s(cable * PAYLOAD / (PAYLOAD + BESIDES) * thousandths / 1000)
}

/// The workload sends at this rate until [`AFTER`] is over.
pub fn stream(rack: &mut Rack, kind: &'static Kind, rate: Rate) {
    let packet = rate.time_for(PAYLOAD);
    let count = (FAILS + AFTER).as_ps() / packet.as_ps().max(1);
    for workload in &mut rack.workloads {
        workload.load = Load::new(kind, count, PAYLOAD as u32).with("rate", Value::Rate(rate));
    }
}

/// A fault that begins so long after [`FAILS`], and lasts.
pub fn fault(kind: FaultKind, after: Duration) -> Fault {
    Fault { kind, at: Time::ZERO + FAILS + after, lasts: None, span: Span::NONE }
}

/// No message between the controller and the devices arrives.
pub fn no_controller() -> Fault {
    let share = Probability::from_ppb(1_000_000_000);
    Fault {
        kind: FaultKind::ControlLoss { device: None, share },
        at: Time::ZERO,
        lasts: None,
        span: Span::NONE,
    }
}

/// Runs the rack that `change` makes: packets lost, packets in [`AFTER`] at this rate, and what became of the edge.
pub fn run(lab: &mut Lab<'_>, change: &dyn Fn(&mut Rack)) -> Result<(u64, u64, EdgeReport), Vec<Diagnostic>> {
    let racked = lab.changed(FILE, change)?;
    let (_, report) = lab.run(&racked, None)?;
    let RunReport { workloads, edges, .. } = report;
    let lost = workloads.first().map_or(0, |workload| workload.lost);
    let all = racked.rack.workloads.first().map_or(0, |workload| workload.load.count);
    let in_after = all * AFTER.as_ps() / (FAILS + AFTER).as_ps();
    let none = EdgeReport { device: String::new(), regions: vec![], targets: vec![], used: None, changes: 0 };
    Ok((lost, in_after, edges.into_iter().next().unwrap_or(none)))
}

/// `f2` and the number of changes before.
pub fn outcome(edge: &EdgeReport) -> [String; 2] {
    [edge.used.clone().unwrap_or_else(|| "none".to_string()), edge.changes.to_string()]
}

/// `0.096%`
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.3}%", part as f64 * 100.0 / whole.max(1) as f64)
}
