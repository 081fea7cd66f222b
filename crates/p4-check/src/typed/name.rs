//! Names of declarations.

use base_diag::Span;
use smol_str::SmolStr;

/// A name as the source spells it, and where.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    /// The identifier.
    pub text: SmolStr,
    /// Source position in the declaration.
    pub span: Span,
}
