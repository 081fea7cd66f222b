//! Parts of a rack's programs for `simple_switch`.

use crate::bmv2::more_commands;
use crate::rack::{Placed, Racked};
use base_diag::{Diagnostic, codes::emulate as codes};
use std::fmt::Write as _;

/// The commands that fill an app's part on one device: its tables and value sets, the runtime's and the user's, its state, and the origin's
/// groups and sessions.
pub fn commands(racked: &Racked, app: usize, device: usize) -> String {
    let Some(Placed { part, .. }) = racked.part(app, device) else { return String::new() };
    let mut out = String::new();
    for (name, members) in &part.linkage.value_sets {
        for member in members {
            let _ = writeln!(out, "pvs_add {name} {member}");
        }
    }
    for entry in &part.linkage.entries {
        let words = |values: &[u64]| values.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let (keys, args) = (words(&entry.keys), words(&entry.args));
        let _ = writeln!(out, "table_add {} {} {keys} => {args}", entry.table, entry.action);
    }
    for (session, port) in &part.linkage.sessions {
        let _ = writeln!(out, "mirroring_add {session} {port}");
    }
    more_commands(out, &part.program, &racked.fill(app, device))
}

/// Warnings for externs and features of a part that `simple_switch` lacks.
pub fn lacks(racked: &Racked) -> Vec<Diagnostic> {
    let mut found = vec![];
    for Placed { name, part, .. } in racked.parts() {
        for called in part.program.own_externs() {
            found.push(
                Diagnostic::warning(
                    codes::NOT_IN_BMV2,
                    "not-in-bmv2",
                    format!("`simple_switch` cannot run the part of `{name}`"),
                )
                .note(format!("it calls the extern `{called}`, which `simple_switch` does not have"))
                .help("place its region on a device of this rack only, or leave it out"),
            );
        }
    }
    found
}
