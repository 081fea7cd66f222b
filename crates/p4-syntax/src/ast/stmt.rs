//! Statements (P4-16 §12) and parser states (P4-16 §13).

use base_diag::Span;

use super::{Annotation, BinaryOp, ConstDecl, Expr, InstanceDecl, Name, Type, VarDecl};

/// A statement, or a declaration among statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stmt {
    /// Kind of statement, with its parts.
    pub kind: StmtKind,
    /// The whole, annotations and semicolon included.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `{ ... }`
    Block(Block),
    /// `target = value;` or `target op= value;`
    Assign {
        /// The l-value.
        target: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Position of `=` or `op=`.
        op_span: Span,
        /// The value.
        value: Expr,
    },
    /// `f(a);`: the expression is an [`ExprKind::Call`](super::ExprKind::Call).
    Call(Expr),
    /// `if (condition) then else otherwise`
    If {
        condition: Expr,
        /// Runs if the condition is true.
        then: Box<Stmt>,
        /// Runs if the condition is false.
        otherwise: Option<Box<Stmt>>,
    },
    /// `return;`, `return e;`
    Return(Option<Expr>),
    /// `exit;`
    Exit,
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `switch (subject) { ... }`
    Switch {
        /// `t.apply().action_run`, or a value.
        subject: Expr,
        /// The cases in order.
        cases: Vec<SwitchCase>,
    },
    /// `for (init; condition; update) body`
    For(Box<ForStmt>),
    /// `for (type name in collection) body`
    ForIn {
        /// Before the `for`.
        annotations: Vec<Annotation>,
        /// The loop variable, without initial value.
        variable: Box<VarDecl>,
        /// A value, a list, a stack, or a range `lo .. hi` (both ends belong to it).
        collection: Box<KeysetElement>,
        body: Box<Stmt>,
    },
    /// A variable.
    Var(VarDecl),
    /// A constant.
    Const(ConstDecl),
    /// An instantiation; the language forbids it here, and the checker says so.
    Instance(InstanceDecl),
}

/// `@a { ... }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Before the brace.
    pub annotations: Vec<Annotation>,
    /// In order.
    pub stmts: Vec<Stmt>,
    /// Annotations and both braces included.
    pub span: Span,
    /// The closing brace: where control leaves the block.
    pub close: Span,
}

/// `label: { ... }`, or `label:` alone, which falls through to the next case with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchCase {
    pub label: SwitchLabel,
    pub body: Option<Block>,
    /// The whole.
    pub span: Span,
}

/// The label of a case of a `switch`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwitchLabel {
    /// `default`
    Default(Span),
    /// An action's name or a value.
    Value(Expr),
}

/// `for (init; condition; update) body`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForStmt {
    /// Before the `for`.
    pub annotations: Vec<Annotation>,
    /// Run once; the names declared are visible in the whole loop.
    pub init: Vec<ForInit>,
    /// Tested before each turn.
    pub condition: Expr,
    /// Run after each turn: assignments and calls.
    pub update: Vec<Stmt>,
    pub body: Stmt,
}

/// One of a `for`'s initialisers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForInit {
    /// `bit<8> i = 0`
    Var(VarDecl),
    /// An assignment or a call.
    Stmt(Stmt),
}

/// The keyset of a select case, a table entry or a value-set member: `k`, or `(k1, k2)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyset {
    /// One for each key; never empty.
    pub elements: Vec<KeysetElement>,
    /// Written with the parentheses of a tuple. False for `(1)`, an expression in parentheses.
    pub tuple: bool,
    /// The whole.
    pub span: Span,
}

/// The match for one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeysetElement {
    /// Kind of element, with its parts.
    pub kind: KeysetElementKind,
    /// Source position.
    pub span: Span,
}

/// The forms of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeysetElementKind {
    /// A value, a value set, or a list of values for a composite key.
    Value(Expr),
    /// `value &&& mask`
    Mask(Expr, Expr),
    /// `lo .. hi`, both included.
    Range(Expr, Expr),
    /// `default`
    Default,
    /// `_`
    DontCare,
}

/// A parser state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Before `state`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    /// In order.
    pub stmts: Vec<Stmt>,
    /// The next state; no written state means `reject`.
    pub transition: Option<Transition>,
    /// The whole, annotations and braces included.
    pub span: Span,
}

/// `transition ...`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transition {
    /// `transition name;`
    Direct(Name),
    /// `transition select(...) { ... }`
    Select(SelectExpr),
}

/// `select (keys) { cases }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectExpr {
    pub keys: Vec<Expr>,
    /// In order; the first that matches is taken.
    pub cases: Vec<SelectCase>,
    /// From `select` to the closing brace.
    pub span: Span,
}

/// `keyset: state;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectCase {
    pub keyset: Keyset,
    /// The next state.
    pub state: Name,
    /// The whole.
    pub span: Span,
}

impl SwitchLabel {
    /// Source position.
    pub fn span(&self) -> Span {
        match self {
            SwitchLabel::Default(span) => *span,
            SwitchLabel::Value(e) => e.span,
        }
    }
}

impl StmtKind {
    /// The type and name that a declaration among statements brings into scope.
    pub fn declares(&self) -> Option<(&Type, &Name)> {
        match self {
            StmtKind::Var(d) => Some((&d.ty, &d.name)),
            StmtKind::Const(d) => Some((&d.ty, &d.name)),
            StmtKind::Instance(d) => Some((&d.ty, &d.name)),
            _ => None,
        }
    }
}
