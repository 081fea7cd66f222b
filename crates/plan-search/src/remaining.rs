//! Maximum use by the regions that are not placed yet.
//!
//! If 100 % of an FPGA suffices for everything that may come, it does not matter whether 10 or 20 % are used: values
//! below a *floor* count as equal.

use crate::equal::{EqualDevices, Slot};
use crate::problem::{Offer, Problem};
use crate::route::{self, Load};
use plan_model::Change;

/// Floors by level; a level is the number of placed regions.
pub struct Remaining {
    /// Groups of equal devices that what follows can use or pass.
    pub groups: Vec<Vec<bool>>,
    /// Floors of capacities that belong to no device, by level and capacity.
    pub global_floor: Vec<Vec<i64>>,
    /// Floors of use, then of loads, by level and group.
    floors: Vec<Vec<Vec<i64>>>,
    group: Vec<usize>,
}

impl Remaining {
    /// The floors of the values of a device after its charges.
    pub fn floors(&self, level: usize, device: usize) -> &[i64] {
        &self.floors[level][self.group[device]]
    }

    /// Computes the floors in reverse order of the regions. `flows` are upper bounds on loads.
    pub fn new(problem: &Problem, equal: &EqualDevices, flows: &Flows) -> Remaining {
        let levels = problem.order.len() + 1;
        let leaders = &equal.leaders;
        let device_vars = problem.scopes.device.len();
        let mut groups = vec![vec![false; equal.groups()]; levels];
        let mut adds = vec![vec![vec![0i64; device_vars]; problem.classes]; levels];
        let mut load: Vec<Load> = vec![[0; 3]; levels];
        for level in (0..problem.order.len()).rev() {
            let node = problem.order[level];
            let region = &problem.nodes[node];
            groups[level] = groups[level + 1].clone();
            adds[level] = adds[level + 1].clone();
            region.on.iter().for_each(|device| groups[level][equal.group[*device]] = true);
            for (class, offer) in problem.offers[node].iter().enumerate() {
                let Ok(offer) = offer else { continue };
                for (sum, more) in adds[level][class].iter_mut().zip(most_used(offer, device_vars)) {
                    *sum = sum.saturating_add(more);
                }
            }
            load[level] = plus(&load[level + 1], &flows.starts[node]);
            for arc in &region.into {
                load[level] = plus(&load[level], &flows.edges[*arc]);
            }
        }
        // A packet that is handed over may pass every switch.
        for group in groups.iter_mut().filter(|group| group.contains(&true)) {
            for (at, leader) in leaders.iter().enumerate() {
                group[at] |= problem.model.devices[*leader].forwards;
            }
        }
        let slots = || problem.network.capacities.iter().zip(&equal.slot);
        let below =
            |limit: i64, more: i64| if limit == i64::MAX { i64::MAX } else { limit.saturating_sub(more) };
        let global_floor = (0..levels).map(|level| {
            let mut floor = vec![0; equal.global];
            for (capacity, slot) in slots() {
                if let Slot::Global(at) = slot {
                    floor[*at] = below(capacity.limit, load[level][capacity.kind as usize]);
                }
            }
            floor
        });
        let floors_of = |level: usize, leader: usize| {
            let limits = problem.limits[leader].iter().zip(&adds[level][problem.class[leader]]);
            let mut floors: Vec<i64> = limits.map(|(limit, more)| below(*limit, *more)).collect();
            floors.resize(device_vars + equal.private, i64::MAX);
            for (capacity, slot) in slots() {
                if let Slot::Private(device, place) = slot
                    && *device == leader
                {
                    floors[device_vars + place] = below(capacity.limit, load[level][capacity.kind as usize]);
                }
            }
            floors
        };
        let floors =
            (0..levels).map(|level| leaders.iter().map(|leader| floors_of(level, *leader)).collect());
        Remaining {
            groups,
            global_floor: global_floor.collect(),
            floors: floors.collect(),
            group: equal.group.clone(),
        }
    }
}

/// Maximum use of a region over all choices, by device variable.
pub fn most_used(offer: &Offer, vars: usize) -> Vec<i64> {
    let mut most = vec![0i64; vars];
    for (_, derivations) in &offer.needs {
        for (var, sum) in most.iter_mut().enumerate() {
            let of = |d: &crate::Derivation| d.adds.iter().find(|(at, _)| *at == var).map_or(0, |(_, v)| *v);
            *sum = sum.saturating_add(derivations.iter().map(of).max().unwrap_or(0));
        }
    }
    most
}

/// Loads at most; `i64::MAX` where nothing is known.
pub struct Flows {
    /// Maximum load of a hand-over on one link or device, by edge.
    edges: Vec<Load>,
    /// Maximum load of frames from outside, by region.
    starts: Vec<Load>,
}

impl Flows {
    /// All traffic together.
    pub fn sum(&self) -> Load {
        self.edges.iter().chain(&self.starts).fold([0; 3], |sum, load| plus(&sum, load))
    }
}

fn plus(a: &Load, b: &Load) -> Load {
    std::array::from_fn(|kind| a[kind].saturating_add(b[kind]))
}

/// The loads that there are at most in a problem.
pub fn flows(problem: &Problem) -> Flows {
    let none =
        || Flows { edges: vec![[0; 3]; problem.arcs.len()], starts: vec![[0; 3]; problem.nodes.len()] };
    let Some(rate) = problem.roles.rate else { return none() };
    let mut least_size = i64::MAX;
    let mut after = vec![0i64; problem.nodes.len()];
    let mut flows = none();
    for &node in &problem.order {
        let region = &problem.nodes[node];
        let before = region.into.iter().map(|arc| after[problem.arcs[*arc].from]).max();
        let before = before.unwrap_or(region.start[rate].1);
        if let Some(size) = problem.roles.size {
            least_size = least_size.min(region.start[size].0);
        }
        let offers = || problem.offers[node].iter().flatten();
        after[node] = offers().map(|offer| grown(offer, rate, before)).max().unwrap_or(before).max(before);
        if let Some(size) = problem.roles.size
            && offers()
                .flat_map(|o| &o.needs)
                .flat_map(|(_, d)| d)
                .any(|d| d.path.iter().any(|(var, _)| *var == size))
        {
            least_size = 0;
        }
    }
    // Factors are rounded one after the other, in an order that is not known here.
    let with_slack = |flow: i64| flow.saturating_add((flow >> 20) + 16);
    let hops = || problem.network.hops.iter();
    let shortest = hops().map(|hop| hop.shortest).max().unwrap_or(0);
    let overhead = hops().map(|hop| hop.overhead).max().unwrap_or(0);
    let size = problem.roles.size.map(|_| least_size);
    for (at, arc) in problem.arcs.iter().enumerate() {
        let rate = arc.share.of(after[arc.from]);
        let carried = arc.bits.saturating_mul(125);
        let is_grown = carried > 0 || shortest > 0 || overhead > 0 || problem.network.counts_frames();
        let load = match size {
            Some(..=0) if is_grown => [i64::MAX; 3],
            _ => route::load(rate, size, carried, shortest, overhead),
        };
        flows.edges[at] = load.map(with_slack);
        // A device that sends may have them pass more often.
        flows.edges[at][2] = flows.edges[at][2].saturating_mul(arc.passes.max(1));
    }
    for (node, region) in problem.nodes.iter().enumerate().filter(|(_, region)| region.into.is_empty()) {
        let frames = route::frames_of(&problem.roles, plan_model::Factor::ONE, &region.start);
        flows.starts[node] = [0, 0, with_slack(frames)];
    }
    flows
}

/// The most that a rate becomes after a region.
fn grown(offer: &Offer, rate: usize, before: i64) -> i64 {
    let mut value = before;
    for (_, derivations) in &offer.needs {
        let through = |d: &crate::Derivation| {
            let changes = d.path.iter().filter(|(var, _)| *var == rate);
            changes.fold(value, |value, (_, change)| match change {
                Change::Assign(new) => (*new).max(value),
                other => other.of(value).max(value),
            })
        };
        value = derivations.iter().map(through).max().unwrap_or(value);
    }
    value
}
