//! Checks that need whole bodies or the whole program: one file each. They read the typed tree.

mod division;
mod endless;
mod main_package;
mod reach;
mod recursion;
mod returns;

use base_diag::Diagnostics;

use crate::typed::Program;

/// Runs the late checks in order.
pub(crate) fn check(program: &Program, diags: &mut Diagnostics) {
    returns::check_returns(program, diags);
    recursion::check_recursion(program, diags);
    endless::check_endless(program, diags);
    let reach = reach::Reach::new(program);
    division::check_division(program, &reach, diags);
    main_package::check_main(program, diags);
}
