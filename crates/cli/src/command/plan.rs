//! `p4rack plan`

use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use ir_split::{DeviceIndex, SectionId};
use p4rack::plan::flightplan::{self, Request};
use p4rack::plan::{self, RackProblem, Refused, Wishes};
use p4rack::rack;
use plan_model::{find_name, print_rules};
use plan_search::{Found, Goal, Plan, Problem, Progress, Stop, explain, judge, search, why};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Place a rack's app, or abstract programs on a network: the plans of which none is better in every objective
#[derive(clap::Args)]
pub struct Args {
    /// A RACK.toml or the directory of one; or abstract programs in JSON, placed together
    #[arg(required = true, value_name = "RACK|PROGRAM.json")]
    programs: Vec<PathBuf>,
    /// Defines a macro for the rack's program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Of a rack with several apps: only this one
    #[arg(long, value_name = "NAME")]
    app: Option<String>,
    /// Of abstract programs: variables, classes of devices and objectives, as Flightplan's planner_config.json
    #[arg(long, requires_all = ["devices", "network", "rules", "focus"])]
    config: Option<PathBuf>,
    /// Of abstract programs: devices with their ports, in JSON
    #[arg(long, requires = "config")]
    devices: Option<PathBuf>,
    /// Of abstract programs: links, in JSON
    #[arg(long, requires = "config")]
    network: Option<PathBuf>,
    /// Of abstract programs: what runs where at what price: a table (.csv), JSON (.json) or rules as text
    #[arg(long, requires = "config")]
    rules: Vec<PathBuf>,
    /// Of abstract programs: the device on which one starts; once for all, or once for each
    #[arg(long, requires = "config", value_name = "DEVICE")]
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
    /// Print the rules, those made from the rack and its program included
    #[arg(long = "print-rules")]
    prints_rules: bool,
    /// Say what it would take to run a region on a device
    #[arg(long, value_name = "REGION=DEVICE")]
    why_not: Option<String>,
    /// Also write the plans as one page that a browser shows: the front on parallel axes, each plan on its devices
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How to print the plans
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if an input is wrong or there is no plan.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    match planned(args, &mut map) {
        Ok(code) => code,
        Err(found) => output::failed(&found, &map, args.format),
    }
}

fn planned(args: &Args, map: &mut SourceMap) -> Result<ExitCode, Vec<Diagnostic>> {
    let mut all = read(args, map)?;
    if let Some(wanted) = &args.app {
        let names = all.iter().map(|asked| asked.rack().map_or("", RackProblem::app_name));
        let at = find_name("app", wanted, names).map_err(|found| vec![found])?;
        all = vec![all.swap_remove(at)];
    }
    if all.len() > 1 && (args.why_not.is_some() || args.html.is_some()) {
        eprintln!("p4rack: `--why-not` and `--html` are of one app: name it with `--app`");
        return Ok(ExitCode::from(2));
    }
    if args.prints_rules {
        for asked in &all {
            let model = &asked.problem().model;
            output::print(&print_rules(&model.signature, &model.rules));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let is_one = all.len() == 1;
    let mut told = vec![];
    for mut asked in all {
        let (found, refused) = plan_one(args, &mut asked)?;
        if let Some(path) = &args.html {
            let title = args.programs.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
            let text = plan::page(&format!("Plans of {title}"), asked.problem(), &found.plans);
            if let Err(why) = std::fs::write(path, text) {
                eprintln!("p4rack: `{}` cannot be written: {why}", path.display());
                return Ok(ExitCode::FAILURE);
            }
        }
        let rack = asked.rack();
        let shown = Shown { problem: asked.problem(), rack, found: &found, refused: &refused };
        let name = rack.filter(|_| !is_one).map(RackProblem::app_name);
        match args.format {
            Format::Text => {
                let title = name.map_or(String::new(), |name| format!("{name}:\n"));
                output::print(&format!("{title}{}", shown.text(args.explain)));
            }
            Format::Json => {
                let mut json = shown.json();
                if let Some(name) = name {
                    json["app"] = json!(name);
                }
                told.push(json);
            }
        }
    }
    if args.format == Format::Json {
        output::json(&match told.as_slice() {
            [one] => one.clone(),
            all => json!({ "ok": true, "apps": all }),
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// The plans of one app, or why there is none.
fn plan_one(args: &Args, asked: &mut Asked) -> Result<(Found, Vec<Refused>), Vec<Diagnostic>> {
    if let Some(wanted) = &args.why_not {
        asked.bind(wanted)?;
    }
    let clock = Clock::start(args.time_limit);
    let goal = if args.first { Goal::First } else { Goal::Front };
    let (found, refused) = asked.search(&goal, &mut |progress| clock.look(progress))?;
    if found.plans.is_empty() && found.is_complete {
        return Err(match refused.is_empty() {
            true => vec![why::no_plan(asked.problem(), &mut || !clock.is_over())],
            false => refused.into_iter().flat_map(|refused| refused.why).collect(),
        });
    }
    Ok((found, refused))
}

/// What is to be planned.
enum Asked {
    Rack(Box<RackProblem>),
    Abstract(Box<Problem>),
}

impl Asked {
    fn problem(&self) -> &Problem {
        match self {
            Asked::Rack(rack) => &rack.problem,
            Asked::Abstract(problem) => problem,
        }
    }

    fn rack(&self) -> Option<&RackProblem> {
        match self {
            Asked::Rack(rack) => Some(rack),
            Asked::Abstract(_) => None,
        }
    }

    fn bind(&mut self, wanted: &str) -> Result<(), Vec<Diagnostic>> {
        let bound = plan::bind(self.problem(), wanted)?;
        match self {
            Asked::Rack(rack) => rack.problem = bound,
            Asked::Abstract(problem) => **problem = bound,
        }
        Ok(())
    }

    fn search(
        &mut self,
        goal: &Goal,
        watch: &mut dyn FnMut(&Progress) -> Stop,
    ) -> Result<(Found, Vec<Refused>), Vec<Diagnostic>> {
        match self {
            Asked::Rack(rack) => rack.search(goal, watch),
            Asked::Abstract(problem) => Ok((search(problem, goal, watch), vec![])),
        }
    }
}

/// One for each app of a rack.
fn read(args: &Args, map: &mut SourceMap) -> Result<Vec<Asked>, Vec<Diagnostic>> {
    let wishes = Wishes {
        rate: args.rate.clone(),
        any_tier: args.any_tier,
        without: args.without.clone(),
        objectives: args.objective.clone(),
    };
    let (Some(config), Some(devices), Some(network)) = (&args.config, &args.devices, &args.network) else {
        let (problems, warnings) = rack::load_problems(&args.programs[0], &args.define, &wishes, map)?;
        if args.format == Format::Text {
            output::diagnostics_text(&warnings, map);
        }
        return Ok(problems.into_iter().map(|problem| Asked::Rack(Box::new(problem))).collect());
    };
    let request = Request {
        config: config.clone(),
        devices: devices.clone(),
        network: network.clone(),
        rules: args.rules.clone(),
        programs: args.programs.clone(),
        focus: args.focus.clone(),
        shared: args.shared,
        wishes,
    };
    Ok(vec![Asked::Abstract(Box::new(flightplan::load(&request, map)?))])
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

/// Regions away from the origin.
type Places = BTreeMap<ir::Name, DeviceIndex>;

/// What was found, to be printed.
struct Shown<'p> {
    problem: &'p Problem,
    rack: Option<&'p RackProblem>,
    found: &'p Found,
    refused: &'p [Refused],
}

impl Shown<'_> {
    fn text(&self, explains: bool) -> String {
        let (problem, found) = (self.problem, self.found);
        let mut out = String::new();
        for (name, why) in self.rack.into_iter().flat_map(|rack| &rack.fixed) {
            let _ = writeln!(out, "{name} stays at the origin: {why}");
        }
        for refused in self.refused {
            let why: Vec<&str> = refused.why.iter().map(|found| found.title.as_str()).collect();
            let _ = writeln!(out, "the splitter refuses {}: {}", self.map_line(&refused.map), why.join("; "));
        }
        for (number, (cost, plan)) in found.plans.iter().enumerate() {
            let _ = writeln!(out, "plan {}: {}", number + 1, self.costs(cost));
            match self.rack {
                Some(rack) => out.push_str(&self.on_rack(rack, plan)),
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
        }
        let labels = found.labels;
        let _ = match found.is_complete {
            true => writeln!(out, "no other plan is better in any way ({labels} partial plans looked at)"),
            false => writeln!(out, "given up: no plan is below {}", self.costs(&found.least)),
        };
        out
    }

    /// The line for RACK.toml, and what is handed over.
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

    fn json(&self) -> Value {
        let fixed = self.rack.into_iter().flat_map(|rack| &rack.fixed);
        json!({
            "ok": true,
            "complete": self.found.is_complete,
            "least": self.named(&self.found.least),
            "plans": self.found.plans.iter().map(|(cost, plan)| self.plan(cost, plan)).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(|refused| json!({
                "map": self.map_json(&refused.map),
                "why": refused.why.iter().map(|found| found.title.as_str()).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "at_origin": fixed.map(|(name, why)| (name.to_string(), json!(why))).collect::<Map<_, _>>(),
        })
    }

    fn plan(&self, cost: &[i64], plan: &Plan) -> Value {
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
