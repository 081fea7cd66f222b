//! What a run has shown, as plain data: integers and strings only, so that equal runs give equal reports.

use crate::emulator::{Emulator, PacketBalance};
use crate::flow::Flow;
use crate::names::Names;
use crate::place::{Place, Reason};
use base_time::Rate;
use rack_model::{DeviceId, NodeId, WorkloadKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run up to now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RunReport {
    /// The rack's name.
    pub rack: String,
    /// The seed of all chance.
    pub seed: u64,
    /// Virtual time since the start, in picoseconds.
    pub duration_ps: u64,
    /// Events that happened.
    pub events: u64,
    /// The hash of the event log, 16 hexadecimal digits.
    pub log_hash: String,
    /// All packets.
    pub packets: PacketBalance,
    /// In the order of the rack's file.
    pub workloads: Vec<WorkloadReport>,
    /// In the order of the rack's file.
    pub devices: Vec<DeviceReport>,
    /// Each direction of each link, in the order of the rack's file.
    pub links: Vec<LinkReport>,
    /// Every place and reason that ended packets: hosts, devices, queues, ports, links.
    pub drops: Vec<DropReport>,
}

/// What a workload has sent and what has come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// `ping` or `udp`.
    pub kind: String,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Packets sent; of a ping, requests.
    pub sent: u64,
    /// Different packets that came; of a ping, answers.
    pub received: u64,
    /// Sent and not received, as far as is known now.
    pub lost: u64,
    /// Packets that came again.
    pub duplicated: u64,
    /// Packets that came after one sent later.
    pub reordered: u64,
    /// Packets that came changed.
    pub corrupted: u64,
    /// Payload received from the first to the last packet, in bits per second; none of a ping, or if there
    /// were not two.
    pub goodput_bits_per_s: Option<u64>,
    /// From sending to receiving, of a ping there and back; none if nothing came.
    pub latency: Option<LatencyReport>,
}

/// Latencies in picoseconds. Least and greatest are exact, the others to one in 128.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LatencyReport {
    /// The least.
    pub min_ps: u64,
    /// Half of all are not above it.
    pub median_ps: u64,
    /// 99 of 100 are not above it.
    pub p99_ps: u64,
    /// The greatest.
    pub max_ps: u64,
}

/// A device and its own counters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its class, as in the rack's file.
    pub class: String,
    /// What ran its program.
    pub engine: String,
    /// Frames that its program received.
    pub received: u64,
    /// Frames that its program gave out.
    pub sent: u64,
    /// Packets that came into being inside.
    pub created: u64,
    /// Packets that its program ended, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The most packets that waited for it at once.
    pub longest_backlog: u64,
}

/// One direction of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinkReport {
    /// The sending end: `h1`, `tor:1`.
    pub from: String,
    /// The receiving end.
    pub to: String,
    /// Frames sent, those lost included.
    pub frames: u64,
    /// Their bytes, padding included.
    pub bytes: u64,
    /// Frames lost under way.
    pub lost: u64,
    /// Frames not sent since they exceeded the MTU.
    pub too_long: u64,
    /// Frames not sent since the queue before it was full.
    pub refused: u64,
    /// The most packets that waited in that queue at once.
    pub longest_queue: u32,
    /// Its rate in bits per second.
    pub rate_bits_per_s: u64,
    /// The share of time in which it was sending, in millionths.
    pub utilisation_ppm: u32,
}

/// How many packets ended at a place for a reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DropReport {
    /// A host, a device, a port, or a direction of a link.
    pub place: String,
    /// Why.
    pub reason: String,
    /// How many.
    pub packets: u64,
}

impl Emulator {
    /// The run up to now.
    pub fn report(&self) -> RunReport {
        RunReport {
            rack: self.rack.name.value.clone(),
            seed: self.rack.seed,
            duration_ps: self.now.as_ps(),
            events: self.events,
            log_hash: self.log_hash().to_string(),
            packets: self.balance(),
            workloads: self.flows.iter().map(|flow| self.workload_report(flow)).collect(),
            devices: (0..self.devices.len()).map(|device| self.device_report(device)).collect(),
            links: self.link_reports(),
            drops: self.drop_reports(),
        }
    }

    fn workload_report(&self, flow: &Flow) -> WorkloadReport {
        let workload = &flow.workload;
        let host = |id| self.rack.node_name(NodeId::Host(id)).to_string();
        WorkloadReport {
            name: workload.name.value.clone(),
            kind: workload.kind.word().to_string(),
            from: host(workload.from.value),
            to: host(workload.to.value),
            sent: flow.sent,
            received: flow.received,
            lost: flow.sent - flow.received,
            duplicated: flow.duplicated,
            reordered: flow.reordered,
            corrupted: flow.corrupted,
            goodput_bits_per_s: goodput(flow).map(Rate::bits_per_s),
            latency: latency_report(flow),
        }
    }

    fn device_report(&self, device: usize) -> DeviceReport {
        let node = &self.devices[device];
        let counters = node.device().counters();
        let dropped = counters.dropped.iter();
        DeviceReport {
            name: node.name.clone(),
            class: self.rack.devices.get(device).map_or("", |d| d.class.word()).to_string(),
            engine: node.engine.clone(),
            received: counters.received,
            sent: counters.sent,
            created: counters.created,
            dropped: dropped.map(|(reason, n)| (Reason::Program(*reason).words().to_string(), *n)).collect(),
            longest_backlog: node.counts.longest_backlog,
        }
    }

    fn link_reports(&self) -> Vec<LinkReport> {
        let linked = self.outlets.iter().filter_map(|outlet| Some((outlet, outlet.wire?)));
        linked
            .map(|(outlet, wire)| {
                let wire = &self.wires[wire as usize];
                let busy = wire.counts.busy.as_ps().min(self.now.as_ps());
                let share = u128::from(busy) * 1_000_000 / u128::from(self.now.as_ps().max(1));
                LinkReport {
                    from: self.rack.end_name(wire.from),
                    to: self.rack.end_name(wire.to),
                    frames: wire.counts.frames,
                    bytes: wire.counts.bytes,
                    lost: wire.counts.lost,
                    too_long: wire.counts.too_long,
                    refused: outlet.refused,
                    longest_queue: outlet.queue.longest(),
                    rate_bits_per_s: wire.rate().bits_per_s(),
                    utilisation_ppm: share as u32,
                }
            })
            .collect()
    }

    fn drop_reports(&self) -> Vec<DropReport> {
        let mut drops = self.drops.clone();
        for (id, node) in (0..).map(DeviceId).zip(&self.devices) {
            for (reason, n) in &node.device().counters().dropped {
                drops.insert((Place::Device(id.0), Reason::Program(*reason)), *n);
            }
        }
        let names = Names { rack: &self.rack, wires: &self.wires, outlets: &self.outlets };
        let told = drops.into_iter().filter(|(_, n)| *n > 0).map(|((place, reason), packets)| DropReport {
            place: names.place(place),
            reason: reason.words().to_string(),
            packets,
        });
        told.collect()
    }
}

fn goodput(flow: &Flow) -> Option<Rate> {
    let (first, last) = flow.arrivals?;
    let bytes = flow.received.saturating_sub(1) * u64::from(flow.workload.size);
    let is_stream = matches!(flow.workload.kind, WorkloadKind::Udp { .. });
    Rate::of(bytes, last.since(first)).filter(|_| is_stream)
}

fn latency_report(flow: &Flow) -> Option<LatencyReport> {
    let (min, max) = flow.latencies.range()?;
    let percentile = |percent| flow.latencies.percentile(percent).unwrap_or(max).as_ps();
    Some(LatencyReport {
        min_ps: min.as_ps(),
        median_ps: percentile(50),
        p99_ps: percentile(99),
        max_ps: max.as_ps(),
    })
}
