//! Calls and instances that can be run on PSA.

use crate::check::{Unit, refused};
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::{Call, Program};

/// Extern functions of PSA and core.p4.
const FUNCTIONS: [&str; 9] = [
    "assert",
    "assume",
    "psa_clone_e2e",
    "psa_clone_i2e",
    "psa_normal",
    "psa_recirculate",
    "psa_resubmit",
    "static_assert",
    "verify",
];

/// Refuses calls that cannot be run.
pub(crate) fn check_call(_: &Program, _: Unit, call: &Call, name: &str) -> Option<Diagnostic> {
    (!FUNCTIONS.contains(&name)).then(|| refused(call, format!("`{name}` is not supported")))
}

/// Refuses frame externs: where a frame would come back into two pipelines is not settled.
pub(crate) fn check_instances(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let is_frame = |i: &&ir::Instance| {
        let object = program.externs.get(i.object.index());
        object.is_some_and(|o| o.frame_extern().is_some())
    };
    let problem = |instance: &ir::Instance| {
        Diagnostic::error(codes::FRAME_EXTERN, "frame externs do not run on PSA yet")
            .at(instance.span, "made here")
            .help("write the program for v1model")
    };
    let problems: Vec<_> = program.instances.iter().filter(is_frame).map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
