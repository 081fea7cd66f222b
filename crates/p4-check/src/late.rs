//! Checks that need whole bodies or the whole program: one file each. They read the typed tree.

mod control_names;
mod division;
mod endless;
mod entries;
mod main_package;
mod reach;
mod recursion;
mod returns;

use base_diag::Diagnostics;

pub(crate) use endless::targets;
pub(crate) use reach::{Reach, all_bodies};

use crate::typed::Program;

/// Runs the late checks in order.
pub(crate) fn check(program: &mut Program, diags: &mut Diagnostics) {
    returns::check_returns(program, diags);
    recursion::check_recursion(program, diags);
    endless::check_endless(program, diags);
    let reach = reach::Reach::new(program);
    division::check_division(program, &reach, diags);
    entries::check_entries(program, diags);
    control_names::check_control_names(program, diags);
    main_package::check_main(program, diags);
}
