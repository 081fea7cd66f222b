//! Plans of flows, as text and JSON.

use app_allocation::{ONE, WHOLE};
use rack_model::Rack;
use rack_plan::{ChipFit, FlowPlan};
use serde_json::{Value, json};

/// The JSON of `p4rack plan`. Shares are of 1, times in picoseconds.
pub(super) fn json(rack: &Rack, plans: &[FlowPlan]) -> Value {
    json!({ "ok": true, "flow_plans": plans.iter().map(|plan| one(rack, plan)).collect::<Vec<_>>() })
}

fn one(rack: &Rack, plan: &FlowPlan) -> Value {
    let part = |value: u64, of: u64| value as f64 / of as f64;
    let class = |class: usize| &plan.problem.problem.classes[class].name;
    let apps = plan.problem.problem.apps.iter().zip(&plan.allocation.apps).zip(&plan.problem.handover_bytes);
    let apps = apps.map(|((app, own), handover)| {
        json!({
            "app": app.name,
            "flows": own.flows,
            "all_flows": app.flows.flows(),
            "share_at_switch": part(own.share, ONE),
            "latency_ps": own.latency,
            "helpers": own.home.map(class),
            "handover_bytes": { "to_helpers": handover[0], "back": handover[1] },
        })
    });
    let used = plan.allocation.used.iter().filter(|used| used.capacity != u64::MAX);
    let used = used.map(
        |used| json!({ "row": plan.row(rack, used.limit), "used": used.used, "capacity": used.capacity }),
    );
    let gains = plan.margins.iter().map(|margin| {
        json!({ "more": plan.more(rack, margin), "latency_ps": margin.latency, "throughput": part(margin.throughput, WHOLE) })
    });
    let throughput = plan.allocation.throughput.iter().enumerate();
    json!({
        "switch": rack.devices[plan.problem.origin.0 as usize].name.value,
        "latency_ps": plan.allocation.latency,
        "least_latency_ps": plan.allocation.least_latency,
        "is_optimal": plan.allocation.is_optimal,
        "apps": apps.collect::<Vec<_>>(),
        "used": used.collect::<Vec<_>>(),
        "throughput": throughput.map(|(at, part_of)| json!({ "helpers": class(at), "part": part(*part_of, WHOLE) })).collect::<Vec<_>>(),
        "margins": gains.collect::<Vec<_>>(),
        "fit": fit(&plan.fit),
    })
}

/// `null` if the part of the switch was not placed.
fn fit(fit: &ChipFit) -> Value {
    match fit {
        ChipFit::Unknown => Value::Null,
        ChipFit::Fits => json!({ "fits": true }),
        ChipFit::Tightened { of, fails, why } => {
            json!({ "fits": true, "of_blocks": of, "fails_with": fails, "why": why })
        }
        ChipFit::Never(why) => json!({ "fits": false, "why": why }),
    }
}
