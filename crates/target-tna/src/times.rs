//! Times: a Tofino counts nanoseconds, and cannot divide them by 1,000. On request, the time of arrival counts steps of 1,024 ns.
//!
//! Before: `standard_metadata.ingress_global_timestamp`
//! After:  the same field, which ingress sets: `standard.ingress_global_timestamp = (bit<48>)prsr.global_tstamp[47:10];`

use crate::original::metadata;
use ir::{Expr, Program, visit};

/// The time of arrival.
pub(crate) const ARRIVAL: &str = "ingress_global_timestamp";

/// True if a control reads it.
pub(crate) fn are_read(program: &Program) -> bool {
    let mut found = false;
    let mut look = |expr: &Expr| found |= metadata(program, expr) == Some(ARRIVAL);
    for control in &program.controls {
        let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
        bodies.for_each(|body| visit::all_exprs(body, &mut look));
        let keys = control.tables.iter().flat_map(|table| &table.keys);
        keys.for_each(|key| visit::subexprs(&key.expr, &mut look));
        let runs = control.tables.iter().flat_map(|table| &table.actions);
        runs.flat_map(|run| &run.args).for_each(|arg| visit::subexprs(arg, &mut look));
    }
    found
}
