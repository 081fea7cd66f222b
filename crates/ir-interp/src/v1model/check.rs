//! Calls of v1model's extern functions that can be run.

use crate::check::{Unit, refused};
use base_diag::Diagnostic;
use device::hash::Algorithm;
use ir::{Call, Const, ExprKind, Program, Type, TypeKind};

/// Extern functions of v1model and core.p4.
const FUNCTIONS: [&str; 18] = [
    "assert",
    "assume",
    "clone",
    "clone_preserving_field_list",
    "digest",
    "hash",
    "log_msg",
    "mark_to_drop",
    "random",
    "recirculate_preserving_field_list",
    "resubmit_preserving_field_list",
    "static_assert",
    "truncate",
    "update_checksum",
    "update_checksum_with_payload",
    "verify",
    "verify_checksum",
    "verify_checksum_with_payload",
];

/// Refuses calls that cannot be run.
pub(crate) fn check_call(program: &Program, unit: Unit, call: &Call, name: &str) -> Option<Diagnostic> {
    if !FUNCTIONS.contains(&name) {
        return Some(advise(name, refused(call, format!("`{name}` is not supported"))));
    }
    if name == "mark_to_drop" && call.args.is_empty() {
        let problem = refused(call, "without an argument it is not supported");
        return Some(problem.help("write `mark_to_drop(standard_metadata)`"));
    }
    check_stage(program, unit, call, name).or_else(|| check_algorithm(program, call))
}

fn advise(name: &str, problem: Diagnostic) -> Diagnostic {
    match name {
        "clone3" => problem.help("write `clone_preserving_field_list(type, session, list)`"),
        "resubmit" | "recirculate" => problem.help(format!(
            "write `{name}_preserving_field_list(list)` and mark the fields `@field_list(list)`"
        )),
        _ => problem,
    }
}

/// Checksums are verified and updated in their own stages only.
fn check_stage(program: &Program, unit: Unit, call: &Call, name: &str) -> Option<Diagnostic> {
    let stage = match name {
        "verify_checksum" | "verify_checksum_with_payload" => "verify_checksum",
        "update_checksum" | "update_checksum_with_payload" => "compute_checksum",
        _ => return None,
    };
    let here = match unit {
        Unit::Control(at) | Unit::Action(at, _) => Some(at),
        _ => None,
    };
    let elsewhere = program.stages.iter().filter(|s| s.name != stage).filter_map(|s| match s.kind {
        ir::StageKind::Control(id) | ir::StageKind::Deparse(id) => Some(id.index()),
        _ => None,
    });
    let misplaced = here.is_none() || elsewhere.into_iter().any(|at| Some(at) == here);
    misplaced.then(|| refused(call, format!("`{name}` works in the stage `{stage}` only")))
}

/// `HashAlgorithm.random` is declared, but not defined.
fn check_algorithm(program: &Program, call: &Call) -> Option<Diagnostic> {
    for arg in call.args.iter().flatten() {
        let (ExprKind::Const(Const::Enum(at)), Type::Named(id)) = (&arg.kind, &arg.ty) else { continue };
        let declared = program.type_decl(*id);
        let TypeKind::Enum(members) = &declared.kind else { continue };
        let member = members.get(*at as usize)?;
        if declared.name == "HashAlgorithm" && Algorithm::by_name(member).is_none() {
            return Some(refused(call, format!("`HashAlgorithm.{member}` is not defined")));
        }
    }
    None
}
