//! Code that devices of a class cannot run, regardless of their resources.
//!
//! [`check`] reports it to the user (`p4rack check --device CLASS`); [`exceeds`] says whether a statement has to run elsewhere.
//! The operations that a class lacks are data: [`device_classes::Lacks`].

mod accesses;
mod dependences;
mod found;
mod operations;
mod paths;
mod places;

pub use operations::exceeds;

use base_diag::Diagnostic;
use device_classes::{DeviceClass, Lacks};
use ir::Program;

/// Errors for everything in a program that devices of the class cannot run, in source order.
pub fn check(program: &Program, class: DeviceClass) -> Vec<Diagnostic> {
    check_lacks(program, class, class.profile().lacks)
}

/// The same for a device of the class that offers the functions which programs declare, or leaves them to another check.
pub fn check_but_own_functions(program: &Program, class: DeviceClass) -> Vec<Diagnostic> {
    check_lacks(program, class, Lacks { functions_of_programs: false, ..class.profile().lacks })
}

fn check_lacks(program: &Program, class: DeviceClass, lacks: Lacks) -> Vec<Diagnostic> {
    let mut found = operations::check(program, class, lacks);
    if lacks.second_accesses {
        found.extend(accesses::check(program, class));
    }
    found.sort_by_key(|diagnostic| diagnostic.labels.first().map(|label| label.span.lo));
    found
}
