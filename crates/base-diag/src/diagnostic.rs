//! A diagnostic as a value: what is wrong, where, why, and what to do.

use crate::Span;

/// A stable code, printed as `P4R0213`. Each has one file under `codes/` with its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Code(pub u16);

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted, and the user should know.
    Warning,
}

/// One message for the user.
///
/// The title says what is wrong in at most ten words; a label says why here; notes give facts with numbers
/// and units; help says what to type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The stable code.
    pub code: Code,
    /// For warnings: the name under which it can be switched off (`unused`, `shadow`, ...).
    pub warning: Option<&'static str>,
    /// What is wrong, at most ten words.
    pub title: String,
    /// Places with a reason each; the first is the primary one.
    pub labels: Vec<Label>,
    /// Facts.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
}

/// A place and why it matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Why here; may be empty.
    pub text: String,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, title: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            warning: None,
            title: title.into(),
            labels: vec![],
            notes: vec![],
            help: vec![],
        }
    }

    /// A warning that users can switch off by `name`.
    pub fn warning(code: Code, name: &'static str, title: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, warning: Some(name), ..Diagnostic::error(code, title) }
    }

    /// Adds a place; the first one added is the primary one.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds an advice.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// The primary place, or none.
    pub fn span(&self) -> Span {
        self.labels.first().map_or(Span::NONE, |l| l.span)
    }
}
