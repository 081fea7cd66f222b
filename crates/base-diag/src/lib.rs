//! Sources, spans and diagnostics: made as values, rendered only at the edge.

mod diagnostic;
mod span;

pub use diagnostic::{Code, Diagnostic, Label, Severity};
pub use span::{ExpansionId, Span};
