//! A whole plan, judged by the definition alone: what it costs, and which bounds it does not keep.
//!
//! The search keeps sums as it goes; this goes over the plan once more from the start. Tests compare the two, and what is
//! explained to people comes from here.

use crate::Measure;
use crate::outcome;
use crate::problem::Problem;
use crate::route::{self, CapacityOf, Route};
use crate::state::{self, State};
use plan_model::{Factor, Prop};
use std::rc::Rc;

/// A complete plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Device of each region.
    pub device: Vec<usize>,
    /// Index of the derivation chosen for each need, by region.
    pub picks: Vec<Rc<[u16]>>,
    /// Route of each edge.
    pub routes: Vec<Route>,
}

/// A plan's costs and what led to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// Cost by objective; less is better.
    pub cost: Vec<i64>,
    /// States before and after each region.
    pub states: Vec<(State, State)>,
    /// Use, by device and device variable.
    pub used: Vec<Vec<i64>>,
    /// Charges, by device and charge.
    pub charged: Vec<Vec<i64>>,
    /// Loads, by capacity.
    pub loads: Vec<i64>,
    /// Violated constraints.
    pub violations: Vec<Violation>,
}

/// Something that a plan does not keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The region may not run on the device.
    NotAllowed {
        /// The region.
        node: usize,
    },
    /// No derivation of the region's need on the device.
    NotOffered {
        /// The region.
        node: usize,
        /// Propositions that cannot be proved.
        missing: Vec<Prop>,
    },
    /// A derivation cannot be used in the state, or there is a tighter one.
    NotUsable {
        /// The region.
        node: usize,
        /// Index of the need.
        need: usize,
    },
    /// Packets cannot pass a link, because of their size or what its ports ask.
    CannotPass {
        /// The edge.
        arc: usize,
        /// The link.
        hop: usize,
    },
    /// The use of a device exceeds its limit.
    Exceeded {
        /// The device.
        device: usize,
        /// The device variable, by place.
        var: usize,
    },
    /// The load of a capacity exceeds it.
    Overloaded {
        /// The capacity.
        capacity: usize,
    },
    /// Regions of a group run on several devices.
    Apart {
        /// One of the regions.
        node: usize,
    },
    /// The placement is refused.
    Refused,
    /// A device runs more than one region.
    Crowded {
        /// The device.
        device: usize,
    },
}

/// Checks a plan. Returns `None` if the plan does not belong to the problem: wrong lengths, picks that do not exist, routes to other devices.
pub fn judge(problem: &Problem, plan: &Plan) -> Option<Judged> {
    let nodes = problem.nodes.len();
    let lengths = [plan.device.len() == nodes, plan.picks.len() == nodes];
    if lengths.contains(&false) || plan.routes.len() != problem.arcs.len() {
        return None;
    }
    let devices = problem.model.devices.len();
    let mut judged = Judged {
        cost: vec![],
        states: problem.nodes.iter().map(|n| (n.start.clone(), n.start.clone())).collect(),
        used: vec![vec![0; problem.scopes.device.len()]; devices],
        charged: vec![vec![0; problem.scopes.once.len()]; devices],
        loads: vec![0; problem.network.capacities.len()],
        violations: vec![],
    };
    let mut runs = vec![0usize; devices];
    // In topological order: `arrive` reads the states after earlier regions.
    for &node in &problem.order {
        let device = *plan.device.get(node).filter(|d| **d < devices)?;
        runs[device] += 1;
        let before = arrive(problem, plan, node, &mut judged)?;
        let after = execute(problem, plan, node, &before, &mut judged)?;
        judged.states[node] = (before, after);
    }
    for (device, runs) in runs.iter().enumerate() {
        if problem.is_single[device] && *runs > 1 {
            judged.violations.push(Violation::Crowded { device });
        }
        for (var, used) in judged.used[device].iter().enumerate() {
            if *used > problem.limits[device][var] {
                judged.violations.push(Violation::Exceeded { device, var });
            }
        }
    }
    for (capacity, known) in problem.network.capacities.iter().enumerate() {
        if judged.loads[capacity] > known.limit {
            judged.violations.push(Violation::Overloaded { capacity });
        }
    }
    if problem.settings.refused.contains(&plan.device) {
        judged.violations.push(Violation::Refused);
    }
    judged.cost =
        problem.settings.objectives.iter().map(|o| measure(problem, &o.measure, &judged, &runs)).collect();
    Some(judged)
}

/// Packets in front of a region: through all edges that lead to it.
fn arrive(problem: &Problem, plan: &Plan, node: usize, judged: &mut Judged) -> Option<State> {
    let mut joined: Option<State> = None;
    let mut loads = vec![];
    let network = &problem.network;
    if problem.nodes[node].into.is_empty() {
        let frames = route::frames_of(&problem.roles, Factor::ONE, &problem.nodes[node].start);
        network.add_frames(plan.device[node], frames, 1, &mut loads);
    }
    for &arc in &problem.nodes[node].into {
        let edge = &problem.arcs[arc];
        let (mut at, target) = (plan.device[edge.from], plan.device[node]);
        let mut values = judged.states[edge.from].1.to_vec();
        if at != target {
            // Passes through the sender's traffic manager come before the links, which see the values after them
            // (docs/planning.md, Hand-overs).
            let leaves = &problem.model.devices[at];
            route::leave(&problem.roles, edge, leaves, &mut values);
            if leaves.recirculates {
                let frames = route::frames_of(&problem.roles, edge.share, &values);
                network.add_frames(at, frames, edge.passes, &mut loads);
            }
        }
        for &hop in plan.routes[arc].iter() {
            let link = network.hops.get(hop).filter(|link| link.from == at)?;
            match route::cross(link, &problem.roles, edge, &mut values) {
                Some(load) => network.add_hop(link, &load, &mut loads),
                None => judged.violations.push(Violation::CannotPass { arc, hop }),
            }
            at = link.to;
        }
        if at != target {
            return None;
        }
        let values: State = values.into();
        joined = Some(joined.map_or(values.clone(), |other| state::join(&other, &values)));
    }
    for (capacity, load) in loads {
        judged.loads[capacity] = judged.loads[capacity].saturating_add(load);
    }
    Some(joined.unwrap_or_else(|| problem.nodes[node].start.clone()))
}

/// State of packets after a region, with the use and charges of its device.
fn execute(
    problem: &Problem,
    plan: &Plan,
    node: usize,
    before: &State,
    judged: &mut Judged,
) -> Option<State> {
    let (region, device) = (&problem.nodes[node], plan.device[node]);
    if !region.on.contains(&device) {
        judged.violations.push(Violation::NotAllowed { node });
    }
    if region.together.iter().any(|other| plan.device[*other] != device) {
        judged.violations.push(Violation::Apart { node });
    }
    let offer = match &problem.offers[node][problem.class[device]] {
        Ok(offer) => offer,
        Err(missing) => {
            judged.violations.push(Violation::NotOffered { node, missing: missing.clone() });
            return Some(before.clone());
        }
    };
    // A once variable counts the largest charge on the device, its own included (docs/planning.md, Effects on devices).
    let charged = &mut judged.charged[device];
    problem.charges[device].iter().for_each(|(at, value)| charged[*at] = charged[*at].max(*value));
    if plan.picks[node].len() != offer.needs.len() {
        return None;
    }
    for (need, (_, derivations)) in offer.needs.iter().enumerate() {
        let pick = plan.picks[node][need];
        let derivation = derivations.get(usize::from(pick))?;
        let usable = outcome::usable(derivations, before, region.share, problem);
        if !usable.iter().any(|(known, _)| *known == pick) {
            judged.violations.push(Violation::NotUsable { node, need });
        }
        for (at, value) in &derivation.once {
            charged[*at] = charged[*at].max(*value);
        }
        for (at, value) in &derivation.adds {
            judged.used[device][*at] = judged.used[device][*at].saturating_add(*value);
        }
    }
    Some(outcome::after(offer, before, &plan.picks[node]))
}

fn measure(problem: &Problem, measure: &Measure, judged: &Judged, runs: &[usize]) -> i64 {
    let ends = || {
        let is_end = |n: &usize| problem.nodes[*n].out.is_empty();
        (0..problem.nodes.len()).filter(is_end).map(|n| &judged.states[n].1)
    };
    let sum = |values: &mut dyn Iterator<Item = i64>| values.fold(0i64, i64::saturating_add);
    match measure {
        Measure::Worst(var) => ends().map(|state| state[*var].1).max().unwrap_or(0),
        Measure::Least(var) => ends().map(|state| state[*var].0).min().unwrap_or(0).saturating_neg(),
        Measure::Charges(at) => sum(&mut judged.charged.iter().map(|charged| charged[*at])),
        Measure::Used(places) => {
            sum(&mut judged.used.iter().flat_map(|used| places.iter().map(|place| used[*place])))
        }
        Measure::Devices => runs.iter().filter(|count| **count > 0).count() as i64,
    }
}

/// Subject of a capacity, for people.
pub fn capacity_name(problem: &Problem, capacity: usize) -> String {
    let capacity = &problem.network.capacities[capacity];
    match capacity.of {
        CapacityOf::Device(device) => format!("device `{}`", problem.device_name(device)),
        CapacityOf::Frames(device) => format!("frames into `{}`", problem.device_name(device)),
        CapacityOf::Hop(hop) | CapacityOf::Ports(hop) => {
            let of = if capacity.of == CapacityOf::Hop(hop) { "link" } else { "ports" };
            let hop = &problem.network.hops[hop];
            format!("the {of} from `{}` to `{}`", problem.device_name(hop.from), problem.device_name(hop.to))
        }
    }
}
