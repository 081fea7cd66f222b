//! The typed tree: a program with every name resolved and every type known.
//!
//! It is the result of `p4_check::check`, and the only input of later stages. Nothing is left to look up: a use of a
//! name is an [`Id`] into one of the arenas of [`Program`], a call names its callee, lists its type arguments and has
//! one argument for each parameter, and every implicit cast is written out.
//!
//! Generic declarations stay generic: their bodies mention [`Type::Var`], and whoever specialises them applies
//! the [`Substitution`] of the call or instance. Constructor parameters are variables
//! ([`VarKind::ConstructorParam`]).
//!
//! A tree that comes with errors has [`Type::Error`] and [`ExprKind::Error`] where they are: do not elaborate it.

// Fields are named after the parts of the grammar; those without a comment are described by their names.
#![allow(missing_docs)]

mod annotation;
mod decl;
mod expr;
mod ids;
mod stmt;
mod table;
mod types;
pub mod walk;

pub use annotation::{Annotation, AnnotationBody, Annotations};
pub use decl::*;
pub use expr::*;
pub use ids::{Arena, Id};
pub use stmt::*;
pub use table::*;
pub use types::{Substitution, Type, TypeArgs};

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Top-level declarations in source order, those of included files too.
    pub decls: Vec<Decl>,
    /// The package instance named `main`.
    pub main: Option<Id<Instance>>,
    /// Type parameters of all declarations.
    pub type_vars: Arena<TypeVar>,
    /// Structs, headers and header unions.
    pub structs: Arena<Struct>,
    /// Enums.
    pub enums: Arena<Enum>,
    /// New types.
    pub new_types: Arena<NewType>,
    /// Typedefs.
    pub typedefs: Arena<Typedef>,
    /// Members of `error`, in order: their values are their places.
    pub errors: Arena<Constant>,
    /// Members of `match_kind`, in order.
    pub match_kinds: Arena<Constant>,
    /// Constants of all scopes.
    pub consts: Arena<Const>,
    /// Variables and parameters of all scopes.
    pub vars: Arena<Var>,
    /// Functions, extern functions, methods, constructors.
    pub functions: Arena<Function>,
    /// Extern object types.
    pub externs: Arena<Extern>,
    /// Actions of the program and of controls.
    pub actions: Arena<Action>,
    /// Declared parser types.
    pub parser_types: Arena<ParserType>,
    /// Declared control types.
    pub control_types: Arena<ControlType>,
    /// Packages.
    pub packages: Arena<Package>,
    /// Parsers.
    pub parsers: Arena<Parser>,
    /// Controls.
    pub controls: Arena<Control>,
    /// Tables.
    pub tables: Arena<Table>,
    /// Value sets.
    pub value_sets: Arena<ValueSet>,
    /// Instances of all scopes.
    pub instances: Arena<Instance>,
}
