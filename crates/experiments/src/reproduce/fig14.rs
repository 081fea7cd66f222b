//! Figure 14: the effect of header compression on the queue of a full link.

use super::lab::{alone, only};
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::Rate;
use host_programs::udp::POISSON;
use host_programs::{Load, Value};
use rack_emulator::{LinkReport, RunReport, Table};
use rack_model::{NodeId, Rack};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig14",
    about: "The queue of a link at 99 % utilisation, without and with header compression.",
    set: "UDP of 1,000 bytes with gaps by chance (Poisson), 99 % of the link between the switches with headers and Ethernet's overhead; the sender's link has ten times its rate; \
          the plan \"maximum performance\".",
    leaves_out: "TCP, whose headers the paper makes short, and its bursts; the memory of the switch's traffic manager, which the paper counts in cells. The paper has no \
                 number in its text: the queue is shorter.",
    run,
};

/// Bytes of payload, and bytes on the wire beside it: Ethernet, IPv4, UDP, overhead.
const PAYLOAD: u64 = 1000;
const BESIDES: u64 = 14 + 20 + 8 + 24;
/// Packets of a run.
const PACKETS: u64 = 40_000;
/// The switches' link, from left to right.
const FROM: &str = "left:2";

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let racked = lab.changed("RACK.toml", &load)?;
    let mut rows = vec![];
    for (stage, name, paper) in [(None, "without", ""), (Some("compression"), "with", "shorter")] {
        let (_, report) = lab.run(&racked, stage)?;
        rows.extend(link(&report).map(|link| row(name, link, paper)));
    }
    Ok(Table::new(&["<compression", "link used", "queue, mean", "queue, longest", "refused", "<paper"], rows)
        .into())
}

fn load(rack: &mut Rack) {
    only(rack, &["get"]);
    alone(rack, "compression");
    let left = rack.device("left");
    for (device, path) in rack.stages.iter_mut().flat_map(|stage| &mut stage.entries) {
        if Some(*device) == left && path.value == "stages/compress.stf" {
            path.value = "stages/compress-udp.stf".to_string();
        }
    }
    let between =
        rack.links.iter().find(|link| link.ends.iter().all(|end| matches!(end.node, NodeId::Device(_))));
    let rate = rack
        .links
        .iter()
        .find(|link| rack.end_name(link.ends[0]) == FROM)
        .or(between)
        .map_or(0, |link| link.rate.bits_per_s());
    let sender = rack.workloads.first().and_then(|workload| workload.from.value.first().copied());
    for workload in &mut rack.workloads {
        let rate = Rate::from_bits_per_s(rate * 99 / 100 * PAYLOAD / (PAYLOAD + BESIDES));
        let stagger = workload.load.stagger;
        workload.load = Load::new(&POISSON, PACKETS, PAYLOAD as u32).with("rate", Value::Rate(rate));
        workload.load.stagger = stagger;
    }
    for link in &mut rack.links {
        if link.ends.iter().any(|end| sender.is_some_and(|id| end.node == NodeId::Host(id))) {
            link.rate = Rate::from_bits_per_s(link.rate.bits_per_s() * 10);
        }
    }
}

fn link(report: &RunReport) -> Option<&LinkReport> {
    report.links.iter().find(|link| link.from == FROM)
}

fn row(name: &str, link: &LinkReport, paper: &str) -> [String; 6] {
    let thousandth = |n: u64| format!("{}.{:02}", n / 1000, n % 1000 / 10);
    let ppm = link.utilisation_ppm;
    [
        name.to_string(),
        format!("{}.{}%", ppm / 10_000, ppm % 10_000 / 1000),
        thousandth(link.mean_queue_milli),
        link.longest_queue.to_string(),
        link.refused.to_string(),
        paper.to_string(),
    ]
}
