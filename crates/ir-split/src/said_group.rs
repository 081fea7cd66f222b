//! Groups as the programs of their switch and servers say them: all that agents beside these devices need, without a controller.
//!
//! ```text
//! @leads_group("nat", 0, 1024, 0, "0200...", "160000000,50000,200000,1000000,250000,0,0", "s1", 3, true, "s2", 4, false)
//! control p4rack_group(...)                         number, buckets, leased blocks, wire, rules, then the servers: name, port, a member at first
//!
//! @serves_group("nat", 1, 2, "0200...", "160000000,50000,200000,1000000,250000,0,0")
//! control ingress(...)                              member, port to the switch, wire, rules
//! ```

use crate::group_edge::GroupEdge;
use crate::group_rules::GroupRules;
use crate::placement::{DeviceIndex, Placement};
use crate::split::DeviceProgram;
use ir::{Annotation, AnnotationBody, AnnotationValue, Name, Program, build};
use p4_arch::Duty;
use server_groups::Member;
use server_groups::wire::{MOST_MEMBERS, Wire};

const LEADS: &str = "leads_group";
const SERVES: &str = "serves_group";

/// Bits of the numbers by which handlers have their part of leased blocks.
const SHARE_BITS: u32 = 8;

/// A group at its switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedGroup {
    /// Name of the group.
    pub name: String,
    /// The group. Its devices are the places in [`servers`](LedGroup::servers).
    pub edge: GroupEdge,
    /// Names of the devices that may be members, in the order of their numbers; each with true if it is one at first.
    pub servers: Vec<(String, bool)>,
    /// Rules of the group.
    pub rules: GroupRules,
}

/// A group at a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedGroup {
    /// Name of the group.
    pub name: String,
    /// The server's number.
    pub me: Member,
    /// The port that leads to the switch.
    pub port: u32,
    /// Frames of the group.
    pub wire: Wire,
    /// Rules of the group.
    pub rules: GroupRules,
}

impl LedGroup {
    /// Name of a server's device.
    pub fn name_of(&self, server: DeviceIndex) -> String {
        self.servers.get(server.0 as usize).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    /// The groups that a program leads packets to; annotations of another form are none.
    pub fn of_program(program: &Program) -> Vec<LedGroup> {
        let all = program.controls.iter().flat_map(|control| {
            let own = control.annotations.iter().filter(|annotation| annotation.name == LEADS);
            own.filter_map(|annotation| LedGroup::read(&control.control_plane_name, annotation.body.values()))
        });
        all.collect()
    }

    fn annotation(&self) -> Annotation {
        let LedGroup { name, edge, servers, rules } = self;
        let mut values =
            vec![string(name), int(edge.number), int(edge.buckets.into()), int(edge.blocks.into())];
        values.push(AnnotationValue::Str(edge.wire.to_text()));
        values.push(AnnotationValue::Str(rules.to_text()));
        for ((name, is_member), (_, port)) in servers.iter().zip(&edge.members) {
            values.extend([string(name), int(*port), AnnotationValue::Bool(*is_member)]);
        }
        Annotation { name: LEADS.into(), body: AnnotationBody::Values(values) }
    }

    fn read(control: &Name, values: &[AnnotationValue]) -> Option<LedGroup> {
        let [
            AnnotationValue::Str(name),
            number,
            buckets,
            blocks,
            AnnotationValue::Str(wire),
            AnnotationValue::Str(rules),
            servers @ ..,
        ] = values
        else {
            return None;
        };
        let server = |of: &[AnnotationValue]| match of {
            [AnnotationValue::Str(name), port, AnnotationValue::Bool(is_member)] => {
                Some(((name.clone(), *is_member), of_int(port)?))
            }
            _ => None,
        };
        let servers: Vec<((String, bool), u64)> = servers.chunks(3).map(server).collect::<Option<_>>()?;
        let numbered = (0..).map(DeviceIndex).zip(&servers);
        let edge = GroupEdge {
            control: control.clone(),
            number: of_int(number)?,
            regions: vec![],
            members: numbered.map(|(at, (_, port))| (at, *port)).collect(),
            buckets: u32::try_from(of_int(buckets)?).ok()?,
            blocks: u32::try_from(of_int(blocks)?).ok()?,
            wire: Wire::of_text(wire)?,
        };
        let is_sound = !servers.is_empty()
            && servers.len() <= MOST_MEMBERS
            && servers.iter().any(|((_, is_member), _)| *is_member)
            && (1..=1 << server_groups::wire::BUCKET_BITS).contains(&edge.buckets)
            && edge.blocks <= 1 << server_groups::wire::BUCKET_BITS;
        is_sound.then_some(LedGroup {
            name: name.clone(),
            edge,
            servers: servers.iter().map(|(server, _)| server.clone()).collect(),
            rules: GroupRules::of_text(rules)?,
        })
    }
}

impl ServedGroup {
    /// The group that a program serves, if it says one.
    pub fn of_program(program: &Program) -> Option<ServedGroup> {
        let said = program.controls.iter().flat_map(|control| &control.annotations);
        said.filter(|said| said.name == SERVES).find_map(|said| ServedGroup::read(said.body.values()))
    }

    fn annotation(&self) -> Annotation {
        let ServedGroup { name, me, port, wire, rules } = self;
        let mut values = vec![string(name), int(me.0.into()), int((*port).into())];
        values.push(AnnotationValue::Str(wire.to_text()));
        values.push(AnnotationValue::Str(rules.to_text()));
        Annotation { name: SERVES.into(), body: AnnotationBody::Values(values) }
    }

    fn read(values: &[AnnotationValue]) -> Option<ServedGroup> {
        let [AnnotationValue::Str(name), me, port, AnnotationValue::Str(wire), AnnotationValue::Str(rules)] =
            values
        else {
            return None;
        };
        Some(ServedGroup {
            name: name.clone(),
            me: Member(u16::try_from(of_int(me)?).ok().filter(|me| usize::from(*me) < MOST_MEMBERS)?),
            port: u32::try_from(of_int(port)?).ok()?,
            wire: Wire::of_text(wire)?,
            rules: GroupRules::of_text(rules)?,
        })
    }
}

/// Lets the programs of switches and servers say their groups, as far as the placement describes these.
pub(crate) fn say_groups(devices: &mut [Option<DeviceProgram>], placement: &Placement) {
    for switch in 0..devices.len() {
        let Some(edges) = devices[switch].as_ref().map(|device| device.linkage.groups.clone()) else {
            continue;
        };
        for edge in edges {
            let is_it = |servers: &[DeviceIndex]| {
                edge.members.first().is_some_and(|(first, _)| servers.contains(first))
            };
            let Some(group) = placement.groups.iter().find(|group| is_it(&group.servers)) else { continue };
            let name_of = |device: DeviceIndex| placement.devices[device.0 as usize].to_string();
            let servers =
                edge.members.iter().map(|(device, _)| (name_of(*device), group.members.contains(device)));
            let (name, rules) = (group.name.to_string(), group.rules);
            let led = LedGroup { name: name.clone(), edge: edge.clone(), servers: servers.collect(), rules };
            let Some(device) = &mut devices[switch] else { continue };
            let own = device.program.controls.iter_mut().find(|c| c.control_plane_name == edge.control);
            if let Some(control) = own {
                control.annotations.push(led.annotation());
            }
            let here = DeviceIndex(switch as u32);
            for (me, (server, _)) in (0..).map(Member).zip(&edge.members) {
                let port = placement.ports.get(&(*server, here)).and_then(|port| u32::try_from(*port).ok());
                let program = devices.get_mut(server.0 as usize).and_then(Option::as_mut);
                let (Some(port), Some(DeviceProgram { program, .. })) = (port, program) else { continue };
                let served = ServedGroup { name: name.clone(), me, port, wire: edge.wire.clone(), rules };
                if let Some(ingress) = crate::arch::control(program, Duty::Ingress) {
                    program.controls[ingress.index()].annotations.push(served.annotation());
                }
            }
        }
    }
}

/// Gives the handlers of all servers their first parts of the leased blocks, which the group's controller changes: see `ir-handlers`, `expand`.
pub(crate) fn share_blocks(devices: &mut [Option<DeviceProgram>]) {
    let edges: Vec<GroupEdge> = devices.iter().flatten().flat_map(|d| d.linkage.groups.clone()).collect();
    for edge in edges {
        for (number, (server, _)) in (0..).zip(&edge.members) {
            let server = devices.get_mut(server.0 as usize).and_then(Option::as_mut);
            let _ = server.map(|server| share(&mut server.program, number, edge.members.len() as u64));
        }
    }
}

fn share(program: &mut Program, server: u64, servers: u64) {
    for at in 0..program.instances.len() {
        let object = program.extern_object(program.instances[at].object);
        let is_handler = object.annotations.iter().any(|annotation| annotation.name == "remote");
        if let [first, second] = program.instances[at].args.as_mut_slice()
            && is_handler
        {
            (*first, *second) = (build::bits(SHARE_BITS, server), build::bits(SHARE_BITS, servers));
        }
    }
}

fn string(text: &str) -> AnnotationValue {
    AnnotationValue::Str(text.to_string())
}

fn int(value: u64) -> AnnotationValue {
    AnnotationValue::Int(value.into())
}

fn of_int(value: &AnnotationValue) -> Option<u64> {
    match value {
        AnnotationValue::Int(value) => u64::try_from(value).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group_rules::Variant;
    use server_groups::wire::Place;

    fn wire() -> Wire {
        let place = |at, width| Place { at, width };
        Wire {
            header: vec![0; 32],
            alike: place(96, 36),
            section: place(132, 5),
            sections: vec![6, 9],
            kind: place(137, 3),
            to: place(140, 8),
            other: place(148, 8),
            number: place(156, 16),
            flag: place(172, 1),
            bucket: place(173, 16),
            flow: place(189, 45),
            call: None,
        }
    }

    const RULES: GroupRules = GroupRules {
        idle_us: 160_000_000,
        patience_us: 1,
        settle_us: 2,
        hold_us: 3,
        answer_us: 4,
        variant: Variant::Exact,
        max_age_us: Some(1_000),
        scale: None,
    };

    #[test]
    fn a_group_is_read_as_it_was_said() {
        let edge = GroupEdge {
            control: "In.group".into(),
            number: 1,
            regions: vec![],
            members: vec![(DeviceIndex(0), 3), (DeviceIndex(1), 4)],
            buckets: 1024,
            blocks: 64,
            wire: wire(),
        };
        let servers = vec![("s1".to_string(), true), ("s2".to_string(), false)];
        let led = LedGroup { name: "nat".to_string(), edge, servers, rules: RULES };
        let said = led.annotation();
        assert_eq!(LedGroup::read(&led.edge.control, said.body.values()), Some(led.clone()));
        let served =
            ServedGroup { name: "nat".to_string(), me: Member(1), port: 2, wire: wire(), rules: RULES };
        let also = served.annotation();
        assert_eq!(ServedGroup::read(also.body.values()), Some(served));
        // Nothing that is missing or of another kind is a group.
        for at in 0..said.body.values().len() {
            let mut values = said.body.values().to_vec();
            values.remove(at);
            assert_eq!(LedGroup::read(&led.edge.control, &values), None, "{at}");
        }
        for at in 0..also.body.values().len() {
            let mut values = also.body.values().to_vec();
            values[at] = AnnotationValue::Bool(true);
            assert_eq!(ServedGroup::read(&values), None, "{at}");
        }
        let nobody = LedGroup { servers: vec![("s1".to_string(), false); 2], ..led };
        assert_eq!(LedGroup::read(&nobody.edge.control, nobody.annotation().body.values()), None);
    }
}
