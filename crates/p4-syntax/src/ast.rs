//! The syntax tree of P4-16: the user's text, in order, with a span on every node.
//!
//! `parse` makes it, `print` turns it back into text, the checker reads it. Names are not resolved and no
//! constant is folded here. A simple name in an expression is always [`ExprKind::Path`], be it a variable, a
//! type (`E.A`, `S.minSizeInBits()`, the constructor call `Counter(4)`) or an instance: the checker decides.
//!
//! **Invariant**: no tree is higher than [`MAX_HEIGHT`], so a recursive walk needs a bounded stack.
//!
//! The grammar is P4-16 1.2.5 with the working draft's loops, compound assignments, `+:` slices and arrays.

// Fields are named after the parts of the grammar; those without a comment are described by their names.
#![allow(missing_docs)]

use smol_str::SmolStr;

mod annotation;
mod decl;
mod expr;
mod name;
mod stmt;
mod table;
mod types;

pub use annotation::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind};
pub use decl::{
    ActionDecl, ConstDecl, ControlDecl, ControlType, Decl, Direction, EnumDecl, EnumMember, ErrorDecl,
    ExternDecl, ExternForward, ExternFunction, Field, FunctionDecl, InstanceDecl, InstanceMember, Local,
    MatchKindDecl, Method, PackageDecl, Param, ParserDecl, ParserType, StructDecl, StructKind, TypedefDecl,
    TypedefKind, ValueSetDecl, VarDecl,
};
pub use expr::{Arg, BinaryOp, Expr, ExprKind, IntLit, LitWidth, NamedExpr, Radix, UnaryOp};
pub use name::{Name, Path};
pub use stmt::{
    Block, ForInit, ForStmt, Keyset, KeysetElement, KeysetElementKind, SelectCase, SelectExpr, State, Stmt,
    StmtKind, SwitchCase, SwitchLabel, Transition,
};
pub use table::{ActionRef, Entry, KeyElement, TableDecl, TableProperty, TablePropertyKind};
pub use types::{Type, TypeKind};

/// The greatest height of an expression, a type or a statement.
pub const MAX_HEIGHT: u32 = 400;

/// A whole program with everything it includes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Top-level declarations in source order; those of included files come where the `#include` stands.
    pub decls: Vec<Decl>,
    /// Positions of syntax errors at the top level, in source order.
    pub damage: Vec<Damage>,
}

/// A stretch of the top level with syntax errors: a declaration that has holes, or text of which nothing was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The index of the declaration that was made of it, or else of the one that follows.
    pub at: usize,
    /// A declaration was made of it.
    pub recovered: bool,
    /// The names in it, some of which it may have been going to declare.
    pub words: Vec<SmolStr>,
}
