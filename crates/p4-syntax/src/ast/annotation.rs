//! Annotations (P4-16 §20).

use base_diag::Span;
use smol_str::SmolStr;

use super::{Expr, Name, NamedExpr};

/// `@name`, `@name(...)`, `@name[...]` or `@pragma name ...`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// Keywords are allowed as names too.
    pub name: Name,
    /// The part after the name.
    pub body: AnnotationBody,
    /// Written as `@pragma name tokens`, which ends with the line; the body is then [`AnnotationBody::Tokens`].
    pub pragma: bool,
    /// From the `@` to the end of the body.
    pub span: Span,
}

/// The part of an annotation after its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnnotationBody {
    /// Nothing.
    Empty,
    /// `(...)`: any tokens with balanced parentheses; each annotation defines its own grammar. Read them with
    /// [`Annotation::expressions`].
    Tokens(Vec<AnnotationToken>),
    /// `[e1, e2]`: structured, a list of expressions. `[]` is this one too.
    List(Vec<Expr>),
    /// `[k1 = e1, k2 = e2]`: structured, key-value pairs.
    Record(Vec<NamedExpr>),
}

/// A token of an unstructured annotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnnotationToken {
    pub kind: AnnotationTokenKind,
    /// As written; of a string, the contents with escapes resolved.
    pub text: SmolStr,
    /// Source position.
    pub span: Span,
}

/// The kinds of token that readers of annotations distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnnotationTokenKind {
    /// A name or keyword.
    Word,
    /// An integer literal.
    Int,
    /// A string literal.
    String,
    /// Anything else.
    Symbol,
}
