//! Types as written (P4-16 §7).

use base_diag::Span;

use super::{Expr, Path};

/// A type where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Type {
    /// Kind of type, with its parts.
    pub kind: TypeKind,
    /// Source position.
    pub span: Span,
}

/// The forms of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `bit<W>`; `bit` alone (`None`) means `bit<1>`. `W` is a literal or a parenthesised expression.
    Bit(Option<Box<Expr>>),
    /// `int<W>`; `int` alone (`None`) is the arbitrary-precision integer.
    Int(Option<Box<Expr>>),
    /// `varbit<W>`
    Varbit(Box<Expr>),
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`
    String,
    /// `void`: a return type or a type argument.
    Void,
    /// `_`: a type argument left to inference.
    DontCare,
    /// A declared type or a type variable.
    Named(Path),
    /// `T<A, B>`
    Specialized {
        /// The generic type.
        base: Path,
        /// May be empty.
        args: Vec<Type>,
    },
    /// `T[N]`: a header stack or an array. `T x[N]` is stored in this form too.
    Array {
        /// The element.
        element: Box<Type>,
        /// The number of elements.
        size: Box<Expr>,
    },
    /// `tuple<A, B>`
    Tuple(Vec<Type>),
    /// `list<T>`
    List(Box<Type>),
    /// The parser found none and has said so.
    Missing,
}
