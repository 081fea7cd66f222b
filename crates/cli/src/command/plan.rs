//! `p4rack plan`

use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use p4rack::plan::{self, Request};
use plan_search::{Found, Goal, Problem, Progress, Stop, explain, judge, search, why};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Place abstract programs on a network: the plans of which none is better in every objective
#[derive(clap::Args)]
pub struct Args {
    /// Abstract programs in JSON, placed together
    #[arg(required = true)]
    programs: Vec<PathBuf>,
    /// Variables, classes of devices and objectives, as Flightplan's planner_config.json
    #[arg(long)]
    config: PathBuf,
    /// Devices with their ports, in JSON
    #[arg(long)]
    devices: PathBuf,
    /// Links, in JSON
    #[arg(long)]
    network: PathBuf,
    /// What runs where at what price: a table (.csv), JSON (.json) or rules as text
    #[arg(long, required = true)]
    rules: Vec<PathBuf>,
    /// The device on which a program starts; once for all, or once for each
    #[arg(long, required = true, value_name = "DEVICE")]
    focus: Vec<String>,
    /// The rate at the start: 2Gbit/s
    #[arg(long)]
    rate: Option<String>,
    /// Any rule that covers a state may be used, not only the tightest
    #[arg(long)]
    any_tier: bool,
    /// Several regions may share a device, whatever the configuration says
    #[arg(long)]
    shared: bool,
    /// A device that may not be used
    #[arg(long, value_name = "DEVICE")]
    without: Vec<String>,
    /// What plans are judged by, the first first: a variable, `max VARIABLE`, a sum LUTs+BRAMs, `devices`
    #[arg(long, value_name = "NAME")]
    objective: Vec<String>,
    /// Only the plan that is best in the first objective, then in the second, ...
    #[arg(long)]
    first: bool,
    /// Give up after so many milliseconds, with what no plan can be below
    #[arg(long, value_name = "MS")]
    time_limit: Option<u64>,
    /// Also print every step of each plan, with the rules it is derived by
    #[arg(long)]
    explain: bool,
    /// Say what it would take to run a region on a device
    #[arg(long, value_name = "REGION=DEVICE")]
    why_not: Option<String>,
    /// How to print the plans
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if an input is wrong or there is no plan.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    match planned(args, &mut map) {
        Ok(()) => ExitCode::SUCCESS,
        Err(found) => output::failed(&found, &map, args.format),
    }
}

fn planned(args: &Args, map: &mut SourceMap) -> Result<(), Vec<Diagnostic>> {
    let request = Request {
        config: args.config.clone(),
        devices: args.devices.clone(),
        network: args.network.clone(),
        rules: args.rules.clone(),
        programs: args.programs.clone(),
        focus: args.focus.clone(),
        rate: args.rate.clone(),
        any_tier: args.any_tier,
        shared: args.shared,
        without: args.without.clone(),
        objectives: args.objective.clone(),
    };
    let mut problem = plan::load(&request, map)?;
    if let Some(wanted) = &args.why_not {
        problem = plan::bind(&problem, wanted)?;
    }
    let clock = Clock::start(args.time_limit);
    let goal = if args.first { Goal::First } else { Goal::Front };
    let found = search(&problem, &goal, &mut |progress| clock.look(progress));
    if found.plans.is_empty() && found.is_complete {
        return Err(vec![why::no_plan(&problem, &mut || !clock.is_over())]);
    }
    match args.format {
        Format::Text => output::print(&text(&problem, &found, args.explain)),
        Format::Json => output::json(&as_json(&problem, &found)),
    }
    Ok(())
}

struct Clock {
    start: Instant,
    limit: Option<Duration>,
    is_watched: bool,
}

impl Clock {
    #[allow(clippy::disallowed_methods)]
    fn start(limit: Option<u64>) -> Clock {
        let is_watched = std::io::stderr().is_terminal();
        Clock { start: Instant::now(), limit: limit.map(Duration::from_millis), is_watched }
    }

    fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.start.elapsed() > limit)
    }

    fn look(&self, progress: &Progress) -> Stop {
        if self.is_watched && self.start.elapsed() > Duration::from_secs(1) {
            let Progress { labels, level, found } = progress;
            eprint!("\r{labels} partial plans, {level} regions placed, {found} plans ");
        }
        if self.is_over() { Stop::Yes } else { Stop::No }
    }
}

fn text(problem: &Problem, found: &Found, explains: bool) -> String {
    let mut out = String::new();
    for (number, (cost, plan)) in found.plans.iter().enumerate() {
        let _ = writeln!(out, "plan {}: {}", number + 1, costs(problem, cost));
        for (node, device) in plan.device.iter().enumerate() {
            let _ = writeln!(out, "  {:<24} {}", problem.region_name(node), problem.device_name(*device));
        }
        if let (true, Some(judged)) = (explains, judge(problem, plan)) {
            for line in explain(problem, plan, &judged).lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    let _ = match found.is_complete {
        true => {
            writeln!(out, "no other plan is better in any way ({} partial plans looked at)", found.labels)
        }
        false => writeln!(out, "given up: no plan is below {}", costs(problem, &found.least)),
    };
    out
}

fn costs(problem: &Problem, cost: &[i64]) -> String {
    let objectives = problem.settings.objectives.iter().zip(cost).enumerate();
    let shown = objectives.map(|(at, (objective, value))| match *value {
        i64::MIN => format!("{} unknown", objective.name),
        value => format!("{} {}", objective.name, problem.show(at, value)),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn as_json(problem: &Problem, found: &Found) -> Value {
    let named = |cost: &[i64]| -> Value {
        let objectives = problem.settings.objectives.iter().zip(cost).enumerate();
        objectives.map(|(at, (o, value))| (o.name.to_string(), json!(problem.show(at, *value)))).collect()
    };
    let plan = |(cost, plan): &(Vec<i64>, plan_search::Plan)| {
        let placement: serde_json::Map<String, Value> = plan
            .device
            .iter()
            .enumerate()
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
        let derivations: serde_json::Map<String, Value> =
            (0..plan.device.len()).map(|node| (problem.region_name(node), json!(rules(node)))).collect();
        json!({ "cost": named(cost), "placement": placement, "rules": derivations })
    };
    json!({
        "ok": true,
        "complete": found.is_complete,
        "least": named(&found.least),
        "plans": found.plans.iter().map(plan).collect::<Vec<_>>(),
    })
}
