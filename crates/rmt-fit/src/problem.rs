//! Code that no stage can run.

use base_diag::Span;

/// Something that no placement can help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Place in the source.
    pub span: Span,
    /// The code, in words.
    pub what: String,
    /// The remedy.
    pub help: String,
}

impl Problem {
    pub(crate) fn new(span: Span, what: &str, help: &str) -> Problem {
        Problem { span, what: what.to_string(), help: help.to_string() }
    }

    /// Adds the problem to a list, if it is not there yet.
    pub(crate) fn add_to(self, problems: &mut Vec<Problem>) {
        if !problems.contains(&self) {
            problems.push(self);
        }
    }
}
