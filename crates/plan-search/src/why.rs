//! Why there is no plan: the constraints that prevent one, each with the smallest change that would let one exist.

use crate::goal::{Goal, Progress, Stop};
use crate::problem::{Problem, Settings};
use crate::search::search;
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use plan_model::{Factor, Model, Role, Scope, VarId};

/// A constraint without which there would be a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relaxation {
    /// Obstacle, with its number.
    pub constraint: String,
    /// Value that would suffice.
    pub enough: String,
}

/// Regions that no device can run at all, each with what is missing by device class.
pub fn impossible_regions(problem: &Problem) -> Vec<(usize, Vec<String>)> {
    let mut found = vec![];
    for (node, region) in problem.nodes.iter().enumerate() {
        let mut reasons: Vec<String> = vec![];
        for &device in &region.on {
            match &problem.offers[node][problem.class[device]] {
                Ok(_) => {
                    reasons.clear();
                    break;
                }
                Err(missing) => {
                    let missing: Vec<String> = missing.iter().map(|p| format!("`{p}`")).collect();
                    let class = problem.model.devices[device].provides.join("+");
                    let reason = format!("{class} has no rule for {}", missing.join(", "));
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
            }
        }
        if !reasons.is_empty() || region.on.is_empty() {
            if region.on.is_empty() {
                reasons.push("no device can run it".to_string());
            }
            found.push((node, reasons));
        }
    }
    found
}

/// Single constraints that prevent a plan. For each the smallest change is searched; `go_on` is asked as in a search.
pub fn relaxations(model: &Model, settings: &Settings, go_on: &mut dyn FnMut() -> bool) -> Vec<Relaxation> {
    let mut found = vec![];
    let signature = &model.signature;
    let limited = limits(model);
    let mut more_of = |limits: &[Limit]| {
        smallest(1000, 1_000_000, &mut |scale| exists(with_more(model, limits, scale), settings, go_on))
    };
    for limit in &limited {
        if let Some(scale) = more_of(std::slice::from_ref(limit)) {
            let value = signature.show(limit.var, limit.value);
            found.push(Relaxation {
                constraint: format!("{}: {value}", limit.name(model)),
                enough: format!("{}.{} % of that", scale / 10, scale % 10),
            });
        }
    }
    if found.is_empty()
        && limited.len() > 1
        && let Some(scale) = more_of(&limited)
    {
        let names: Vec<String> = limited.iter().map(|limit| limit.name(model)).collect();
        found.push(Relaxation {
            constraint: names.join(", "),
            enough: format!("{}.{} % of all of them", scale / 10, scale % 10),
        });
    }
    if let Some(rate) = signature.role(Role::Rate) {
        // Thousandths of the rate that are too much.
        let less = |by: i64| {
            let mut less = model.clone();
            let factor = Factor(Factor::ONE.0 / 1000 * (1000 - by));
            let initial = &mut less.signature.variables[rate.index()].initial;
            *initial = factor.of(*initial);
            for (var, value) in less.apps.iter_mut().flat_map(|a| &mut a.initial) {
                if *var == rate {
                    *value = factor.of(*value);
                }
            }
            less
        };
        if let Some(by) = smallest(0, 999, &mut |by| exists(less(by), settings, go_on)) {
            let now = signature.get(rate).initial;
            let share = Factor(Factor::ONE.0 / 1000 * (1000 - by));
            found.push(Relaxation {
                constraint: format!(
                    "`{}` at the start: {}",
                    signature.get(rate).name,
                    signature.show(rate, now)
                ),
                enough: format!("at most {}", signature.show(rate, share.of(now))),
            });
        }
        let wider = |scale: i64| {
            let mut wider = model.clone();
            for link in &mut wider.links {
                link.rate = link.rate.map(|rate| scaled(rate, scale));
            }
            for device in &mut wider.devices {
                device.frames = device.frames.map(|frames| scaled(frames, scale));
                let ports = device.ports.iter_mut().flat_map(|p| &mut p.bounds);
                for bound in ports.chain(&mut device.bounds).filter(|b| b.var == rate) {
                    bound.value = scaled(bound.value, scale);
                }
            }
            wider
        };
        if let Some(scale) = smallest(1000, 1_000_000, &mut |scale| exists(wider(scale), settings, go_on)) {
            found.push(Relaxation {
                constraint: "capacity of links, ports and devices".to_string(),
                enough: format!("{}.{} % of that", scale / 10, scale % 10),
            });
        }
    }
    let longer = |scale: i64| {
        let mut longer = model.clone();
        for link in &mut longer.links {
            link.longest = link.longest.map(|bytes| scaled(bytes, scale));
        }
        longer
    };
    if let Some(scale) = smallest(1000, 1_000_000, &mut |scale| exists(longer(scale), settings, go_on)) {
        found.push(Relaxation {
            constraint: "the longest packet of each link".to_string(),
            enough: format!("{}.{} % of that", scale / 10, scale % 10),
        });
    }
    let shared = Settings { one_region_per_device: false, ..settings.clone() };
    if settings.one_region_per_device && exists(model.clone(), &shared, go_on) {
        found.push(Relaxation {
            constraint: "one region a device".to_string(),
            enough: "several regions a device".to_string(),
        });
    }
    found
}

/// Capacity of a variable: on one device, or by default on all.
#[derive(Clone, Copy)]
struct Limit {
    var: VarId,
    device: Option<usize>,
    value: i64,
}

impl Limit {
    fn name(&self, model: &Model) -> String {
        let var = &model.signature.get(self.var).name;
        match self.device {
            Some(device) => format!("`{var}` of `{}`", model.devices[device].name),
            None => format!("`{var}` of each device"),
        }
    }
}

fn limits(model: &Model) -> Vec<Limit> {
    let declared = model.signature.variables.iter().enumerate().filter_map(|(at, variable)| {
        let Scope::Device { limit: Some(value) } = variable.scope else { return None };
        Some(Limit { var: VarId(at as u16), device: None, value })
    });
    let own = model.devices.iter().enumerate().flat_map(|(at, device)| {
        device.limits.iter().map(move |(var, value)| Limit { var: *var, device: Some(at), value: *value })
    });
    declared.chain(own).collect()
}

/// A limit times `scale` / 1000.
fn scaled(limit: i64, scale: i64) -> i64 {
    (i128::from(limit) * i128::from(scale) / 1000).min(i64::MAX.into()) as i64
}

/// The model with limits scaled by `scale` / 1000.
fn with_more(model: &Model, limits: &[Limit], scale: i64) -> Model {
    let mut more = model.clone();
    for limit in limits {
        let value = scaled(limit.value, scale);
        match limit.device {
            None => {
                more.signature.variables[limit.var.index()].scope = Scope::Device { limit: Some(value) };
            }
            Some(device) => {
                let own = more.devices[device].limits.iter_mut().filter(|(var, _)| *var == limit.var);
                own.for_each(|(_, known)| *known = value);
            }
        }
    }
    more
}

/// A diagnostic that says all this.
pub fn no_plan(problem: &Problem, go_on: &mut dyn FnMut() -> bool) -> Diagnostic {
    let impossible = impossible_regions(problem);
    let place = impossible.first().map_or(Span::NONE, |(node, _)| {
        let node = &problem.nodes[*node];
        problem.model.apps[node.app].regions[node.region].span
    });
    let mut diagnostic = Diagnostic::error(codes::NO_PLAN, "no plan meets all constraints").at(place, "");
    for (node, reasons) in &impossible {
        let text = format!("region `{}` runs nowhere: {}", problem.region_name(*node), reasons.join("; "));
        diagnostic = diagnostic.note(text);
    }
    if !impossible.is_empty() {
        return diagnostic.help("add rules for the missing propositions, or devices that provide them");
    }
    let relaxations = relaxations(&problem.model, &problem.settings, go_on);
    for relaxation in &relaxations {
        diagnostic = diagnostic
            .note(format!("{}; there would be a plan with {}", relaxation.constraint, relaxation.enough));
    }
    match relaxations.is_empty() {
        true => diagnostic.note("no single change is sufficient"),
        false => diagnostic,
    }
}

/// The least number in `low + 1 ..= high` for which a monotonic condition holds; `None` if it never holds.
fn smallest(low: i64, high: i64, holds: &mut dyn FnMut(i64) -> bool) -> Option<i64> {
    if !holds(high) {
        return None;
    }
    let (mut fails, mut holds_at) = (low, high);
    while holds_at - fails > 1 {
        let middle = fails + (holds_at - fails) / 2;
        match holds(middle) {
            true => holds_at = middle,
            false => fails = middle,
        }
    }
    Some(holds_at)
}

fn exists(model: Model, settings: &Settings, go_on: &mut dyn FnMut() -> bool) -> bool {
    let Ok(problem) = Problem::new(model, settings.clone()) else { return false };
    let mut watch = |progress: &Progress| match progress.found > 0 || !go_on() {
        true => Stop::Yes,
        false => Stop::No,
    };
    !search(&problem, &Goal::First, &mut watch).plans.is_empty()
}
