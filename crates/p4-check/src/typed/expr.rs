//! Expressions, l-values, calls and keysets (P4-16 §8).
//!
//! Every implicit cast is an explicit [`ExprKind::Cast`] here, so the operands of an operation have exactly the types
//! that the operation needs. Values known at compile time without constructor parameters and type variables are folded
//! into literals.

use base_diag::Span;
use num_bigint::BigInt;
use smol_str::SmolStr;

use super::ids::{
    ActionId, ConstId, ConstantId, ControlId, EnumId, ExternId, FunctionId, InstanceId, PackageId, ParserId,
    TableId, ValueSetId, VarId,
};
use super::types::{Direction, Type};

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    /// May mention type variables of the enclosing generic declaration.
    pub ty: Type,
    /// Source position.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Already reported.
    Error,
    /// A number of type `int`, `bit<W>`, `int<W>`, or of a new type or serializable enum over these. It is in
    /// the range of its type.
    Int(BigInt),
    /// `true` or `false`, or a new type over `bool`.
    Bool(bool),
    /// A string, unescaped.
    String(SmolStr),
    /// `E.member`; for serializable enums too.
    EnumMember(EnumId, u32),
    /// `error.member`
    ErrorMember(ConstantId),
    /// A member of `match_kind`.
    MatchKind(ConstantId),
    /// A variable or parameter, constructor parameters included.
    Var(VarId),
    /// A constant whose value is not a literal.
    Const(ConstId),
    /// An instance.
    Instance(InstanceId),
    /// A table, as the target of `apply`.
    Table(TableId),
    /// A value set, as a key of a `select`.
    ValueSet(ValueSetId),
    /// `this` in the implementation of an abstract method.
    This,
    /// `base.name`: the `index`-th field of a struct, header or union.
    Field {
        /// The record.
        base: Box<Expr>,
        /// Index of the field, from 0.
        index: u32,
        /// The field's name.
        name: SmolStr,
    },
    /// `base[index]` of an array or header stack.
    Index {
        /// The array.
        base: Box<Expr>,
        /// The index: `int`, `bit<W>`, `int<W>` or a serializable enum.
        index: Box<Expr>,
    },
    /// `base[index]` of a tuple, counted from 0.
    TupleIndex {
        /// The tuple.
        base: Box<Expr>,
        /// Index of the member.
        index: u32,
    },
    /// `base[hi:lo]`, bits `hi` down to `lo`, both included.
    Slice {
        /// A `bit<W>` or `int<W>`.
        base: Box<Expr>,
        /// Highest bit.
        hi: u32,
        /// Lowest bit.
        lo: u32,
    },
    /// `base[lo+:width]` where `lo` is not a literal. The width is the type's.
    SliceAt {
        /// A `bit<W>` or `int<W>`.
        base: Box<Expr>,
        /// Lowest bit, at run time.
        lo: Box<Expr>,
    },
    /// `base.next` of a header stack.
    StackNext(Box<Expr>),
    /// `base.last` of a header stack.
    StackLast(Box<Expr>),
    /// `base.lastIndex` of a header stack, a `bit<32>`.
    StackLastIndex(Box<Expr>),
    /// `-`, `~`, `!`. Unary plus is gone.
    Unary(UnaryOp, Box<Expr>),
    /// A binary operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a &&& b` as a value of type `Set`: only where a keyset is kept as an expression.
    Mask(Box<Expr>, Box<Expr>),
    /// `a .. b` as a value of type `Set`, or the range of a loop.
    Range(Box<Expr>, Box<Expr>),
    /// A cast to the type of this expression.
    Cast {
        operand: Box<Expr>,
        /// True if the source does not write it.
        implicit: bool,
    },
    /// A call that gives a value.
    Call(Box<Call>),
    /// A constructor call as an argument.
    New(Box<Construct>),
    /// `t.apply().hit`
    Hit(TableId),
    /// `t.apply().miss`
    Miss(TableId),
    /// `t.apply().action_run`: the subject of a `switch`.
    ActionRun(TableId),
    /// All fields in declaration order for a struct or header; the given member alone for a header union.
    Struct(Vec<FieldValue>),
    /// All members of a tuple.
    Tuple(Vec<Expr>),
    /// All elements of an array or header stack.
    Array(Vec<Expr>),
    /// All elements of a `list<T>`.
    List(Vec<Expr>),
    /// `{#}`: an invalid header or header union.
    Invalid,
    /// `...`: the default value of the type (P4-16 §7.3).
    Default,
    /// `T.minSizeInBits()` and its three relatives for a type that mentions type variables; type `int`.
    SizeOf(SizeOf, Type),
}

/// A field and its value.
#[derive(Clone, Debug)]
pub struct FieldValue {
    /// Index of the field in the declaration, from 0.
    pub index: u32,
    /// Has the field's type.
    pub value: Expr,
}

/// Kind of size of a type (P4-16 §9.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeOf {
    /// `minSizeInBits`
    MinBits,
    /// `minSizeInBytes`
    MinBytes,
    /// `maxSizeInBits`
    MaxBits,
    /// `maxSizeInBytes`
    MaxBytes,
}

/// A unary operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    Complement,
    /// `!`
    Not,
}

/// A binary operation. Both operands have the same type but for shifts and concatenation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `|+|`
    AddSat,
    /// `|-|`
    SubSat,
    /// `<<`: the result has the left operand's type.
    Shl,
    /// `>>`: logical for `bit`, arithmetic for `int`.
    Shr,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `++`: the result has the left operand's signedness.
    Concat,
    /// `&&`: the right operand is evaluated only if the left is true.
    And,
    /// `||`: the right operand is evaluated only if the left is false.
    Or,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A call, resolved.
#[derive(Clone, Debug)]
pub struct Call {
    pub callee: Callee,
    /// Type arguments of the callee, all of them, inferred where the source gives none; `Void` for a variable that
    /// only parameters without argument mention. The arguments of an
    /// extern object's own type parameters are in the object's type.
    pub type_args: Vec<Type>,
    /// Arguments in the order of the parameters, one for each. They are *evaluated* in the order of
    /// [`Arg::position`].
    pub args: Vec<Arg>,
    /// The type of the result, `Void` if none.
    pub returns: Type,
    /// The whole call.
    pub span: Span,
}

/// The callee of a [`Call`].
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function of the program or an extern function.
    Function(FunctionId),
    /// A method of an extern object: an instance, a parameter, an element of an array of instances, or `this`.
    Method {
        /// The object.
        object: Expr,
        /// The method as the extern declares it; abstract ones are found in the instance.
        method: FunctionId,
    },
    /// An action, called directly.
    Action(ActionId),
    /// `table.apply()`
    TableApply(TableId),
    /// `parser.apply(...)` or `control.apply(...)` on an instance or a constructor parameter.
    Apply {
        /// The instance.
        object: Expr,
    },
    /// A built-in method of headers and header stacks.
    Builtin {
        /// The header, union or stack.
        object: Expr,
        /// The built-in method.
        method: Builtin,
    },
}

/// A built-in method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Builtin {
    /// `isValid()` of a header or header union.
    IsValid,
    /// `setValid()` of a header.
    SetValid,
    /// `setInvalid()` of a header.
    SetInvalid,
    /// `push_front(n)` of a header stack; the argument is a literal of type `int`.
    PushFront,
    /// `pop_front(n)` of a header stack; the argument is a literal of type `int`.
    PopFront,
}

/// An argument, at its parameter's place.
#[derive(Clone, Debug)]
pub struct Arg {
    /// The argument.
    pub value: ArgValue,
    /// The parameter's direction. For `out` and `inout` the value is an l-value and has no cast.
    pub direction: Direction,
    /// Position among the written arguments, from 0: the order of evaluation. `None` if not written.
    pub position: Option<u32>,
}

/// The argument for a parameter.
#[derive(Clone, Debug)]
pub enum ArgValue {
    /// An expression of the source, of the parameter's type.
    Given(Expr),
    /// The parameter's default value. Type variables are replaced already.
    Default(Expr),
    /// `_` for an `out` parameter, or for a package's parameter: nobody wants the value.
    DontCare,
    /// Nothing, for a parameter marked `@optional`.
    Absent,
}

/// A constructor call: as an instance's, or as an argument of another constructor call.
#[derive(Clone, Debug)]
pub struct Construct {
    /// The type to construct.
    pub of: Constructed,
    /// Type arguments, all of them, inferred where the source gives none; `Void` for one that nothing depends on.
    pub type_args: Vec<Type>,
    /// Arguments in the order of the parameters.
    pub args: Vec<Arg>,
    /// The whole call.
    pub span: Span,
}

/// The target of a [`Construct`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constructed {
    /// An extern object, by this constructor.
    Extern(ExternId, FunctionId),
    /// A parser.
    Parser(ParserId),
    /// A control.
    Control(ControlId),
    /// A package.
    Package(PackageId),
}

/// A set of values of one key.
#[derive(Clone, Debug)]
pub enum KeySet {
    /// `_` or `default`: every value. `Type` is the key's.
    Any(Type, Span),
    /// One value.
    Value(Expr),
    /// `value &&& mask`
    Mask(Expr, Expr),
    /// `first .. last`, both included.
    Range(Expr, Expr),
    /// All values of a value set.
    ValueSet(ValueSetId, Span),
    /// Sets for the members of a tuple, list or struct key, in order.
    Tuple(Vec<KeySet>, Span),
}

impl Arg {
    /// The expression passed, written or default.
    pub fn expr(&self) -> Option<&Expr> {
        match &self.value {
            ArgValue::Given(expr) | ArgValue::Default(expr) => Some(expr),
            ArgValue::DontCare | ArgValue::Absent => None,
        }
    }
}

impl Expr {
    /// The expression of something already reported.
    pub fn error(span: Span) -> Expr {
        Expr { kind: ExprKind::Error, ty: Type::Error, span }
    }

    /// The number this expression is, if it is a number literal.
    pub fn as_int(&self) -> Option<&BigInt> {
        match &self.kind {
            ExprKind::Int(value) => Some(value),
            _ => None,
        }
    }
}
