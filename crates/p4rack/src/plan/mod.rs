//! What is planned: a rack with its app, or abstract programs in the files of Flightplan's planner.

mod cut;
pub mod flightplan;
mod offers;
mod page;
mod rack;

pub use page::page;
pub use rack::{Cost, RackProblem, Refused, RuleText};

use base_diag::Diagnostic;
use base_diag::codes::plan as codes;
use base_time::ParseUnitError;
use plan_model::find_name;
use plan_search::Problem;
use rack_model::{Planning, Spanned};

/// What is asked of plans besides what the files say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wishes {
    /// The rate at the start, if another.
    pub rate: Option<String>,
    /// Any covering rule may be used.
    pub any_tier: bool,
    /// Devices that may not be used.
    pub without: Vec<String>,
    /// What plans are judged by, if by something else.
    pub objectives: Vec<String>,
}

impl Wishes {
    /// Puts them in the place of what a RACK.toml says.
    pub fn fill(&self, plan: &mut Planning) -> Result<()> {
        if let Some(rate) = &self.rate {
            plan.rate = Some(rate.parse().map_err(|why: ParseUnitError| vec![not_a_rate(why.to_string())])?);
        }
        plan.any_tier |= self.any_tier;
        if !self.objectives.is_empty() {
            plan.objectives = self.objectives.iter().map(|name| Spanned::from(name.clone())).collect();
        }
        Ok(())
    }
}

type Result<T> = std::result::Result<T, Vec<Diagnostic>>;

/// The problem with a region bound to a device: `REGION=DEVICE`.
pub fn bind(problem: &Problem, wanted: &str) -> Result<Problem> {
    let one = |found: Diagnostic| vec![found];
    let (region, device) = wanted.split_once('=').unwrap_or((wanted, ""));
    let names: Vec<String> = (0..problem.nodes.len()).map(|n| problem.region_name(n)).collect();
    let node = find_name("region", region, names.iter().map(String::as_str)).map_err(one)?;
    let devices = problem.model.devices.iter().map(|d| d.name.as_str());
    let device = find_name("device", device, devices).map_err(one)?;
    let mut model = problem.model.clone();
    let node = &problem.nodes[node];
    model.apps[node.app].regions[node.region].on = vec![device];
    let mut settings = problem.settings.clone();
    settings.without.retain(|d| *d != device);
    Problem::new(model, settings)
}

fn not_a_rate(why: String) -> Diagnostic {
    Diagnostic::error(codes::QUANTITY, "not a rate").note(why)
}
