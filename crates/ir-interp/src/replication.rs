//! What the control plane sets up for replication: multicast groups and clone sessions.

use dataplane_api::Port;
use std::collections::BTreeMap;

/// What the control plane sets up for replication.
#[derive(Clone, Default, Debug)]
pub(crate) struct Replication {
    pub(crate) groups: BTreeMap<u32, Group>,
    pub(crate) sessions: BTreeMap<u32, Session>,
    /// Multicast nodes by their handle: replica id and ports.
    pub(crate) nodes: Vec<(u16, Vec<Port>)>,
}

/// A multicast group.
#[derive(Clone, Default, Debug)]
pub(crate) struct Group {
    /// Port and replica id, in the order of replication.
    pub(crate) members: Vec<(Port, u16)>,
    /// Handles of nodes, whose ports come behind.
    pub(crate) nodes: Vec<usize>,
}

impl Replication {
    /// Port and replica id of every copy for a group, in order.
    pub(crate) fn members(&self, group: u32) -> Vec<(Port, u16)> {
        let Some(group) = self.groups.get(&group) else { return vec![] };
        let nodes = group.nodes.iter().filter_map(|node| self.nodes.get(*node));
        let of_nodes = nodes.flat_map(|(rid, ports)| ports.iter().map(|port| (*port, *rid)));
        group.members.iter().copied().chain(of_nodes).collect()
    }
}

/// Where the clones of a session go, to both port and group if both are set, and how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// To a port.
    pub port: Option<Port>,
    /// To a multicast group.
    pub group: Option<u32>,
    /// Where the architecture has it: PSA.
    pub class_of_service: u8,
    /// Cut the clones to this many bytes, where the architecture does: PSA.
    pub max_length: Option<u32>,
}
