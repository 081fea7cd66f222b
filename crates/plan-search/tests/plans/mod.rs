//! All plans in the search's own terms, with its proofs and routes.

use plan_search::{Plan, Problem};
use std::rc::Rc;

/// Calls `f` with every plan: each region on each device, by each proof, over each route. False if there are too many.
pub fn every_plan(problem: &Problem, f: &mut dyn FnMut(&Plan)) -> bool {
    let nodes = problem.nodes.len();
    let mut budget = 30_000u32;
    let mut devices = vec![0; nodes];
    loop {
        let offered = (0..nodes).all(|n| problem.offer(n, devices[n]).is_some());
        if offered && !every_choice(problem, &devices, f, &mut budget) {
            return false;
        }
        if !step(&mut devices, |_| problem.model.devices.len()) {
            return true;
        }
    }
}

/// The next one in counting order.
fn step(digits: &mut [usize], base: impl Fn(usize) -> usize) -> bool {
    for (at, digit) in digits.iter_mut().enumerate() {
        *digit += 1;
        if *digit < base(at) {
            return true;
        }
        *digit = 0;
    }
    false
}

fn every_choice(problem: &Problem, devices: &[usize], f: &mut dyn FnMut(&Plan), budget: &mut u32) -> bool {
    let routes: Vec<_> =
        problem.arcs.iter().map(|arc| problem.network.routes(devices[arc.from], devices[arc.to])).collect();
    if routes.iter().any(|routes| routes.is_empty()) {
        return true;
    }
    let needs: Vec<(usize, usize)> = (0..problem.nodes.len())
        .flat_map(|n| problem.offer(n, devices[n]).unwrap().needs.iter().map(move |(_, all)| (n, all.len())))
        .collect();
    let mut digits = vec![0; needs.len() + routes.len()];
    loop {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        let picks = |node: usize| -> Rc<[u16]> {
            needs.iter().zip(&digits).filter(|((n, _), _)| *n == node).map(|(_, pick)| *pick as u16).collect()
        };
        let plan = Plan {
            device: devices.to_vec(),
            picks: (0..problem.nodes.len()).map(picks).collect(),
            routes: routes
                .iter()
                .zip(&digits[needs.len()..])
                .map(|(routes, at)| routes[*at].clone())
                .collect(),
        };
        f(&plan);
        let base =
            |at: usize| needs.get(at).map_or_else(|| routes[at - needs.len()].len(), |(_, count)| *count);
        if !step(&mut digits, base) {
            return true;
        }
    }
}
