//! Multicast groups and clone sessions (P4Runtime 1.5, section 9.5).

use crate::catalog::MOST_REPLICAS;
use crate::change::Change;
use crate::fault::{Result, Within, fault};
use crate::metadata::metadata;
use crate::port::{known_port, port, port_bytes};
use crate::presence::presence;
use crate::store::Store;
use control_writes::{CloneSession, MulticastGroup, Replica, SESSION_GROUPS};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    self, CloneSessionEntry, MulticastGroupEntry, replica::PortKind, update::Type,
};
use std::collections::BTreeSet;

pub(crate) fn plan_multicast(store: &Store, how: Type, entry: &MulticastGroupEntry) -> Result<Change> {
    let group = entry.multicast_group_id;
    let change = || {
        if group == 0 {
            return fault("there is no multicast group 0", "0 means that a packet is not multicast")
                .within("multicast_group_id");
        }
        let last = store.catalog.last_group();
        if group > last {
            return fault("the group id is too large", format!("the largest is {last}"))
                .within("multicast_group_id");
        }
        if (SESSION_GROUPS..2 * SESSION_GROUPS).contains(&group) {
            return fault("the group id is reserved", "ids from 32768 belong to clone sessions")
                .code(Code::ResourceExhausted)
                .within("multicast_group_id");
        }
        presence(how, store.multicast.contains_key(&group))?;
        if how == Type::Delete {
            return Ok(Change::Multicast { group, to: None });
        }
        let (replicas, metadata) = (replicas(store, &entry.replicas)?, metadata(&entry.metadata)?);
        Ok(Change::Multicast { group, to: Some(MulticastGroup { replicas, metadata }) })
    };
    change().about(|| format!("multicast group {group}"))
}

pub(crate) fn plan_session(store: &Store, how: Type, entry: &CloneSessionEntry) -> Result<Change> {
    let session = entry.session_id;
    let change = || {
        if session == 0 {
            return fault("there is no clone session 0", "in queries, 0 means all sessions")
                .within("session_id");
        }
        if session >= SESSION_GROUPS {
            return fault("the session id is too large", format!("it must be less than {SESSION_GROUPS}"))
                .within("session_id");
        }
        presence(how, store.sessions.contains_key(&session))?;
        if how == Type::Delete {
            return Ok(Change::CloneSession { session, to: None });
        }
        let last = store.catalog.last_class();
        let class_of_service = match u8::try_from(entry.class_of_service) {
            Ok(class) if class <= last => class,
            _ => {
                return fault("the class of service is too large", format!("the largest is {last}"))
                    .within("class_of_service");
            }
        };
        let Ok(packet_length_bytes) = u32::try_from(entry.packet_length_bytes) else {
            return fault("the length is negative", "it must be 0 or more").within("packet_length_bytes");
        };
        let replicas = replicas(store, &entry.replicas)?;
        let to = CloneSession { replicas, group: None, packet_length_bytes, class_of_service };
        Ok(Change::CloneSession { session, to: Some(to) })
    };
    change().about(|| format!("clone session {session}"))
}

/// Port and instance of each; no two are the same, and none is that of a backup.
fn replicas(store: &Store, all: &[v1::Replica]) -> Result<Vec<Replica>> {
    let count: usize = all.iter().map(|replica| 1 + replica.backup_replicas.len()).sum();
    if count > MOST_REPLICAS {
        let why = format!("there are {count}, backups included, and the limit is {MOST_REPLICAS}");
        return fault("too many replicas", why).code(Code::ResourceExhausted).within("replicas");
    }
    let mut seen = BTreeSet::new();
    let mut out = vec![];
    for (index, replica) in all.iter().enumerate() {
        out.push(replica_of(replica, store.catalog.port_bits(), &mut seen).at("replicas", index)?);
    }
    Ok(out)
}

/// `seen` has port and instance of those before it.
#[allow(deprecated)]
fn replica_of(replica: &v1::Replica, port_bits: u32, seen: &mut BTreeSet<(u32, u16)>) -> Result<Replica> {
    let (port, legacy) = match &replica.port_kind {
        Some(PortKind::EgressPort(number)) => (known_port(*number, port_bits).within("egress_port")?, true),
        Some(PortKind::Port(bytes)) => (port(bytes, port_bits).within("port")?, false),
        None => return fault("the port is missing", "a replica must have one"),
    };
    let instance = instance(replica.instance)?;
    alone(seen, port, instance)?;
    let mut backups = vec![];
    for (index, backup) in replica.backup_replicas.iter().enumerate() {
        let mut one = || {
            let instead = self::port(&backup.port, port_bits).within("port")?;
            if instead == port {
                return fault("the backup has the port of its replica", "both would go down at once")
                    .within("port");
            }
            let instance = self::instance(backup.instance)?;
            alone(seen, instead, instance)?;
            Ok((instead, instance))
        };
        backups.push(one().at("backup_replicas", index)?);
    }
    Ok(Replica { port, instance, legacy, backups })
}

fn instance(given: u32) -> Result<u16> {
    match u16::try_from(given) {
        Ok(instance) => Ok(instance),
        Err(_) => fault("the instance is too large", "it has 16 bits").within("instance"),
    }
}

fn alone(seen: &mut BTreeSet<(u32, u16)>, port: u32, instance: u16) -> Result<()> {
    match seen.insert((port, instance)) {
        true => Ok(()),
        false => fault("the replica is a duplicate", "an earlier replica has the same port and instance"),
    }
}

/// The replicas as messages.
pub(crate) fn encode(replicas: &[Replica]) -> Vec<v1::Replica> {
    let backup = |(port, instance): &(u32, u16)| v1::BackupReplica {
        port: port_bytes(*port),
        instance: u32::from(*instance),
    };
    let one = |replica: &Replica| v1::Replica {
        #[allow(deprecated)]
        port_kind: Some(match replica.legacy {
            true => PortKind::EgressPort(replica.port),
            false => PortKind::Port(port_bytes(replica.port)),
        }),
        instance: u32::from(replica.instance),
        backup_replicas: replica.backups.iter().map(backup).collect(),
    };
    replicas.iter().map(one).collect()
}
