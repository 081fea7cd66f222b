//! Places and events as the user knows them.

use crate::log::Entry;
use crate::outlet::Outlet;
use crate::place::Place;
use crate::wire::Wire;
use rack_model::{DeviceId, HostId, NodeId, Rack};

/// What names are made from.
pub(crate) struct Names<'a> {
    pub rack: &'a Rack,
    pub wires: &'a [Wire],
    pub outlets: &'a [Outlet],
}

impl Names<'_> {
    /// `h1 -> tor:1`.
    pub fn wire(&self, wire: u32) -> String {
        let ends = self.wires.get(wire as usize).map(|w| (w.from, w.to));
        ends.map_or(String::new(), |(from, to)| {
            format!("{} -> {}", self.rack.end_name(from), self.rack.end_name(to))
        })
    }

    /// A host, a device, a port, a direction of a link.
    pub fn place(&self, place: Place) -> String {
        match place {
            Place::Host(id) => self.rack.node_name(NodeId::Host(HostId(id))).to_string(),
            Place::Device(id) => self.device(id).to_string(),
            Place::Port(id, port) => format!("{}:{port}", self.device(id)),
            Place::Wire(wire) => self.wire(wire),
            Place::Outlet(outlet) => {
                let wire = self.outlets.get(outlet as usize).and_then(|o| Some((o.node, o.wire?)));
                match (wire, self.outlets.get(outlet as usize)) {
                    (Some((_, wire)), _) => {
                        let from = self.wires.get(wire as usize).map(|w| self.rack.end_name(w.from));
                        from.unwrap_or_default()
                    }
                    (None, Some(outlet)) => self.rack.node_name(outlet.node).to_string(),
                    (None, None) => String::new(),
                }
            }
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
            Entry::Received { host, workload, sequence } => {
                let name = self.rack.workloads.get(workload as usize).map_or("", |w| &w.name.value);
                format!("{} received {name} {sequence}", self.place(Place::Host(host)))
            }
            Entry::Ticked { device } => format!("{} timer", self.device(device)),
        }
    }

    fn device(&self, id: u32) -> &str {
        self.rack.node_name(NodeId::Device(DeviceId(id)))
    }
}
