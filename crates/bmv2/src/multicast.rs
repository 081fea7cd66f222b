//! Methods about multicast groups: the services `simple_pre` and `simple_pre_lag`.
//!
//! BMv2 makes a group of nodes: each has a replica id and ports. P4Runtime's group is a list of replicas. A group that a P4Runtime controller has changed
//! gets nodes anew, one for each replica id.

use crate::call::{Answer, Args, VOID, declared, why};
use crate::services::Services;
use crate::switch::Switch;
use crate::wire::Value;
use p4runtime_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use p4runtime_proto::p4::v1::replica::PortKind;
use p4runtime_proto::p4::v1::{
    MulticastGroupEntry, PacketReplicationEngineEntry, Replica, entity::Entity as Of, update,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Codes of `McOperationErrorCode`.
const INVALID_MGID: i32 = 2;
const INVALID_L1_HANDLE: i32 = 4;
const ERROR: i32 = 5;

/// Ports of the longest map that is read.
const MOST_PORTS: usize = 1 << 16;

/// Link aggregation groups, numbered from 0.
const MOST_LAGS: usize = 256;

/// BMv2's hash for link aggregation groups, which is the same for all packets.
const LAG_HASH: usize = 0xff;

/// All nodes and groups.
#[derive(Default)]
pub struct Nodes {
    nodes: BTreeMap<u32, Node>,
    groups: BTreeMap<u32, BTreeSet<u32>>,
    /// Ports of each link aggregation group, in ascending order.
    lags: BTreeMap<u32, Vec<u32>>,
}

struct Node {
    instance: u32,
    to: Outputs,
}

/// The places that a node sends copies to.
struct Outputs {
    ports: Vec<u32>,
    /// Link aggregation groups: a copy for each, on one of its ports.
    lags: Vec<u32>,
}

impl Nodes {
    fn free(&self) -> u32 {
        (0..).zip(self.nodes.keys()).take_while(|(free, used)| free == *used).count() as u32
    }

    fn replicas(&self, group: u32) -> Vec<(u32, u32)> {
        let nodes = self.groups.get(&group).into_iter().flatten().filter_map(|node| self.nodes.get(node));
        let of_lag = |lag: &u32| {
            let ports = self.lags.get(lag)?;
            ports.get(LAG_HASH.checked_rem(ports.len())?).copied()
        };
        let of_node = |node: &Node| {
            let ports = node.to.ports.iter().copied().chain(node.to.lags.iter().filter_map(of_lag));
            ports.map(|port| (port, node.instance)).collect::<Vec<_>>()
        };
        nodes.flat_map(of_node).collect()
    }

    /// The groups are these: nodes of others go on without a group.
    fn note(&mut self, groups: Vec<(u32, Vec<(u32, u32)>)>) {
        let there: BTreeSet<u32> = groups.iter().map(|(group, _)| *group).collect();
        self.groups.retain(|group, _| there.contains(group));
        for (group, replicas) in groups {
            let sorted = |mut replicas: Vec<(u32, u32)>| {
                replicas.sort_unstable();
                replicas
            };
            if self.groups.contains_key(&group) && sorted(self.replicas(group)) == sorted(replicas.clone()) {
                continue;
            }
            let mut by_instance: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            replicas
                .into_iter()
                .for_each(|(port, instance)| by_instance.entry(instance).or_default().push(port));
            let mut of_group = BTreeSet::new();
            for (instance, ports) in by_instance {
                let handle = self.free();
                self.nodes.insert(handle, Node { instance, to: Outputs { ports, lags: vec![] } });
                of_group.insert(handle);
            }
            self.groups.insert(group, of_group);
        }
    }
}

impl<S: Switch> Services<S> {
    pub(crate) fn multicast(&mut self, method: &str, args: &Args<'_>) -> Option<Answer> {
        if !method.starts_with("bm_mc_") {
            return None;
        }
        if let Err(refusal) = self.refresh_groups() {
            return Some(Err(refusal));
        }
        Some(match method {
            "bm_mc_mgrp_create" => self.create_multicast(args),
            "bm_mc_mgrp_destroy" => self.destroy_multicast(args),
            "bm_mc_node_create" => self.create_node(args),
            "bm_mc_node_associate" => self.associate(args, true),
            "bm_mc_node_dissociate" => self.associate(args, false),
            "bm_mc_node_destroy" => self.destroy_node(args),
            "bm_mc_node_update" => self.update_node(args),
            "bm_mc_set_lag_membership" => self.set_lag(args),
            "bm_mc_get_entries" => Ok(self.dump()),
            _ => return None,
        })
    }

    fn refresh_groups(&mut self) -> Answer<()> {
        let query = Of::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
            r#type: Some(Pre::MulticastGroupEntry(MulticastGroupEntry::default())),
        });
        // Without a program there are none, and reads are refused.
        if !self.has_program {
            return Ok(());
        }
        let found = self.read(query).or_else(|status| declared(ERROR, why(&status)))?;
        let group = |of| match of {
            Of::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                r#type: Some(Pre::MulticastGroupEntry(group)),
            }) => Some((group.multicast_group_id, group.replicas.iter().map(replica_of).collect())),
            _ => None,
        };
        self.nodes.note(found.into_iter().filter_map(group).collect());
        Ok(())
    }

    fn put(&mut self, how: update::Type, group: u32) -> Answer {
        let replicas =
            self.nodes.replicas(group).into_iter().map(|(port, instance)| replica(port, instance)).collect();
        let group =
            MulticastGroupEntry { multicast_group_id: group, replicas, ..MulticastGroupEntry::default() };
        let entry = PacketReplicationEngineEntry { r#type: Some(Pre::MulticastGroupEntry(group)) };
        self.write(how, Of::PacketReplicationEngineEntry(entry))
            .or_else(|status| declared(ERROR, why(&status)))?;
        VOID
    }

    /// Writes all groups that have one of these nodes.
    fn put_groups_of(&mut self, changed: &BTreeSet<u32>) -> Answer {
        let groups = self.nodes.groups.iter().filter(|(_, nodes)| !nodes.is_disjoint(changed));
        let groups: Vec<u32> = groups.map(|(group, _)| *group).collect();
        groups.into_iter().try_for_each(|group| self.put(update::Type::Modify, group).map(drop))?;
        VOID
    }

    fn create_multicast(&mut self, args: &Args<'_>) -> Answer {
        let group = args.index(2)?;
        if self.nodes.groups.contains_key(&group) {
            return declared(INVALID_MGID, format!("group {group} exists"));
        }
        self.put(update::Type::Insert, group)?;
        self.nodes.groups.insert(group, BTreeSet::new());
        Ok(Value::I32(group as i32))
    }

    fn known_group(&self, args: &Args<'_>) -> Answer<u32> {
        match args.index(2)? {
            group if self.nodes.groups.contains_key(&group) => Ok(group),
            group => declared(INVALID_MGID, format!("there is no group {group}")),
        }
    }

    fn known_node(&self, handle: u32) -> Answer<u32> {
        match self.nodes.nodes.contains_key(&handle) {
            true => Ok(handle),
            false => declared(INVALID_L1_HANDLE, format!("there is no node {handle}")),
        }
    }

    fn destroy_multicast(&mut self, args: &Args<'_>) -> Answer {
        let group = self.known_group(args)?;
        self.put(update::Type::Delete, group)?;
        self.nodes.groups.remove(&group);
        VOID
    }

    fn create_node(&mut self, args: &Args<'_>) -> Answer {
        let (instance, to) = (args.index(2)?, outputs(args)?);
        let handle = self.nodes.free();
        self.nodes.nodes.insert(handle, Node { instance, to });
        Ok(Value::I32(handle as i32))
    }

    fn associate(&mut self, args: &Args<'_>, is_in: bool) -> Answer {
        let (group, node) = (self.known_group(args)?, self.known_node(args.index(3)?)?);
        let nodes = self.nodes.groups.entry(group).or_default();
        let changed = if is_in { nodes.insert(node) } else { nodes.remove(&node) };
        if !changed {
            return declared(INVALID_L1_HANDLE, format!("this does not change group {group}"));
        }
        let done = self.put(update::Type::Modify, group);
        if done.is_err() {
            let nodes = self.nodes.groups.entry(group).or_default();
            let _ = if is_in { nodes.remove(&node) } else { nodes.insert(node) };
        }
        done
    }

    fn destroy_node(&mut self, args: &Args<'_>) -> Answer {
        let handle = self.known_node(args.index(2)?)?;
        let Some(node) = self.nodes.nodes.remove(&handle) else { return VOID };
        let done = self.put_groups_of(&BTreeSet::from([handle]));
        match done {
            Ok(_) => self.nodes.groups.values_mut().for_each(|nodes| nodes.retain(|node| *node != handle)),
            Err(_) => drop(self.nodes.nodes.insert(handle, node)),
        }
        done
    }

    fn update_node(&mut self, args: &Args<'_>) -> Answer {
        let (handle, new) = (self.known_node(args.index(2)?)?, outputs(args)?);
        let Some(node) = self.nodes.nodes.get_mut(&handle) else { return VOID };
        let old = std::mem::replace(&mut node.to, new);
        let done = self.put_groups_of(&BTreeSet::from([handle]));
        if let (Err(_), Some(node)) = (&done, self.nodes.nodes.get_mut(&handle)) {
            node.to = old;
        }
        done
    }

    /// Sets the ports of a link aggregation group, of which each copy takes one.
    fn set_lag(&mut self, args: &Args<'_>) -> Answer {
        let (lag, ports) = (args.index(2)?, set(args, 3, MOST_PORTS)?);
        if lag as usize >= MOST_LAGS {
            return declared(ERROR, format!("link aggregation groups are numbered below {MOST_LAGS}"));
        }
        let old = self.nodes.lags.insert(lag, ports);
        let with = self.nodes.nodes.iter().filter(|(_, node)| node.to.lags.contains(&lag));
        let with: BTreeSet<u32> = with.map(|(handle, _)| *handle).collect();
        let done = self.put_groups_of(&with);
        if done.is_err() {
            match old {
                Some(old) => self.nodes.lags.insert(lag, old),
                None => self.nodes.lags.remove(&lag),
            };
        }
        done
    }

    /// JSON as BMv2 has it; a node's ports have the node's handle.
    fn dump(&self) -> Value {
        let groups = self.nodes.groups.iter().map(|(id, nodes)| json!({ "id": id, "l1_handles": nodes }));
        let nodes = self.nodes.nodes.iter();
        let l1 = nodes
            .clone()
            .map(|(handle, node)| json!({ "handle": handle, "rid": node.instance, "l2_handle": handle }));
        let l2 = nodes
            .map(|(handle, node)| json!({ "handle": handle, "ports": node.to.ports, "lags": node.to.lags }));
        let lags = self.nodes.lags.iter().map(|(id, ports)| json!({ "id": id, "ports": ports }));
        let all = json!({
            "mgrps": groups.collect::<Vec<_>>(),
            "l1_handles": l1.collect::<Vec<_>>(),
            "l2_handles": l2.collect::<Vec<_>>(),
            "lags": lags.collect::<Vec<_>>(),
        });
        Value::text(all.to_string())
    }
}

/// Ports and link aggregation groups of a node. The service `simple_pre` has no argument for the latter.
fn outputs(args: &Args<'_>) -> Answer<Outputs> {
    let lags = match args.bytes(4) {
        Ok(_) => set(args, 4, MOST_LAGS)?,
        Err(_) => vec![],
    };
    Ok(Outputs { ports: set(args, 3, MOST_PORTS)?, lags })
}

/// The numbers of a map, the last character of which is that of 0.
fn set(args: &Args<'_>, at: i16, most: usize) -> Answer<Vec<u32>> {
    let map = args.bytes(at)?;
    if map.len() > most || map.iter().any(|bit| !matches!(bit, b'0' | b'1')) {
        return declared(ERROR, format!("a map has a 0 or 1 for each number below {most}"));
    }
    Ok((0..).zip(map.iter().rev()).filter(|(_, bit)| **bit == b'1').map(|(number, _)| number).collect())
}

/// A replica of P4Runtime.
pub fn replica(port: u32, instance: u32) -> Replica {
    let port = crate::value::shortest(&port.to_be_bytes());
    Replica { port_kind: Some(PortKind::Port(port)), instance, ..Replica::default() }
}

/// Port and instance.
pub fn replica_of(replica: &Replica) -> (u32, u32) {
    #[allow(deprecated)]
    let port = match &replica.port_kind {
        Some(PortKind::Port(bytes)) => bytes.iter().fold(0, |port, byte| port << 8 | u32::from(*byte)),
        Some(PortKind::EgressPort(port)) => *port,
        None => 0,
    };
    (port, replica.instance)
}
