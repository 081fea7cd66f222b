//! Which switches fold which channels: programs, entries, routes.
//!
//! All packets between two hosts take the same path in both directions: the paths are those of a spanning tree. Every packet of a channel,
//! repetitions too, therefore passes the channel's switches.
//!
//! A placement is a set of switches that fold, in one level or two: the last switch on the way of all channels may fold what the
//! others have left (the *parent*). All sets are tried. The best one has the least busy link (bytes over rate), then the fewest
//! bytes on all links, then the fewest switches.

use crate::check::same_number;
use crate::job::{Job, Reducer};
use crate::topology::{Node, Topology, Tree};
use aggregate::program::{Entry, Program, Seat, Sender};
use aggregate::{Kind, Op};
use base_diag::codes::job as codes;
use base_diag::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of switches on the paths of a reducer: all sets of them are tried.
const MOST_SWITCHES: usize = 12;

/// Keys of a mapper where the job says nothing.
const USUAL_KEYS: u64 = 1_000_000;

/// Jobs on a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// By job and reducer, in the order of the text.
    pub reducers: Vec<Placed>,
    /// Switches that have a program, by index in the topology.
    pub switches: Vec<Device>,
}

/// A reducer on a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Index of the job.
    pub job: usize,
    /// Index of the reducer in the job.
    pub reducer: usize,
    /// Index of its host.
    pub host: usize,
    /// Index of the host of each mapper: the mapper of channel `n` is the reducer's `n`-th.
    pub mappers: Vec<usize>,
    /// Folding switches by number; those that fold what others have left are last.
    pub switches: Vec<Folding>,
    /// The number of those.
    pub parents: u16,
    /// Estimate: pairs that reach the reducer, and pairs that mappers send.
    pub pairs: (u64, u64),
}

/// A switch that folds pairs of a reducer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folding {
    /// Index in the topology.
    pub switch: usize,
    /// Index of a host after it: requests to the switch are addressed to that host, and the switch answers them.
    pub behind: usize,
    /// Channels whose data it folds.
    pub channels: Vec<u16>,
}

/// Program and reducers of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Index in the topology.
    pub switch: usize,
    /// Program of the switch.
    pub program: Program,
    /// Parts of reducers.
    pub seats: Vec<Seat>,
    /// Port and next hop for each host, by index.
    pub routes: Vec<(usize, u32)>,
}

/// Puts jobs onto a network.
pub fn plan(jobs: &[Job], topology: &Topology) -> Result<Plan, Vec<Diagnostic>> {
    let mut problems = vec![];
    check_numbers(jobs, &mut problems);
    let mut placed = vec![];
    for (at, job) in jobs.iter().enumerate() {
        for (number, reducer) in job.reducers.iter().enumerate() {
            match place(job, reducer, topology) {
                Ok(found) => placed.push(Placed { job: at, reducer: number, ..found }),
                Err(found) => problems.extend(found),
            }
        }
    }
    let switches = devices(jobs, &placed, topology, &mut problems);
    if problems.is_empty() { Ok(Plan { reducers: placed, switches }) } else { Err(problems) }
}

/// Jobs of different texts have different numbers.
fn check_numbers(jobs: &[Job], problems: &mut Vec<Diagnostic>) {
    let mut known: BTreeMap<u16, &Reducer> = BTreeMap::new();
    for reducer in jobs.iter().flat_map(|job| &job.reducers) {
        if let Some(other) = known.insert(reducer.number, reducer) {
            problems.push(same_number(reducer, other));
        }
    }
}

fn host(topology: &Topology, name: &str, span: Span, what: &str) -> Result<usize, Diagnostic> {
    topology.host(name).ok_or_else(|| {
        let names = topology.hosts.iter().map(|host| host.name.as_str());
        Diagnostic::error(codes::NO_SWITCH_ON_PATH, format!("there is no host `{name}`"))
            .at(span, format!("{what} is there"))
            .suggest_or(name, names, |problem| {
                let known: Vec<&str> = topology.hosts.iter().take(8).map(|host| host.name.as_str()).collect();
                problem.help(format!("the network has `{}`", known.join("`, `")))
            })
    })
}

/// Places one reducer.
fn place(job: &Job, reducer: &Reducer, topology: &Topology) -> Result<Placed, Vec<Diagnostic>> {
    let mut problems = vec![];
    let own = match &reducer.at {
        Some(at) => host(topology, &at.value, at.span, "the reducer").map_err(|problem| vec![problem])?,
        None => {
            let title = format!("`{}` has no host", reducer.name.value);
            let problem = Diagnostic::error(codes::JOB_SETTING, title).at(reducer.name.span, "");
            return Err(vec![problem.help("name its host: `at = \"10.0.0.1\"`")]);
        }
    };
    let mut mappers = vec![];
    for at in &reducer.mappers {
        let mapper = &job.mappers[*at];
        let data = mapper.datasets.iter().map(|at| &job.datasets[*at]).find(|data| data.host.is_some());
        let Some((data, name)) = data.and_then(|data| Some((data, data.host.as_ref()?))) else {
            let title = format!("the data of `{}` has no host", mapper.name.value);
            let problem = Diagnostic::error(codes::JOB_SETTING, title).at(mapper.name.span, "");
            problems.push(problem.help("write it: `\"10.0.1.1:/data/part1\"`"));
            continue;
        };
        match host(topology, name, data.span, "its data") {
            Ok(host) => mappers.push(host),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let tree = topology.tree(Node::Host(own));
    let mut paths = vec![];
    for (at, host) in reducer.mappers.iter().zip(&mappers) {
        let mapper = &job.mappers[*at];
        let path = tree.path(Node::Host(*host));
        let has_switch = path.as_ref().is_some_and(|path| path.iter().any(|(_, node)| is_switch(*node)));
        if let Some(path) = path.filter(|_| has_switch || !reducer.is_switched) {
            paths.push(path);
            continue;
        }
        let title =
            format!("no switch is on the path from `{}` to `{}`", mapper.name.value, reducer.name.value);
        let (from, to) = (&topology.hosts[*host].name, &topology.hosts[own].name);
        let problem = Diagnostic::error(codes::NO_SWITCH_ON_PATH, title).at(mapper.name.span, "");
        let problem = problem.note(format!("it runs on `{from}`, and the reducer on `{to}`"));
        problems.push(
            problem.help("put the data on another host, or let pairs travel as they are: `by = hosts`"),
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut placed =
        Placed { job: 0, reducer: 0, host: own, mappers, switches: vec![], parents: 0, pairs: (0, 0) };
    let estimate = Estimate::new(reducer, &paths, topology);
    if !reducer.is_switched {
        placed.pairs = (estimate.sent(), estimate.sent());
        return Ok(placed);
    }
    let on_paths: BTreeSet<usize> = paths.iter().flatten().filter_map(|(_, node)| switch_of(*node)).collect();
    let on_paths: Vec<usize> = on_paths.into_iter().collect();
    if on_paths.len() > MOST_SWITCHES {
        let title = format!("{} switches are on the paths to `{}`", on_paths.len(), reducer.name.value);
        let problem = Diagnostic::error(codes::JOB_SETTING, title).at(reducer.name.span, "");
        return Err(vec![problem.note(format!("all sets of up to {MOST_SWITCHES} are tried"))]);
    }
    let sets = (1u32..1 << on_paths.len()).map(|set| {
        let chosen = on_paths.iter().enumerate().filter(|(at, _)| set >> at & 1 != 0);
        chosen.map(|(_, switch)| *switch).collect::<BTreeSet<usize>>()
    });
    let best = sets.filter_map(|set| estimate.cost(&set).map(|cost| (cost, set))).min();
    let Some((cost, chosen)) = best else {
        unreachable!("each path has a switch, and the set of all is a placement")
    };
    placed.pairs = (cost.arrives, estimate.sent());
    placed.parents = u16::from(estimate.parent(&chosen).is_some());
    let mut switches: Vec<usize> = chosen.iter().copied().collect();
    switches.sort_by_key(|switch| (estimate.parent(&chosen) == Some(*switch), *switch));
    for switch in switches {
        let first = |path: &Vec<(usize, Node)>| {
            path.iter().filter_map(|(_, node)| switch_of(*node)).find(|at| chosen.contains(at))
        };
        let channels = (0..).zip(&paths).filter(|(_, path)| first(path) == Some(switch));
        let channels: Vec<u16> = channels.map(|(channel, _)| channel).collect();
        let passes = |path: &&Vec<(usize, Node)>| path.iter().any(|(_, node)| *node == Node::Switch(switch));
        let behind = paths.iter().position(|path| passes(&path)).map_or(own, |at| placed.mappers[at]);
        placed.switches.push(Folding { switch, behind, channels });
    }
    Ok(placed)
}

fn is_switch(node: Node) -> bool {
    switch_of(node).is_some()
}

fn switch_of(node: Node) -> Option<usize> {
    match node {
        Node::Switch(switch) => Some(switch),
        Node::Host(_) => None,
    }
}

/// How busy links are. Fewer is better, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cost {
    /// Nanoseconds of the busiest link, for a byte a pair.
    busiest: u128,
    /// Pairs on all links.
    pairs: u64,
    switches: usize,
    /// Pairs at the reducer.
    arrives: u64,
}

/// Pairs on links, by the keys of each mapper and of all.
struct Estimate<'t> {
    paths: &'t [Vec<(usize, Node)>],
    topology: &'t Topology,
    /// Keys of each mapper, distinct keys of all, slots of a switch in all rounds.
    keys: u64,
    distinct: u64,
    slots: u64,
}

impl<'t> Estimate<'t> {
    fn new(reducer: &Reducer, paths: &'t [Vec<(usize, Node)>], topology: &'t Topology) -> Estimate<'t> {
        let (keys, distinct) = reducer.keys.unwrap_or((USUAL_KEYS, USUAL_KEYS));
        let (layout, chunks) = (&reducer.layout, u64::from(reducer.chunks()));
        let slots = u64::from(layout.lanes) * u64::from(layout.rows()) * u64::from(reducer.rounds);
        // With eviction, mappers in step need few slots.
        let slots = if layout.evict { u64::MAX } else { slots };
        Estimate { paths, topology, keys: keys * chunks, distinct: distinct.max(keys) * chunks, slots }
    }

    fn sent(&self) -> u64 {
        self.keys * self.paths.len() as u64
    }

    /// Distinct keys of so many mappers, each with random keys of all: `distinct * (1 - (1 - keys / distinct)^mappers)`, in whole numbers.
    fn union(&self, mappers: usize) -> u64 {
        let mut missing = u128::from(self.distinct);
        for _ in 0..mappers {
            missing = missing * u128::from(self.distinct - self.keys) / u128::from(self.distinct.max(1));
        }
        self.distinct - missing as u64
    }

    /// The switch of a set that is on the way of all channels after all others of the set.
    fn parent(&self, set: &BTreeSet<usize>) -> Option<usize> {
        let last = |path: &Vec<(usize, Node)>| {
            path.iter().rev().filter_map(|(_, node)| switch_of(*node)).find(|switch| set.contains(switch))
        };
        let mut lasts = self.paths.iter().map(last);
        let first = lasts.next()??;
        (set.len() > 1 && lasts.all(|other| other == Some(first))).then_some(first)
    }

    /// None if the set is no placement: a channel without a switch, more than two levels.
    fn cost(&self, set: &BTreeSet<usize>) -> Option<Cost> {
        let parent = self.parent(set);
        let mut links: BTreeMap<usize, u64> = BTreeMap::new();
        // Mappers by their first switch.
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, path) in self.paths.iter().enumerate() {
            let of_set: Vec<usize> =
                path.iter().filter_map(|(_, node)| switch_of(*node)).filter(|at| set.contains(at)).collect();
            let (first, rest) = of_set.split_first()?;
            if rest.iter().any(|switch| Some(*switch) != parent) {
                return None;
            }
            groups.entry(*first).or_default().push(at);
        }
        // A switch without channels of its own is of use only as a parent.
        if set.iter().any(|switch| !groups.contains_key(switch) && parent != Some(*switch)) {
            return None;
        }
        let folded = |mappers: usize, arrives: u64| {
            let union = self.union(mappers);
            let resident = union.min(self.slots);
            // Pairs of keys without a slot travel on.
            let spilled = (arrives - union.min(arrives)) as u128 * u128::from(union - resident)
                / u128::from(union.max(1));
            (union + spilled as u64).min(arrives)
        };
        let mut arrives = 0;
        let mut at_parent = 0;
        for (switch, members) in &groups {
            let sent = self.keys * members.len() as u64;
            let left = if Some(*switch) == parent { sent } else { folded(members.len(), sent) };
            let mut after = BTreeSet::new();
            for at in members {
                let mut is_before = true;
                for (link, node) in &self.paths[*at] {
                    if is_before {
                        *links.entry(*link).or_default() += self.keys;
                    } else {
                        after.insert(*link);
                    }
                    is_before &= *node != Node::Switch(*switch);
                }
            }
            let path = &self.paths[members[0]];
            let until = path.iter().position(|(_, node)| switch_of(*node) == parent && parent.is_some());
            for (place, (link, _)) in path.iter().enumerate().filter(|(_, (link, _))| after.contains(link)) {
                if until.is_none_or(|until| place <= until) {
                    *links.entry(*link).or_default() += left;
                }
            }
            if parent.is_some() { at_parent += left } else { arrives += left }
        }
        if let Some(parent) = parent {
            arrives = folded(self.paths.len(), at_parent);
            let path = &self.paths[0];
            let from = path.iter().position(|(_, node)| *node == Node::Switch(parent)).map_or(0, |at| at + 1);
            for (link, _) in &path[from..] {
                *links.entry(*link).or_default() += arrives;
            }
        }
        let time = |(link, pairs): (&usize, &u64)| {
            u128::from(*pairs) * 8_000_000_000 / u128::from(self.topology.links[*link].rate.max(1))
        };
        Some(Cost {
            busiest: links.iter().map(time).max().unwrap_or(0),
            pairs: links.values().sum(),
            switches: set.len(),
            arrives,
        })
    }
}

/// Programs, entries and routes of all switches.
fn devices(
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
            if !program.operators.contains(&reducer.op) {
                program.operators.push(reducer.op);
                program.operators.sort();
            }
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
                        add(Kind::Spill, *channel, Node::Host(one.mappers[usize::from(*channel)]));
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

/// The port of a switch towards a node, on the paths of a tree.
fn port_towards(topology: &Topology, tree: &Tree, switch: usize, to: Node) -> Option<u32> {
    let here = Node::Switch(switch);
    let path: Vec<(usize, Node)> = tree.path(to)?;
    // On the node's way to the root: the link by which it comes in here.
    if let Some((link, _)) = path.iter().find(|(_, node)| *node == here) {
        return topology.port(*link, here);
    }
    // Elsewhere: first towards the root.
    let (link, _) = tree.next(here)?;
    topology.port(link, here)
}

impl Device {
    /// The entries as STF: parts of reducers, then routes.
    pub fn entries(&self, topology: &Topology) -> Vec<String> {
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
        own.map(|entry| entry.stf()).chain(routes).collect()
    }
}
