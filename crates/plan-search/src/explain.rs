//! A plan in words: where everything runs, by which rules, and what each step adds.

use crate::derive::Proof;
use crate::judge::{Judged, Plan, capacity_name};
use crate::problem::Problem;
use crate::route::{Capacity, Kind};
use plan_model::print_rule;
use std::fmt::Write;

/// The whole plan, region by region: the path to it, packets in front of it, the derivations, packets after it; then devices and loads.
pub fn explain(problem: &Problem, plan: &Plan, judged: &Judged) -> String {
    let mut out = String::new();
    for &node in &problem.order {
        let device = plan.device[node];
        let _ = writeln!(out, "{} on {}", problem.region_name(node), problem.device_name(device));
        for &arc in &problem.nodes[node].into {
            let edge = &problem.arcs[arc];
            let hops = plan.routes[arc].iter().map(|hop| problem.device_name(problem.network.hops[*hop].to));
            let path: Vec<&str> =
                [problem.device_name(plan.device[edge.from])].into_iter().chain(hops).collect();
            let from = problem.region_name(edge.from);
            if path.len() > 1 {
                let _ =
                    writeln!(out, "    from {from}: {} ({} bits handed over)", path.join(" -> "), edge.bits);
            }
        }
        let (before, after) = &judged.states[node];
        let _ = writeln!(out, "    packets before: {}", values(problem, before));
        if let Some(offer) = problem.offer(node, device) {
            for ((_, all), pick) in offer.needs.iter().zip(plan.picks[node].iter()) {
                if let Some(derivation) = all.get(usize::from(*pick)) {
                    proof(&mut out, problem, &derivation.proof, 4);
                }
            }
        }
        if before != after {
            let _ = writeln!(out, "    packets after:  {}", values(problem, after));
        }
    }
    for (device, (used, charged)) in judged.used.iter().zip(&judged.charged).enumerate() {
        let signature = &problem.model.signature;
        let used =
            used.iter().zip(&problem.scopes.device).filter(|(value, _)| **value > 0).map(|(value, var)| {
                let limit = problem.limits[device][problem.scopes.place(*var).1];
                let of = if limit < i64::MAX {
                    format!(" of {}", signature.show(*var, limit))
                } else {
                    String::new()
                };
                format!("{} {}{of}", signature.get(*var).name, signature.show(*var, *value))
            });
        let charged = charged.iter().zip(&problem.scopes.once).filter(|(value, _)| **value > 0);
        let charged = charged
            .map(|(value, var)| format!("{} {}", signature.get(*var).name, signature.show(*var, *value)));
        let all: Vec<String> = charged.chain(used).collect();
        if !all.is_empty() {
            let _ = writeln!(out, "{}: {}", problem.device_name(device), all.join(", "));
        }
    }
    if let Some(rate) = problem.roles.rate {
        for (at, load) in judged.loads.iter().enumerate().filter(|(_, load)| **load > 0) {
            let Capacity { limit, kind, .. } = problem.network.capacities[at];
            let show = |value| match kind {
                Kind::Frames => format!("{}/s", value / 1000),
                Kind::Bits | Kind::Wire => problem.model.signature.show(problem.scopes.path[rate], value),
            };
            let _ = writeln!(out, "{}: {} of {}", capacity_name(problem, at), show(*load), show(limit));
        }
    }
    out
}

/// `Latency 6.44us, Rate 1.9Gbit/s..2Gbit/s`
fn values(problem: &Problem, state: &[(i64, i64)]) -> String {
    let signature = &problem.model.signature;
    let value = |((low, high), var): (&(i64, i64), &plan_model::VarId)| {
        let (least, most) = (signature.show(*var, *low), signature.show(*var, *high));
        let range = if low == high { least } else { format!("{least}..{most}") };
        format!("{} {range}", signature.get(*var).name)
    };
    state.iter().zip(&problem.scopes.path).map(value).collect::<Vec<_>>().join(", ")
}

fn proof(out: &mut String, problem: &Problem, tree: &Proof, indent: usize) {
    let pad = " ".repeat(indent);
    match tree.by {
        None => {
            let _ = writeln!(out, "{pad}{} holds on the device", tree.prop);
        }
        Some(rule) => {
            let text = print_rule(&problem.model.signature, &problem.model.rules[rule]);
            let _ = writeln!(out, "{pad}{text}");
        }
    }
    // The rule already names the properties that the device provides.
    tree.of.iter().filter(|of| of.by.is_some()).for_each(|of| proof(out, problem, of, indent + 2));
}
