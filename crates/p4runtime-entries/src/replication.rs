//! Multicast groups and clone sessions (P4Runtime 1.5, section 9.5).

use crate::desired::{Desired, Phase};
use crate::fault::{Result, Within, fault, not_supported};
use base_diag::Span;
use p4_entries::Statement;
use p4runtime_proto::p4::v1::{
    CloneSessionEntry, MulticastGroupEntry, Replica, replica::PortKind, update::Type,
};
use std::collections::BTreeSet;

/// Clone sessions with several replicas, or one with an instance, get multicast groups from here on: where
/// `simple_switch_grpc` puts them.
const SESSION_GROUPS: u32 = 1 << 15;

pub(crate) fn multicast(
    desired: &mut Desired,
    how: Type,
    entry: &MulticastGroupEntry,
    span: Span,
) -> Result<()> {
    let group = entry.multicast_group_id;
    let owner = || format!("multicast group {group}");
    if group == 0 {
        return fault("there is no multicast group 0", "0 says that a packet is not multicast")
            .within("multicast_group_id");
    }
    let members = replicas(&entry.replicas).about(owner)?;
    let made = Statement::Multicast { group, members, span };
    desired.write(how, Phase::Object, format!("multicast {group}"), vec![made]).about(owner)
}

pub(crate) fn clone_session(
    desired: &mut Desired,
    how: Type,
    entry: &CloneSessionEntry,
    span: Span,
) -> Result<()> {
    let session = entry.session_id;
    let owner = || format!("clone session {session}");
    let made = session_statements(entry, span).about(owner)?;
    desired.write(how, Phase::Object, format!("clone {session}"), made).about(owner)
}

fn session_statements(entry: &CloneSessionEntry, span: Span) -> Result<Vec<Statement>> {
    if entry.class_of_service != 0 {
        return not_supported("classes of service").within("class_of_service");
    }
    if entry.packet_length_bytes != 0 {
        return not_supported("clones that are cut short").within("packet_length_bytes");
    }
    let session = entry.session_id;
    let members = replicas(&entry.replicas)?;
    if let [(port, 0)] = members.as_slice() {
        return Ok(vec![Statement::Clone { session, port: Some(*port), group: None, span }]);
    }
    let Some(group) = session.checked_add(SESSION_GROUPS) else {
        return fault("the session's number is too large", "it has a multicast group of its own")
            .within("session_id");
    };
    let to = Statement::Clone { session, port: None, group: Some(group), span };
    Ok(vec![Statement::Multicast { group, members, span }, to])
}

/// Port and instance of each; no two are the same.
fn replicas(all: &[Replica]) -> Result<Vec<(u32, u16)>> {
    let mut seen = BTreeSet::new();
    let mut out = vec![];
    for (index, replica) in all.iter().enumerate() {
        let one = replica_of(replica).at("replicas", index)?;
        if !seen.insert(one) {
            return fault("a replica stands twice", "port and instance are those of one before it")
                .at("replicas", index);
        }
        out.push(one);
    }
    Ok(out)
}

#[allow(deprecated)]
fn replica_of(replica: &Replica) -> Result<(u32, u16)> {
    if !replica.backup_replicas.is_empty() {
        return not_supported("backups of replicas").within("backup_replicas");
    }
    let port = match &replica.port_kind {
        Some(PortKind::EgressPort(port)) => *port,
        Some(PortKind::Port(bytes)) => match port(bytes) {
            Some(port) => port,
            None => return fault("this is no port", "a port has 1 to 32 bits").within("port"),
        },
        None => return fault("a replica without a port", "nothing says where it goes"),
    };
    match u16::try_from(replica.instance) {
        Ok(instance) => Ok((port, instance)),
        Err(_) => fault("the instance is too large", "it has 16 bits").within("instance"),
    }
}

fn port(bytes: &[u8]) -> Option<u32> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let digits = bytes.get(zeros..)?;
    (!bytes.is_empty() && digits.len() <= 4)
        .then(|| digits.iter().fold(0, |port, byte| port << 8 | u32::from(*byte)))
}
