//! Flightplan's own programs.

use crate::{ms, shown, timed};
use base_diag::Diagnostic;
use plan_model::flightplan::{self, Config};
use plan_model::{App, Device, Model, Rule};
use plan_search::{Judged, Objective, Plan, Problem, Scopes, Settings, Tiers, judge};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

struct Data {
    config: Config,
    devices: Vec<Device>,
    rules: Vec<Rule>,
    directory: std::path::PathBuf,
}

/// Focus, network, devices that are left out, rate in Mbit/s.
struct Setting {
    name: &'static str,
    program: &'static str,
    focus: &'static str,
    network: &'static str,
    without: &'static str,
    rate: &'static str,
    /// The published allocation of the five functions of program 20.
    published: Option<[&'static str; 5]>,
}

const HEADLINES: [Setting; 4] = [
    Setting {
        name: "max performance",
        program: "program20",
        focus: "tofino1",
        network: "network_tofino.json",
        without: "",
        rate: "2Gbit/s",
        published: Some(["fpga5", "fpga4", "fpga3", "tofino1", "fpga2"]),
    },
    Setting {
        name: "legacy extender",
        program: "program20",
        focus: "arista1",
        network: "network_arista.json",
        without: "",
        rate: "2Gbit/s",
        published: Some(["fpga5", "fpga4", "fpga3", "fpga2", "fpga1"]),
    },
    Setting {
        name: "server offload tofino",
        program: "program20",
        focus: "tofino1",
        network: "network_tofino.json",
        without: "fpga",
        rate: "20Mbit/s",
        published: Some(["cpu5", "tofino1", "cpu4", "tofino1", "cpu3"]),
    },
    Setting {
        name: "server offload arista",
        program: "program20",
        focus: "arista1",
        network: "network_arista.json",
        without: "fpga",
        rate: "20Mbit/s",
        published: Some(["cpu5", "cpu4", "cpu3", "cpu2", "cpu1"]),
    },
];

pub fn run(directory: &Path) -> ExitCode {
    match measure(directory) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(diagnostics) => {
            for found in diagnostics {
                eprintln!("{}: {} {}", found.code, found.title, found.notes.join("; "));
            }
            ExitCode::FAILURE
        }
    }
}

fn measure(directory: &Path) -> Result<bool, Vec<Diagnostic>> {
    let read = |name: &str| {
        std::fs::read_to_string(directory.join(name)).map_err(|error| {
            vec![
                Diagnostic::error(base_diag::codes::emulate::UNREADABLE_FILE, "a file cannot be read")
                    .note(format!("{name}: {error}")),
            ]
        })
    };
    let one = |d: Diagnostic| vec![d];
    let config = flightplan::read_config(&read("planner_config.json")?, 1).map_err(one)?;
    let devices = flightplan::read_devices(&read("devices.json")?, 1, &config).map_err(one)?;
    let rules = flightplan::read_performance_csv(&read("performance_tclust.csv")?, 1, &config.signature)
        .map_err(one)?;
    let json = flightplan::read_performance_json(&read("performance_tclust.json")?, 1, &config.signature)
        .map_err(one)?;
    let strip = |rules: &[Rule]| -> Vec<Rule> {
        let mut rules: Vec<Rule> =
            rules.iter().map(|r| Rule { span: Default::default(), ..r.clone() }).collect();
        rules.iter_mut().for_each(|r| r.effects.sort_by_key(|e| e.var));
        rules
    };
    println!("{} rules; table and JSON agree: {}", rules.len(), strip(&rules) == strip(&json));
    let data = Data { config, devices, rules, directory: directory.to_path_buf() };
    let mut fast = true;
    println!("\nall programs, several segments a device, area kept, tightest tier, 2 Gbit/s");
    for number in 1..=20 {
        let focus = if matches!(number, 15 | 17 | 18 | 19) { "fpga1" } else { "tofino1" };
        let setting = Setting {
            name: "",
            program: &format!("program{number}").leak()[..],
            focus,
            network: "network_tofino.json",
            without: "",
            rate: "2Gbit/s",
            published: None,
        };
        let problem = data.problem(&setting, Tiers::Tightest, false, true)?;
        let (found, time) = timed(&problem, Duration::from_secs(60));
        fast &= time < Duration::from_millis(50) && found.is_complete;
        let plans: Vec<String> = found.plans.iter().map(|(cost, _)| shown(&problem, cost)).collect();
        let plans = if plans.is_empty() { "no plan".to_string() } else { plans.join(" | ") };
        println!("{:>10} on {focus:<8} {:>10}  {plans}", setting.program, ms(time));
    }
    for (title, tiers, single, area) in [
        ("one segment a device, any covering tier, area not kept", Tiers::Any, true, false),
        ("one segment a device, tightest tier, area kept", Tiers::Tightest, true, true),
        ("several segments a device, any covering tier, area kept", Tiers::Any, false, true),
        ("several segments a device, tightest tier, area kept", Tiers::Tightest, false, true),
    ] {
        println!("\n{title}");
        for setting in &HEADLINES {
            let problem = data.problem(setting, tiers, single, area)?;
            let (found, time) = timed(&problem, Duration::from_secs(60));
            fast &= time < Duration::from_millis(50) && found.is_complete;
            for (cost, plan) in &found.plans {
                println!(
                    "{:>22} {:>10}  {}  {}",
                    setting.name,
                    ms(time),
                    shown(&problem, cost),
                    places(&problem, plan)
                );
            }
        }
    }
    println!("\nthe published allocations, fixed by hand; tiers with the largest bounds, as published");
    for setting in &HEADLINES {
        let problem = data.problem(setting, Tiers::Any, true, false)?;
        let judged = setting.published.and_then(|on| by_hand(&problem, on));
        match judged {
            Some(judged) => println!(
                "{:>22}  {}  violations: {}",
                setting.name,
                shown(&problem, &judged.cost),
                judged.violations.len()
            ),
            None => println!("{:>22}  cannot be fixed so", setting.name),
        }
    }
    Ok(fast)
}

impl Data {
    fn problem(
        &self,
        setting: &Setting,
        tiers: Tiers,
        one_region_per_device: bool,
        area: bool,
    ) -> Result<Problem, Vec<Diagnostic>> {
        let read = |name: String| std::fs::read_to_string(self.directory.join(name)).unwrap_or_default();
        let one = |d: Diagnostic| vec![d];
        let mut devices = self.devices.clone();
        let mut signature = self.config.signature.clone();
        if !area {
            for name in ["LUTs", "BRAMs", "FFs"] {
                if let Some(var) = signature.find(name) {
                    devices.iter_mut().for_each(|d| d.limits.push((var, i64::MAX)));
                }
            }
        }
        if let Some(rate) = signature.role(plan_model::Role::Rate) {
            let variable = &mut signature.variables[rate.index()];
            variable.initial = variable.unit.parse(setting.rate).unwrap_or(0);
        }
        let links = flightplan::read_network(&read(setting.network.into()), 1, &self.config, &devices);
        let focus = devices.iter().position(|d| d.name == setting.focus).unwrap_or(0);
        let text = read(format!("test_programs/{}.json", setting.program));
        let app: App = flightplan::read_program(&text, 1, setting.program, focus).map_err(one)?;
        let scopes = Scopes::new(&signature);
        let objectives = ["Latency", "Power", "Cost"].map(|n| Objective::parse(n, &signature, &scopes));
        let without =
            |d: &usize| !setting.without.is_empty() && devices[*d].name.starts_with(setting.without);
        let settings = Settings {
            tiers,
            one_region_per_device,
            routes: 1,
            objectives: objectives.into_iter().flatten().collect(),
            refused: vec![],
            wanted: vec![],
            without: (0..devices.len()).filter(without).collect(),
        };
        let links = links.map_err(one)?;
        Problem::new(
            Model { signature, rules: self.rules.clone(), apps: vec![app], devices, links },
            settings,
        )
    }
}

fn places(problem: &Problem, plan: &Plan) -> String {
    let mut out = vec![];
    for (node, device) in plan.device.iter().enumerate() {
        if !problem.nodes[node].is_bound {
            out.push(format!("{}={}", problem.region_name(node), problem.device_name(*device)));
        }
    }
    out.join(" ")
}

/// Decode, decompress, cache, compress, encode on these devices; of all usable derivations the last of each function.
fn by_hand(problem: &Problem, on: [&str; 5]) -> Option<Judged> {
    let segments = ["1.FEC_Decode", "2.Decompress", "3.MCD_Cache", "5.Compress", "6.FEC_Encode"];
    let focus = problem.nodes.first()?.on.first().copied()?;
    let mut plan = Plan {
        device: vec![focus; problem.nodes.len()],
        picks: vec![Rc::from([]); problem.nodes.len()],
        routes: vec![],
    };
    for (segment, device) in segments.iter().zip(on) {
        let node = (0..problem.nodes.len()).find(|n| problem.region_name(*n) == *segment)?;
        plan.device[node] = problem.model.devices.iter().position(|d| d.name == device)?;
    }
    for node in 0..problem.nodes.len() {
        let offer = problem.offer(node, plan.device[node])?;
        plan.picks[node] = offer.needs.iter().map(|(_, all)| all.len() as u16 - 1).collect();
    }
    for arc in &problem.arcs {
        plan.routes.push(problem.network.routes(plan.device[arc.from], plan.device[arc.to]).first()?.clone());
    }
    judge(problem, &plan)
}
