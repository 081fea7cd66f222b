//! The typed tree: a program with every name resolved and every type known.
//!
//! It is the result of `p4_check::check`, and the only input of later stages. Nothing is left to look up: a use of a
//! name is an id, a number in one of the arenas of [`Program`], a call names its callee, lists its type arguments and has
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
mod name;
mod stmt;
mod table;
mod types;
pub mod walk;

pub use annotation::{Annotation, AnnotationBody, Annotations};
pub use decl::*;
pub use expr::*;
pub use ids::*;
pub use name::Name;
pub use stmt::*;
pub use table::*;
pub use types::{Direction, Substitution, Type, TypeArgs};

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Top-level declarations in source order, those of included files too.
    pub decls: Vec<Decl>,
    /// The package instance named `main`.
    pub main: Option<InstanceId>,
    /// Type parameters of all declarations.
    pub type_vars: Arena<TypeVarId, TypeVar>,
    /// Structs, headers and header unions.
    pub structs: Arena<StructId, Struct>,
    /// Enums.
    pub enums: Arena<EnumId, Enum>,
    /// New types.
    pub new_types: Arena<NewTypeId, NewType>,
    /// Typedefs.
    pub typedefs: Arena<TypedefId, Typedef>,
    /// Members of `error`, in order: their values are their places.
    pub errors: Arena<ConstantId, Constant>,
    /// Members of `match_kind`, in order.
    pub match_kinds: Arena<ConstantId, Constant>,
    /// Constants of all scopes.
    pub consts: Arena<ConstId, Const>,
    /// Variables and parameters of all scopes.
    pub vars: Arena<VarId, Var>,
    /// Functions, extern functions, methods, constructors.
    pub functions: Arena<FunctionId, Function>,
    /// Extern object types.
    pub externs: Arena<ExternId, Extern>,
    /// Actions of the program and of controls.
    pub actions: Arena<ActionId, Action>,
    /// Declared parser types.
    pub parser_types: Arena<ParserTypeId, ParserType>,
    /// Declared control types.
    pub control_types: Arena<ControlTypeId, ControlType>,
    /// Packages.
    pub packages: Arena<PackageId, Package>,
    /// Parsers.
    pub parsers: Arena<ParserId, Parser>,
    /// Controls.
    pub controls: Arena<ControlId, Control>,
    /// Tables.
    pub tables: Arena<TableId, Table>,
    /// Value sets.
    pub value_sets: Arena<ValueSetId, ValueSet>,
    /// Instances of all scopes.
    pub instances: Arena<InstanceId, Instance>,
}
