//! Parsers, controls, actions and functions.

use crate::{Annotations, Block, Expr, InstanceId, Keyset, Name, StateId, Stmt, Table, Type, Var, VarId};
use base_diag::Span;

/// One instance of a parser: a state graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parser {
    /// Unique in the program.
    pub name: Name,
    /// The instance's path, the prefix of its members' control-plane names.
    pub control_plane_name: Name,
    /// In order; each is in `vars`.
    pub params: Vec<VarId>,
    /// Parameters and locals.
    pub vars: Vec<Var>,
    /// Variables declared beside the states: `Declare` statements, run at the start.
    pub locals: Vec<Stmt>,
    /// Extern instances declared in it.
    pub instances: Vec<InstanceId>,
    /// Declared in it.
    pub value_sets: Vec<ValueSet>,
    /// The first is `start`.
    pub states: Vec<ParserState>,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// A set of keys that the control plane fills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueSet {
    /// As written.
    pub name: Name,
    /// Unique in the program.
    pub control_plane_name: Name,
    /// Type of an element: bit, enum or newtype for one position, a struct or tuple for several.
    pub ty: Type,
    /// Match kind of each position (`@match(...)` on a struct's fields; exact by default).
    pub match_kinds: Vec<crate::MatchKind>,
    /// Most elements it holds.
    pub size: u64,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// A state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParserState {
    /// Unique in its parser.
    pub name: Name,
    /// Statements, run before the transition.
    pub stmts: Vec<Stmt>,
    /// Choice of the next state.
    pub transition: Transition,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Choice of the next state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transition {
    /// `transition next;` A state without a transition goes to `reject`.
    Goto(StateRef),
    /// `transition select(...) { ... }`; no case matches: error NoMatch.
    Select(Select),
}

/// A state to go to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StateRef {
    /// The parser is done.
    Accept,
    /// The parser fails.
    Reject,
    /// Another state.
    State(StateId),
}

/// `select(exprs) { cases }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Select {
    /// Evaluated left to right.
    pub exprs: Vec<Expr>,
    /// The first match wins.
    pub cases: Vec<SelectCase>,
}

/// One case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectCase {
    /// One for each expression; a single `DontCare` or `ValueSet` may stand for all.
    pub keys: Vec<Keyset>,
    /// Next state if the case matches.
    pub next: StateRef,
    /// Place in the source.
    pub span: Span,
}

/// One instance of a control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// Unique in the program.
    pub name: Name,
    /// The instance's path, the prefix of its members' control-plane names.
    pub control_plane_name: Name,
    /// In order; each is in `vars`.
    pub params: Vec<VarId>,
    /// Parameters and locals of the control and of its actions.
    pub vars: Vec<Var>,
    /// Variables declared beside the tables: `Declare` statements, run before `body`.
    pub locals: Vec<Stmt>,
    /// Extern instances declared in it.
    pub instances: Vec<InstanceId>,
    /// Actions of the control, and copies of the top-level actions it uses.
    pub actions: Vec<Action>,
    /// Tables of the control.
    pub tables: Vec<Table>,
    /// `apply { ... }`
    pub body: Block,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// An action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Unique in its control.
    pub name: Name,
    /// `ingress.deny`; that of a top-level action is its own name.
    pub control_plane_name: Name,
    /// In order, those with a direction first; each is in the control's `vars`.
    pub params: Vec<VarId>,
    /// The action's body.
    pub body: Block,
    /// Declared at the top level of the program.
    pub top_level: bool,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Unique in the program.
    pub name: Name,
    /// Return type.
    pub returns: Type,
    /// In order; each is in `vars`.
    pub params: Vec<VarId>,
    /// Parameters and locals.
    pub vars: Vec<Var>,
    /// The function's body.
    pub body: Block,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}
