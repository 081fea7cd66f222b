//! Plans of flows whose part fits the switch: a plan that the chip cannot hold is made again with less memory (ExoPlane,
//! section 5).
//!
//! ```text
//! 960 blocks ──> plan ──> program of the switch ──> fit? ──> no: bisect between the blocks that fit and those that do not
//! ```
//!
//! Sums of blocks leave out where stages end, which ways a table has, and everything of a program that is no memory.

use crate::Result;
use crate::flow_plan::{ChipFit, FlowPlan};
use crate::flows::FlowProblem;
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
    let Some(tofino) = &problem.tofino else { return Ok(plan) };
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
