//! `p4rack plan`

mod flows;
mod shown;

use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use p4rack::variants::Chosen;
use p4rack::{allocated, rack, sources};
use plan_model::{find_name, print_rules};
use plan_search::{Found, Goal, Ordered, Plan, Problem, Progress, Stop, search, search_near, why};
use rack_plan::flightplan::{self, Request};
use rack_plan::{RackProblem, Refused, Wishes};
use serde_json::json;
use shown::Shown;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// `--all` gives up after the splitter has refused this many plans.
const MOST_REFUSED: usize = 1000;

/// Place a rack's apps, or abstract programs on a network, and print the Pareto-optimal plans
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack plan examples/slice
  p4rack plan examples/slice --why-not Acl=nic
  p4rack plan examples/slice --html plans.html")]
pub struct Args {
    /// RACK.toml or its directory; or abstract programs in JSON, which are placed together
    #[arg(required = true, value_name = "RACK|PROGRAM.json")]
    programs: Vec<PathBuf>,
    /// Define a preprocessor macro for the rack's program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Plan only this app of a rack
    #[arg(long, value_name = "NAME")]
    app: Option<String>,
    /// For abstract programs: variables, device classes and objectives, in the format of Flightplan's planner_config.json
    #[arg(long, requires_all = ["devices", "network", "rules", "focus"])]
    config: Option<PathBuf>,
    /// For abstract programs: devices and their ports, in JSON
    #[arg(long, requires = "config")]
    devices: Option<PathBuf>,
    /// For abstract programs: links, in JSON
    #[arg(long, requires = "config")]
    network: Option<PathBuf>,
    /// Rules that say which device class can run which function, and at what cost: text or a table (.csv); for abstract programs also JSON (.json). For a rack, the rules are added to those named in RACK.toml. May be repeated
    #[arg(long)]
    rules: Vec<PathBuf>,
    /// For abstract programs: the device on which a program starts; give one for all programs or one per program
    #[arg(long, requires = "config", value_name = "DEVICE")]
    focus: Vec<String>,
    /// Rate of the incoming traffic, such as 2Gbit/s. Default: that of RACK.toml or `--config`; a rack without a rate is planned without checking loads
    #[arg(long)]
    rate: Option<String>,
    /// Use any rule whose bounds hold. By default, only the rules with the tightest bounds that hold are used
    #[arg(long)]
    any_tier: bool,
    /// For abstract programs: allow several regions on a device even if `--config` allows only one
    #[arg(long)]
    shared: bool,
    /// Exclude a device; may be repeated
    #[arg(long, value_name = "DEVICE")]
    without: Vec<String>,
    /// An objective to minimise, instead of those in RACK.toml or `--config`: a variable, a sum such as LUTs+BRAMs, or `devices`; `max VARIABLE` maximises. Repeat for several, most important first
    #[arg(long, value_name = "NAME")]
    objective: Vec<String>,
    /// Print only the lexicographic optimum: best in the first objective, ties decided by the second, and so on
    #[arg(long)]
    first: bool,
    /// Minimise a weighted sum: AMOUNT of objective NAME counts as 1, as in `--weigh Latency=10us --weigh Power=5W`. Objectives without a weight only break ties
    #[arg(long, value_name = "NAME=AMOUNT", conflicts_with = "first")]
    weigh: Vec<String>,
    /// Print all plans, best first, ordered by the objectives or by the sum of `--weigh`
    #[arg(long, conflicts_with = "first")]
    all: bool,
    /// Maximum number of plans with `--all`
    #[arg(long, value_name = "N", requires = "all", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Stop after MS milliseconds and report the plans found, a lower bound on the cost of every plan, and the optimality gap
    #[arg(long, value_name = "MS")]
    time_limit: Option<u64>,
    /// Also print the derivation of each plan, with the rules used
    #[arg(long)]
    explain: bool,
    /// Print all rules, including those generated from the rack and its program, and exit
    #[arg(long = "print-rules")]
    prints_rules: bool,
    /// Choose up to N spares for each device of a plan, and print the cost of the plan after a spare has taken over; default: `spares` of RACK.toml, else 0
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=31), conflicts_with = "config")]
    spares: Option<u32>,
    /// Explain what prevents a region from running on a device, and what would allow it; if nothing does, print the plans in which it runs there
    #[arg(long, value_name = "REGION=DEVICE")]
    why_not: Option<String>,
    /// Also write the plans as a self-contained HTML page: the Pareto front on parallel axes and each plan on its devices. For apps with `flows`: the memory of each device by app, and the latency by the memory of the switch
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if an input is wrong or there is no plan.
pub fn run(args: &Args) -> ExitCode {
    // A long search is not to end at a file that cannot be written.
    if let Some(Err(why)) = args.html.as_deref().map(output::writable) {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    if let Some(why) = misplaced(args) {
        report!("p4rack: {why}");
        return ExitCode::from(2);
    }
    let mut map = SourceMap::new();
    match planned(args, &mut map) {
        Ok(code) => code,
        Err(found) => output::failed(&found, &map, args.format),
    }
}

/// Error for arguments that do not fit together, as far as only their values show it.
fn misplaced(args: &Args) -> Option<String> {
    if args.config.is_some() {
        return None;
    }
    if let Some(path) = args.programs.iter().find(|path| path.extension().is_some_and(|e| e == "json")) {
        return Some(format!(
            "`{}` is an abstract program: add --config, --devices, --network, --rules and --focus",
            path.display()
        ));
    }
    match args.programs.as_slice() {
        [_, second, ..] => Some(format!("`{}`: plan one rack at a time", second.display())),
        _ => None,
    }
}

fn planned(args: &Args, map: &mut SourceMap) -> Result<ExitCode, Vec<Diagnostic>> {
    // Racks with pinned flows get an allocation of flows. It has no placements, so options about them are refused.
    if args.config.is_none()
        && let Some((rack, plans)) = allocated::plans(&args.programs[0], &args.define, &wishes(args), map)?
    {
        if let Some(key) = meaningless(args) {
            report!("p4rack: `{key}` is for placements: the flows of this rack's apps are planned");
            return Ok(ExitCode::from(2));
        }
        if let Some(path) = &args.html {
            let page = rack_plan::flow_page(&args.programs[0].display().to_string(), &rack, &plans);
            if let Err(why) = output::write(path, page.as_bytes(), &output::sources(map)) {
                report!("p4rack: {why}");
                return Ok(ExitCode::FAILURE);
            }
        }
        match args.format {
            Format::Text => plans.iter().for_each(|plan| output::print(&plan.text(&rack))),
            Format::Json => output::json(&flows::json(&rack, &plans)),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (mut all, blocks) = read(args, map)?;
    // Jobs of the rack belong to no app: with `--app` they are left out.
    let jobs = match args.config {
        Some(_) => None,
        None => rack::jobs_of(&args.programs[0], map)?.filter(|_| args.app.is_none()),
    };
    if let Some(wanted) = &args.app {
        let names = all.iter().map(|asked| asked.rack().map_or("", RackProblem::app_name));
        let at = find_name("app", wanted, names).map_err(|found| vec![found])?;
        all = vec![all.swap_remove(at)];
    }
    if all.len() > 1 && (args.why_not.is_some() || args.html.is_some()) {
        report!("p4rack: `--why-not` and `--html` need one app: name it with `--app`");
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
    let mut results = vec![];
    for mut asked in all {
        let title = |asked: &Asked| match asked.rack().filter(|_| !is_one) {
            Some(rack) => format!("{}:\n", rack.app_name()),
            None => String::new(),
        };
        // A search for all plans may take long: each plan is printed when it is found, so the title comes first.
        let prints_at_once = args.all && args.format == Format::Text;
        if prints_at_once {
            output::print(&format!("{}{}", title(&asked), asked.shown(args).above()));
        }
        let (found, refused) = plan_one(args, &mut asked)?;
        if let Some(path) = &args.html {
            let title = args.programs.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
            let text = rack_plan::page(&format!("Plans of {title}"), asked.problem(), &found.plans);
            if let Err(why) = output::write(path, text.as_bytes(), &output::sources(map)) {
                report!("p4rack: {why}");
                return Ok(ExitCode::FAILURE);
            }
        }
        let shown = asked.shown(args);
        match args.format {
            Format::Text if prints_at_once => output::print(&end_of_all(args, &found)),
            Format::Text => {
                let text = shown.found(&found, &refused, args.explain);
                output::print(&format!("{}{text}", title(&asked)));
            }
            Format::Json => {
                let mut json = shown.found_json(&found, &refused);
                if let Some(rack) = asked.rack().filter(|_| !is_one) {
                    json["app"] = json!(rack.app_name());
                }
                results.push(json);
            }
        }
    }
    if args.format == Format::Json {
        // The output for a single app is not wrapped in a list.
        let mut json = match results.as_slice() {
            [one] => one.clone(),
            all => json!({ "ok": true, "apps": all }),
        };
        if !blocks.blocks.is_empty() {
            json["blocks"] = blocks.json();
        }
        if let Some(jobs) = &jobs {
            json["jobs"] = super::job::placement_json(jobs);
        }
        output::json(&json);
    } else if let Some(jobs) = &jobs {
        output::print(&super::job::placement(jobs));
    }
    Ok(ExitCode::SUCCESS)
}

/// An option that means nothing where flows are planned.
fn meaningless(args: &Args) -> Option<&'static str> {
    let given = [
        (args.app.is_some(), "--app"),
        (!args.rules.is_empty(), "--rules"),
        (args.any_tier, "--any-tier"),
        (!args.without.is_empty(), "--without"),
        (args.first, "--first"),
        (!args.weigh.is_empty(), "--weigh"),
        (args.all, "--all"),
        (args.time_limit.is_some(), "--time-limit"),
        (args.explain, "--explain"),
        (args.prints_rules, "--print-rules"),
        (args.spares.is_some(), "--spares"),
        (args.why_not.is_some(), "--why-not"),
    ];
    given.into_iter().find(|(is_given, _)| *is_given).map(|(_, key)| key)
}

/// The plans of one app, or why there is none.
fn plan_one(args: &Args, asked: &mut Asked) -> Result<(Found, Vec<Refused>), Vec<Diagnostic>> {
    if let Some(wanted) = &args.why_not {
        asked.bind(wanted)?;
    }
    let clock = Clock::start(args.time_limit);
    let goal = match (args.weigh.as_slice(), args.first) {
        ([], false) => Goal::Front,
        ([], true) => Goal::First,
        (weights, _) => rack_plan::weigh(asked.problem(), weights)?,
    };
    let watch = &mut |progress: &Progress| clock.look(progress);
    let (found, refused) = match args.all {
        true => every(args, asked, goal, watch)?,
        false => asked.search(&goal, args.time_limit.is_some(), watch)?,
    };
    if found.plans.is_empty() && found.is_complete {
        return Err(match refused.is_empty() {
            true => vec![why::no_plan(asked.problem(), &mut || !clock.is_over())],
            false => refused.into_iter().flat_map(|refused| refused.why).collect(),
        });
    }
    Ok((found, refused))
}

/// Up to `--limit` plans in order; as text, each is printed as soon as it is found.
fn every(
    args: &Args,
    asked: &mut Asked,
    goal: Goal,
    watch: &mut dyn FnMut(&Progress) -> Stop,
) -> Result<(Found, Vec<Refused>), Vec<Diagnostic>> {
    let known = asked.problem();
    let problem = Problem::new(known.model.clone(), known.settings.clone())?;
    let most = args.limit as usize;
    let mut all = Ordered::new(problem, goal, most + MOST_REFUSED);
    let (mut found, mut refused) = (Found::default(), vec![]);
    while found.plans.len() < most && refused.len() < MOST_REFUSED {
        let known = refused.len();
        let next = asked.next(&mut all, &mut refused, watch);
        if args.format == Format::Text {
            refused[known..].iter().for_each(|refused| output::print(&asked.shown(args).refused(refused)));
        }
        let Some((cost, plan)) = next else {
            found.is_complete = all.is_complete() && refused.len() < MOST_REFUSED;
            break;
        };
        if args.format == Format::Text {
            output::print(&asked.shown(args).plan(found.plans.len() + 1, &cost, &plan, args.explain));
        }
        found.plans.push((cost, plan));
    }
    Ok((found, refused))
}

/// The line after the last of all plans.
fn end_of_all(args: &Args, found: &Found) -> String {
    match (found.is_complete, found.plans.len() as u32 == args.limit) {
        (true, _) => "no other plan exists\n".to_string(),
        (false, true) => format!("stopped at `--limit {}`: more plans may exist\n", args.limit),
        (false, false) => "stopped: more plans may exist\n".to_string(),
    }
}

/// Problem to plan.
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

    fn shown(&self, args: &Args) -> Shown<'_> {
        let wanted = self.rack().map_or(0, RackProblem::wanted_spares);
        let spares = args.spares.map_or(wanted, |count| count as usize);
        Shown { problem: self.problem(), rack: self.rack(), spares }
    }

    /// The next one of all plans that the splitter makes.
    fn next(
        &mut self,
        all: &mut Ordered,
        refused: &mut Vec<Refused>,
        watch: &mut dyn FnMut(&Progress) -> Stop,
    ) -> Option<(Vec<i64>, Plan)> {
        match self {
            Asked::Rack(rack) => {
                let mut next = all.next(watch)?;
                while let Some(found) = rack.refuses(&next.1) {
                    refused.push(found);
                    if refused.len() >= MOST_REFUSED {
                        return None;
                    }
                    next = all.next(watch)?;
                }
                Some(next)
            }
            Asked::Abstract(_) => all.next(watch),
        }
    }

    fn bind(&mut self, wanted: &str) -> Result<(), Vec<Diagnostic>> {
        match self {
            Asked::Rack(rack) => rack.bind(wanted),
            Asked::Abstract(problem) => {
                let pinned = |_: &str| ("the program starts there".to_string(), Some("--focus"));
                **problem = rack_plan::bind(problem, wanted, &pinned)?;
                Ok(())
            }
        }
    }

    /// `is_near` if the search has a time limit: it then looks first for plans near all others.
    fn search(
        &mut self,
        goal: &Goal,
        is_near: bool,
        watch: &mut dyn FnMut(&Progress) -> Stop,
    ) -> Result<(Found, Vec<Refused>), Vec<Diagnostic>> {
        match self {
            Asked::Rack(rack) => rack.search(goal, is_near, watch),
            Asked::Abstract(problem) if is_near => Ok((search_near(problem, goal, watch), vec![])),
            Asked::Abstract(problem) => Ok((search(problem, goal, watch), vec![])),
        }
    }
}

fn wishes(args: &Args) -> Wishes {
    Wishes {
        rate: args.rate.clone(),
        any_tier: args.any_tier,
        without: args.without.clone(),
        objectives: args.objective.clone(),
    }
}

/// One for each app of a rack, and the blocks that were chosen for them.
fn read(args: &Args, map: &mut SourceMap) -> Result<(Vec<Asked>, Chosen), Vec<Diagnostic>> {
    let wishes = wishes(args);
    let (Some(config), Some(devices), Some(network)) = (&args.config, &args.devices, &args.network) else {
        let found = rack::load_problems(&args.programs[0], &args.define, &wishes, &args.rules, map)?;
        if args.format == Format::Text {
            output::diagnostics_text(&found.warnings, map);
            output::print(&found.blocks.text());
        }
        let problems = found.problems.into_iter().map(|problem| Asked::Rack(Box::new(problem))).collect();
        return Ok((problems, found.blocks));
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
    let problem = flightplan::load(&request, &mut |path| sources::read(path, map))?;
    Ok((vec![Asked::Abstract(Box::new(problem))], Chosen::default()))
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
            report_over!("\r{labels} partial plans, {level} regions placed, {found} plans ");
        }
        if self.is_over() { Stop::Yes } else { Stop::No }
    }
}
