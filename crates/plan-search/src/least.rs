//! Minimum effects and use of regions over all choices.

use crate::Measure;
use crate::equal::{EqualDevices, Slot};
use crate::price::{Distances, NEVER};
use crate::problem::{Arc, Offer, Problem};
use crate::remaining::most_used;
use crate::route;
use plan_model::Change;

/// A whole device.
pub const WHOLE: i64 = 1_000_000;

/// Rates at least, if regions run only on some classes.
#[derive(Default)]
pub struct LeastRates {
    /// Minimum rate after each region, on the path on which the rate is largest.
    pub after: Vec<i64>,
    /// Minimum rate of the stream over each edge.
    pub flow: Vec<i64>,
    /// True if all changes of the rate are factors, so that loads are proportional to the rate.
    pub is_linear: bool,
}

impl LeastRates {
    /// `may_run` says whether a region may run on a class.
    pub fn new(problem: &Problem, may_run: &dyn Fn(usize, usize) -> bool) -> LeastRates {
        let mut least = LeastRates {
            after: vec![0; problem.nodes.len()],
            flow: vec![0; problem.arcs.len()],
            is_linear: true,
        };
        let Some(rate) = problem.roles.rate else { return least };
        for &node in &problem.order {
            let region = &problem.nodes[node];
            let before = region.into.iter().map(|arc| least.after[problem.arcs[*arc].from]).max();
            let before = before.unwrap_or(region.start[rate].1);
            let offers = problem.offers[node].iter().enumerate().filter(|(class, _)| may_run(node, *class));
            let offers = offers.filter_map(|(_, offer)| offer.as_ref().ok());
            let change = |offer: &Offer| {
                let needs = offer.needs.iter().flat_map(|(_, derivations)| derivations);
                let is_factor =
                    |(var, change): &(usize, Change)| *var != rate || matches!(change, Change::Multiply(_));
                (shrunk(offer, rate, before), needs.flat_map(|d| &d.path).all(is_factor))
            };
            let changed: Vec<(i64, bool)> = offers.map(change).collect();
            least.after[node] = changed.iter().map(|(after, _)| *after).min().unwrap_or(before);
            least.is_linear &= changed.iter().all(|(_, is_linear)| *is_linear);
        }
        for (flow, arc) in least.flow.iter_mut().zip(&problem.arcs) {
            *flow = arc.share.of(least.after[arc.from]);
        }
        least
    }
}

/// Minimum rate after a region, on the path on which the rate is largest.
fn shrunk(offer: &Offer, rate: usize, before: i64) -> i64 {
    let through = |value: i64, need: &usize| {
        let changed = |d: &crate::Derivation| {
            let changes = d.path.iter().filter(|(var, _)| *var == rate);
            changes.fold(value, |value, (_, change)| change.of(value))
        };
        offer.needs[*need].1.iter().map(changed).min().unwrap_or(value)
    };
    offer.paths.iter().map(|path| path.iter().fold(before, through)).max().unwrap_or(before)
}

/// If each device of the class has one link: largest rates that one device receives in all, receives over its link, and
/// sends.
pub fn ports(problem: &Problem, equal: &EqualDevices, class: usize) -> Option<[i64; 3]> {
    let mut most = [0i64; 3];
    for device in (0..problem.class.len()).filter(|d| problem.class[*d] == class) {
        let links = problem.network.hops.iter().filter(|hop| hop.from == device).count();
        // With transit traffic, or a choice of links, the load of a port does not follow from the regions on the device.
        if problem.model.devices[device].forwards || links != 1 {
            return None;
        }
        let mut own = [i64::MAX; 3];
        for (slot, capacity) in equal.slot.iter().zip(&problem.network.capacities) {
            if let Slot::Private(of, place) = slot
                && *of == device
                && *place < own.len()
            {
                own[*place] = capacity.limit;
            }
        }
        most.iter_mut().zip(own).for_each(|(most, own)| *most = (*most).max(own));
    }
    Some(most)
}

/// Whether every region's use of the variable on the class is the same for all choices.
pub fn is_certain(problem: &Problem, class: usize, var: usize) -> bool {
    let offers = problem.offers.iter().filter_map(|offers| offers[class].as_ref().ok());
    let mut pairs = offers.map(|offer| (least_used(offer, var), most_used(offer, var + 1)[var]));
    pairs.all(|(least, most)| least == most)
}

/// Minimum growth of a variable from group to group; `leaders` is by group.
pub fn distances(problem: &Problem, equal: &EqualDevices, leaders: &[usize], var: usize) -> Distances {
    let roles = &problem.roles;
    let hops = &problem.network.hops;
    let distance = |route: &[usize]| match Some(var) {
        v if v == roles.latency => route.iter().map(|hop| hops[*hop].delay).fold(0, i64::saturating_add),
        v if v == roles.hops => route.len() as i64 * 1_000_000,
        _ => 0,
    };
    let mut between = vec![];
    for (group, from) in leaders.iter().enumerate() {
        for to in leaders {
            // Within a group: to another device of it.
            let other = || (0..equal.group.len()).find(|d| equal.group[*d] == group && d != from);
            let to = if from == to { other() } else { Some(*to) };
            let routes = to.map(|to| problem.network.routes(*from, to));
            between.push(
                routes.iter().flat_map(|r| r.iter()).map(|route| distance(route)).min().unwrap_or(NEVER),
            );
        }
    }
    let leave = |arc: &Arc, from: usize| {
        let mut added = vec![(0, 0); problem.scopes.path.len()];
        route::leave(roles, arc, &problem.model.devices[from], &mut added);
        added[var].1
    };
    let leaves = problem.arcs.iter().map(|arc| leaders.iter().map(|from| leave(arc, *from)).collect());
    Distances::new(leaders.len(), between, leaves.collect())
}

/// For each region and class a list; empty where the region cannot run.
pub fn per_offer(problem: &Problem, of: impl Fn(usize, &Offer) -> Vec<i64>) -> Vec<Vec<Vec<i64>>> {
    let row = |node: &Vec<Result<Offer, _>>| {
        node.iter().enumerate().map(|(class, o)| o.as_ref().map_or(vec![], |o| of(class, o))).collect()
    };
    problem.offers.iter().map(row).collect()
}

/// Minimum use of a device variable by a region.
pub fn least_used(offer: &Offer, var: usize) -> i64 {
    let of = |list: &[(usize, i64)]| list.iter().find(|(at, _)| *at == var).map_or(0, |(_, v)| *v);
    let needs = offer.needs.iter().map(|(_, all)| all.iter().map(|d| of(&d.adds)).min().unwrap_or(0));
    needs.fold(0, i64::saturating_add)
}

/// A part of a whole in millionths, rounded down; zero of an unlimited whole.
pub fn fraction(part: i64, whole: i64) -> i64 {
    match whole {
        0 | i64::MAX => 0,
        _ => (i128::from(part.max(0)) * i128::from(WHOLE) / i128::from(whole)).min(i128::from(WHOLE)) as i64,
    }
}

/// Minimum growth of an objective by region and class; `None` if rules can reduce it.
pub fn grows(problem: &Problem, measure: &Measure) -> Option<Vec<Vec<i64>>> {
    let Measure::Worst(var) = measure else { return None };
    let added = |derivation: &crate::Derivation| -> Option<i64> {
        let mut sum = 0i64;
        for (_, change) in derivation.path.iter().filter(|(at, _)| at == var) {
            match change {
                Change::Add(more) if *more >= 0 => sum = sum.saturating_add(*more),
                // The value is not negative (see below), so such a factor adds zero at least.
                Change::Multiply(factor) if *factor >= plan_model::Factor::ONE => {}
                _ => return None,
            }
        }
        Some(sum)
    };
    // A factor above one would reduce a negative value.
    if problem.nodes.iter().any(|node| node.start[*var].0 < 0) {
        return None;
    }
    let mut all = vec![];
    for offers in &problem.offers {
        let mut row = vec![];
        for offer in offers {
            let Ok(offer) = offer else {
                row.push(NEVER);
                continue;
            };
            let mut least = vec![];
            for (_, derivations) in &offer.needs {
                let grown: Option<Vec<i64>> = derivations.iter().map(added).collect();
                least.push(grown?.into_iter().min().unwrap_or(0));
            }
            let path = |path: &Vec<usize>| path.iter().map(|need| least[*need]).fold(0, i64::saturating_add);
            row.push(offer.paths.iter().map(path).max().unwrap_or(0));
        }
        all.push(row);
    }
    Some(all)
}

/// For each region, the first level at which all its successors are placed.
pub fn followed(problem: &Problem) -> Vec<usize> {
    let mut followed = vec![0; problem.nodes.len()];
    for (at, node) in problem.order.iter().enumerate() {
        for arc in &problem.nodes[*node].into {
            followed[problem.arcs[*arc].from] = at + 1;
        }
    }
    followed
}
