//! Names that have to be known.

use base_diag::Diagnostic;
use base_diag::codes::plan::UNKNOWN;

/// Number of names from which on they are not listed.
const MANY: usize = 16;

/// The place of `name` among `known`. The error says that no `kind` is called so, and which may be meant or which there are; it has no place in
/// a file.
pub fn find_name<'n>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Result<usize, Diagnostic> {
    known.clone().position(|other| other == name).ok_or_else(|| {
        let title = format!("no {kind} is called `{}`", name.escape_debug());
        let all: Vec<&str> = known.clone().take(MANY).collect();
        Diagnostic::error(UNKNOWN, title).suggest_or(name, known, |error| match all.len() {
            1..MANY => error.note(format!("there are {}", all.join(", "))),
            _ => error,
        })
    })
}
