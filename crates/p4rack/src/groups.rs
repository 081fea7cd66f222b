//! Groups of servers of a rack: the flows of handlers that run on them, and whether a group remembers flows for as long as its handlers do.

use crate::handlers::calls;
use crate::rack::Racked;
use base_diag::Diagnostic;
use base_diag::codes::group as codes;
use device_control::{GroupControl, GroupTimes, RackGroup};
use ir::Program;
use ir_handlers::Handler;
use ir_split::{DeviceIndex, FlowsOf, GroupEdge, name_flows};
use rack_model::{DeviceId, Group, Pace, Placement, Policy, Rack};
use server_groups::Member;
use std::sync::Arc;

/// The groups that a rack's programs call, each with its place in the rack's file.
pub fn groups(racked: &Racked) -> Vec<(usize, RackGroup)> {
    let mut all = vec![];
    for placed in racked.parts() {
        let switch = DeviceIndex(placed.device as u32);
        let ports = &racked.apps[placed.app].placement.ports;
        for edge in &placed.part.linkage.groups {
            let Some((first, _)) = edge.members.first() else { continue };
            let is_it = |group: &Group| group.number(DeviceId(first.0)).is_some();
            if let Some(at) = racked.rack.groups.iter().position(is_it) {
                let port = |device: DeviceIndex| ports.get(&(device, switch)).map(|port| *port as u32);
                let numbered = (0..).map(Member).zip(&edge.members);
                let ports = numbered.filter_map(|(member, (device, _))| Some((member, port(*device)?)));
                let (group, ports) = (&racked.rack.groups[at], ports.collect());
                let control = control(&racked.rack, group, edge);
                all.push((at, RackGroup { name: group.name.value.clone(), switch, ports, control }));
            }
        }
    }
    all
}

fn control(rack: &Rack, group: &Group, edge: &GroupEdge) -> GroupControl {
    let delay = rack.control.delay;
    let Pace { patience, settle, hold } = group.pace;
    let times = GroupTimes { idle: group.idle.value, patience, settle, hold, answer: settle + delay + delay };
    let numbered = (0..).map(Member).zip(&edge.members);
    let members = numbered.filter(|(_, (device, _))| group.members.contains(&DeviceId(device.0)));
    let members: Vec<(Member, u32)> = members.map(|(member, _)| (member, 1)).collect();
    GroupControl::new(edge.clone(), &members, times)
}

/// The program with the flows of each handler that a group runs: `name-flows`.
pub(crate) fn with_flows(
    rack: &Rack,
    regions: &[Placement],
    program: Arc<Program>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let grouped = |p: &&Placement| p.policy == Policy::Group;
    if !regions.iter().any(|p| grouped(&p)) {
        return Ok(program);
    }
    let (mut flows, mut wrong) = (vec![], vec![]);
    for (handler, marks) in calls(&program)? {
        for region in marks {
            let Some(placed) = regions.iter().filter(grouped).find(|p| p.region.value == region.as_str())
            else {
                continue;
            };
            let Some(group) = group_of(rack, placed.device.value) else { continue };
            wrong.extend(check_idle(group, &handler));
            let key = handler.key.fields.iter().map(|field| field.path.clone()).collect();
            flows.push(FlowsOf { region, key, buckets: group.buckets });
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut program = program;
    name_flows(Arc::make_mut(&mut program), &flows)?;
    Ok(program)
}

/// The group that a device is a server of.
pub(crate) fn group_of(rack: &Rack, server: DeviceId) -> Option<&Group> {
    rack.groups.iter().find(|group| group.number(server).is_some())
}

/// A flow that the group has forgotten may begin anew at another server: by then its handler must have forgotten it, too.
fn check_idle(group: &Group, handler: &Handler) -> Option<Diagnostic> {
    let name = &group.name.value;
    match handler.keeps {
        Some(keeps) if keeps < group.idle.value => None,
        Some(keeps) => Some(
            Diagnostic::error(codes::NOT_GROUPED, format!("group `{name}` forgets flows that `{}` keeps", handler.name))
                .at(group.idle.span, format!("a flow ends after {} without packets", group.idle.value))
                .at(handler.span, format!("the handler keeps it for {keeps}"))
                .note("a flow that begins again may reach another server, which has no state of it")
                .help(format!("let `idle` be more than {keeps}")),
        ),
        None => Some(
            Diagnostic::error(codes::NOT_GROUPED, format!("nothing says how long `{}` keeps a flow", handler.name))
                .at(handler.span, format!("group `{name}` runs it"))
                .note("a flow that begins again may reach another server, which has no state of it")
                .help("add the longest time after a flow's last packet for which the handler keeps state of it: `keeps = \"150s\"`"),
        ),
    }
}
