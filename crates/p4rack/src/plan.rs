//! Planning problems from files.

use crate::sources;
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, SourceMap, did_you_mean};
use plan_model::flightplan;
use plan_model::{Model, Role, read_rules};
use plan_search::{Objective, Problem, Scopes, Settings, Tiers};
use std::path::PathBuf;

/// The files and settings of a problem in the forms of Flightplan's planner.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// `planner_config.json`: variables, classes, objectives.
    pub config: PathBuf,
    /// Devices with ports.
    pub devices: PathBuf,
    /// Links.
    pub network: PathBuf,
    /// Rules: a table (`.csv`), JSON (`.json`), or text.
    pub rules: Vec<PathBuf>,
    /// Abstract programs, placed together.
    pub programs: Vec<PathBuf>,
    /// The device on which each program starts; the last counts for those that follow.
    pub focus: Vec<String>,
    /// The rate at the start, if not the configuration's.
    pub rate: Option<String>,
    /// Any covering rule may be used.
    pub any_tier: bool,
    /// Several regions may share a device, whatever the configuration says.
    pub shared: bool,
    /// Devices that may not be used.
    pub without: Vec<String>,
    /// What plans are judged by, if not what the configuration says.
    pub objectives: Vec<String>,
}

type Result<T> = std::result::Result<T, Vec<Diagnostic>>;

/// Reads all files and makes a problem of them.
pub fn load(request: &Request, map: &mut SourceMap) -> Result<Problem> {
    let one = |found: Diagnostic| vec![found];
    let (text, base) = sources::read(&request.config, map).map_err(one)?;
    let config = flightplan::read_config(&text, base).map_err(one)?;
    let mut signature = config.signature.clone();
    let (text, base) = sources::read(&request.devices, map).map_err(one)?;
    let devices = flightplan::read_devices(&text, base, &config).map_err(one)?;
    let (text, base) = sources::read(&request.network, map).map_err(one)?;
    let links = flightplan::read_network(&text, base, &config, &devices).map_err(one)?;
    let mut rules = vec![];
    for path in &request.rules {
        let (text, base) = sources::read(path, map).map_err(one)?;
        match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => rules.extend(flightplan::read_performance_csv(&text, base, &config).map_err(one)?),
            Some("json") => {
                rules.extend(flightplan::read_performance_json(&text, base, &config).map_err(one)?)
            }
            _ => {
                let (more, found) = read_rules(&text, base, &mut signature);
                if found.has_errors() {
                    return Err(found.into_vec());
                }
                rules.extend(more);
            }
        }
    }
    let device = |name: &str| {
        devices.iter().position(|d| d.name == name).ok_or_else(|| {
            let title = format!("no device is called `{}`", name.escape_debug());
            let unknown = Diagnostic::error(codes::UNKNOWN, title);
            vec![match did_you_mean(name, devices.iter().map(|d| d.name.as_str())) {
                Some(near) => unknown.help(format!("did you mean `{near}`?")),
                None => unknown,
            }]
        })
    };
    let mut apps = vec![];
    for (at, path) in request.programs.iter().enumerate() {
        let (text, base) = sources::read(path, map).map_err(one)?;
        let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let focus = request.focus.get(at).or(request.focus.last());
        let focus = device(focus.map_or("", String::as_str))?;
        apps.push(flightplan::read_program(&text, base, &name, focus).map_err(one)?);
    }
    if let (Some(rate), Some(text)) = (signature.role(Role::Rate), &request.rate) {
        let variable = &mut signature.variables[rate.index()];
        variable.initial = variable
            .unit
            .parse(text)
            .map_err(|why| vec![Diagnostic::error(codes::QUANTITY, "not a rate").note(why)])?;
    }
    let scopes = Scopes::new(&signature);
    let wanted = if request.objectives.is_empty() { &config.objectives } else { &request.objectives };
    let objective = |name: &String| {
        Objective::parse(name, &signature, &scopes)
            .map_err(|why| vec![Diagnostic::error(codes::UNKNOWN, "not an objective").note(why)])
    };
    let settings = Settings {
        tiers: if request.any_tier { Tiers::Any } else { Tiers::Tightest },
        one_region_per_device: config.single_allocation && !request.shared,
        routes: 2,
        objectives: wanted.iter().map(objective).collect::<Result<_>>()?,
        without: request.without.iter().map(|name| device(name)).collect::<Result<_>>()?,
    };
    Problem::new(Model { signature, rules, apps, devices, links }, settings)
}

/// The problem with a region bound to a device: `REGION=DEVICE`.
pub fn bind(problem: &Problem, wanted: &str) -> Result<Problem> {
    let unknown = |kind: &str, name: &str, known: Vec<&str>| {
        let title = format!("no {kind} is called `{}`", name.escape_debug());
        let unknown = Diagnostic::error(codes::UNKNOWN, title);
        vec![match did_you_mean(name, known) {
            Some(near) => unknown.help(format!("did you mean `{near}`?")),
            None => unknown,
        }]
    };
    let (region, device) = wanted.split_once('=').unwrap_or((wanted, ""));
    let names: Vec<String> = (0..problem.nodes.len()).map(|n| problem.region_name(n)).collect();
    let Some(node) = names.iter().position(|name| name == region) else {
        return Err(unknown("region", region, names.iter().map(String::as_str).collect()));
    };
    let devices = problem.model.devices.iter().map(|d| d.name.as_str());
    let Some(device) = devices.clone().position(|name| name == device) else {
        return Err(unknown("device", device, devices.collect()));
    };
    let mut model = problem.model.clone();
    let node = &problem.nodes[node];
    model.apps[node.app].regions[node.region].on = vec![device];
    let mut settings = problem.settings.clone();
    settings.without.retain(|d| *d != device);
    Problem::new(model, settings)
}
