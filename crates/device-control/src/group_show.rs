//! Groups as operators see and change them, wherever their controllers are.

use super::{GroupControl, group_refusal};
use base_time::Time;
use group_front::Meter;
use ir_split::DeviceIndex;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4rack::v1::steer_request::{ChangeGroup, change_group::Change};
use p4runtime_proto::p4rack::v1::{Group, Server, server::Dropped};
use p4runtime_server::Status;
use server_groups::wire::Counts;
use server_groups::{Counters, Member};

/// A server comes or goes.
pub fn change_group(
    change: &ChangeGroup,
    control: &mut GroupControl,
    name: impl Fn(DeviceIndex) -> String,
    now: Time,
) -> Result<(), Status> {
    let all: Vec<(Member, String)> = control.all().map(|(member, device)| (member, name(device))).collect();
    let Some((member, _)) = all.iter().find(|(_, device)| *device == change.device) else {
        let servers: Vec<&str> = all.iter().map(|(_, device)| device.as_str()).collect();
        let why = format!(
            "`{}` is no server of group `{}`; its servers are `{}`",
            change.device,
            change.group,
            servers.join("`, `")
        );
        return Err(Status::new(Code::NotFound, why));
    };
    let done = match change.change() {
        Change::Add => control.add(*member, change.weight.max(1), now),
        Change::Remove => control.drain(*member, true, now),
        Change::Drain => control.drain(*member, false, now),
    };
    done.map_err(|why| {
        let why = format!("`{}` in group `{}`: {}", change.device, change.group, group_refusal(why));
        Status::new(Code::FailedPrecondition, why)
    })
}

/// Refuses a group that is not among those that are known.
pub fn no_group<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Status {
    let known: Vec<&str> = known.collect();
    let why = match known.is_empty() {
        true => "no group can be changed here".to_string(),
        false => format!("there is no group `{name}`; there is `{}`", known.join("`, `")),
    };
    Status::new(Code::NotFound, why)
}

/// A group with its servers. `group` has the names; `counts` are those of a server, if there are any.
pub fn show_group(
    group: Group,
    control: &GroupControl,
    meter: &Meter,
    name: impl Fn(DeviceIndex) -> String,
    counts: impl Fn(DeviceIndex) -> Option<Counts>,
) -> Group {
    let status = control.status();
    let port = |member: Member| {
        let edge = control.edge().members.get(usize::from(member.0));
        edge.and_then(|(_, port)| u32::try_from(*port).ok()).unwrap_or_default()
    };
    let server = |(member, device): (Member, DeviceIndex)| {
        let Counts { flows, opened, handled, extra_hops, drops } = counts(device).unwrap_or_default();
        let reason = |(reason, count): (&str, u64)| Dropped { reason: reason.to_string(), count };
        let status = status.get(&member).copied().unwrap_or_default();
        Server {
            device: name(device),
            standing: control.standing(member).word().to_string(),
            weight: status.weight,
            buckets: status.current as u64,
            flows,
            opened,
            calls: meter.sent.get(&member).copied().unwrap_or(0),
            handled,
            extra_steps: extra_hops,
            dropped: drops.sum(),
            reasons: drops.by_name().map(reason).collect(),
            port: port(member),
            blocks: control.blocks(member),
        }
    };
    Group {
        changes: control.changes(),
        is_steady: control.is_steady(),
        sent: meter.sent.values().sum(),
        returned: meter.returned,
        repeated_answers: meter.repeated,
        servers: control.all().map(server).collect(),
        ..group
    }
}

/// Counters of a server that has this number of flows, for operators.
pub fn counts_of(counters: &Counters, flows: u64) -> Counts {
    Counts {
        flows,
        opened: counters.opened,
        handled: counters.handled,
        extra_hops: counters.extra_hops,
        drops: counters.drops,
    }
}
