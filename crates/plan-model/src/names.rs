//! Names that have to be known.

use base_diag::Diagnostic;
use base_diag::codes::plan::UNKNOWN;

/// The place of `name` among `known`. The error says that no `kind` is called so, and which may be meant; it has no place in
/// a file.
pub fn find_name<'n>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Result<usize, Diagnostic> {
    known.clone().position(|other| other == name).ok_or_else(|| {
        let title = format!("no {kind} is called `{}`", name.escape_debug());
        Diagnostic::error(UNKNOWN, title).suggest(name, known)
    })
}
