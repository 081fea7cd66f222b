//! Messages of a C compiler as diagnostics.
//!
//! GCC and Clang write `FILE:LINE:COLUMN: error: TEXT`. Lines in another form explain the message before or after them and
//! are left out.

use crate::build::Source;
use base_diag::codes::handler as codes;
use base_diag::{Diagnostic, Span};

/// The most messages that are shown.
const MOST: usize = 20;

/// One diagnostic for each error; notes of the compiler are notes of the error before them.
pub fn diagnostics(output: &str, sources: &[Source], header: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = vec![];
    for line in output.lines() {
        let Some((place, kind, text)) = message(line) else { continue };
        if kind == "note" {
            if let Some(last) = found.pop() {
                found.push(last.note(text.to_string()));
            }
            continue;
        }
        if found.len() == MOST {
            break;
        }
        let problem = Diagnostic::error(codes::HANDLER_BUILD, "a handler does not compile");
        let span = sources
            .iter()
            .find(|source| source.path.as_os_str() == place.file)
            .map(|source| place.span(source));
        found.push(match span {
            Some(span) => problem.at(span, text.to_string()),
            None if place.file.ends_with(header) => problem
                .note(text.to_string())
                .note(format!("in line {} of the header `{header}`", place.line)),
            None => problem.note(text.to_string()).note(format!("at {}:{}", place.file, place.line)),
        });
    }
    found
}

struct Place<'m> {
    file: &'m str,
    line: usize,
    column: usize,
}

impl Place<'_> {
    /// The word at the place.
    fn span(&self, source: &Source) -> Span {
        let starts = std::iter::once(0).chain(source.text.match_indices('\n').map(|(at, _)| at + 1));
        let start = starts.into_iter().nth(self.line.saturating_sub(1)).unwrap_or(0);
        let line = source.text[start..].split('\n').next().unwrap_or_default();
        let mut column = self.column.saturating_sub(1).min(line.len());
        while !line.is_char_boundary(column) {
            column -= 1;
        }
        let rest = &line[column..];
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = if word == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { word };
        source.span(start + column, length)
    }
}

/// The place, the kind and the text of a message.
fn message(line: &str) -> Option<(Place<'_>, &str, &str)> {
    let kinds = [": fatal error: ", ": error: ", ": note: "];
    let (at, kind) = kinds.iter().find_map(|kind| Some((line.find(kind)?, *kind)))?;
    let text = &line[at + kind.len()..];
    let mut parts = line[..at].rsplitn(3, ':');
    let (column, number, file) = (parts.next()?, parts.next()?, parts.next()?);
    let place = Place { file, line: number.parse().ok()?, column: column.parse().ok()? };
    Some((place, if kind == ": note: " { "note" } else { "error" }, text))
}
