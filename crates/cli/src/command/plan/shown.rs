//! Output of `p4rack plan`.

use base_diag::Diagnostic;
use ir_split::{DeviceIndex, SectionId};
use plan_search::{Found, Plan, Problem, explain, judge};
use rack_plan::{Cost, RackProblem, Refused, Spares};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Devices of the regions away from the origin.
type Places = BTreeMap<ir::Name, DeviceIndex>;

/// Plans of a problem, for people and as JSON.
#[derive(Clone, Copy)]
pub(super) struct Shown<'p> {
    pub problem: &'p Problem,
    pub rack: Option<&'p RackProblem>,
    /// So many spares are chosen for each device of a plan.
    pub spares: usize,
}

impl Shown<'_> {
    /// The lines above the plans: regions that cannot leave the origin.
    pub fn above(&self) -> String {
        let fixed = self.rack.into_iter().flat_map(|rack| &rack.fixed);
        fixed.map(|(name, why)| format!("{name} stays at the origin: {why}\n")).collect()
    }

    pub fn refused(&self, refused: &Refused) -> String {
        let why: Vec<&str> = refused.why.iter().map(|found| found.title.as_str()).collect();
        format!("the splitter refuses {}: {}\n", self.map_line(&refused.map), why.join("; "))
    }

    pub fn plan(&self, number: usize, cost: &[i64], plan: &Plan, explains: bool) -> String {
        let problem = self.problem;
        let mut out = format!("plan {number}: {}\n", self.costs(cost));
        match self.rack {
            Some(rack) => {
                out.push_str(&self.on_rack(rack, plan));
                out.push_str(&self.failures(&self.spares_of(rack, plan)));
            }
            None => {
                for (node, device) in plan.device.iter().enumerate() {
                    let (region, device) = (problem.region_name(node), problem.device_name(*device));
                    let _ = writeln!(out, "  {region:<24} {device}");
                }
            }
        }
        if let (true, Some(judged)) = (explains, judge(problem, plan)) {
            for line in explain(problem, plan, &judged).lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
        out
    }

    pub fn found(&self, found: &Found, refused: &[Refused], explains: bool) -> String {
        let mut out = self.above();
        refused.iter().for_each(|refused| out.push_str(&self.refused(refused)));
        for (number, (cost, plan)) in (1..).zip(&found.plans) {
            out.push_str(&self.plan(number, cost, plan, explains));
        }
        let labels = found.labels;
        let _ = match found.is_complete {
            true => writeln!(out, "search complete ({labels} partial plans explored)"),
            false => writeln!(
                out,
                "search stopped; lower bound of every plan: {}{}",
                self.costs(&found.least),
                gap(found)
            ),
        };
        out
    }

    /// The line for RACK.toml, and the hand-overs.
    fn on_rack(&self, rack: &RackProblem, plan: &Plan) -> String {
        let mut out = format!("  {}\n", self.map_line(&rack.map(plan)));
        if let Some(split) = rack.split(plan) {
            let live = |edge: &(SectionId, SectionId)| {
                split.sections[edge.1.0 as usize].live.iter().flatten().map(|v| v.bits).sum::<u32>()
            };
            let edges = split.cut_edges();
            if let Some(longest) = edges.iter().map(live).max() {
                let bits = split.common_bits + longest;
                let _ = writeln!(out, "  {} hand-overs in the program, of at most {bits} bits", edges.len());
            }
        }
        out
    }

    /// The spares of a plan, and why the splitter refuses them, if it does.
    fn spares_of(&self, rack: &RackProblem, plan: &Plan) -> (Vec<Spares>, Vec<String>) {
        if self.spares == 0 {
            return (vec![], vec![]);
        }
        let titles = |found: Vec<Diagnostic>| found.into_iter().map(|found| found.title).collect();
        match rack.spares(plan, self.spares) {
            Ok(spares) => {
                let refused = rack.split_with(plan, &spares).err().map_or(vec![], titles);
                (spares, refused)
            }
            Err(found) => (vec![], titles(found)),
        }
    }

    /// For each device, the spares that replace it and the cost afterwards.
    fn failures(&self, (spares, refused): &(Vec<Spares>, Vec<String>)) -> String {
        let name = |at: DeviceIndex| self.problem.device_name(at.0 as usize);
        let mut out = String::new();
        for of in spares {
            for (nth, (spare, costs)) in of.spares.iter().enumerate() {
                let shown: Vec<String> =
                    costs.iter().map(|cost| format!("{} {}", cost.objective, cost.shown)).collect();
                let too = if nth == 0 { "" } else { ", too" };
                let fails = if nth == 0 { of.device } else { of.spares[nth - 1].0 };
                let _ = writeln!(
                    out,
                    "  if `{}` fails{too}: `{}` takes over, {}",
                    name(fails),
                    name(*spare),
                    shown.join(", ")
                );
            }
            if of.spares.len() < self.spares {
                let last = of.spares.last().map_or(of.device, |(spare, _)| *spare);
                let too = if of.spares.is_empty() { "" } else { ", too" };
                let _ =
                    writeln!(out, "  if `{}` fails{too}: packets for its regions are dropped", name(last));
                for (device, why) in &of.unfit {
                    let _ = writeln!(out, "    `{}` cannot take over: {why}", name(*device));
                }
            }
        }
        for why in refused {
            let _ = writeln!(out, "  the splitter refuses these spares: {why}");
        }
        if refused.is_empty() && spares.iter().any(|of| !of.spares.is_empty()) {
            let of = |of: &Spares| {
                let names: Vec<String> = of.spares.iter().map(|(at, _)| format!("{:?}", name(*at))).collect();
                format!("{} = [{}]", name(of.device), names.join(", "))
            };
            let all: Vec<String> = spares.iter().filter(|of| !of.spares.is_empty()).map(of).collect();
            let _ = writeln!(out, "  spares: {}", all.join(", "));
        }
        out
    }

    fn spares_json(&self, (spares, refused): &(Vec<Spares>, Vec<String>)) -> Value {
        let name = |at: DeviceIndex| json!(self.problem.device_name(at.0 as usize));
        let costs = |costs: &[Cost]| -> Map<String, Value> {
            costs.iter().map(|cost| (cost.objective.clone(), json!(cost.shown))).collect()
        };
        let unfit = |of: &Spares| -> Map<String, Value> {
            let each = of.unfit.iter();
            each.map(|(at, why)| (self.problem.device_name(at.0 as usize).to_string(), json!(why))).collect()
        };
        let of = |of: &Spares| {
            json!({
                "device": name(of.device),
                "spares": of.spares.iter().map(|(at, after)| json!({ "device": name(*at), "cost": costs(after) })).collect::<Vec<_>>(),
                "cannot": unfit(of),
            })
        };
        json!({ "devices": spares.iter().map(of).collect::<Vec<_>>(), "refused": refused })
    }

    fn map_line(&self, map: &Places) -> String {
        let device = |at: &DeviceIndex| self.problem.device_name(at.0 as usize);
        let pairs: Vec<String> =
            map.iter().map(|(region, at)| format!("{region} = {:?}", device(at))).collect();
        match pairs.is_empty() {
            true => "map = {}".to_string(),
            false => format!("map = {{ {} }}", pairs.join(", ")),
        }
    }

    fn map_json(&self, map: &Places) -> Value {
        let device = |at: &DeviceIndex| json!(self.problem.device_name(at.0 as usize));
        Value::Object(map.iter().map(|(region, at)| (region.to_string(), device(at))).collect())
    }

    fn costs(&self, cost: &[i64]) -> String {
        let objectives = self.problem.settings.objectives.iter().zip(cost).enumerate();
        let shown = objectives.map(|(at, (objective, value))| match *value {
            i64::MIN => format!("{} unknown", objective.name),
            value => format!("{} {}", objective.name, self.problem.show(at, value)),
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    pub fn found_json(&self, found: &Found, refused: &[Refused]) -> Value {
        let fixed = self.rack.into_iter().flat_map(|rack| &rack.fixed);
        json!({
            "ok": true,
            "complete": found.is_complete,
            "least": self.named(&found.least),
            "gap": (found.gap < i64::MAX).then(|| found.gap as f64 / 1000.0),
            "plans": found.plans.iter().map(|(cost, plan)| self.plan_json(cost, plan)).collect::<Vec<_>>(),
            "refused": refused.iter().map(|refused| json!({
                "map": self.map_json(&refused.map),
                "why": refused.why.iter().map(|found| found.title.as_str()).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "at_origin": fixed.map(|(name, why)| (name.to_string(), json!(why))).collect::<Map<_, _>>(),
        })
    }

    fn plan_json(&self, cost: &[i64], plan: &Plan) -> Value {
        let problem = self.problem;
        let nodes = || plan.device.iter().enumerate();
        let placement: Map<String, Value> = nodes()
            .map(|(node, device)| (problem.region_name(node), json!(problem.device_name(*device))))
            .collect();
        let rules = |node: usize| -> Vec<String> {
            let offer = problem.offer(node, plan.device[node]);
            let needs = offer.into_iter().flat_map(|o| o.needs.iter().zip(plan.picks[node].iter()));
            let rule = |((_, all), pick): (&(_, Vec<plan_search::Derivation>), &u16)| {
                let rule = all.get(usize::from(*pick))?.proof.by?;
                Some(problem.model.rules[rule].name.to_string())
            };
            needs.filter_map(rule).collect()
        };
        let rules: Map<String, Value> =
            nodes().map(|(node, _)| (problem.region_name(node), json!(rules(node)))).collect();
        let mut shown = json!({ "cost": self.named(cost), "placement": placement, "rules": rules });
        if let Some(rack) = self.rack {
            shown["map"] = self.map_json(&rack.map(plan));
            if self.spares > 0 {
                shown["spares"] = self.spares_json(&self.spares_of(rack, plan));
            }
        }
        shown
    }

    fn named(&self, cost: &[i64]) -> Value {
        let objectives = self.problem.settings.objectives.iter().zip(cost).enumerate();
        objectives
            .map(|(at, (o, value))| (o.name.to_string(), json!(self.problem.show(at, *value))))
            .collect()
    }
}

/// The optimality gap of a search that was stopped, if it is known.
fn gap(found: &Found) -> String {
    match found.gap {
        i64::MAX => String::new(),
        gap => format!(
            "; for every possible plan, one of these costs at most {}.{} % more in each objective",
            gap / 10,
            gap % 10
        ),
    }
}
