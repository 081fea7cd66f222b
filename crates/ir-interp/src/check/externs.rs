//! Extern functions that the interpreter knows, called where the architecture has them.

use super::{Unit, calls, units};
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::{Call, Callee, Program};

/// Check of an architecture for calls of an extern function, given by name.
pub(crate) type CheckCall = fn(&Program, Unit, &Call, &str) -> Option<Diagnostic>;

/// Refuses calls that cannot be run.
pub(super) fn check(program: &Program, check_call: CheckCall) -> Result<(), Vec<Diagnostic>> {
    let mut problems: Vec<Diagnostic> = vec![];
    for unit in units(program) {
        calls(program, unit, &mut |call| {
            let Callee::ExternFunction(id) = call.callee else { return };
            let Some(function) = program.extern_functions.get(id.index()) else { return };
            let problem =
                match function.user {
                    true if function.value_extern().is_some() => None,
                    true => Some(refused(call, format!("`{}` is not supported", function.name)).help(
                        "write `@value_extern(\"name\")` before its declaration if the device offers it",
                    )),
                    false => check_call(program, unit, call, &function.name),
                };
            // A call in a block or action of which the program has copies is one place of the source.
            problems.extend(problem.filter(|problem| !problems.contains(problem)));
        });
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A call that is not run, and why.
pub(crate) fn refused(call: &Call, why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::NOT_SUPPORTED, "this call cannot be run").at(call.span, why)
}
