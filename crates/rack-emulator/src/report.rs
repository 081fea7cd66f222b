//! Results of a run as plain data: integers and strings only, so that equal runs give equal reports.

use crate::circle::LoopReport;
use crate::emulator::{Emulator, PacketBalance};
use crate::fault::FaultState;
use crate::pinned::PinnedReport;
use crate::place::Reason;
use crate::running::Running;
use crate::watch::{Values, Watched, value_words};
use base_time::{Rate, Time};
use device_network::{Owner, Place};
use host_programs::Goodput;
use host_programs::latency::Latencies;
use rack_model::{Fault, HostId, NodeId, Workload};
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
    /// In the order of the rack's file.
    pub faults: Vec<FaultReport>,
    /// Loops in which frames go round without end, as far as they were found.
    pub loops: Vec<LoopReport>,
    /// Edges with spares, as their owner has reported them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<EdgeReport>,
    /// Apps whose flows are pinned, as their owner has reported them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<PinnedReport>,
    /// Groups of servers, as their owner has reported them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupReport>,
    /// Actions of the controller, in order.
    pub notes: Vec<NoteReport>,
}

/// A group of servers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GroupReport {
    /// Name of the group.
    pub group: String,
    /// The switch that calls it.
    pub switch: String,
    /// Changes of its members: servers that were added, drained or removed, and deaths.
    pub changes: u64,
    /// No bucket is between two servers.
    pub is_steady: bool,
    /// Calls that have left the switch.
    pub sent: u64,
    /// Calls that have come back.
    pub returned: u64,
    /// Calls that have not come back: lost, or on their way.
    pub lost: u64,
    /// Answers that had come before, and that the switch has dropped.
    pub repeated: u64,
    /// Frames to servers that found no room: in the queue of the switch's port, or in the server's backlog.
    pub queue_full: u64,
    /// In the order of the rack's file.
    pub servers: Vec<ServerReport>,
}

/// A server of a group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ServerReport {
    /// The device's name.
    pub name: String,
    /// `member`, `joining`, `draining`, `leaving`, `dead`, `out`.
    pub standing: String,
    /// Buckets whose new flows it gets.
    pub buckets: u64,
    /// Flows whose state it has.
    pub flows: u64,
    /// Flows that began there.
    pub opened: u64,
    /// Calls that the switch has sent there.
    pub calls: u64,
    /// Packets that it has handled.
    pub handled: u64,
    /// Packets that took one more step from there: to another server, and back.
    pub extra_hops: u64,
    /// Packets and frames that it has dropped or refused before its device.
    pub dropped: u64,
    /// The same by reason; reasons without a count are left out.
    pub reasons: BTreeMap<String, u64>,
}

/// An edge to a device with spares.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EdgeReport {
    /// The device that hands packets over.
    pub device: String,
    /// The regions that it leads to.
    pub regions: Vec<String>,
    /// The preferred device and its spares, in order.
    pub targets: Vec<String>,
    /// The one in use at the end; none if none is left, or none was used.
    pub used: Option<String>,
    /// Number of changes to another device.
    pub changes: u64,
}

/// Something that happened, other than to packets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NoteReport {
    /// When, in picoseconds.
    pub at_ps: u64,
    /// Description.
    pub what: String,
}

/// Something that went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FaultReport {
    /// Kind and place: `link-down tor:3 - nic:1`.
    pub what: String,
    /// When it began, in picoseconds.
    pub begins_ps: u64,
    /// When it was over; none if it never was to be.
    pub ends_ps: Option<u64>,
    /// True if it is active at the end of the run.
    pub is_active: bool,
    /// Packets lost when it began: in flight, inside, in queues.
    pub swept: u64,
}

/// Results of a workload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WorkloadReport {
    /// Name of the workload.
    pub name: String,
    /// As in the rack's file.
    pub kind: String,
    /// The sending host, or how many there are.
    pub from: String,
    /// The receiving host, or how many there are.
    pub to: String,
    /// Pairs of a sender and a receiver.
    pub pairs: u64,
    /// Packets sent; of a ping or a request, requests; of TCP, transfers begun.
    pub sent: u64,
    /// Different packets that came; of a ping or a request, answers; of TCP, transfers completed.
    pub received: u64,
    /// Sent and not received, as far as is known now.
    pub lost: u64,
    /// Packets that came again.
    pub duplicated: u64,
    /// Packets that came after one sent later.
    pub reordered: u64,
    /// Packets that came changed.
    pub corrupted: u64,
    /// The same by kind of change: a checksum, ports, the payload.
    pub corrupted_by: BTreeMap<String, u64>,
    /// Drops of its packets before they were used, by place and reason, as far as the owner is known.
    pub drops: Vec<DropReport>,
    /// Values of the header fields that it watches, on arrival.
    pub watched: Vec<WatchReport>,
    /// Payload received from the first to the last packet, in bits per second; of a capture, whole frames; of TCP until
    /// now, if transfers are in progress. None of a ping, or if there were not two.
    pub goodput_bits_per_s: Option<u64>,
    /// From sending to receiving, of a ping or a request there and back, of TCP from the first packet to the last byte;
    /// none if nothing came, or of a capture.
    pub latency: Option<LatencyReport>,
    /// The same of the first packet of each pair, in racks with pinned flows; none if no such packet came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_latency: Option<LatencyReport>,
    /// Other measures of its program, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, u64>,
    /// True if packets that were sent and not received are lost; false if they may still be in flight at the end of the
    /// run.
    #[serde(skip)]
    pub is_loss_known: bool,
}

impl WorkloadReport {
    /// Received packets, and `lost` for losses; `-` for transfers that the end of the run has cut short.
    pub(crate) fn came(&self, lost: String) -> [String; 2] {
        match (self.is_loss_known, self.received) {
            (true, received) => [received.to_string(), lost],
            (false, 0) => ["-".to_string(), "-".to_string()],
            (false, received) => [received.to_string(), "-".to_string()],
        }
    }
}

/// Latencies in picoseconds. Least, greatest, mean and deviation are exact, the percentiles to one in 128.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LatencyReport {
    /// The least.
    pub min_ps: u64,
    /// The mean.
    pub mean_ps: u64,
    /// The standard deviation.
    pub deviation_ps: u64,
    /// Half of all are not above it.
    pub median_ps: u64,
    /// 90 of 100 are not above it.
    pub p90_ps: u64,
    /// 95 of 100 are not above it.
    pub p95_ps: u64,
    /// 99 of 100 are not above it.
    pub p99_ps: u64,
    /// 999 of 1000 are not above it.
    pub p999_ps: u64,
    /// The greatest.
    pub max_ps: u64,
}

/// Values of a header field, where packets of a workload arrived.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WatchReport {
    /// As in the rack's file: `ipv4.ecn`.
    pub field: String,
    /// `receiver`, or `sender` where answers arrived.
    pub at: String,
    /// The first distinct values, in order of arrival, with their numbers of frames; `none` for frames without the field.
    pub values: Vec<ValueReport>,
    /// Packets with other values.
    pub others: u64,
}

/// Number of packets with a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ValueReport {
    /// As people write it: a number, an address.
    pub value: String,
    /// Number of packets.
    pub packets: u64,
}

/// A device and its own counters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DeviceReport {
    /// Name of the device.
    pub name: String,
    /// Class, as in the rack's file.
    pub class: String,
    /// Engine of its program.
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
    /// Bytes of these frames, padding included.
    pub bytes: u64,
    /// Frames lost in flight.
    pub lost: u64,
    /// Frames lost since the link was down.
    pub cut: u64,
    /// Frames of which a bit was flipped.
    pub corrupted: u64,
    /// Frames that arrived twice.
    pub duplicated: u64,
    /// Frames that others may have overtaken.
    pub reordered: u64,
    /// Frames not sent since they exceeded the MTU.
    pub too_long: u64,
    /// Frames not sent since the queue before it was full.
    pub refused: u64,
    /// Frames sent as headers, since the queue before it was full and the device trims.
    #[serde(skip_serializing_if = "crate::pinned::is_zero")]
    pub trimmed: u64,
    /// The most packets that waited in that queue at once.
    pub longest_queue: u32,
    /// Mean number of waiting frames, in thousandths.
    pub mean_queue_milli: u64,
    /// Rate in bits per second.
    pub rate_bits_per_s: u64,
    /// The share of time in which it was sending, in millionths.
    pub utilisation_ppm: u32,
}

/// Number of packets that ended at a place for a reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DropReport {
    /// A host, a device, a port, or a direction of a link.
    pub place: String,
    /// Why.
    pub reason: String,
    /// Number of packets.
    pub packets: u64,
}

impl Emulator {
    /// The run up to now.
    pub fn report(&self) -> RunReport {
        RunReport {
            rack: self.rack.name.value.clone(),
            seed: self.rack.seed,
            duration_ps: self.network.now.as_ps(),
            events: self.network.events,
            log_hash: self.log_hash().to_string(),
            packets: self.balance(),
            workloads: self
                .rack
                .workloads
                .iter()
                .zip(&self.programs)
                .zip(0..)
                .map(|((w, running), at)| self.workload_report(at, w, running))
                .collect(),
            devices: (0..self.network.devices.len()).map(|device| self.device_report(device)).collect(),
            links: self.link_reports(),
            drops: self.drop_reports(),
            faults: self.fault_reports(),
            loops: self.loops().to_vec(),
            edges: vec![],
            pinned: vec![],
            groups: vec![],
            notes: self
                .notes
                .iter()
                .map(|(at, what)| NoteReport { at_ps: at.as_ps(), what: what.clone() })
                .collect(),
        }
    }

    fn workload_report(&self, at: u32, workload: &Workload, running: &Running) -> WorkloadReport {
        let hosts = |hosts: &[HostId]| match hosts {
            [host] => self.rack.node_name(NodeId::Host(*host)).to_string(),
            hosts => format!("{} hosts", hosts.len()),
        };
        let (tally, report) = (&running.tally, running.program.report(self.network.now));
        let has_pinned = self.rack.apps.iter().any(|app| app.pinning.is_some());
        let goodput = match report.goodput {
            Goodput::None => None,
            Goodput::UntilLast => tally.goodput(None),
            Goodput::UntilNow => tally.goodput(Some(self.network.now)),
        };
        WorkloadReport {
            name: workload.name.value.clone(),
            kind: workload.load.kind.word.to_string(),
            from: hosts(&workload.from.value),
            to: hosts(&workload.to.value),
            pairs: workload.pairs().count() as u64,
            sent: tally.sent,
            received: tally.received,
            // A capture's receiver counts frames that no other program uses: there may be more.
            lost: tally.sent.saturating_sub(tally.received),
            duplicated: tally.duplicated,
            reordered: tally.reordered,
            corrupted: tally.corrupted.values().sum(),
            corrupted_by: tally.corrupted.iter().map(|(why, n)| (why.words().to_string(), *n)).collect(),
            drops: self.drop_reports_of(Owner(at)),
            watched: watch_reports(workload, &self.watched[at as usize]),
            goodput_bits_per_s: goodput.map(Rate::bits_per_s),
            latency: latency_report(&tally.latencies),
            first_latency: latency_report(&tally.first).filter(|_| has_pinned),
            measures: report.measures.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
            is_loss_known: report.is_loss_known,
        }
    }

    fn fault_reports(&self) -> Vec<FaultReport> {
        let faults = self.rack.faults.iter().zip(&self.faults);
        let report = |(fault, state): (&Fault, &FaultState)| FaultReport {
            what: fault.describe(&self.rack),
            begins_ps: fault.at.as_ps(),
            ends_ps: Some(fault.ends()).filter(|at| *at < Time::MAX).map(Time::as_ps),
            is_active: state.is_active,
            swept: state.swept,
        };
        faults.map(report).collect()
    }

    fn device_report(&self, device: usize) -> DeviceReport {
        let node = &self.network.devices[device];
        let (counters, model) = (node.counters(), self.rack.devices.get(device));
        let dropped = counters.dropped.iter();
        DeviceReport {
            name: model.map_or(String::new(), |d| d.name.value.clone()),
            class: model.map_or("", |d| d.class.word()).to_string(),
            engine: self.engines.get(device).cloned().unwrap_or_default(),
            received: counters.received,
            sent: counters.sent,
            created: counters.created,
            dropped: dropped
                .map(|(reason, n)| (device_network::Reason::Program(*reason).words().to_string(), *n))
                .collect(),
            longest_backlog: node.counts.longest_backlog,
        }
    }

    /// Both directions of each link up to now, in the order of the rack's file.
    pub fn link_reports(&self) -> Vec<LinkReport> {
        let linked = self.network.outlets.iter().filter_map(|outlet| Some((outlet, outlet.wire?)));
        let names = self.names();
        linked
            .filter_map(|(outlet, number)| {
                let wire = &self.network.wires[number as usize];
                let (from, to) = names.ends(number)?;
                let busy = wire.medium.counts.busy.as_ps().min(self.network.now.as_ps());
                let share = u128::from(busy) * 1_000_000 / u128::from(self.network.now.as_ps().max(1));
                Some(LinkReport {
                    from: self.rack.end_name(from),
                    to: self.rack.end_name(to),
                    frames: wire.medium.counts.frames,
                    bytes: wire.medium.counts.bytes,
                    lost: wire.medium.counts.lost,
                    cut: wire.medium.counts.cut,
                    corrupted: wire.medium.counts.corrupted,
                    duplicated: wire.medium.counts.duplicated,
                    reordered: wire.medium.counts.reordered,
                    too_long: wire.medium.counts.too_long,
                    refused: outlet.refused,
                    trimmed: outlet.trimmed,
                    longest_queue: outlet.queue.longest(),
                    mean_queue_milli: outlet.queue.mean_milli(self.network.now),
                    rate_bits_per_s: self.rack.links.get(wire.link as usize)?.rate.bits_per_s(),
                    utilisation_ppm: share as u32,
                })
            })
            .collect()
    }

    fn drop_reports_of(&self, owner: Owner) -> Vec<DropReport> {
        let names = self.names();
        let report = |((_, place, reason), packets): (&(Owner, Place, Reason), &u64)| DropReport {
            place: names.place(*place),
            reason: reason.words().to_string(),
            packets: *packets,
        };
        self.owned_drops.iter().filter(|((known, ..), _)| *known == owner).map(report).collect()
    }

    fn drop_reports(&self) -> Vec<DropReport> {
        let mut drops = self.drops.clone();
        for (device, node) in (0..).zip(&self.network.devices) {
            for (reason, n) in node.counters().dropped {
                let reason = Reason::Network(device_network::Reason::Program(reason));
                drops.insert((Place::Device(device), reason), n);
            }
        }
        let names = self.names();
        let reports = drops.into_iter().filter(|(_, n)| *n > 0).map(|((place, reason), packets)| {
            DropReport { place: names.place(place), reason: reason.words().to_string(), packets }
        });
        reports.collect()
    }
}

fn watch_reports(workload: &Workload, watched: &Watched) -> Vec<WatchReport> {
    let report = |((at, is_receiver), values): (&(usize, bool), &Values)| {
        let field = *workload.watch.get(*at)?;
        let counted = values
            .counts
            .iter()
            .map(|(value, packets)| ValueReport { value: value_words(field, *value), packets: *packets });
        Some(WatchReport {
            field: field.word().to_string(),
            at: if *is_receiver { "receiver" } else { "sender" }.to_string(),
            values: counted.collect(),
            others: values.others,
        })
    };
    watched.iter().filter_map(report).collect()
}

fn latency_report(latencies: &Latencies) -> Option<LatencyReport> {
    let (min, max) = latencies.range()?;
    let percentile = |permille| latencies.percentile(permille).unwrap_or(max).as_ps();
    Some(LatencyReport {
        min_ps: min.as_ps(),
        mean_ps: latencies.mean()?.as_ps(),
        deviation_ps: latencies.deviation()?.as_ps(),
        median_ps: percentile(500),
        p90_ps: percentile(900),
        p95_ps: percentile(950),
        p99_ps: percentile(990),
        p999_ps: percentile(999),
        max_ps: max.as_ps(),
    })
}
