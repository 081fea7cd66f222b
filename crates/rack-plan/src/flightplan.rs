//! Planning problems from the files of Flightplan's planner.

use super::{Result, Wishes, not_a_rate};
use base_diag::Diagnostic;
use base_diag::codes::plan as codes;
use plan_model::flightplan;
use plan_model::{Model, Role, find_name, read_rules};
use plan_search::{Objective, Problem, Scopes, Settings, Tiers};
use std::path::{Path, PathBuf};

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
    /// True if several regions may share a device even if the configuration forbids it.
    pub shared: bool,
    /// Options of the user.
    pub wishes: Wishes,
}

/// Reads a file: its text, and the number of its first byte in the source map.
pub type Read<'r> = dyn FnMut(&Path) -> std::result::Result<(String, u32), Diagnostic> + 'r;

/// Reads all files and makes a problem of them.
pub fn load(request: &Request, read: &mut Read) -> Result<Problem> {
    let one = |found: Diagnostic| vec![found];
    let (text, base) = read(&request.config).map_err(one)?;
    let config = flightplan::read_config(&text, base).map_err(one)?;
    let mut signature = config.signature.clone();
    let (text, base) = read(&request.devices).map_err(one)?;
    let devices = flightplan::read_devices(&text, base, &config).map_err(one)?;
    let (text, base) = read(&request.network).map_err(one)?;
    let links = flightplan::read_network(&text, base, &config, &devices).map_err(one)?;
    let mut rules = vec![];
    for path in &request.rules {
        let (text, base) = read(path).map_err(one)?;
        match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => {
                rules.extend(flightplan::read_performance_csv(&text, base, &config.signature).map_err(one)?)
            }
            Some("json") => {
                rules.extend(flightplan::read_performance_json(&text, base, &config.signature).map_err(one)?)
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
    let device = |name: &str| find_name("device", name, devices.iter().map(|d| d.name.as_str())).map_err(one);
    let mut apps = vec![];
    for (at, path) in request.programs.iter().enumerate() {
        let (text, base) = read(path).map_err(one)?;
        let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let focus = request.focus.get(at).or(request.focus.last());
        let focus = device(focus.map_or("", String::as_str))?;
        apps.push(flightplan::read_program(&text, base, &name, focus).map_err(one)?);
    }
    if let (Some(rate), Some(text)) = (signature.role(Role::Rate), &request.wishes.rate) {
        let variable = &mut signature.variables[rate.index()];
        variable.initial = variable.unit.parse(text).map_err(|why| vec![not_a_rate(why)])?;
    }
    let scopes = Scopes::new(&signature);
    let wanted =
        if request.wishes.objectives.is_empty() { &config.objectives } else { &request.wishes.objectives };
    let objective = |name: &String| {
        Objective::parse(name, &signature, &scopes).map_err(|why| {
            let title = format!("`{}` is not an objective", name.escape_debug());
            vec![Diagnostic::error(codes::UNKNOWN, title).note(why)]
        })
    };
    let settings = Settings {
        tiers: if request.wishes.any_tier { Tiers::Any } else { Tiers::Tightest },
        one_region_per_device: config.single_allocation && !request.shared,
        routes: 2,
        objectives: wanted.iter().map(objective).collect::<Result<_>>()?,
        refused: vec![],
        wanted: vec![],
        without: request.wishes.without.iter().map(|name| device(name)).collect::<Result<_>>()?,
    };
    Problem::new(Model { signature, rules, apps, devices, links }, settings)
}
