//! Figure 7 and section 7.1.1: a fat tree in which many programs run at once, most of them over several devices, by all three runtimes.

use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_diag::codes::emulate as codes;
use p4rack::Racked;
use p4rack::up::bring_up_in;
use rack_emulator::{RunReport, Table, WorkloadReport};
use rack_model::{LinkId, NodeId};
use std::collections::BTreeMap;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig7",
    about: "A fat tree with k = 4: routing, Crosspod, firewall, tunnel and marks at once; eight of thirteen programs run over several devices, by all three runtimes.",
    set: "examples/fat-tree/figure-7: two of the links between h-0-0-0 and h-1-0-0 lose 5 % of the frames (the paper's lose one of eight, at most one of a block); error correction with k = 5, h = 3. \
          At 300 ms the device with the firewall of edge-1-1 fails while packets pass it, and its spare takes over; all probes of the firewalls come after that. Frames bit for bit: all but addresses of the link, TTL and its sum.",
    leaves_out: "p0a0 has no second device for its functions: what a function on frames holds would be lost, so its region has no spares. Tunnel and marks, which the paper ran in networks of their own, run in pods 2 and 3 here.",
    run,
};

/// The rack, from the directory of Crosspod's racks.
pub const FILE: &str = "../fat-tree/figure-7/RACK.toml";

/// Part of a workload's packets that has to arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Nothing,
    /// All but what is lost until the spare takes over.
    Most,
}

/// Workloads: name, in the paper, what has to arrive.
const ROWS: [(&str, &str, Wanted); 11] = [
    ("all-to-all", "256 pings, none lost (with the next row)", Wanted::All),
    ("across", "", Wanted::All),
    ("through", "at most 3% lost in 100 ms (Figure 22)", Wanted::Most),
    ("from-inside", "12 probes pass", Wanted::All),
    ("from-outside", "12 probes are blocked", Wanted::Nothing),
    ("frames", "100 TCP frames, as they were sent", Wanted::All),
    ("writes", "250 SETs answered", Wanted::All),
    ("reads", "250 GETs answered", Wanted::All),
    ("tunnel", "by the tunnel's switches", Wanted::All),
    ("beside-tunnel", "by routes", Wanted::All),
    ("marked", "code point 44 (0xb0)", Wanted::All),
];

/// The workload whose frames are compared.
const FRAMES: &str = "frames";

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let racked = lab.rack(FILE)?;
    (lab.show_progress)(&racked.rack.name.value);
    let mut running = bring_up_in(&racked, None)?;
    let sink = sink(&racked).ok_or_else(|| missing(FRAMES))?;
    running.emulator.record(sink);
    let report = running.run()?;
    let recording = running.emulator.take_recording(sink).unwrap_or_default();
    let mut rows = vec![];
    for (name, paper, wanted) in ROWS {
        let found = report.workloads.iter().find(|workload| workload.name == name);
        let workload = found.ok_or_else(|| missing(name))?;
        let received = match name {
            FRAMES => equal(&racked, &recording).map_err(missing)?,
            _ => workload.received,
        };
        let wanted = match wanted {
            Wanted::All => workload.sent.to_string(),
            Wanted::Nothing => 0.to_string(),
            Wanted::Most => format!(">= {}", workload.sent * 99 / 100),
        };
        rows.push([
            name.to_string(),
            workload.sent.to_string(),
            received.to_string(),
            wanted,
            workload.corrupted.to_string(),
            marks(workload),
            paper.to_string(),
        ]);
    }
    let lost: u64 = report.links.iter().map(|link| link.lost).sum();
    let none = || String::new();
    let paper = "faulty links".to_string();
    rows.push(["lost by links".to_string(), none(), lost.to_string(), none(), none(), none(), paper]);
    rows.extend(edges(&report));
    let titles = ["<traffic", "sent", "received", "wanted", "changed", "<seen", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

fn missing(name: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::EMULATION, format!("the rack has no workload `{name}`")).note(FILE)]
}

/// Values of the header fields that the workload watches.
fn marks(workload: &WorkloadReport) -> String {
    let values = workload.watched.iter().flat_map(|watch| watch.values.iter().map(move |seen| (watch, seen)));
    let texts = values.map(|(watch, seen)| format!("{} {}: {}", watch.field, seen.value, seen.packets));
    texts.collect::<Vec<_>>().join(", ")
}

/// For each edge with spares: changes, and the device in use.
fn edges(report: &RunReport) -> Vec<[String; 7]> {
    let row = |edge: &rack_emulator::EdgeReport| {
        let used = edge.used.clone().unwrap_or_else(|| "none".to_string());
        let name = format!("fail-over of {}", edge.targets.join(", "));
        let [a, b, c] = [(); 3].map(|()| String::new());
        [name, a, edge.changes.to_string(), b, c, format!("in use: {used}"), String::new()]
    };
    report.edges.iter().map(row).collect()
}

/// The link of the host that the compared frames are for.
fn sink(racked: &Racked) -> Option<LinkId> {
    let workload = racked.rack.workloads.iter().find(|workload| workload.name.value == FRAMES)?;
    let host = NodeId::Host(*workload.to.value.first()?);
    racked.rack.links_of(host).next().map(|(link, ..)| link)
}

/// Number of sent frames that arrived exactly once as they were sent.
fn equal(racked: &Racked, recording: &[u8]) -> Result<u64, &'static str> {
    let sent = racked.captures.values().next().ok_or(FRAMES)?;
    let mut arrived: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut reader = base_pcap::Reader::new(recording).map_err(|_| FRAMES)?;
    while let Some(frame) = reader.read(|frame| unchanged(frame.bytes)).map_err(|_| FRAMES)? {
        *arrived.entry(frame).or_default() += 1;
    }
    let once = |(_, frame): &&(_, Vec<u8>)| arrived.get(&unchanged(frame)) == Some(&1);
    Ok(sent.iter().filter(once).count() as u64)
}

/// A frame without what routers change: addresses of Ethernet, IPv4's TTL and its checksum.
fn unchanged(frame: &[u8]) -> Vec<u8> {
    let is_changed = |at: usize| at < 12 || at == 22 || (24..26).contains(&at);
    frame.iter().enumerate().filter(|(at, _)| !is_changed(*at)).map(|(_, byte)| *byte).collect()
}
