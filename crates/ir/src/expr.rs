//! Expressions. Every one carries its type; implicit casts are explicit.

use crate::{
    ActionId, ControlId, ErrorId, ExternFunctionId, FunctionId, InstanceId, ParserId, TableId, Type,
    ValueSetId, VarId,
};
use base_bits::Bits;
use base_diag::Span;
use num_bigint::BigInt;

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    /// Operator and operands.
    pub kind: ExprKind,
    /// Type of the value.
    pub ty: Type,
    /// Place in the source.
    pub span: Span,
}

/// A value known at compile time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Const {
    /// A `bit<N>`, `int<N>`, serializable enum, or newtype of these; `Bits` has the width.
    Bits(Bits),
    /// A `bool`.
    Bool(bool),
    /// An `error`.
    Error(ErrorId),
    /// A member of an enum without underlying type, by index.
    Enum(u32),
    /// A `string`.
    Str(String),
    /// An `int`.
    Int(BigInt),
    /// An instance of an extern, as an argument.
    Instance(InstanceId),
}

/// Kinds of expressions. Those marked *place* may be assigned to, if the places they are made of may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// A literal.
    Const(Const),
    /// *Place*: a variable or parameter.
    Var(VarId),
    /// *Place*: the n-th field of a struct, header or union; the n-th element of a tuple.
    Field(Box<Expr>, u32),
    /// *Place*: `stack[index]`. Out of range: reads give zero / invalid, writes do nothing.
    Index(Box<Expr>, Box<Expr>),
    /// *Place*: `stack.next` (in parsers).
    Next(Box<Expr>),
    /// *Place*: `stack.last` (in parsers).
    Last(Box<Expr>),
    /// `stack.lastIndex`, of type `bit<32>`.
    LastIndex(Box<Expr>),
    /// *Place*: `base[hi:lo]`.
    Slice {
        /// Value of type bit or int.
        base: Box<Expr>,
        /// Highest bit, counted from 0 at the right.
        hi: u32,
        /// Lowest bit.
        lo: u32,
    },
    /// *Place*: `base[start +: width]`, with `start` known at run time only.
    SlicePlus {
        /// Value of type bit or int.
        base: Box<Expr>,
        /// Lowest bit; unsigned.
        start: Box<Expr>,
        /// Number of bits.
        width: u32,
    },
    /// `op operand`
    Unary(UnaryOp, Box<Expr>),
    /// `left op right`. `And` and `Or` evaluate the right side only where it matters.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `cond ? yes : no`; one arm is evaluated.
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// To the expression's type (P4-16 §8.11).
    Cast(Box<Expr>),
    /// A struct, header (then valid), tuple or stack from its parts, in field order.
    Aggregate(Vec<Expr>),
    /// `{#}`: an invalid header or union.
    InvalidHeader,
    /// `header.isValid()`; of a union: any member valid.
    IsValid(Box<Expr>),
    /// `packet.lookahead<T>()`, of the expression's type.
    Lookahead(VarId),
    /// `packet.length()`, of type `bit<32>`.
    PacketLength(VarId),
    /// `table.apply().hit`
    ApplyHit(TableId),
    /// `table.apply().miss`
    ApplyMiss(TableId),
    /// A call that gives a value.
    Call(Box<Call>),
}

/// A call of something that has parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Function, action, block or method that is called.
    pub callee: Callee,
    /// For generic externs: the resolved type arguments, in declaration order.
    pub type_args: Vec<Type>,
    /// One for each parameter, in declaration order. Those of `out` and `inout` parameters are places.
    /// An `@optional` parameter left out is `None`. After those of a method come the values that its instance
    /// [captures](crate::Program::captures).
    pub args: Vec<Option<Expr>>,
    /// Place in the source.
    pub span: Span,
}

/// Target of a [`Call`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function of the program.
    Function(FunctionId),
    /// An action of the same control, called directly: all its parameters are given.
    Action(ActionId),
    /// Another control's body (`inner.apply(...)`).
    Control(ControlId),
    /// Another parser (`inner.apply(...)`).
    Parser(ParserId),
    /// A function of the architecture, or one the program declared `extern`.
    ExternFunction(ExternFunctionId),
    /// A method of an extern instance: its index in [`ExternObject::methods`](crate::ExternObject::methods).
    Method(InstanceId, u32),
    /// A method of an extern object that came as a parameter (not `packet_in` or `packet_out`).
    ParamMethod(VarId, u32),
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    BitNot,
    /// `!`
    Not,
}

/// Operators with two operands (P4-16 §8.5 to 8.9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    AddSat,
    SubSat,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    Concat,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

/// One position of a `select` case or of a table entry (P4-16 §8.14).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keyset {
    /// `default` or `_`
    DontCare,
    /// A value.
    Value(Expr),
    /// `value &&& mask`; in an entry of an lpm key the mask is a prefix.
    Mask(Expr, Expr),
    /// `lo..hi`, both included.
    Range(Expr, Expr),
    /// A parser value set: stands for as many positions as its type has fields. Only in `select`.
    ValueSet(ValueSetId),
}
