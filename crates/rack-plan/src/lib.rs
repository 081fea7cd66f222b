//! Planning problems: of a rack with its app, or of abstract programs in the files of Flightplan's planner.

mod bind;
mod cut;
pub mod flightplan;
mod flow_page;
mod flow_plan;
mod flows;
mod lightest;
mod limits;
mod offers;
mod page;
mod placement;
mod rack;
mod shares;
mod spares;
mod tighten;

pub use bind::bind;
pub use flow_page::flow_page;
pub use flow_plan::{ChipFit, FlowPlan};
pub use flows::{FlowApp, FlowProblem, check_memory, flow_problem};
pub use lightest::split_lightest;
pub use limits::check_limits;
pub use offers::call_cost;
pub use page::page;
pub use placement::{by_hand, group_rules, placement};
pub use rack::{Cost, RackProblem, Refused, RuleText};
pub use spares::Spares;
pub use tighten::fitting;

use base_diag::Diagnostic;
use base_diag::codes::plan as codes;
use base_time::ParseUnitError;
use plan_model::find_name;
use plan_search::{Goal, Problem};
use rack_model::{Planning, Spanned};

/// Options of the user, beside the files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wishes {
    /// The rate at the start, if another.
    pub rate: Option<String>,
    /// Any covering rule may be used.
    pub any_tier: bool,
    /// Devices that may not be used.
    pub without: Vec<String>,
    /// Objectives that replace those of the files; empty: none do.
    pub objectives: Vec<String>,
}

impl Wishes {
    /// Replaces settings of a RACK.toml.
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

/// A goal from amounts of objectives that count as much as one another: `NAME=AMOUNT` each.
pub fn weigh(problem: &Problem, amounts: &[String]) -> Result<Goal> {
    let one = |found: Diagnostic| vec![found];
    let objectives = &problem.settings.objectives;
    let mut each = vec![0; objectives.len()];
    for wanted in amounts {
        let Some((name, amount)) = wanted.split_once('=') else {
            let title = format!("`{}` is not a weight", wanted.escape_debug());
            return Err(one(
                Diagnostic::error(codes::QUANTITY, title).help("write NAME=AMOUNT, as in `Latency=10us`")
            ));
        };
        let at =
            find_name("objective", name.trim(), objectives.iter().map(|o| o.name.as_str())).map_err(one)?;
        let read = objectives[at].read(amount.trim(), &problem.model.signature, &problem.scopes);
        let wrong = |why: String| {
            vec![Diagnostic::error(codes::QUANTITY, format!("`{wanted}` is not a weight")).note(why)]
        };
        each[at] = read.map_err(wrong)?;
        if each[at] <= 0 {
            return Err(wrong("the amount must be positive, as in `Latency=10us`".to_string()));
        }
    }
    // The least number that is a multiple of all: each objective's value times it, by its amount, is whole.
    let common = each.iter().filter(|amount| **amount > 0).try_fold(1, |all, amount| lcm(all, *amount));
    let Some(common) = common else {
        let title = "these amounts have no common multiple that fits";
        return Err(vec![Diagnostic::error(codes::QUANTITY, title).help("use rounder amounts")]);
    };
    Ok(Goal::Weighted(each.iter().map(|amount| common.checked_div(*amount).unwrap_or(0)).collect()))
}

fn lcm(a: i64, b: i64) -> Option<i64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

fn not_a_rate(why: String) -> Diagnostic {
    Diagnostic::error(codes::QUANTITY, "not a rate").note(why)
}
