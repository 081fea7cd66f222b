//! Expressions (P4-16 §8).

use base_diag::Span;
use num_bigint::BigUint;
use smol_str::SmolStr;

use super::{Name, Path, Type};

/// An expression where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    /// Kind of expression, with its parts.
    pub kind: ExprKind,
    /// Source position, with parentheses around the expression.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// `5`, `8w255`, `4s0b101`
    Int(IntLit),
    /// `true`, `false`
    Bool(bool),
    /// `"text"`, its escapes `\"` and `\\` resolved.
    String(SmolStr),
    /// `this`, in the methods of an instance (P4-16 §10.3.1).
    This,
    /// `...`: the default value, also as the last element of a list.
    Dots,
    /// `{#}`: an invalid header or header union.
    Invalid,
    /// `_`, as an argument only.
    DontCare,
    /// `x`, `.x`: a value, an instance, a function or a type.
    Path(Path),
    /// A type that is no simple name, before a `.`: `error.NoError`, `S<bit<8>>.minSizeInBits()`.
    Type(Box<Type>),
    /// `base.name`
    Member {
        /// The value or type with the member.
        base: Box<Expr>,
        /// The member.
        name: Name,
    },
    /// `base[index]`
    Index {
        /// The stack, array or tuple.
        base: Box<Expr>,
        /// Index of the element.
        index: Box<Expr>,
    },
    /// `base[hi:lo]`
    Slice {
        /// The bits.
        base: Box<Expr>,
        /// The most significant bit.
        hi: Box<Expr>,
        /// The least significant bit.
        lo: Box<Expr>,
    },
    /// `base[lo +: width]`
    PlusSlice {
        /// The bits.
        base: Box<Expr>,
        /// The least significant bit.
        lo: Box<Expr>,
        /// Width in bits.
        width: Box<Expr>,
    },
    /// `{ a, b }`; the last one may be [`ExprKind::Dots`].
    List(Vec<Expr>),
    /// `{ a = 1, b = 2 }` or `{ a = 1, ... }`
    Struct {
        /// The named fields.
        fields: Vec<NamedExpr>,
        /// The place of a closing `...`.
        dots: Option<Span>,
    },
    /// `-x`
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `a + b`
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Position of the operator.
        op_span: Span,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `condition ? then : otherwise`
    Ternary {
        condition: Box<Expr>,
        /// The value if true.
        then: Box<Expr>,
        /// The value if false.
        otherwise: Box<Expr>,
        /// `otherwise` is another conditional without parentheses.
        chained: bool,
    },
    /// `(T) x`, and `(T) { ... }`
    Cast {
        /// The type wanted.
        ty: Box<Type>,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `f(a)`, `f<T>(a)`, `x.m(a)`, `Counter<bit<8>>(4)`: a call or a constructor call, as `callee` turns out.
    Call {
        callee: Box<Expr>,
        /// Explicit type arguments; none written is empty.
        type_args: Vec<Type>,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// The parser found none and has said so.
    Missing,
}

/// An integer literal: `base`, width prefix and digits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntLit {
    /// The number; literals have no sign.
    pub value: BigUint,
    /// `8w` or `8s`, if written.
    pub width: Option<LitWidth>,
    /// Radix in the source, for printing.
    pub radix: Radix,
}

/// The width prefix of an integer literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LitWidth {
    /// Bits.
    pub bits: u32,
    /// `s` rather than `w`.
    pub signed: bool,
}

/// The base of an integer literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Radix {
    /// `0b101`
    Bin,
    /// `0o17`
    Oct,
    /// `17`, `0d17`
    Dec,
    /// `0x1F`
    Hex,
}

/// `name = value`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedExpr {
    /// The field or key.
    pub name: Name,
    pub value: Expr,
    /// The whole.
    pub span: Span,
}

/// An argument: `value`, `name = value`; the value may be [`ExprKind::DontCare`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// The parameter, if named.
    pub name: Option<Name>,
    /// The value.
    pub value: Expr,
    /// The whole.
    pub span: Span,
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Minus,
    /// `+`
    Plus,
}

/// Infix operators; also those of compound assignments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|+|`
    AddSat,
    /// `|-|`
    SubSat,
    /// `++`
    Concat,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `&&`
    And,
    /// `||`
    Or,
}
