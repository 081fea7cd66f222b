//! Devices, links, variables and objectives of a rack as the planner's model has them.

use super::super::Result;
use super::super::offers::{call_cost, offer, takes};
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use plan_model::{Device, Link, Model, Port, Role, Scope, Signature, Unit, VarId, Variable, find_name};
use plan_search::{Objective, Scopes};
use rack_model::link::SHORTEST_FRAME;
use rack_model::{Cable, DeviceClass, DeviceId, End, NodeId, Rack};
use std::collections::BTreeMap;

/// Tables that a device runs.
pub(super) const TABLES: &str = "Tables";

/// Bits of their entries, if all are full.
pub(crate) const ENTRY_BITS: &str = "EntryBits";

/// Bits of register arrays.
pub(super) const REGISTER_BITS: &str = "RegisterBits";

/// One, without a unit, in steps.
pub(super) const ONE: i64 = 1_000_000;

/// Variables that every rack has; the user's rules may declare more.
pub(super) fn signature(rack: &Rack, origin: usize) -> Signature {
    let mut signature = Signature::default();
    let latency = rack.devices.get(origin).map_or(0, |device| steps(device.service.as_ps(), 1));
    let rate = rack.plan.rate.map_or(0, |rate| steps(rate.bits_per_s(), 1000));
    let size = i64::from(rack.plan.size) * 1000;
    let path = [
        ("Latency", Unit::Seconds, Role::Latency, latency),
        ("InputRate", Unit::BitsPerSecond, Role::Rate, rate),
        ("PacketSize", Unit::Bytes, Role::Size, size),
        ("Hops", Unit::Plain, Role::Hops, 0),
        ("HandoverBits", Unit::Bits, Role::HandoverBits, 0),
        ("Recirculations", Unit::Plain, Role::Recirculations, 0),
    ];
    for (name, unit, role, initial) in path {
        signature.add(Variable { name: name.into(), unit, scope: Scope::Path, role: Some(role), initial });
    }
    for (name, unit) in [("Power", Unit::Watts), ("Cost", Unit::Plain)] {
        signature.add(Variable { name: name.into(), unit, scope: Scope::Once, role: None, initial: 0 });
    }
    for (name, unit) in [(TABLES, Unit::Plain), (ENTRY_BITS, Unit::Bits), (REGISTER_BITS, Unit::Bits)] {
        let scope = Scope::Device { limit: None };
        signature.add(Variable { name: name.into(), unit, scope, role: None, initial: 0 });
    }
    signature
}

/// A quantity as steps of its unit, as many as fit.
pub(super) fn steps(value: u64, each: i64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX).saturating_mul(each)
}

pub(super) fn devices(rack: &Rack, app: usize, signature: &Signature) -> Result<Vec<Device>> {
    let mut wrong = vec![];
    let mut devices = vec![];
    let is_other_origin = |id: DeviceId| rack.apps[app].other_origins.iter().any(|other| other.value == id);
    let origin = rack.apps[app].origin.value.0 as usize;
    let mut joined: BTreeMap<DeviceId, usize> = BTreeMap::new();
    for ends in own_cables(rack, app).map(|(_, ends)| ends) {
        ends.into_iter().for_each(|end| *joined.entry(end).or_default() += 1);
    }
    for (at, device) in rack.devices.iter().enumerate() {
        let mut limits = vec![];
        for (name, text) in &device.resources {
            match limit(signature, &name.value, &text.value) {
                Ok(limit) => limits.push(limit),
                Err(found) => wrong.push(found.at(name.span, format!("of device `{}`", device.name.value))),
            }
        }
        let id = DeviceId(at as u32);
        let offers = device
            .externs
            .iter()
            .flat_map(|name| [offer(&name.value), takes(&name.value, call_cost(device, &name.value))]);
        devices.push(Device {
            name: device.name.value.as_str().into(),
            provides: std::iter::once(class(rack, id).word().into()).chain(offers).collect(),
            is_host: rack.is_of(id, app) && !is_other_origin(id),
            limits,
            frames: frames(device),
            // Links to hosts and to devices of other apps lead to no other.
            forwards: origin == at || joined.get(&id).is_some_and(|count| *count > 1),
            recirculates: origin == at,
            transit: steps(device.service.as_ps(), 1),
            span: device.name.span,
            ..Device::default()
        });
    }
    if wrong.is_empty() { Ok(devices) } else { Err(wrong) }
}

/// The class of a device. If the device extends a legacy switch, the class of that switch: both are charged together.
pub(super) fn class(rack: &Rack, id: DeviceId) -> DeviceClass {
    let stands_for = |other: &DeviceId| rack.extended(*other) == Some(id);
    let mut others = (0..rack.devices.len() as u32).map(DeviceId);
    let at = others.find(stands_for).unwrap_or(id);
    rack.devices.get(at.0 as usize).map_or(DeviceClass::Cpu, |device| device.class)
}

/// A device's own limit of a variable.
pub(super) fn limit(
    signature: &Signature,
    name: &str,
    text: &str,
) -> std::result::Result<(VarId, i64), Diagnostic> {
    let all = (0..).map(VarId).zip(&signature.variables);
    let of_devices: Vec<(VarId, &Variable)> =
        all.filter(|(_, variable)| matches!(variable.scope, Scope::Device { .. })).collect();
    let at = find_name("device variable", name, of_devices.iter().map(|(_, v)| v.name.as_str()))?;
    let (id, variable) = of_devices[at];
    let wrong = |why| Diagnostic::error(codes::QUANTITY, "not a quantity of this kind").note(why);
    Ok((id, variable.unit.parse(text).map_err(wrong)?))
}

/// Maximum number of frames that a device accepts, in thousandths per second: `parallel` in each service time.
pub(super) fn frames(device: &rack_model::Device) -> Option<i64> {
    let frames = u128::from(device.parallel) * 1_000_000_000_000_000;
    let frames = frames.checked_div(u128::from(device.service.as_ps()))?;
    Some(i64::try_from(frames).unwrap_or(i64::MAX))
}

/// Cables between devices of the app, with these devices.
pub(crate) fn own_cables(rack: &Rack, app: usize) -> impl Iterator<Item = (Cable, [DeviceId; 2])> + '_ {
    let is_own = move |device: DeviceId| rack.is_of(device, app);
    rack.cables().into_iter().filter_map(move |cable| match cable.ends.map(|end| end.node) {
        [NodeId::Device(a), NodeId::Device(b)] if is_own(a) && is_own(b) => Some((cable, [a, b])),
        _ => None,
    })
}

/// Links between devices of the app, and their ports. Each passage through a legacy switch is a device of its own, which forwards.
pub(super) fn links(rack: &Rack, app: usize, devices: &mut Vec<Device>) -> Vec<Link> {
    let mut links = vec![];
    for (cable, [a, _]) in own_cables(rack, app) {
        let mut from = plug(devices, a.0 as usize, cable.ends[0].port);
        let mut near = cable.ends[0];
        for (at, id) in cable.links.iter().enumerate() {
            let Some(link) = rack.links.get(id.0 as usize) else { continue };
            let is_near = |end: &End| (end.node, end.port) == (near.node, near.port);
            let far = link.ends[usize::from(is_near(&link.ends[0]))];
            let next = cable.links.get(at + 1).and_then(|id| rack.links.get(id.0 as usize));
            let NodeId::Device(device) = far.node else { continue };
            let passes = next.and_then(|_| passage(rack, device, rack.end_name(far)));
            let to = passes.map_or(device.0 as usize, |passage| {
                devices.push(passage);
                devices.len() - 1
            });
            let into = plug(devices, to, far.port);
            links.push(Link {
                ends: [from, into],
                delay: steps(link.delay.as_ps(), 1),
                overhead: i64::from(link.overhead) * 1000,
                shortest: if link.pad { i64::from(SHORTEST_FRAME) * 1000 } else { 0 },
                rate: Some(steps(link.rate.bits_per_s(), 1000)),
                longest: Some(i64::from(link.longest_frame()) * 1000),
                span: link.span,
            });
            let Some(leaves) = next.and_then(|next| next.ends.iter().find(|end| end.node == far.node)) else {
                continue;
            };
            (from, near) = (plug(devices, to, leaves.port), *leaves);
        }
    }
    links
}

/// A new port of a device, with the device.
pub(super) fn plug(devices: &mut [Device], device: usize, port: u32) -> (usize, usize) {
    let ports = &mut devices[device].ports;
    ports.push(Port { name: port.to_string().into(), bounds: vec![] });
    (device, ports.len() - 1)
}

/// A device that forwards frames inside a legacy switch.
pub(super) fn passage(rack: &Rack, legacy: DeviceId, name: String) -> Option<Device> {
    let (_, switch) = rack.legacy(NodeId::Device(legacy))?;
    Some(Device {
        name: name.into(),
        forwards: true,
        transit: steps(switch.service.as_ps(), 1),
        frames: frames(switch),
        span: switch.name.span,
        ..Device::default()
    })
}

/// The objectives of the file; by default latency, charges of the rules, and devices.
pub(super) fn objectives(rack: &Rack, model: &Model, scopes: &Scopes) -> Result<Vec<Objective>> {
    let parse = |name: &str, span: Span| {
        Objective::parse(name, &model.signature, scopes).map_err(|why| {
            let error =
                Diagnostic::error(codes::UNKNOWN, format!("`{}` is not an objective", name.escape_debug()));
            vec![if span == Span::NONE { error.note(why) } else { error.at(span, why) }]
        })
    };
    if !rack.plan.objectives.is_empty() {
        return rack.plan.objectives.iter().map(|name| parse(&name.value, name.span)).collect();
    }
    let is_charged =
        |var: &&VarId| model.rules.iter().any(|rule| rule.effects.iter().any(|e| e.var == **var));
    let charges = scopes.once.iter().filter(is_charged).map(|var| model.signature.get(*var).name.as_str());
    let names = std::iter::once("Latency").chain(charges).chain(["devices"]);
    names.map(|name| parse(name, Span::NONE)).collect()
}
