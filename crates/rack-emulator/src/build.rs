//! From a rack and its devices to an emulator at time 0.

use crate::calendar::{Calendar, Event};
use crate::circle::Circles;
use crate::device::DeviceNode;
use crate::emulator::{BuildError, Emulator, RackDevice};
use crate::flow::{Capture, Flow};
use crate::host::{HostNode, TcpSide};
use crate::log::Log;
use crate::outlet::Outlet;
use crate::source::Source;
use crate::tally::Tally;
use crate::tcp::{TcpEnd, Transfers};
use crate::wire::Wire;
use base_time::{Rng, Time, Zipf};
use rack_model::workload::{
    MOST_KEYS, MOST_PACKETS, MOST_PAYLOAD, MOST_TRANSFER, MOST_TRANSFERS, MOST_VALUE, STAMP,
};
use rack_model::{DeviceId, Flows, HostId, LinkId, NodeId, Rack, Workload, WorkloadKind};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The depth of queues that have no link to name one.
const UNLINKED_DEPTH: u32 = 64;

/// Frames of captures, each with its time since the first, by the paths that the rack names.
pub type Captures = BTreeMap<String, Capture>;

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
        flows: vec![],
        tallies: vec![Tally::default(); rack.workloads.len()],
        transfers: BTreeMap::new(),
        sending: 0,
        last_sent: Time::ZERO,
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
    start_flows(&mut emulator, rack, captures)?;
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
    for (host, outlet) in rack.hosts.iter().zip(host_outlets) {
        let name = &host.name.value;
        let outlet = outlet.ok_or_else(|| BuildError(format!("host `{name}` is not linked")))?;
        emulator.hosts.push(HostNode::new(host, &rack.hosts, outlet));
    }
    Ok(())
}

fn start_flows(emulator: &mut Emulator, rack: &Rack, mut captures: Captures) -> Result<(), BuildError> {
    let chance = Rng::new(rack.seed).split("workloads");
    for (at, workload) in (0..).zip(&rack.workloads) {
        let name = &workload.name.value;
        if !is_in_bounds(workload) {
            return Err(BuildError(format!("workload `{name}` is out of bounds")));
        }
        let zipf = match workload.kind {
            WorkloadKind::Udp { flows: Flows { count: count @ 2.., skew }, .. } => {
                Some(Rc::new(Zipf::new(count, skew)))
            }
            WorkloadKind::Memcached { keys, skew, .. } => Some(Rc::new(Zipf::new(keys, skew))),
            _ => None,
        };
        let capture = match &workload.kind {
            WorkloadKind::Pcap { file, .. } => {
                let frames = captures.remove(&file.value);
                let missing = || BuildError(format!("the frames of `{}` were not given", file.value));
                Some(Rc::new(frames.ok_or_else(missing)?))
            }
            _ => None,
        };
        let chance = chance.split_index(u64::from(at));
        for (pair, (from, to)) in (0..).zip(workload.pairs()) {
            let route = emulator.hosts.get(from.0 as usize).zip(rack.hosts.get(to.0 as usize));
            let route = route.and_then(|(host, to)| host.route_to(to.v4()?));
            let route =
                route.ok_or_else(|| BuildError(format!("workload `{name}` has no way to its receiver")))?;
            let chance = chance.split_index(pair);
            let source = Source::new(workload, workload.stagger * pair, chance.split("gaps"));
            let index = emulator.flows.len() as u32;
            let mut flow = Flow::new(index, at, (from.0, to.0), route, source);
            if let Some(zipf) = &zipf {
                flow.of_many(Rc::clone(zipf), chance.split("flows"));
            }
            if let Some(capture) = &capture {
                flow.of_capture(Rc::clone(capture));
                emulator.hosts[to.0 as usize].capture.get_or_insert(index);
            }
            if let WorkloadKind::Memcached { .. } = workload.kind {
                join_store(emulator, rack, index, (from, to), flow.source_port())?;
            }
            if let WorkloadKind::Tcp { port, window, .. } = workload.kind {
                connect(emulator, rack, index, (from, to, port), (workload.size, window), &chance)?;
            }
            if let Some(at) = flow.next_time(workload) {
                emulator.sending += 1;
                emulator.calendar.schedule(at, Event::Send(index));
            }
            emulator.flows.push(flow);
        }
    }
    Ok(())
}

/// Both ends of a pair know datagrams of memcached's by the other's address and the client's port.
fn join_store(
    emulator: &mut Emulator,
    rack: &Rack,
    flow: u32,
    (from, to): (HostId, HostId),
    port: u16,
) -> Result<(), BuildError> {
    for (here, there) in [(from, to), (to, from)] {
        let address = rack.hosts.get(there.0 as usize).and_then(|host| host.v4());
        let address = address.ok_or_else(|| BuildError("a store has no address".to_string()))?;
        let known = &mut emulator.hosts[here.0 as usize].stores;
        if known.insert((address, port), flow).is_some() {
            return Err(BuildError(format!("two clients of one store use UDP port {port}")));
        }
    }
    Ok(())
}

/// Both ends of a pair get a TCP stack, for transfers of so many bytes of which so many may be under way.
fn connect(
    emulator: &mut Emulator,
    rack: &Rack,
    flow: u32,
    (from, to, port): (HostId, HostId, u16),
    bytes: (u32, u32),
    chance: &Rng,
) -> Result<(), BuildError> {
    let end = |id: HostId| {
        let address = rack.hosts.get(id.0 as usize)?.v4()?;
        let (link, ..) = rack.links_of(NodeId::Host(id)).next()?;
        Some(TcpEnd { address, mtu: rack.links.get(link.0 as usize)?.mtu })
    };
    let ends = end(from).zip(end(to));
    let (client, server) = ends.ok_or_else(|| BuildError("a TCP transfer has no address".to_string()))?;
    let transfers = Transfers::new(flow, client, server, port, bytes, chance);
    emulator.transfers.insert(flow, transfers);
    let client_key = (server.address, TcpSide::Client, port);
    let server_key = (client.address, TcpSide::Server, port);
    let is_first = emulator.hosts[from.0 as usize].stacks.insert(client_key, flow).is_none();
    match is_first && emulator.hosts[to.0 as usize].stacks.insert(server_key, flow).is_none() {
        true => Ok(()),
        false => Err(BuildError(format!("two workloads use TCP port {port} between the same hosts"))),
    }
}

/// As [`rack_model::read_rack`] sees to it.
fn is_in_bounds(workload: &Workload) -> bool {
    match workload.kind {
        WorkloadKind::Tcp { .. } => workload.count <= MOST_TRANSFERS && workload.size <= MOST_TRANSFER,
        WorkloadKind::Pcap { .. } => workload.count <= MOST_PACKETS,
        WorkloadKind::Memcached { keys, .. } => {
            workload.size <= MOST_VALUE && (1..=MOST_KEYS).contains(&keys) && workload.count <= MOST_PACKETS
        }
        WorkloadKind::Request { answer, .. } => {
            (STAMP..=MOST_PAYLOAD).contains(&answer) && is_in_bounds_of_packets(workload)
        }
        WorkloadKind::Ping { .. } | WorkloadKind::Udp { .. } => is_in_bounds_of_packets(workload),
    }
}

fn is_in_bounds_of_packets(workload: &Workload) -> bool {
    (STAMP..=MOST_PAYLOAD).contains(&workload.size) && workload.count <= MOST_PACKETS
}
