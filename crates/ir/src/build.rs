//! Constructors for expressions, statements and declarations that no source has.
//!
//! An expression made of others takes the place of the first of them; one made of none has no place until [`Expr::at`]
//! or [`Stmt::at`] sets it.

use crate::{
    Action, ActionId, ActionRef, BinaryOp, Block, Call, Callee, Const, DefaultAction, Direction, Expr,
    ExprKind, Field, MatchKind, Name, Stmt, StmtKind, Table, TableKey, Type, UnaryOp, Var, VarId, VarKind,
};
use base_bits::Bits;
use base_diag::Span;

impl Expr {
    /// The expression, at another place.
    pub fn at(self, span: Span) -> Expr {
        Expr { span, ..self }
    }
}

impl Stmt {
    /// The statement, at another place.
    pub fn at(self, span: Span) -> Stmt {
        Stmt { span, ..self }
    }
}

/// An expression that stands nowhere.
pub fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: Span::NONE }
}

/// A `bit<width>`.
pub fn bits(width: u32, value: u64) -> Expr {
    expr(ExprKind::Const(Const::Bits(Bits::new(width, u128::from(value)))), Type::Bit(width))
}

/// `true` or `false`.
pub fn bool(value: bool) -> Expr {
    expr(ExprKind::Const(Const::Bool(value)), Type::Bool)
}

/// The value of a variable of type `ty`.
pub fn var(id: VarId, ty: &Type) -> Expr {
    expr(ExprKind::Var(id), ty.clone())
}

/// The value of one of these variables.
pub fn var_of(vars: &[Var], id: VarId) -> Expr {
    expr(ExprKind::Var(id), vars.get(id.index()).map_or(Type::Void, |var| var.ty.clone()))
}

/// A field of a struct, header, union or tuple.
pub fn field(base: Expr, index: usize, ty: Type) -> Expr {
    let span = base.span;
    expr(ExprKind::Field(Box::new(base), index as u32), ty).at(span)
}

/// An element of a stack.
pub fn element(base: Expr, index: u32, ty: Type) -> Expr {
    let span = base.span;
    expr(ExprKind::Index(Box::new(base), Box::new(bits(32, u64::from(index)).at(span))), ty).at(span)
}

/// `header.isValid()`
pub fn is_valid(header: Expr) -> Expr {
    let span = header.span;
    expr(ExprKind::IsValid(Box::new(header)), Type::Bool).at(span)
}

/// `!operand`
pub fn not(operand: Expr) -> Expr {
    let span = operand.span;
    expr(ExprKind::Unary(UnaryOp::Not, Box::new(operand)), Type::Bool).at(span)
}

/// `left op right`, of type `ty`.
pub fn binary(op: BinaryOp, left: Expr, right: Expr, ty: Type) -> Expr {
    let span = left.span;
    expr(ExprKind::Binary(op, Box::new(left), Box::new(right)), ty).at(span)
}

/// `left && right`
pub fn and(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::And, left, right, Type::Bool)
}

/// `left || right`
pub fn or(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Or, left, right, Type::Bool)
}

/// `left == right`
pub fn equals(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Eq, left, right, Type::Bool)
}

/// `left != right`
pub fn differs(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Ne, left, right, Type::Bool)
}

/// `left < right`
pub fn less(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Lt, left, right, Type::Bool)
}

/// `left + right`
pub fn add(left: Expr, right: Expr) -> Expr {
    let ty = left.ty.clone();
    binary(BinaryOp::Add, left, right, ty)
}

/// `left - right`
pub fn subtract(left: Expr, right: Expr) -> Expr {
    let ty = left.ty.clone();
    binary(BinaryOp::Sub, left, right, ty)
}

/// `value >> count`
pub fn shift_right(value: Expr, count: u64) -> Expr {
    let ty = value.ty.clone();
    binary(BinaryOp::Shr, value, bits(32, count), ty)
}

/// `(ty)value`, or the value itself if it has that type.
pub fn cast(value: Expr, ty: Type) -> Expr {
    let span = value.span;
    if value.ty == ty { value } else { expr(ExprKind::Cast(Box::new(value)), ty).at(span) }
}

/// A statement that stands nowhere.
pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::NONE }
}

/// `place = value;`
pub fn assign(place: Expr, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place, value))
}

/// A declaration.
pub fn declare(var: VarId, init: Option<Expr>) -> Stmt {
    stmt(StmtKind::Declare(var, init))
}

/// `header.setValid();` or `header.setInvalid();`
pub fn set_valid(header: Expr, valid: bool) -> Stmt {
    stmt(StmtKind::SetValid(header, valid))
}

/// A block without annotations.
pub fn block(stmts: Vec<Stmt>) -> Block {
    Block { annotations: vec![], stmts }
}

/// `if (cond) { yes }`
pub fn if_then(cond: Expr, yes: Vec<Stmt>) -> Stmt {
    if_else(cond, yes, vec![])
}

/// `if (cond) { yes } else { no }`
pub fn if_else(cond: Expr, yes: Vec<Stmt>, no: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::If(cond, block(yes), block(no)))
}

/// A call with all its arguments.
pub fn call(callee: Callee, type_args: Vec<Type>, args: Vec<Expr>) -> Stmt {
    let args = args.into_iter().map(Some).collect();
    stmt(StmtKind::Call(Call { callee, type_args, args, span: Span::NONE }))
}

/// A direct call of an action without parameters.
pub fn run(action: ActionId) -> Stmt {
    call(Callee::Action(action), vec![], vec![])
}

/// A new local variable.
pub fn local(vars: &mut Vec<Var>, name: &str, ty: Type, span: Span) -> VarId {
    vars.push(Var { name: name.into(), ty, kind: VarKind::Local, annotations: vec![], span });
    VarId::from(vars.len() - 1)
}

/// A parameter that entries give.
pub fn data_param(name: &str, ty: Type) -> Var {
    let kind = VarKind::Param(Direction::None);
    Var { name: name.into(), ty, kind, annotations: vec![], span: Span::NONE }
}

/// A field of a struct or header.
pub fn struct_field(name: &str, ty: Type) -> Field {
    Field { name: name.into(), ty, annotations: vec![] }
}

/// An action of the control with the control-plane name `control`.
pub fn action(name: &str, control: &Name, params: Vec<VarId>, stmts: Vec<Stmt>) -> Action {
    Action {
        name: name.into(),
        control_plane_name: format!("{control}.{name}").into(),
        params,
        body: block(stmts),
        top_level: false,
        annotations: vec![],
        span: Span::NONE,
    }
}

/// A table with one exact key; `actions[0]` takes entries, `actions[1]` runs on a miss.
pub fn exact_table(
    name: &str,
    control: &Name,
    key: Expr,
    key_name: &str,
    actions: [ActionId; 2],
    size: u64,
) -> Table {
    Table {
        name: name.into(),
        control_plane_name: format!("{control}.{name}").into(),
        keys: vec![TableKey {
            expr: key,
            match_kind: MatchKind::Exact,
            name: key_name.into(),
            annotations: vec![],
        }],
        actions: actions.map(|action| ActionRef { action, args: vec![], annotations: vec![] }).to_vec(),
        default_action: DefaultAction { action: 1, args: vec![], is_const: true },
        entries: vec![],
        const_entries: false,
        largest_priority_wins: true,
        size: Some(size),
        implementation: None,
        counters: None,
        meters: None,
        properties: vec![],
        annotations: vec![],
        span: Span::NONE,
    }
}
