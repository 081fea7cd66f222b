//! Devices and hosts of a rack as nodes of its network, and back.

use device_network::{Node, Plug};
use rack_model::{DeviceId, End, HostId, NodeId};

/// Where a link of a rack is plugged in.
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
