//! Plans of flows whose part fits the switch: a plan that the chip cannot hold is made again with less memory (ExoPlane,
//! section 5).
//!
//! ```text
//! 960 blocks ──> plan ──> program of the switch ──> fit? ──> no: bisect between the blocks that fit and those that do not
//! ```
//!
//! Apps that share a switch are one program there, whose tables may take a little more than those of the apps alone: what is more counts as
//! memory that does not grow.
//!
//! Sums of blocks leave out where stages end, which ways a table has, and everything of a program that is no memory.

use crate::Result;
use crate::flow_plan::{ChipFit, FlowPlan};
use crate::flows::{FlowProblem, used};
use app_allocation::Limit;
use base_diag::SourceMap;
use ir::Program;
use rack_model::Rack;

/// The best plan whose part fits the chip of the switch. Where there is none, the best plan, which says so. `part` makes the
/// program of the switch, if that is possible before all programs are read.
pub fn fitting(
    rack: &Rack,
    problem: FlowProblem,
    part: &mut dyn FnMut(&FlowPlan) -> Result<Option<Program>>,
) -> Result<FlowPlan> {
    let plan = FlowPlan::new(rack, problem.clone())?;
    let Some(tofino) = &problem.tofino else { return together(rack, problem, plan, part) };
    let mut fit = |plan: &FlowPlan| -> Result<ChipFit> {
        let Some(program) = part(plan)? else { return Ok(ChipFit::Unknown) };
        let lack = rmt_fit::fit(&program, tofino)?.diagnostics(&SourceMap::new()).into_iter().next();
        Ok(lack.map_or(ChipFit::Fits, |lack| ChipFit::Never(lack.title)))
    };
    let mut why = match fit(&plan)? {
        ChipFit::Never(why) => why,
        fit => return Ok(FlowPlan { fit, ..plan }),
    };
    let of = problem.problem.switch.first().map_or(0, |row| row.capacity);
    // The part of a plan with `low` blocks fits, or there is no such plan; that of one with `high` blocks does not fit.
    let (mut low, mut high, mut found) = (0, of, None);
    while high - low > 1 {
        let blocks = low + (high - low) / 2;
        let mut tighter = problem.clone();
        tighter.problem.switch.iter_mut().for_each(|row| row.capacity = blocks);
        let Ok(plan) = FlowPlan::new(rack, tighter) else {
            low = blocks;
            continue;
        };
        match fit(&plan)? {
            ChipFit::Never(lack) => (high, why) = (blocks, lack),
            _ => (low, found) = (blocks, Some(plan)),
        }
    }
    Ok(match found {
        Some(tighter) => FlowPlan { fit: ChipFit::Tightened { of, fails: high, why }, ..tighter },
        None => FlowPlan { fit: ChipFit::Never(why), ..plan },
    })
}

/// The best plan whose apps fit the memory of the switch as one program.
fn together(
    rack: &Rack,
    mut problem: FlowProblem,
    mut plan: FlowPlan,
    part: &mut dyn FnMut(&FlowPlan) -> Result<Option<Program>>,
) -> Result<FlowPlan> {
    /// Attempts: what is more hardly depends on the number of flows.
    const MOST: usize = 4;
    let Some(row) = problem.problem.switch.first().cloned().filter(|_| problem.apps.len() > 1) else {
        return Ok(plan);
    };
    for _ in 0..MOST {
        let Some(program) = part(&plan)? else { break };
        let taken = used(&program, &row);
        if taken <= row.capacity {
            break;
        }
        let planned = plan.allocation.used.iter().find(|used| used.limit == Limit::Switch(0));
        let more = taken.saturating_sub(planned.map_or(0, |used| used.used)).max(1);
        let mut apps = problem.problem.apps.iter_mut();
        let Some(fixed) = apps.find_map(|app| app.at_switch.as_mut().ok()?.fixed.first_mut()) else { break };
        *fixed += more;
        plan = FlowPlan::new(rack, problem.clone())?;
    }
    Ok(plan)
}
