//! A diagnostic as a value: description, place, reason and advice.

use crate::{Span, did_you_mean};

/// A stable code, printed as `P4R0213`. [`codes`](crate::codes) explains it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Code(pub u16);

/// The text is no code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseCodeError;

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "P4R{:04}", self.0)
    }
}

impl std::str::FromStr for Code {
    type Err = ParseCodeError;

    /// Reads `P4R0213`, in any case, and the bare number.
    fn from_str(text: &str) -> Result<Code, ParseCodeError> {
        let upper = text.to_ascii_uppercase();
        let digits = upper.strip_prefix("P4R").unwrap_or(&upper);
        digits.parse().map(Code).map_err(|_| ParseCodeError)
    }
}

/// Severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted, and the user should know.
    Warning,
}

/// One message for the user.
///
/// The title describes the mistake in at most ten words; a label gives the reason at a place; notes give facts with
/// numbers and units; help says what to type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The stable code.
    pub code: Code,
    /// For warnings: the name under which it can be switched off (`unused`, `shadow`, ...).
    pub warning: Option<&'static str>,
    /// Description of the problem, at most ten words.
    pub title: String,
    /// Places with a reason each; the first is the primary one.
    pub labels: Vec<Label>,
    /// Facts.
    pub notes: Vec<String>,
    /// Advice to the user.
    pub help: Vec<String>,
}

/// A place and why it matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Reason why the diagnostic is here; may be empty.
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
        debug_assert!(
            crate::WARNINGS.iter().any(|(known, _)| *known == name),
            "`{name}` is in no list of warnings"
        );
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

    /// Advises the one of `known` that `name` is likely a slip of, if there is one.
    pub fn suggest<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        self.suggest_or(name, known, |unchanged| unchanged)
    }

    /// Like [`suggest`](Self::suggest), with the result of `otherwise` if `name` is not a misspelling of any candidate.
    pub fn suggest_or<'a>(
        self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: impl FnOnce(Diagnostic) -> Diagnostic,
    ) -> Diagnostic {
        match did_you_mean(name, known) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => otherwise(self),
        }
    }

    /// The primary place, or none.
    pub fn span(&self) -> Span {
        self.labels.first().map_or(Span::NONE, |l| l.span)
    }
}
