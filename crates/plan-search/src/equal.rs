//! Equal devices: what can be exchanged for each other in every plan.
//!
//! Two devices that pass nothing on, with the same class, limits, bounds and links to the same neighbours, differ in nothing but
//! their names. The search tries one of those that are in the same condition, and compares plans up to their exchange.

use crate::problem::Problem;
use crate::route::{CapacityOf, Load};

/// Groups of equal devices, and where the capacities' loads are kept.
pub struct EqualDevices {
    /// Group of each device; equal devices have the same number.
    pub group: Vec<usize>,
    /// The first device of each group.
    pub leaders: Vec<usize>,
    /// Slot of the load of each capacity.
    pub slot: Vec<Slot>,
    /// Maximum number of loads that belong to one device.
    pub private: usize,
    /// Number of loads that belong to no device.
    pub global: usize,
}

/// Place of a capacity's load in labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The load is not stored, because all traffic together is less than the capacity.
    Free,
    /// Among the loads of a device, at the same position for equal devices.
    Private(usize, usize),
    /// Among the loads that belong to no device.
    Global(usize),
}

impl EqualDevices {
    /// The equal devices of a problem. `most` is an upper bound on the load of all traffic together.
    pub fn new(problem: &Problem, most: &Load) -> EqualDevices {
        let model = &problem.model;
        let devices = model.devices.len();
        let links = |device: usize| {
            let mut links: Vec<_> = (0..problem.network.hops.len() / 2)
                .filter_map(|link| link_of(problem, device, link))
                .collect();
            // Equal devices have equal lists, whatever the order of their links in the model.
            links.sort();
            links
        };
        let keys: Vec<_> = (0..devices)
            .map(|d| {
                let on: Vec<usize> =
                    (0..problem.nodes.len()).filter(|n| problem.nodes[*n].on.contains(&d)).collect();
                let own = [CapacityOf::Device(d), CapacityOf::Frames(d)].map(|of| limit(problem, of));
                let ends: Vec<_> = links(d).into_iter().map(|(what, _)| what).collect();
                let refused = problem.settings.refused.iter().enumerate().flat_map(|(set, placement)| {
                    let runs_here = (0..placement.len()).filter(move |node| placement[*node] == d);
                    runs_here.map(move |node| (set, node))
                });
                let refused: Vec<_> = refused.collect();
                let passes = (model.devices[d].recirculates, model.devices[d].transit);
                (
                    problem.class[d],
                    problem.limits[d].clone(),
                    problem.is_single[d],
                    own,
                    (on, refused),
                    ends,
                    passes,
                )
            })
            .collect();
        let mut leaders: Vec<usize> = vec![];
        let mut group = vec![0; devices];
        for device in 0..devices {
            let is_leaf = !problem.model.devices[device].forwards;
            let known = leaders.iter().position(|leader| {
                // A device that forwards lies on paths of others: exchanging two would change these paths.
                is_leaf && !problem.model.devices[*leader].forwards && keys[*leader] == keys[device]
            });
            group[device] = known.unwrap_or_else(|| {
                leaders.push(device);
                leaders.len() - 1
            });
        }
        let mut equal = EqualDevices { group, leaders, slot: vec![], private: 0, global: 0 };
        for (at, capacity) in problem.network.capacities.iter().enumerate() {
            let slot = match owner(problem, at, &links) {
                _ if capacity.limit >= most[capacity.kind as usize] => Slot::Free,
                Some((device, place)) => {
                    equal.private = equal.private.max(place + 1);
                    Slot::Private(device, place)
                }
                None => {
                    equal.global += 1;
                    Slot::Global(equal.global - 1)
                }
            };
            equal.slot.push(slot);
        }
        equal
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.leaders.len()
    }
}

/// A leaf with one link: its neighbour, and all that distinguishes it from others of its class but for that neighbour and the regions it may run.
pub fn but_for_place(problem: &Problem, device: usize) -> Option<(usize, Alike)> {
    let model = &problem.model.devices[device];
    let mut links = (0..problem.network.hops.len() / 2).filter_map(|link| link_of(problem, device, link));
    let (((neighbour, figures), _), None) = (links.next()?, links.next()) else { return None };
    let own = [CapacityOf::Device(device), CapacityOf::Frames(device)].map(|of| limit(problem, of));
    let passes = (model.recirculates, model.transit);
    let alike = (problem.limits[device].clone(), problem.is_single[device], own, figures, passes);
    (!model.forwards).then_some((neighbour, alike))
}

/// Limits; whether it runs one region; what it receives; its link's figures; recirculation.
type Alike = (Vec<i64>, bool, [Option<i64>; 2], [HopKey; 2], (bool, i64));

/// Identity of a device's link: the neighbour, and its figures in both directions.
type LinkKey = (usize, [HopKey; 2]);

/// Delay, rate and longest packet; overhead and padding; bounds; the most that link and ports bear.
type HopKey = ((i64, Option<i64>, Option<i64>), (i64, i64), Vec<(usize, i64, i64)>, [Option<i64>; 2]);

/// Limit of a capacity, if there is one.
fn limit(problem: &Problem, of: CapacityOf) -> Option<i64> {
    problem.network.capacities.iter().find(|capacity| capacity.of == of).map(|capacity| capacity.limit)
}

fn link_of(problem: &Problem, device: usize, link: usize) -> Option<(LinkKey, usize)> {
    let hops = &problem.network.hops;
    let (there, back) = (2 * link, 2 * link + 1);
    let (out, into) = match device {
        d if hops[there].from == d => (there, back),
        d if hops[back].from == d => (back, there),
        _ => return None,
    };
    let figures = |hop: usize| {
        let own = [CapacityOf::Hop(hop), CapacityOf::Ports(hop)].map(|of| limit(problem, of));
        let hop = &hops[hop];
        let sent = (hop.delay, hop.rate, hop.longest);
        (sent, (hop.overhead, hop.shortest), hop.admits.0.clone(), own)
    };
    Some(((hops[out].to, [figures(out), figures(into)]), out))
}

/// The leaf to which a capacity belongs, and its position there: everything received, then each link in both directions, the frames received,
/// then the ports of each link.
fn owner(
    problem: &Problem,
    capacity: usize,
    links: &dyn Fn(usize) -> Vec<(LinkKey, usize)>,
) -> Option<(usize, usize)> {
    let is_leaf = |d: usize| !problem.model.devices[d].forwards;
    let of = problem.network.capacities[capacity].of;
    match of {
        CapacityOf::Device(device) => is_leaf(device).then_some((device, 0)),
        CapacityOf::Frames(device) => is_leaf(device).then(|| (device, 1 + 2 * links(device).len())),
        CapacityOf::Hop(hop) | CapacityOf::Ports(hop) => {
            let ends = &problem.network.hops[hop];
            let leaf = match (is_leaf(ends.from), is_leaf(ends.to)) {
                (true, false) => ends.from,
                (false, true) => ends.to,
                _ => return None,
            };
            let at = links(leaf).iter().position(|(_, out)| out / 2 == hop / 2)?;
            let first = if of == CapacityOf::Hop(hop) { 1 } else { 2 + 2 * links(leaf).len() };
            Some((leaf, first + 2 * at + usize::from(ends.from == leaf)))
        }
    }
}
