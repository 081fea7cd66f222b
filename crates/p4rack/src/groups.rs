//! Groups of servers of a rack: the flows of handlers that run on them, and whether a group remembers flows for as long as its handlers do.

use crate::handlers::calls;
use crate::rack::Racked;
use base_diag::Diagnostic;
use base_diag::codes::group as codes;
use device_control::{GroupControl, RackGroup};
use ir::Program;
use ir_handlers::Handler;
use ir_split::{DeviceIndex, FlowsOf, GroupEdge, name_flows};
use rack_model::{DeviceId, Group, Placement, Policy, Rack, Variant};
use rack_plan::group_rules;
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
    let rules = group_rules(group, group.pace.settle + delay + delay);
    let numbered = (0..).map(Member).zip(&edge.members);
    let members = numbered.filter(|(_, (device, _))| group.members.contains(&DeviceId(device.0)));
    let members: Vec<(Member, u32)> = members.map(|(member, _)| (member, 1)).collect();
    GroupControl::new(edge.clone(), &members, rules)
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
    let (mut flows, mut wrong) = (vec![], check_regions(rack, regions, &program)?);
    for (handler, marks) in calls(&program)? {
        let group_of_call = |region: &ir::Name| {
            let placed = regions.iter().filter(grouped).find(|p| p.region.value == region.as_str())?;
            group_of(rack, placed.device.value)
        };
        let called = |group: &Group| {
            let own = |region: &&ir::Name| {
                group_of_call(region).is_some_and(|of| of.name.value == group.name.value)
            };
            marks.iter().filter(own).cloned().collect::<Vec<_>>()
        };
        let all = rack.groups.iter().map(|group| (group, called(group)));
        for (group, regions) in all.filter(|(_, regions)| !regions.is_empty()) {
            wrong.extend(check_idle(group, &handler));
            let key = handler.key.fields.iter().map(|field| field.path.clone()).collect();
            let block = handler.block.as_ref().map(|field| field.path.clone()).unwrap_or_default();
            flows.push(FlowsOf { regions, key, block, buckets: group.buckets });
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

/// A group that remembers no flows cannot keep the cells of a flow at its server.
fn check_regions(
    rack: &Rack,
    regions: &[Placement],
    program: &Program,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let grouped = regions.iter().filter(|p| p.policy == Policy::Group);
    let stateless = grouped.filter_map(|p| Some((p, group_of(rack, p.device.value)?)));
    let stateless: Vec<_> = stateless.filter(|(_, group)| group.variant == Variant::Pin).collect();
    if stateless.is_empty() {
        return Ok(vec![]);
    }
    let (marks, mut wrong) = (ir_split::marks(program)?, vec![]);
    for (placed, group) in stateless {
        let own = marks.iter().filter(|mark| mark.name == placed.region.value.as_str());
        for name in own.flat_map(|mark| &mark.state) {
            let Some(at) = program.instances.iter().position(|object| object.control_plane_name == *name)
            else {
                continue;
            };
            if ir_state::mode_of(program, ir::InstanceId::from(at)) == ir_state::Mode::Sharded {
                let title = format!("group `{}` keeps no flows, but `{name}` is sharded", group.name.value);
                let problem = Diagnostic::error(codes::NOT_GROUPED, title)
                    .at(group.span, "`variant = \"pin\"`: flows change their server at once")
                    .at(
                        program.instances[at].span,
                        format!("region `{}` keeps cells of flows in it", placed.region.value),
                    );
                wrong.push(problem.help("leave `variant` out of the group, or mark the object `@soft`"));
            }
        }
    }
    Ok(wrong)
}

/// A flow that the group has forgotten may begin again at another server: by then its handler must have forgotten it, too.
fn check_idle(group: &Group, handler: &Handler) -> Option<Diagnostic> {
    let name = &group.name.value;
    match handler.keeps {
        Some(base_time::Duration::ZERO) if group.variant == Variant::Pin => None,
        _ if group.variant == Variant::Pin => {
            let title = format!("group `{name}` keeps no flows, but `{}` may", handler.name);
            let why = match handler.keeps {
                Some(keeps) => format!("the handler keeps a flow for {keeps}"),
                None => "the handler does not declare that it keeps no state of flows".to_string(),
            };
            let problem = Diagnostic::error(codes::NOT_GROUPED, title)
                .at(group.span, "`variant = \"pin\"`: flows change their server at once")
                .at(handler.span, why);
            Some(problem.help("write `keeps = \"0s\"` if it keeps nothing, or leave `variant` out of the group"))
        }
        Some(keeps) if keeps < group.idle.value => None,
        Some(keeps) => Some(
            Diagnostic::error(codes::NOT_GROUPED, format!("group `{name}` forgets flows that `{}` keeps", handler.name))
                .at(group.idle.span, format!("a flow ends after {} without packets", group.idle.value))
                .at(handler.span, format!("the handler keeps it for {keeps}"))
                .note("a flow that begins again may reach another server, which has no state of it")
                .help(format!("let `idle` be more than {keeps}")),
        ),
        None => Some(
            Diagnostic::error(codes::NOT_GROUPED, format!("`{}` does not declare how long it keeps a flow", handler.name))
                .at(handler.span, format!("group `{name}` runs it"))
                .note("a flow that begins again may reach another server, which has no state of it")
                .help("add the longest time after a flow's last packet for which the handler keeps state of it: `keeps = \"150s\"`"),
        ),
    }
}
