//! Entries in every language, resolved against a program.
//!
//! ```text
//! TOML, commands of simple_switch_CLI ──> Statement ──┐
//! STF ──────────────────────────────────> Statement ──┼── Resolver ──> Write ──> a device, a store
//! P4Runtime updates ────────────────────> Write ──────┘
//! ```
//!
//! A [`Resolver`] knows the program's tables and objects and earlier writes: entries have handles, groups have nodes,
//! members and groups have labels. Its writes are complete: control-plane names, values with the widths of their
//! fields, every entry with its key. Sizes and other limits are the device's to check.
//!
//! [`StfRun`] runs an STF test: its control-plane statements are resolved in the same way.

mod entry;
mod handles;
mod nodes;
mod object;
mod profile;
mod resolver;
mod stf;
mod values;

pub use resolver::{Placed, Resolver};
pub use stf::{StfReport, StfRun, is_entry, run_stf};

use base_diag::codes::run::ENTRY_REFUSED;
use base_diag::{Diagnostic, Span, did_you_mean};
use dataplane_api::EntryError;
use ir::Name;
use p4_entries::Named;

/// A write with its references by name.
pub type Write = control_writes::Write<Name>;

/// Writes of a statement, or the reason why it does not fit the program.
type Resolved = Result<Vec<Write>, Box<Diagnostic>>;

fn refuse(span: Span, error: EntryError) -> Box<Diagnostic> {
    let problem = Diagnostic::error(ENTRY_REFUSED, "this does not fit the program").at(span, error.message);
    Box::new(match error.help {
        Some(help) => problem.help(help),
        None => problem,
    })
}

fn wrong(span: Span, label: impl Into<String>) -> Box<Diagnostic> {
    refuse(span, refused(label))
}

fn refused(message: impl Into<String>) -> EntryError {
    EntryError { message: message.into(), help: None }
}

/// No such name; `known` are those there are.
fn unknown(kind: &str, name: &Named, known: &[&str]) -> Box<Diagnostic> {
    let help = match did_you_mean(&name.text, known.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if known.is_empty() => None,
        None => Some(format!("there are: {}", known.join(", "))),
    };
    refuse(name.span, EntryError { message: format!("there is no {kind} `{}`", name.text), help })
}
