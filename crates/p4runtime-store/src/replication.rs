//! Multicast groups and clone sessions (P4Runtime 1.5, section 9.5).

use crate::change::{Change, CloneSession, MulticastGroup, Replica, SESSION_GROUPS};
use crate::fault::{Result, Within, fault, not_supported};
use crate::store::Store;
use crate::update;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    self, CloneSessionEntry, MulticastGroupEntry, replica::PortKind, update::Type,
};
use std::collections::BTreeSet;

pub(crate) fn plan_multicast(store: &Store, how: Type, entry: &MulticastGroupEntry) -> Result<Change> {
    let group = entry.multicast_group_id;
    let change = || {
        if group == 0 {
            return fault("there is no multicast group 0", "0 says that a packet is not multicast")
                .within("multicast_group_id");
        }
        if (SESSION_GROUPS..2 * SESSION_GROUPS).contains(&group) {
            return fault("this group's number is taken", "clone sessions have groups from 32768 on")
                .code(Code::ResourceExhausted)
                .within("multicast_group_id");
        }
        update::presence(how, store.multicast.contains_key(&group))?;
        if how == Type::Delete {
            return Ok(Change::Multicast { group, to: None });
        }
        let (replicas, metadata) = (replicas(&entry.replicas)?, entry.metadata.clone());
        Ok(Change::Multicast { group, to: Some(MulticastGroup { replicas, metadata }) })
    };
    change().about(|| format!("multicast group {group}"))
}

pub(crate) fn plan_session(store: &Store, how: Type, entry: &CloneSessionEntry) -> Result<Change> {
    let session = entry.session_id;
    let change = || {
        if session == 0 {
            return fault("there is no clone session 0", "0 asks for all of them").within("session_id");
        }
        if session >= SESSION_GROUPS {
            return fault("the session's number is too large", format!("it is less than {SESSION_GROUPS}"))
                .within("session_id");
        }
        update::presence(how, store.sessions.contains_key(&session))?;
        if how == Type::Delete {
            return Ok(Change::CloneSession { session, to: None });
        }
        if entry.class_of_service != 0 {
            return not_supported("classes of service").within("class_of_service");
        }
        let Ok(packet_length_bytes) = u32::try_from(entry.packet_length_bytes) else {
            return fault("a negative length", "it counts from 0").within("packet_length_bytes");
        };
        if packet_length_bytes != 0 && !store.catalog.cuts_clones() {
            return not_supported("clones that are cut short, on v1model").within("packet_length_bytes");
        }
        let replicas = replicas(&entry.replicas)?;
        Ok(Change::CloneSession { session, to: Some(CloneSession { replicas, packet_length_bytes }) })
    };
    change().about(|| format!("clone session {session}"))
}

/// Port and instance of each; no two are the same.
fn replicas(all: &[v1::Replica]) -> Result<Vec<Replica>> {
    let mut seen = BTreeSet::new();
    let mut out = vec![];
    for (index, replica) in all.iter().enumerate() {
        let one = replica_of(replica).at("replicas", index)?;
        if !seen.insert((one.port, one.instance)) {
            return fault("a replica stands twice", "port and instance are those of one before it")
                .at("replicas", index);
        }
        out.push(one);
    }
    Ok(out)
}

#[allow(deprecated)]
fn replica_of(replica: &v1::Replica) -> Result<Replica> {
    if !replica.backup_replicas.is_empty() {
        return not_supported("backups of replicas").within("backup_replicas");
    }
    let (port, legacy) = match &replica.port_kind {
        Some(PortKind::EgressPort(port)) => (*port, true),
        Some(PortKind::Port(bytes)) => match port(bytes) {
            Some(port) => (port, false),
            None => return fault("this is no port", "a port has 1 to 32 bits").within("port"),
        },
        None => return fault("a replica without a port", "nothing says where it goes"),
    };
    match u16::try_from(replica.instance) {
        Ok(instance) => Ok(Replica { port, instance, legacy }),
        Err(_) => fault("the instance is too large", "it has 16 bits").within("instance"),
    }
}

/// The replicas as messages.
pub(crate) fn encode(replicas: &[Replica]) -> Vec<v1::Replica> {
    let one = |replica: &Replica| v1::Replica {
        #[allow(deprecated)]
        port_kind: Some(match replica.legacy {
            true => PortKind::EgressPort(replica.port),
            false => PortKind::Port(port_bytes(replica.port)),
        }),
        instance: u32::from(replica.instance),
        backup_replicas: vec![],
    };
    replicas.iter().map(one).collect()
}

/// The port that bytes are.
pub(crate) fn port(bytes: &[u8]) -> Option<u32> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let digits = bytes.get(zeros..)?;
    (!bytes.is_empty() && digits.len() <= 4)
        .then(|| digits.iter().fold(0, |port, byte| port << 8 | u32::from(*byte)))
}

/// The shortest bytes of a port.
pub(crate) fn port_bytes(port: u32) -> Vec<u8> {
    let bytes = port.to_be_bytes();
    let zeros = bytes.iter().take_while(|b| **b == 0).count().min(3);
    bytes.get(zeros..).unwrap_or_default().to_vec()
}
