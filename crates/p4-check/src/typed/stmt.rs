//! Statements (P4-16 §12) and parser states (§13).

use base_diag::Span;

use super::annotation::Annotations;
use super::expr::{BinaryOp, Call, Expr, KeySet};
use super::ids::{ConstId, TableId, VarId};
use super::name::Name;

/// `{ ... }`, or a single statement where a block may stand.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Annotations before the brace: `@atomic`, `@region("X")`, `@likely`.
    pub annotations: Annotations,
    /// Statements in order.
    pub stmts: Vec<Stmt>,
    /// The whole block.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    /// The whole statement.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`, or already reported.
    Empty,
    /// A nested block: a scope of its own.
    Block(Block),
    /// `T x = init;`
    Var {
        /// The variable.
        var: VarId,
        /// Has the variable's type.
        init: Option<Expr>,
    },
    /// `const T x = value;`
    Const(ConstId),
    /// `target = value;`, or `target op= value;` whose target is evaluated once.
    Assign {
        /// An l-value.
        target: Expr,
        /// The operation of a compound assignment. `+=` is [`BinaryOp::Add`] and so on.
        op: Option<BinaryOp>,
        /// Value of the target's type, except for shifts.
        value: Expr,
    },
    /// A call whose result is not used.
    Call(Call),
    /// `if`
    If {
        /// Condition of type `bool`.
        condition: Expr,
        /// The branch taken if true.
        then: Block,
        /// The other branch.
        otherwise: Option<Block>,
    },
    /// `switch`
    Switch(Switch),
    /// `return`
    Return(Option<Expr>),
    /// `exit`
    Exit,
    /// `for (init; condition; update) body`
    For {
        /// Annotations (`@unroll`, ...).
        annotations: Annotations,
        /// Run once.
        init: Vec<Stmt>,
        /// Condition of type `bool`.
        condition: Expr,
        /// Run after the body and after `continue`.
        update: Vec<Stmt>,
        /// The body.
        body: Block,
    },
    /// `for (x in over) body`
    ForIn {
        /// Annotations (`@unroll`, ...).
        annotations: Annotations,
        /// The variable. It is the loop's own, or a variable declared before ([`VarKind::Local`](super::VarKind)).
        var: VarId,
        /// [`ExprKind::Range`](super::ExprKind), or a list, array or header stack.
        over: Expr,
        /// The body.
        body: Block,
    },
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// A `switch` statement.
#[derive(Clone, Debug)]
pub struct Switch {
    /// The tested value: of type [`Type::ActionRun`](super::Type) ([`ExprKind::ActionRun`](super::ExprKind)) or a
    /// value.
    pub subject: Expr,
    /// Cases in order.
    pub cases: Vec<SwitchCase>,
}

/// A case: labels that share a body.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// Labels; those that fall through to the same body stand together.
    pub labels: Vec<SwitchLabel>,
    /// The body; empty if the last labels of the switch have none.
    pub body: Block,
    /// From the first label to the end of the body.
    pub span: Span,
}

/// A label.
#[derive(Clone, Debug)]
pub enum SwitchLabel {
    /// `default`
    Default,
    /// The action at this place in the table's list.
    Action(TableId, u32),
    /// A value of the subject's type, known at compile time.
    Value(Expr),
}

/// A parser state.
#[derive(Clone, Debug)]
pub struct State {
    pub name: Name,
    pub stmts: Vec<Stmt>,
    /// The next state. Without a `transition`, [`Target::Reject`].
    pub transition: Transition,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// The next state of a state.
#[derive(Clone, Debug)]
pub enum Transition {
    /// `transition name;`, or none written.
    To(Target, Span),
    /// `transition select(keys) { cases }`. Without a match: `error.NoMatch`, reject.
    Select {
        keys: Vec<Expr>,
        /// The first that matches is taken.
        cases: Vec<SelectCase>,
        /// The `select` expression.
        span: Span,
    },
}

/// A case of a `select`.
#[derive(Clone, Debug)]
pub struct SelectCase {
    /// The sets: one for each key; a single [`KeySet::ValueSet`] may stand for all keys together.
    pub sets: Vec<KeySet>,
    /// The next state.
    pub target: Target,
    /// The whole case.
    pub span: Span,
}

/// The end of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The state at this place in [`Parser::states`](super::Parser).
    State(u32),
    /// `accept`
    Accept,
    /// `reject`
    Reject,
}
