//! Types with every width known, and variables.

use crate::{Annotations, Const, ExternId, Name, TypeId};
use base_diag::Span;

/// The type of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// No value.
    Void,
    /// `bool`
    Bool,
    /// `bit<N>`
    Bit(u32),
    /// `int<N>`
    Int(u32),
    /// `varbit<N>`: at most N bits.
    Varbit(u32),
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`: compile-time only.
    String,
    /// `int`: compile-time only.
    InfInt,
    /// A declared header, struct, union, enum or newtype.
    Named(TypeId),
    /// `elem[size]`: a header stack, or an array of any other type.
    Stack(Box<Type>, u32),
    /// `tuple<...>`, and the type of a list expression.
    Tuple(Vec<Type>),
    /// `list<T>`: compile-time only.
    List(Box<Type>),
    /// An extern object (`packet_in`) with its type arguments.
    Extern(ExternId, Vec<Type>),
    /// A type parameter, or `_` for any type; only in a [`Signature`](crate::Signature).
    Param(Name),
}

/// A declared type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeDecl {
    /// Unique in the program. A specialised generic has a name made of its own and its arguments'.
    pub name: Name,
    /// Kind and parts.
    pub kind: TypeKind,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Kinds of declared types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// Fields of type bit, int, bool, varbit, serializable enum, or struct of these (P4-16 §7.2.2).
    Header(Vec<Field>),
    /// Header types only; at most one valid.
    Union(Vec<Field>),
    /// Any fields.
    Struct(Vec<Field>),
    /// `enum E { A, B }`: a value is a member's index.
    Enum(Vec<Name>),
    /// `enum bit<8> E { A = 1 }`: a value is of the underlying type.
    SerEnum {
        /// `bit<N>` or `int<N>`.
        underlying: Type,
        /// Names and values ([`Const::Bits`]).
        members: Vec<(Name, Const)>,
    },
    /// `type bit<32> nexthop_t`.
    New(Type),
}

/// A field of a header, union or struct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Unique in its type.
    pub name: Name,
    /// Type of the field.
    pub ty: Type,
    /// As written.
    pub annotations: Annotations,
}

/// How a parameter passes values (P4-16 §6.8).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Directionless: an action's control-plane data, or an extern object.
    None,
    /// Read only.
    In,
    /// Starts uninitialised (zero, headers invalid), copied back.
    Out,
    /// Copied in and back.
    InOut,
}

/// A parameter or a local variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// As written; not unique in its block where scopes nest.
    pub name: Name,
    /// Type of the variable.
    pub ty: Type,
    /// Parameter or local.
    pub kind: VarKind,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Kinds of variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarKind {
    /// A parameter of the block, an action or a function.
    Param(Direction),
    /// Declared by one [`StmtKind::Declare`](crate::StmtKind::Declare) or by a `for`.
    Local,
}
