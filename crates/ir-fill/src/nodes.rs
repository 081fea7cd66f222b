//! Multicast groups as BMv2's packet replication engine has them (`simple_pre_lag.cpp`): groups of nodes, nodes of ports and link
//! aggregation groups. Devices know groups of ports alone: a group is written anew when one of its nodes changes.

use crate::refused;
use control_writes::{MulticastGroup, Replica};
use dataplane_api::{EntryError, Port};
use std::collections::BTreeMap;

/// The highest number of a link aggregation group.
const LAST_LAG: u32 = 256;

/// BMv2's hash for link aggregation groups, which is the same for all packets.
const LAG_HASH: usize = 0xff;

/// Groups, nodes and link aggregation groups.
#[derive(Clone, Default, Debug)]
pub(crate) struct Nodes {
    groups: BTreeMap<u32, Group>,
    /// Nodes by handle; `None` for destroyed nodes.
    nodes: Vec<Option<Node>>,
    /// The ports of link aggregation groups, in ascending order.
    lags: BTreeMap<u32, Vec<Port>>,
}

#[derive(Clone, Default, Debug)]
struct Group {
    /// Replicas that are no nodes'.
    own: MulticastGroup,
    /// Handles of nodes, whose ports come after.
    nodes: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Node {
    rid: u16,
    ports: Vec<Port>,
    lags: Vec<u32>,
    /// The group it is in.
    group: Option<u32>,
}

impl Nodes {
    /// A group with all its replicas, in the order of replication.
    pub(crate) fn group(&self, group: u32) -> Option<MulticastGroup> {
        let found = self.groups.get(&group)?;
        let nodes = found.nodes.iter().filter_map(|node| self.nodes.get(*node)?.as_ref());
        let of_node = |node: &Node| {
            let of_lag = |lag: &u32| {
                let ports = self.lags.get(lag)?;
                ports.get(LAG_HASH.checked_rem(ports.len())?).copied()
            };
            let ports = node.ports.iter().copied().chain(node.lags.iter().filter_map(of_lag));
            ports.map(|port| Replica::new(port, node.rid)).collect::<Vec<_>>()
        };
        let mut group = found.own.clone();
        group.replicas.extend(nodes.flat_map(of_node));
        Some(group)
    }

    /// Makes a group of replicas in the place of the one that is there, or removes it. Its nodes are free then.
    pub(crate) fn set_group(&mut self, group: u32, to: Option<MulticastGroup>) {
        let old = match to {
            Some(own) => self.groups.insert(group, Group { own, nodes: vec![] }),
            None => self.groups.remove(&group),
        };
        self.free(old.unwrap_or_default().nodes);
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

    /// Makes a node with the smallest handle that is free.
    pub(crate) fn create(&mut self, rid: u16, ports: &[Port], lags: &[u32]) {
        let node = Some(Node { rid, ports: sorted(ports), lags: sorted(lags), group: None });
        match self.nodes.iter_mut().find(|node| node.is_none()) {
            Some(free) => *free = node,
            None => self.nodes.push(node),
        }
    }

    /// Sets where a node sends copies. Gives the group it is in.
    pub(crate) fn update(
        &mut self,
        node: u32,
        ports: &[Port],
        lags: &[u32],
    ) -> Result<Option<u32>, EntryError> {
        let node = self.node(node)?;
        (node.ports, node.lags) = (sorted(ports), sorted(lags));
        Ok(node.group)
    }

    /// Adds a node that is in no group to one that was created, after the nodes it has.
    pub(crate) fn associate(&mut self, group: u32, node: u32) -> Result<(), EntryError> {
        if let Some(of) = self.node(node)?.group {
            return Err(refused(format!("node {node} is in group {of} already")));
        }
        self.groups.get_mut(&group).ok_or_else(|| no_group(group))?.nodes.push(node as usize);
        self.node(node)?.group = Some(group);
        Ok(())
    }

    /// Takes a node from its group.
    pub(crate) fn dissociate(&mut self, group: u32, node: u32) -> Result<(), EntryError> {
        let of = self.node(node)?.group;
        let found = self.groups.get_mut(&group).ok_or_else(|| no_group(group))?;
        if of != Some(group) {
            return Err(refused(format!("node {node} is not in group {group}")));
        }
        found.nodes.retain(|other| *other != node as usize);
        self.node(node)?.group = None;
        Ok(())
    }

    /// Removes a node, from its group too. Gives that.
    pub(crate) fn destroy(&mut self, node: u32) -> Result<Option<u32>, EntryError> {
        let group = self.node(node)?.group;
        if let Some(group) = group {
            self.dissociate(group, node)?;
        }
        if let Some(place) = self.nodes.get_mut(node as usize) {
            *place = None;
        }
        Ok(group)
    }

    /// Sets the ports of a link aggregation group. Gives the groups that send copies there.
    pub(crate) fn set_lag(&mut self, lag: u32, ports: &[Port]) -> Result<Vec<u32>, EntryError> {
        if lag > LAST_LAG {
            return Err(refused(format!("there is no LAG {lag}: they are numbered from 0 to {LAST_LAG}")));
        }
        self.lags.insert(lag, sorted(ports));
        let with = self.nodes.iter().flatten().filter(|node| node.lags.contains(&lag));
        Ok(sorted(&with.filter_map(|node| node.group).collect::<Vec<_>>()))
    }

    fn node(&mut self, node: u32) -> Result<&mut Node, EntryError> {
        let found = self.nodes.get_mut(node as usize).and_then(Option::as_mut);
        found.ok_or_else(|| refused(format!("there is no multicast node {node}")))
    }
}

fn no_group(group: u32) -> EntryError {
    EntryError {
        message: format!("there is no multicast group {group}"),
        help: Some(format!("create it first: `mc_mgrp_create {group}`")),
    }
}

fn sorted(numbers: &[u32]) -> Vec<u32> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
