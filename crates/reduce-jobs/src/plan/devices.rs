//! Programs, entries and routes of switches.

use super::{Device, Placed};
use crate::job::{Job, Reducer};
use crate::topology::{Node, Topology, Tree};
use aggregate::program::{Entry, Program, Seat, Sender, copies_stf};
use aggregate::{Kind, Op};
use base_diag::Diagnostic;
use base_diag::codes::job as codes;
use std::collections::BTreeMap;

/// Programs, entries and routes of all switches.
pub(super) fn devices(
    jobs: &[Job],
    placed: &[Placed],
    topology: &Topology,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Device> {
    let mut devices: BTreeMap<usize, Device> = BTreeMap::new();
    let mut firsts: BTreeMap<usize, &Reducer> = BTreeMap::new();
    for one in placed {
        let reducer = &jobs[one.job].reducers[one.reducer];
        let tree = topology.tree(Node::Host(one.host));
        for (number, folding) in (0..).zip(&one.switches) {
            let is_parent =
                usize::from(number) + usize::from(one.parents) >= one.switches.len() && one.parents > 0;
            let first = firsts.entry(folding.switch).or_insert(reducer);
            if (first.layout, first.port) != (reducer.layout, reducer.port) {
                let title = format!(
                    "`{}` and `{}` share switch `{}` with different sizes",
                    first.name.value, reducer.name.value, topology.switches[folding.switch]
                );
                let problem = Diagnostic::error(codes::JOB_SETTING, title).at(reducer.name.span, "");
                let problem = problem.at(first.name.span, "the other one");
                problems.push(problem.help("give them the same `profile`, `rows`, `window` and `port`"));
                continue;
            }
            let device = devices.entry(folding.switch).or_insert_with(|| Device {
                switch: folding.switch,
                program: Program {
                    operators: vec![],
                    jobs: 0,
                    channels: 0,
                    port: reducer.port,
                    ..Program::new(reducer.layout, Op::Add, 1)
                },
                seats: vec![],
                routes: vec![],
            });
            let program = &mut device.program;
            program.is_parent |= is_parent;
            program.operators.extend(operators(&jobs[one.job], reducer));
            program.operators.sort();
            program.operators.dedup();
            let mut senders = vec![];
            let mut add = |kind: Kind, channel: u16, from: Node| {
                // The port towards a node is the one by which its packets come in.
                if let Some(port) = port_towards(topology, &tree, folding.switch, from) {
                    senders.push(Sender { kind, port, channel, place: program.channels });
                    program.channels += 1;
                }
            };
            for channel in &folding.channels {
                add(Kind::Data, *channel, Node::Host(one.mappers[usize::from(*channel)]));
            }
            if is_parent {
                for (other, child) in (0..number).zip(&one.switches) {
                    for channel in &child.channels {
                        add(Kind::Overflow, *channel, Node::Host(one.mappers[usize::from(*channel)]));
                    }
                    add(Kind::ReadReply, other, Node::Switch(child.switch));
                }
            }
            let reducer_port = tree.next(Node::Switch(folding.switch));
            let reducer_port =
                reducer_port.and_then(|(link, _)| topology.port(link, Node::Switch(folding.switch)));
            let seat = Seat {
                job: reducer.number,
                place: program.jobs,
                switch: number,
                boot: 1,
                reducer_port: reducer_port.unwrap_or(0),
                has_parent: one.parents > 0 && !is_parent,
                senders,
            };
            program.jobs += 1;
            device.seats.push(seat);
        }
    }
    let mut devices: Vec<Device> = devices.into_values().collect();
    // Switches that fold nothing forward, too.
    for switch in 0..topology.switches.len() {
        if !placed.is_empty() && !devices.iter().any(|device| device.switch == switch) {
            let reducer = &jobs[placed[0].job].reducers[placed[0].reducer];
            let program = Program::new(reducer.layout, reducer.op, 1);
            devices.push(Device { switch, program, seats: vec![], routes: vec![] });
        }
    }
    devices.sort_by_key(|device| device.switch);
    for device in &mut devices {
        if let Err(problem) = device.program.check() {
            let title = format!("switch `{}` has no program", topology.switches[device.switch]);
            problems.push(Diagnostic::error(codes::JOB_SETTING, title).note(problem.to_string()));
        }
        for host in 0..topology.hosts.len() {
            let tree = topology.tree(Node::Host(placed.first().map_or(host, |one| one.host)));
            if let Some(port) = port_towards(topology, &tree, device.switch, Node::Host(host)) {
                device.routes.push((host, port));
            }
        }
    }
    devices
}

/// The operators that a switch needs for a reducer: a group chooses one for each call.
pub fn operators(job: &Job, reducer: &Reducer) -> Vec<Op> {
    // An empty slot of an array holds 0, which is no start for MIN.
    let is_known = |op: &Op| !reducer.layout.is_dense() || *op != Op::Min;
    let others = Op::ALL.into_iter().filter(|op| *op != reducer.op && is_known(op) && job.is_group(reducer));
    [reducer.op].into_iter().chain(others.take(Program::MOST_OPERATORS - 1)).collect()
}

/// The port of a switch towards a node, on the paths of a tree.
fn port_towards(topology: &Topology, tree: &Tree, switch: usize, to: Node) -> Option<u32> {
    let here = Node::Switch(switch);
    let path: Vec<(usize, Node)> = tree.path(to)?;
    // On the node's path to the root: the link on which it arrives here.
    if let Some((link, _)) = path.iter().find(|(_, node)| *node == here) {
        return topology.port(*link, here);
    }
    // Elsewhere: first towards the root.
    let (link, _) = tree.next(here)?;
    topology.port(link, here)
}

impl Device {
    /// The entries as STF: parts of reducers, then routes, and the session of copies.
    pub fn entries(&self, topology: &Topology) -> Vec<String> {
        self.entries_with(topology, |seat| seat.reducer_port)
    }

    /// The same for the program for TNA.
    pub fn entries_for_tna(&self, topology: &Topology) -> Vec<String> {
        self.entries_with(topology, |_| Program::AROUND)
    }

    fn entries_with(&self, topology: &Topology, port_of_copies: impl Fn(&Seat) -> u32) -> Vec<String> {
        let own = self.seats.iter().flat_map(|seat| seat.entries(&self.program.layout));
        let routes = self.routes.iter().map(|(host, port)| {
            let host = &topology.hosts[*host];
            let mac = host.mac.iter().fold(0, |mac, byte| mac << 8 | u128::from(*byte));
            Entry {
                table: "AggIngress.routes",
                keys: vec![("hdr.ipv4.dst_addr", 32, u32::from(host.address).into())],
                action: "AggIngress.forward",
                args: vec![("port", 9, (*port).into()), ("next_hop", 48, mac)],
            }
            .stf()
            .replacen(" AggIngress.forward", "/32 AggIngress.forward", 1)
        });
        let copies = self.seats.first().map(|seat| copies_stf(port_of_copies(seat)));
        own.map(|entry| entry.stf()).chain(routes).chain(copies).collect()
    }
}
