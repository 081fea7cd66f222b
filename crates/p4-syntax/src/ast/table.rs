//! Tables (P4-16 §14.2).

use base_diag::Span;

use super::{Annotation, Arg, Expr, Keyset, Name, Path};

/// `table name { properties }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDecl {
    /// Before `table`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    /// In order; the checker finds those that are doubled, missing or unknown.
    pub properties: Vec<TableProperty>,
    /// The whole.
    pub span: Span,
}

/// One property of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableProperty {
    /// Before it.
    pub annotations: Vec<Annotation>,
    /// `const` written.
    pub is_const: bool,
    /// Kind of property, with its parts.
    pub kind: TablePropertyKind,
    /// `key`, `actions`, `entries`, `default_action`, `size`, ...
    pub name: Name,
    /// The whole.
    pub span: Span,
}

/// The forms of a table's property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TablePropertyKind {
    /// `key = { ... }`
    Key(Vec<KeyElement>),
    /// `actions = { ... }`
    Actions(Vec<ActionRef>),
    /// `entries = { ... }`
    Entries(Vec<Entry>),
    /// `name = value;`: `default_action`, `size`, `implementation`, ... A bare action name is a path, one with
    /// arguments a call.
    Value(Expr),
}

/// `expression : match_kind @annotations;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyElement {
    pub value: Expr,
    /// How: `exact`, `lpm`, ...
    pub match_kind: Name,
    /// After the match kind.
    pub annotations: Vec<Annotation>,
    /// The whole.
    pub span: Span,
}

/// An action in a list or an entry: `a`, `.a`, `a(x)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionRef {
    /// Before it, in a list of actions; after it, in an entry, where [`Entry`] holds them.
    pub annotations: Vec<Annotation>,
    /// Path of the action.
    pub path: Path,
    /// The arguments; `None` without parentheses.
    pub args: Option<Vec<Arg>>,
    /// The whole.
    pub span: Span,
}

/// `const priority = 10: (keys) : action(args) @annotations;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// `const` written before the entry.
    pub is_const: bool,
    /// `priority = e`
    pub priority: Option<Expr>,
    pub keyset: Keyset,
    pub action: ActionRef,
    /// After the action.
    pub annotations: Vec<Annotation>,
    /// The whole.
    pub span: Span,
}
