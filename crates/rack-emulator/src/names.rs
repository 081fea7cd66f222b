//! Places and events as the user knows them.

use crate::event::Event;
use crate::log::Entry;
use crate::node::node_id;
use crate::running::{Running, workload_of};
use base_time::Time;
use device_network::{Network, Place};
use rack_model::{DeviceId, End, HostId, NodeId, Rack};

/// Sources of names.
pub(crate) struct Names<'a> {
    pub rack: &'a Rack,
    pub network: &'a Network<Event>,
    pub programs: &'a [Running],
    pub notes: &'a [(Time, String)],
}

impl Names<'_> {
    /// `h1 -> tor:1`.
    pub fn wire(&self, wire: u32) -> String {
        self.ends(wire).map_or(String::new(), |(from, to)| {
            format!("{} -> {}", self.rack.end_name(from), self.rack.end_name(to))
        })
    }

    /// Source and destination of a wire. A link has two consecutive wires.
    pub fn ends(&self, wire: u32) -> Option<(End, End)> {
        let [a, b] = self.rack.links.get(wire as usize / 2)?.ends;
        Some(if wire.is_multiple_of(2) { (a, b) } else { (b, a) })
    }

    /// A host, a device, a port, a direction of a link.
    pub fn place(&self, place: Place) -> String {
        match place {
            Place::End(id) => self.rack.node_name(NodeId::Host(HostId(id))).to_string(),
            Place::Device(id) => self.device(id).to_string(),
            Place::Port(id, port) => format!("{}:{port}", self.device(id)),
            Place::Wire(wire) => self.wire(wire),
            Place::Outlet(outlet) => self.outlet(outlet),
            Place::Network => format!("rack {}", self.rack.name.value),
        }
    }

    /// An event in one line, without its time.
    pub fn line(&self, entry: Entry) -> String {
        match entry {
            Entry::Sent { wire, bytes, digest } => {
                format!("{} sent {bytes} bytes #{digest:016x}", self.wire(wire))
            }
            Entry::Arrived { wire, bytes } => format!("{} arrived {bytes} bytes", self.wire(wire)),
            Entry::Dropped { place, reason } => format!("{} dropped: {}", self.place(place), reason.words()),
            Entry::Fault { fault, begins } => {
                let fault = self.rack.faults.get(fault as usize);
                let what = fault.map_or(String::new(), |fault| fault.describe(self.rack));
                format!("fault {}: {what}", if begins { "begins" } else { "is over" })
            }
            Entry::Received { host, flow, sequence } => {
                let workload = self.rack.workloads.get(workload_of(self.programs, flow));
                let name = workload.map_or("", |w| &w.name.value);
                format!("{} received {name} {sequence}", self.place(Place::End(host)))
            }
            Entry::Noted { note, .. } => self.notes.get(note as usize).map_or(String::new(), |n| n.1.clone()),
            Entry::Ticked { device } => format!("{} timer", self.device(device)),
        }
    }

    /// The port of an outlet; of that for all ports without a link, the device.
    fn outlet(&self, outlet: u32) -> String {
        let Some(outlet) = self.network.outlets.get(outlet as usize) else {
            return String::new();
        };
        match outlet.wire.and_then(|wire| self.ends(wire)) {
            Some((from, _)) => self.rack.end_name(from),
            None => self.rack.node_name(node_id(outlet.node)).to_string(),
        }
    }

    fn device(&self, id: u32) -> &str {
        self.rack.node_name(NodeId::Device(DeviceId(id)))
    }
}
