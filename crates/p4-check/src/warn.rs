//! Warnings: one file for each. They read the typed tree of a program without errors.
//!
//! Each has a name, one of [`base_diag::WARNINGS`], under which it can be switched off or made an error:
//! `unused`, `uninitialized-use`, `uninitialized-out-param`, `invalid-header`, `unreachable`, `parser-transition`,
//! `missing-case`, `keys`, `deprecated` here, `shadow` and `overflow` where names are bound and numbers converted,
//! `nested-conditional` with the types of `?:`,
//! `control-name` and `entry-mask` with the checks of control-plane names and entries.
//! `@noWarn("name")` on a declaration switches it off for that declaration.

mod covered;
mod deprecated;
mod flow;
mod missing_case;
mod places;
mod state;
mod transition;
mod unreachable;
mod unused;

use base_diag::Diagnostics;

use crate::typed::{Annotations, Program};

/// Reports all warnings of a program.
pub(crate) fn check(program: &Program, diags: &mut Diagnostics) {
    unused::warn_unused(program, diags);
    unreachable::warn_unreachable(program, diags);
    transition::warn_transition(program, diags);
    missing_case::warn_missing_case(program, diags);
    flow::warn_flow(program, diags);
    covered::warn_covered(program, diags);
    deprecated::warn_deprecated(program, diags);
}

/// True if `@noWarn("name")` stands there.
pub(crate) fn silenced(annotations: &Annotations, name: &str) -> bool {
    annotations.iter().any(|a| {
        a.name == "noWarn" && (a.values().is_empty() || a.string().is_some_and(|s| s == name || s == "all"))
    })
}
