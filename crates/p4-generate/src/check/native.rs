//! Machine code has the interpreter's results.

use super::{Finding, Outcome, Step, finding, first_line, options, run_on};
use crate::inputs::Inputs;
use ir::Program;
use target_native::Engine;

/// Compiles `program` and compares its run with `outcome`.
pub(crate) fn check_native(program: &Program, inputs: &Inputs, outcome: &Outcome) -> Result<(), Finding> {
    check_native_as(program, inputs, outcome, &|other| other)
}

/// The same of a part of what shows.
pub(crate) fn check_native_as(
    program: &Program,
    inputs: &Inputs,
    outcome: &Outcome,
    part: &dyn Fn(Outcome) -> Outcome,
) -> Result<(), Finding> {
    let engine = Engine::compile(program, options()).map_err(|problems| {
        let text: Vec<&str> = problems.iter().map(|d| d.title.as_str()).collect();
        finding(Step::Native, first_line(&text.join("\n")), format!("{problems:?}"))
    })?;
    let report = engine.report();
    let other = part(run_on(engine.into_switch(), inputs));
    match outcome.difference(&other) {
        None => Ok(()),
        Some(difference) => {
            let details = format!("{difference}\n{report:?}\n{}", lowered(program));
            Err(finding(Step::Native, "does something else", details))
        }
    }
}

fn lowered(program: &Program) -> String {
    ir_lower::lower(program).map(|lowered| ir::text::write(&lowered)).unwrap_or_default()
}
