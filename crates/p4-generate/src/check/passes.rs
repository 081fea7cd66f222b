//! Every lowering pass keeps the meaning of a program.

use super::{Finding, Outcome, Step, finding, first_line, run};
use crate::inputs::Inputs;
use ir::Program;
use std::sync::Arc;

/// Lowers `program`, verifies every result, and compares the run with `outcome`. Only if they differ, the result of
/// each pass is run, to name the faulty one. A program that is refused as too large passes.
pub(super) fn check_passes(program: &Program, inputs: &Inputs, outcome: &Outcome) -> Result<(), Finding> {
    let mut wrong = None;
    let lowered = ir_lower::lower_until(program, &mut |pass, _, made| {
        if wrong.is_none()
            && let Err(errors) = ir::verify::verify(made)
        {
            let first = errors.first().map(|e| e.message.clone()).unwrap_or_default();
            wrong = Some(finding(Step::Pass, format!("{}: {first}", pass.name), format!("{errors:#?}")));
        }
    });
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let Ok(lowered) = lowered else { return Ok(()) };
    if let Err(errors) = ir_lower::verify_lowered(&lowered) {
        let first = errors.first().map(|e| e.message.clone()).unwrap_or_default();
        return Err(finding(Step::Pass, format!("not in lowered form: {first}"), format!("{errors:#?}")));
    }
    if same(lowered, inputs, outcome).is_ok() {
        return Ok(());
    }
    let mut broken = None;
    let _ = ir_lower::lower_until(program, &mut |pass, _, made| {
        if broken.is_none()
            && let Err((summary, details)) = same(made.clone(), inputs, outcome)
        {
            let before = format!("{}: {summary}", pass.name);
            broken = Some(finding(Step::Pass, before, format!("{details}\n{}", ir::text::write(made))));
        }
    });
    Err(broken.unwrap_or_else(|| finding(Step::Pass, "differs at the end, but behind no pass", "")))
}

/// Compares the run with `outcome`; error: a summary and details.
fn same(program: Program, inputs: &Inputs, outcome: &Outcome) -> Result<(), (String, String)> {
    let other = run(&Arc::new(program), inputs).map_err(|why| (first_line(&why), why.clone()))?;
    match outcome.difference(&other) {
        None => Ok(()),
        Some(difference) => Err(("does something else".to_string(), difference)),
    }
}
