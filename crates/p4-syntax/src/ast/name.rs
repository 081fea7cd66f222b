//! Identifiers and paths (P4-16 §6.4.1, §6.8).

use base_diag::Span;
use smol_str::SmolStr;

/// An identifier where it stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    /// Empty if the parser invented a missing name.
    pub text: SmolStr,
    /// Source position.
    pub span: Span,
}

/// A name to look up: `x`, or `.x` for the global scope (P4-16 §6.8).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Path {
    /// Written with a leading dot: looked up in the top-level scope only.
    pub absolute: bool,
    /// The names to look up.
    pub name: Name,
    /// The whole, dot included.
    pub span: Span,
}
