//! Devices and hosts of a rack as nodes of its network, and back.

use base_time::Rng;
use device_network::{Medium, Node, Plug, WireSettings};
use rack_model::{DeviceId, End, HostId, Link, NodeId};

/// Plug of a link's end in the network.
pub(crate) fn plug(end: &End) -> Plug {
    let node = match end.node {
        NodeId::Device(DeviceId(device)) => Node::Device(device),
        NodeId::Host(HostId(host)) => Node::End(host),
    };
    Plug { node, port: end.port }
}

/// The device or host of a rack that is a node of its network.
pub(crate) fn node_id(node: Node) -> NodeId {
    match node {
        Node::Device(device) => NodeId::Device(DeviceId(device)),
        Node::End(host) => NodeId::Host(HostId(host)),
    }
}

pub(crate) fn settings(link: &Link) -> WireSettings {
    WireSettings {
        rate: Some(link.rate),
        delay: link.delay,
        jitter: link.jitter,
        loss: link.loss,
        corrupt: link.corrupt,
        duplicate: link.duplicate,
        reorder: link.reorder,
        reorder_delay: link.reorder_delay,
        longest_frame: link.longest_frame(),
        overhead: link.overhead,
        padding: link.pad.then_some(0),
    }
}

/// One direction of a link; `stream` gives the random generator for a label.
pub fn medium(link: &Link, stream: impl Fn(&str) -> Rng) -> Medium {
    Medium::new(settings(link), stream)
}
