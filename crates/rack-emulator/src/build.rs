//! From a rack and its devices to an emulator at time 0.

use crate::calendar::{Calendar, Event};
use crate::circle::Circles;
use crate::device::DeviceNode;
use crate::emulator::{BuildError, Emulator, RackDevice};
use crate::host::HostNode;
use crate::log::Log;
use crate::outlet::Outlet;
use crate::running::{Ends, Running};
use crate::watch::Watched;
use crate::wire::Wire;
use base_time::{Rng, Time};
use host_programs::tally::Tally;
use host_programs::{Captures, Effects, Pair, Setup, Socket, StartError};
use rack_model::{DeviceId, HostId, LinkId, NodeId, Rack};
use std::collections::{BTreeMap, VecDeque};

/// The depth of queues that have no link to name one.
const UNLINKED_DEPTH: u32 = 64;

pub(crate) fn build(
    rack: &Rack,
    devices: Vec<RackDevice>,
    captures: Captures,
) -> Result<Emulator, BuildError> {
    let mut emulator = Emulator {
        rack: rack.clone(),
        now: Time::ZERO,
        calendar: Calendar::default(),
        wires: vec![],
        outlets: vec![],
        devices: device_nodes(rack, devices)?,
        hosts: vec![],
        pairs: vec![],
        programs: vec![],
        watched: vec![Watched::new(); rack.workloads.len()],
        active: 0,
        inactive_since: Time::ZERO,
        effects: Effects::default(),
        faults: vec![],
        injections: vec![],
        free_injections: vec![],
        drops: BTreeMap::new(),
        owned_drops: BTreeMap::new(),
        log: Log::new(),
        recordings: rack.links.iter().map(|_| None).collect(),
        restarted: vec![],
        notes: vec![],
        circles: Circles::default(),
        ready: VecDeque::new(),
        events: 0,
        check_all_at: 0,
        events_now: 0,
        stopped: None,
    };
    plug_in_links(&mut emulator, rack)?;
    emulator.plan_faults();
    start_programs(&mut emulator, rack, captures)?;
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
        let at = at.ok_or_else(|| BuildError(format!("no program was given for device `{name}`")))?;
        let given = devices.remove(at);
        nodes.push(DeviceNode::new(model, given));
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
    for (id, (host, outlet)) in (0..).map(HostId).zip(rack.hosts.iter().zip(host_outlets)) {
        let name = &host.name.value;
        let outlet = outlet.ok_or_else(|| BuildError(format!("host `{name}` is not linked")))?;
        let link =
            rack.links_of(NodeId::Host(id)).next().and_then(|(link, ..)| rack.links.get(link.0 as usize));
        let mtu = link.map_or(0, |link| link.mtu);
        emulator.hosts.push(HostNode::new(host, &rack.hosts, outlet, mtu));
    }
    Ok(())
}

/// Lets the hosts begin with all workloads.
fn start_programs(emulator: &mut Emulator, rack: &Rack, mut captures: Captures) -> Result<(), BuildError> {
    let chance = Rng::new(rack.seed).split("workloads");
    for (at, workload) in (0..).zip(&rack.workloads) {
        let (name, load) = (&workload.name.value, &workload.load);
        if !load.is_in_bounds() {
            return Err(BuildError(format!("workload `{name}` is out of bounds")));
        }
        let first = emulator.pairs.len() as u32;
        let mut pairs = vec![];
        for (from, to) in workload.pairs() {
            let pair = pair(emulator, rack, from, to);
            pairs.push(
                pair.ok_or_else(|| BuildError(format!("workload `{name}` has no path to its receiver")))?,
            );
            emulator.pairs.push(Ends { from: from.0, to: to.0 });
        }
        let chance = chance.split_index(at);
        let setup = Setup { load, first, pairs, chance, captures: &mut captures };
        let (program, started) = (load.kind.start)(setup).map_err(|StartError(why)| BuildError(why))?;
        for (pair, side, socket) in started.sockets {
            let host = emulator.pairs.get((first + pair) as usize).map_or(0, |ends| ends.at(side));
            let sockets = &mut emulator.hosts[host as usize].sockets;
            // The first one counts what nobody else has use for.
            if *sockets.entry(socket).or_insert(first + pair) != first + pair && socket != Socket::Rest {
                let host = rack.node_name(NodeId::Host(HostId(host)));
                let why = format!("workload `{name}` has the same frames as another one at host `{host}`");
                return Err(BuildError(why));
            }
        }
        for (timer, time) in started.wakes {
            emulator.calendar.schedule(time, Event::Program { workload: at as u32, timer });
        }
        let is_active = program.is_active();
        emulator.active += u64::from(is_active);
        emulator.programs.push(Running { program, first, tally: Tally::default(), is_active });
    }
    Ok(())
}

/// How the hosts of a pair reach each other.
fn pair(emulator: &Emulator, rack: &Rack, from: HostId, to: HostId) -> Option<Pair> {
    let card = |id: HostId| emulator.hosts.get(id.0 as usize).map(|host| &host.station);
    let address = |id: HostId| rack.hosts.get(id.0 as usize)?.v4();
    let (sender, receiver) = (card(from)?, card(to)?);
    let route = sender.route_to(address(to)?)?;
    let back = receiver.route_to(address(from)?)?;
    Some(Pair { route, back, mtu: (sender.mtu, receiver.mtu) })
}
