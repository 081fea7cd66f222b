//! From a rack and its devices to an emulator at time 0.

use crate::circle::Circles;
use crate::emulator::{BuildError, Emulator, RackDevice};
use crate::event::Event;
use crate::host::HostNode;
use crate::log::Log;
use crate::node::{node_id, plug, settings};
use crate::running::{Ends, Running};
use crate::watch::Watched;
use base_time::{Rng, Time};
use device_network::{DeviceNode, DeviceSettings, Link, Network, Plug};
use host_programs::tally::Tally;
use host_programs::{Captures, Effects, Pair, Setup, Socket, StartError};
use rack_model::{End, HostId, NodeId, Rack};
use std::collections::BTreeMap;

/// The depth of queues that have no link to name one.
const UNLINKED_DEPTH: u32 = 64;

/// Events at one moment for each pair of a workload: a packet that is sent, queued and woken for.
const EVENTS_OF_A_PAIR: u64 = 8;

pub(crate) fn build(
    rack: &Rack,
    devices: Vec<RackDevice>,
    captures: Captures,
) -> Result<Emulator, BuildError> {
    let mut emulator = Emulator {
        rack: rack.clone(),
        engines: rack.devices.iter().map(|device| engine_of(&devices, &device.name.value)).collect(),
        network: network(rack, device_nodes(rack, devices)?)?,
        hosts: hosts(rack),
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
        stopped: None,
    };
    emulator.plan_faults();
    start_programs(&mut emulator, rack, captures)?;
    // All pairs of a workload may send at one moment.
    emulator.network.most_events_now += EVENTS_OF_A_PAIR * emulator.pairs.len() as u64;
    for device in 0..rack.devices.len() as u32 {
        emulator.network.watch_timer(device);
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
        let settings = DeviceSettings {
            service: model.service,
            parallel: model.parallel,
            backlog: model.backlog,
            trims: model.trim,
            unlinked_queue: UNLINKED_DEPTH,
            ..DeviceSettings::default()
        };
        nodes.push(DeviceNode::new(given.device, settings, given.spent));
    }
    match devices.first() {
        Some(other) => {
            Err(BuildError(format!("the rack has no device `{}`, or it was given twice", other.name)))
        }
        None => Ok(nodes),
    }
}

fn engine_of(devices: &[RackDevice], name: &str) -> String {
    devices.iter().find(|device| device.name == name).map_or(String::new(), |device| device.engine.clone())
}

/// The devices of a rack, joined by its links.
fn network(rack: &Rack, devices: Vec<DeviceNode>) -> Result<Network<Event>, BuildError> {
    let links = rack.links.iter().map(|link| Link {
        plugs: [plug(&link.ends[0]), plug(&link.ends[1])],
        settings: settings(link),
        queue: link.queue,
    });
    let why = |problem| match problem {
        device_network::BuildError::Occupied(Plug { node, port }) => {
            let end = End { node: node_id(node), port, span: Default::default() };
            format!("a link cannot be plugged into `{}`", rack.end_name(end))
        }
        device_network::BuildError::Loose(host) => {
            format!("host `{}` is not linked", rack.node_name(NodeId::Host(HostId(host))))
        }
    };
    Network::new(devices, rack.hosts.len(), links, &Rng::new(rack.seed))
        .map_err(|problem| BuildError(why(problem)))
}

/// Hosts, with the MTU of the link that each has.
fn hosts(rack: &Rack) -> Vec<HostNode> {
    let host = |(id, host)| {
        let link =
            rack.links_of(NodeId::Host(id)).next().and_then(|(link, ..)| rack.links.get(link.0 as usize));
        HostNode::new(host, &rack.hosts, link.map_or(0, |link| link.mtu))
    };
    (0..).map(HostId).zip(&rack.hosts).map(host).collect()
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
            // The first one counts frames that no other program uses.
            if sockets.add(socket, first + pair) != first + pair && socket != Socket::Rest {
                let host = rack.node_name(NodeId::Host(HostId(host)));
                let why = format!("workload `{name}` has the same frames as another one at host `{host}`");
                return Err(BuildError(why));
            }
        }
        for (timer, time) in started.wakes {
            emulator.network.schedule(time, Event::Program { workload: at as u32, timer });
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
