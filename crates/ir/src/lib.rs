//! The elaborated program: data, text form, verifier.
//!
//! No generics, every width known, every instance listed with its control-plane name; calls, names, structure,
//! spans and annotations are those of the source. The printer, the splitter and the reference interpreter read
//! this level. One [`Control`] stands for one control *instance*: a control used twice appears twice.
//!
//! **Invariant**: nothing here knows an architecture's meaning. [`Stage`]s give the order of blocks; the interpreter
//! and the targets define externs.

mod annotation;
mod block;
pub mod build;
mod construct;
mod expr;
mod id;
mod program;
mod renumber;
mod stmt;
mod table;
pub mod text;
mod tick;
mod types;
mod user_extern;
pub mod verify;
pub mod visit;

pub use annotation::{Annotation, AnnotationBody, AnnotationValue, Annotations};
pub use block::{
    Action, Control, Function, Parser, ParserState, Select, SelectCase, StateRef, Transition, ValueSet,
};
pub use expr::{BinaryOp, Call, Callee, Const, Expr, ExprKind, Keyset, UnaryOp};
pub use id::{
    ActionId, ControlId, ErrorId, ExternFunctionId, ExternId, FunctionId, InstanceId, ParserId, StateId,
    TableId, TypeId, ValueSetId, VarId,
};
pub use program::{
    Arch, Carried, ExternFunction, ExternMethod, ExternObject, Instance, Owner, Package, PackageArg, Program,
    Role, Signature, SignatureParam, Stage, StageKind,
};
pub use renumber::Renumber;
pub use stmt::{Block, ForRange, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn};
pub use table::{ActionRef, DefaultAction, Entry, MatchKind, Table, TableKey};
pub use tick::Tick;
pub use types::{Direction, Field, Type, TypeDecl, TypeKind, Var, VarKind};
pub use user_extern::CallEffect;

/// A name as written in the source.
pub type Name = smol_str::SmolStr;
