//! Assignment of channels to the switches that fold them: programs, entries, routes.
//!
//! All packets between two hosts take the same path in both directions: the paths are those of a spanning tree. Every packet of a channel,
//! repetitions too, therefore passes the channel's switches.
//!
//! A placement is a set of switches that fold, in one level or two: the last switch on the paths of all channels may fold the
//! remaining pairs (the *parent*). All sets are tried. The best one has the least busy link (bytes over rate), then the fewest
//! bytes on all links, then the fewest switches.

mod devices;
mod estimate;

use crate::check::same_number;
use crate::job::{Job, Reducer};
use crate::topology::{Node, Topology};
use aggregate::program::{Program, Seat};
use base_diag::codes::job as codes;
use base_diag::{Diagnostic, Span};
use devices::devices;
pub use devices::operators;
use estimate::Estimate;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of switches on the paths of a reducer: all sets of them are tried.
const MOST_SWITCHES: usize = 12;

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
        let datasets = mapper.datasets.iter().map(|at| &job.datasets[*at]);
        let data = datasets.filter_map(|data| Some((data.host.as_ref()?, data.span))).next();
        let own = mapper.at.as_ref().map(|at| (&at.value, at.span));
        let Some((name, span)) = own.or(data) else {
            let title = format!("the data of `{}` has no host", mapper.name.value);
            let problem = Diagnostic::error(codes::JOB_SETTING, title).at(mapper.name.span, "");
            problems.push(problem.help("write it: `\"10.0.1.1:/data/part1\"`"));
            continue;
        };
        match host(topology, name, span, "the mapper") {
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
    // Parents stand last: only their number is kept.
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
