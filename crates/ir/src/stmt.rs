//! Statements, nested as in the source.

use crate::{Annotations, BinaryOp, Call, Const, Expr, Name, TableId, VarId};
use base_diag::Span;

/// `{ ... }`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// `@atomic`, `@region("Name")`, ...
    pub annotations: Annotations,
    /// In order.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stmt {
    /// Kind and parts.
    pub kind: StmtKind,
    /// Place in the source.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StmtKind {
    /// A local variable; without initialiser it is zero (headers invalid).
    Declare(VarId, Option<Expr>),
    /// `place = value;`
    Assign(Expr, Expr),
    /// `place op= value;` The place is evaluated once.
    AssignOp(BinaryOp, Expr, Expr),
    /// A call for its effects.
    Call(Call),
    /// `table.apply();`
    Apply(TableId),
    /// `header.setValid();` (true), `header.setInvalid();` (false)
    SetValid(Expr, bool),
    /// `stack.push_front(count);`
    PushFront(Expr, u32),
    /// `stack.pop_front(count);`
    PopFront(Expr, u32),
    /// `packet.extract(place);` or, with the varbit's length in bits, `packet.extract(place, length);`
    Extract {
        /// The `packet_in` parameter.
        packet: VarId,
        /// A header, or `stack.next`.
        header: Expr,
        /// `bit<32>`
        varbit_bits: Option<Expr>,
    },
    /// `packet.advance(bits);`
    Advance(VarId, Expr),
    /// `packet.emit(value);`
    Emit(VarId, Expr),
    /// `verify(condition, error);` (in parsers)
    Verify(Expr, Expr),
    /// `if (cond) yes else no`; an absent `else` is an empty block.
    If(Expr, Block, Block),
    /// `switch`
    Switch(SwitchOn, Vec<SwitchCase>),
    /// A nested block.
    Block(Block),
    /// `for (init; cond; update) body`
    For {
        /// `Declare` or `Assign` statements.
        init: Vec<Stmt>,
        /// Tested before each round.
        cond: Expr,
        /// Run after each round.
        update: Vec<Stmt>,
        /// The loop.
        body: Block,
    },
    /// `for (var in range) body`
    ForIn {
        /// The loop variable, declared here.
        var: VarId,
        /// Values that the variable takes.
        range: ForRange,
        /// The loop.
        body: Block,
    },
    /// Leaves the innermost loop.
    Break,
    /// Next round of the innermost loop.
    Continue,
    /// Ends all blocks up to the stage.
    Exit,
    /// Ends the action, function or control body.
    Return(Option<Expr>),
}

/// Values that a `for ... in` iterates over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForRange {
    /// `lo..hi`, both included.
    Range(Expr, Expr),
    /// A list or array, evaluated once.
    Values(Expr),
}

/// Subject of a `switch`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwitchOn {
    /// `table.apply().action_run`
    ActionRun(TableId),
    /// A value.
    Value(Expr),
}

/// One case; several labels share one body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchCase {
    /// At least one.
    pub labels: Vec<SwitchLabel>,
    /// Statements of the case.
    pub body: Block,
    /// Place in the source.
    pub span: Span,
}

/// A label of a `switch`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwitchLabel {
    /// The n-th action of the table's action list.
    Action(u32),
    /// A constant of the scrutinee's type.
    Value(Const),
    /// `default`
    Default,
}

/// Names a block may carry: the text of its `@region("Name")`.
impl Block {
    /// The name of the region this block was marked as, if it was.
    pub fn region(&self) -> Option<Name> {
        self.annotations.iter().find(|a| a.name == "region").and_then(|a| a.as_str()).map(Name::from)
    }
}

impl Stmt {
    /// Generated code: no place in the source.
    pub fn new(kind: StmtKind) -> Stmt {
        Stmt { kind, span: Span::NONE }
    }
}

impl SwitchCase {
    /// True if the case has a `default` label.
    pub fn is_default(&self) -> bool {
        self.labels.contains(&SwitchLabel::Default)
    }
}
