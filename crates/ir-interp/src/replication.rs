//! What the control plane sets up for replication: multicast groups and clone sessions.
//!
//! Nodes are those of BMv2's packet replication engine (`simple_pre_lag.cpp`): each is in one group at most.

use crate::names::refused;
use dataplane_api::{EntryError, Port};
use std::collections::{BTreeMap, BTreeSet};

/// The highest number of a link aggregation group.
const LAST_LAG: u32 = 256;

/// BMv2's hash for link aggregation groups, which is the same for all packets.
const LAG_HASH: usize = 0xff;

/// What the control plane sets up for replication.
#[derive(Clone, Default, Debug)]
pub(crate) struct Replication {
    groups: BTreeMap<u32, Group>,
    pub(crate) sessions: BTreeMap<u32, Session>,
    /// Multicast nodes by their handle; `None` where a node was destroyed.
    nodes: Vec<Option<Node>>,
    /// The ports of link aggregation groups, in ascending order.
    lags: BTreeMap<u32, Vec<Port>>,
    /// Ports that are down: a member by one of them goes to a backup.
    pub(crate) down: BTreeSet<Port>,
}

/// A multicast group.
#[derive(Clone, Default, Debug)]
pub(crate) struct Group {
    /// Port and replica id, in the order of replication.
    pub(crate) members: Vec<(Port, u16)>,
    /// Where members go whose port is down, by their place in `members`: to the first that is up.
    pub(crate) backups: Vec<Vec<(Port, u16)>>,
    /// Handles of nodes, whose ports come after.
    nodes: Vec<usize>,
}

/// A multicast node.
#[derive(Clone, Debug)]
struct Node {
    rid: u16,
    ports: Vec<Port>,
    lags: Vec<u32>,
    /// The group it is in.
    group: Option<u32>,
}

impl Replication {
    /// Port and replica id of every copy for a group, in order. Where the port of a member and all its backups are down, the copy
    /// goes to the member's own port (P4Runtime 1.5, section 9.5.1, leaves this to the target).
    pub(crate) fn members(&self, group: u32) -> Vec<(Port, u16)> {
        let Some(group) = self.groups.get(&group) else { return vec![] };
        let nodes = group.nodes.iter().filter_map(|node| self.nodes.get(*node)?.as_ref());
        let of_node = |node: &Node| {
            let of_lag = |lag: &u32| {
                let ports = self.lags.get(lag)?;
                ports.get(LAG_HASH.checked_rem(ports.len())?).copied()
            };
            let ports = node.ports.iter().copied().chain(node.lags.iter().filter_map(of_lag));
            ports.map(|port| (port, node.rid)).collect::<Vec<_>>()
        };
        let backups = |at: usize| group.backups.get(at).map_or(&[][..], Vec::as_slice);
        let is_up = |(port, _): &(Port, u16)| !self.down.contains(port);
        let member = |(at, own): (usize, &(Port, u16))| {
            std::iter::once(own).chain(backups(at)).copied().find(is_up).unwrap_or(*own)
        };
        group.members.iter().enumerate().map(member).chain(nodes.flat_map(of_node)).collect()
    }

    /// Makes a group of these members in the place of the one that is there. Its nodes are free then.
    pub(crate) fn set_group(&mut self, group: u32, members: Vec<(Port, u16)>) {
        let old = self.groups.insert(group, Group { members, ..Group::default() });
        self.free(old.unwrap_or_default().nodes);
    }

    /// Sets where the members of a group go while their ports are down.
    pub(crate) fn set_backups(&mut self, group: u32, backups: Vec<Vec<(Port, u16)>>) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.backups = backups;
        }
    }

    /// Makes a group if it is not there.
    pub(crate) fn create_group(&mut self, group: u32) {
        self.groups.entry(group).or_default();
    }

    /// Removes a group; its nodes are free then.
    pub(crate) fn destroy_group(&mut self, group: u32) -> Result<(), EntryError> {
        let gone = self.groups.remove(&group).ok_or_else(|| no_group(group))?;
        self.free(gone.nodes);
        Ok(())
    }

    fn free(&mut self, nodes: Vec<usize>) {
        for node in nodes {
            if let Some(Some(node)) = self.nodes.get_mut(node) {
                node.group = None;
            }
        }
    }

    /// Makes a node and gives its handle, the smallest that is free.
    pub(crate) fn create_node(&mut self, rid: u16, ports: Vec<Port>, lags: Vec<u32>) -> usize {
        let node = Some(Node { rid, ports: sorted(ports), lags: sorted(lags), group: None });
        match self.nodes.iter().position(Option::is_none) {
            Some(free) => {
                self.nodes[free] = node;
                free
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }

    /// Sets where a node sends copies. Gives the group it is in.
    pub(crate) fn update_node(
        &mut self,
        node: usize,
        ports: Vec<Port>,
        lags: Vec<u32>,
    ) -> Result<Option<u32>, EntryError> {
        let node = self.node(node)?;
        (node.ports, node.lags) = (sorted(ports), sorted(lags));
        Ok(node.group)
    }

    /// Adds a node that is in no group to one that was created, behind the nodes it has.
    pub(crate) fn associate(&mut self, group: u32, node: usize) -> Result<(), EntryError> {
        if let Some(of) = self.node(node)?.group {
            return Err(refused(format!("node {node} is in group {of} already")));
        }
        self.groups.get_mut(&group).ok_or_else(|| no_group(group))?.nodes.push(node);
        self.node(node)?.group = Some(group);
        Ok(())
    }

    /// Takes a node from its group.
    pub(crate) fn dissociate(&mut self, group: u32, node: usize) -> Result<(), EntryError> {
        let of = self.node(node)?.group;
        let found = self.groups.get_mut(&group).ok_or_else(|| no_group(group))?;
        if of != Some(group) {
            return Err(refused(format!("node {node} is not in group {group}")));
        }
        found.nodes.retain(|other| *other != node);
        self.node(node)?.group = None;
        Ok(())
    }

    /// Removes a node, from its group too. Gives that.
    pub(crate) fn destroy_node(&mut self, node: usize) -> Result<Option<u32>, EntryError> {
        let group = self.node(node)?.group;
        if let Some(group) = group {
            self.dissociate(group, node)?;
        }
        if let Some(place) = self.nodes.get_mut(node) {
            *place = None;
        }
        Ok(group)
    }

    /// Sets the ports of a link aggregation group. Gives the groups that send copies there.
    pub(crate) fn set_lag(&mut self, lag: u32, ports: Vec<Port>) -> Result<Vec<u32>, EntryError> {
        if lag > LAST_LAG {
            return Err(refused(format!("there is no LAG {lag}: they are numbered from 0 to {LAST_LAG}")));
        }
        self.lags.insert(lag, sorted(ports));
        let with = self.nodes.iter().flatten().filter(|node| node.lags.contains(&lag));
        Ok(sorted(with.filter_map(|node| node.group).collect()))
    }

    fn node(&mut self, node: usize) -> Result<&mut Node, EntryError> {
        let found = self.nodes.get_mut(node).and_then(Option::as_mut);
        found.ok_or_else(|| refused(format!("there is no multicast node {node}")))
    }
}

fn no_group(group: u32) -> EntryError {
    EntryError {
        message: format!("there is no multicast group {group}"),
        help: Some(format!("create it first: `mc_mgrp_create {group}`")),
    }
}

fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Where the clones of a session go, to both port and group if both are set, and how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// To a port.
    pub port: Option<Port>,
    /// To a multicast group.
    pub group: Option<u32>,
    /// Of the clones: PSA's `class_of_service`, v1model's `priority`.
    pub class_of_service: u8,
    /// Clones have no more bytes. They are cut when they are made: on v1model a clone of ingress is parsed from what is left, and a
    /// clone of egress loses payload. Headers that do not fit are cut when it is sent.
    pub max_length: Option<u32>,
}
