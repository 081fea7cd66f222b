//! From a rack and its devices to an emulator at time 0.

use crate::calendar::{Calendar, Event};
use crate::device::DeviceNode;
use crate::emulator::{BuildError, Emulator, RackDevice};
use crate::flow::Flow;
use crate::host::HostNode;
use crate::log::Log;
use crate::outlet::Outlet;
use crate::wire::Wire;
use base_time::{Rng, Time};
use rack_model::workload::{MOST_PACKETS, MOST_PAYLOAD, STAMP};
use rack_model::{DeviceId, HostId, LinkId, NodeId, Rack};
use std::collections::{BTreeMap, VecDeque};

/// The depth of queues that have no link to name one.
const UNLINKED_DEPTH: u32 = 64;

pub(crate) fn build(rack: &Rack, devices: Vec<RackDevice>) -> Result<Emulator, BuildError> {
    let mut emulator = Emulator {
        rack: rack.clone(),
        now: Time::ZERO,
        calendar: Calendar::default(),
        wires: vec![],
        outlets: vec![],
        devices: device_nodes(rack, devices)?,
        hosts: vec![],
        flows: vec![],
        injections: vec![],
        free_injections: vec![],
        drops: BTreeMap::new(),
        log: Log::new(),
        recordings: rack.links.iter().map(|_| None).collect(),
        ready: VecDeque::new(),
        events: 0,
        events_now: 0,
        stopped: None,
    };
    plug_in_links(&mut emulator, rack)?;
    start_flows(&mut emulator, rack)?;
    for device in 0..emulator.devices.len() {
        emulator.watch_timer(device);
    }
    Ok(emulator)
}

/// The implementations in the order of the rack's devices.
fn device_nodes(rack: &Rack, mut devices: Vec<RackDevice>) -> Result<Vec<DeviceNode>, BuildError> {
    let mut nodes = vec![];
    for model in &rack.devices {
        let name = &model.name.value;
        let at = devices.iter().position(|d| d.name == *name);
        let at = at.ok_or_else(|| BuildError(format!("nothing was given to run as device `{name}`")))?;
        let given = devices.remove(at);
        nodes.push(DeviceNode::new(model, given.engine, given.device));
    }
    match devices.first() {
        Some(other) => {
            Err(BuildError(format!("the rack has no device `{}`, or it was given twice", other.name)))
        }
        None => Ok(nodes),
    }
}

/// Makes two wires of each link, an outlet at each end, and one outlet at each device for all other ports.
fn plug_in_links(emulator: &mut Emulator, rack: &Rack) -> Result<(), BuildError> {
    let root = Rng::new(rack.seed);
    let mut host_outlets: Vec<Option<u32>> = vec![None; rack.hosts.len()];
    for (id, link) in (0..).map(LinkId).zip(&rack.links) {
        for direction in 0..2 {
            let wire = Wire::new(id, link, direction, &root);
            let from = wire.from;
            let outlet = emulator.outlets.len() as u32;
            emulator.outlets.push(Outlet::new(from.node, Some(emulator.wires.len() as u32), link.queue));
            emulator.wires.push(wire);
            let is_free = match from.node {
                NodeId::Device(DeviceId(device)) => {
                    emulator.devices.get_mut(device as usize).is_some_and(|d| {
                        let free = !d.ports.iter().any(|(port, _)| *port == from.port);
                        d.ports.push((from.port, outlet));
                        free
                    })
                }
                NodeId::Host(HostId(host)) => {
                    host_outlets.get_mut(host as usize).is_some_and(|o| o.replace(outlet).is_none())
                }
            };
            if !is_free {
                return Err(BuildError(format!("a link cannot be plugged into `{}`", rack.end_name(from))));
            }
        }
    }
    for (id, device) in (0..).map(DeviceId).zip(&mut emulator.devices) {
        device.ports.sort_unstable();
        device.unlinked = emulator.outlets.len() as u32;
        emulator.outlets.push(Outlet::new(NodeId::Device(id), None, UNLINKED_DEPTH));
    }
    for (host, outlet) in rack.hosts.iter().zip(host_outlets) {
        let name = &host.name.value;
        let outlet = outlet.ok_or_else(|| BuildError(format!("host `{name}` is not linked")))?;
        emulator.hosts.push(HostNode::new(host, &rack.hosts, outlet));
    }
    Ok(())
}

fn start_flows(emulator: &mut Emulator, rack: &Rack) -> Result<(), BuildError> {
    for (index, workload) in (0..).zip(&rack.workloads) {
        let from = emulator.hosts.get(workload.from.value.0 as usize);
        let to = rack.hosts.get(workload.to.value.0 as usize);
        let route = from.zip(to.and_then(|host| host.v4())).and_then(|(from, to)| from.route_to(to));
        let name = &workload.name.value;
        let route =
            route.ok_or_else(|| BuildError(format!("workload `{name}` has no way to its receiver")))?;
        if !(STAMP..=MOST_PAYLOAD).contains(&workload.size) || workload.count > MOST_PACKETS {
            return Err(BuildError(format!("workload `{name}` is out of bounds")));
        }
        let flow = Flow::new(index, workload, route);
        if let Some(at) = flow.next_time() {
            emulator.calendar.schedule(at, Event::Send(index));
        }
        emulator.flows.push(flow);
    }
    Ok(())
}
