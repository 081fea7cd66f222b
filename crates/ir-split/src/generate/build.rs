//! Small constructors for generated code.

use base_bits::Bits;
use base_diag::Span;
use ir::{
    Action, ActionId, ActionRef, BinaryOp, Block, Call, Callee, Const, DefaultAction, Expr, ExprKind, Field,
    MatchKind, Name, Stmt, StmtKind, Table, TableKey, Type, UnaryOp, Var, VarId, VarKind,
};

pub fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: Span::NONE }
}

pub fn bits(width: u32, value: u64) -> Expr {
    expr(ExprKind::Const(Const::Bits(Bits::new(width, u128::from(value)))), Type::Bit(width))
}

pub fn var(id: VarId, ty: &Type) -> Expr {
    expr(ExprKind::Var(id), ty.clone())
}

pub fn field(base: Expr, index: usize, ty: Type) -> Expr {
    expr(ExprKind::Field(Box::new(base), index as u32), ty)
}

pub fn element(base: Expr, index: u32, ty: Type) -> Expr {
    expr(ExprKind::Index(Box::new(base), Box::new(bits(32, u64::from(index)))), ty)
}

pub fn is_valid(header: Expr) -> Expr {
    expr(ExprKind::IsValid(Box::new(header)), Type::Bool)
}

pub fn not(e: Expr) -> Expr {
    expr(ExprKind::Unary(UnaryOp::Not, Box::new(e)), Type::Bool)
}

pub fn and(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(BinaryOp::And, Box::new(a), Box::new(b)), Type::Bool)
}

pub fn or(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(BinaryOp::Or, Box::new(a), Box::new(b)), Type::Bool)
}

pub fn add(a: Expr, b: Expr) -> Expr {
    arithmetic(BinaryOp::Add, a, b)
}

pub fn subtract(a: Expr, b: Expr) -> Expr {
    arithmetic(BinaryOp::Sub, a, b)
}

pub fn shift_right(a: Expr, count: u64) -> Expr {
    arithmetic(BinaryOp::Shr, a, bits(32, count))
}

pub fn less(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(BinaryOp::Lt, Box::new(a), Box::new(b)), Type::Bool)
}

fn arithmetic(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = a.ty.clone();
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}

pub fn equals(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(BinaryOp::Eq, Box::new(a), Box::new(b)), Type::Bool)
}

pub fn cast(e: Expr, ty: Type) -> Expr {
    if e.ty == ty { e } else { expr(ExprKind::Cast(Box::new(e)), ty) }
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::NONE }
}

pub fn assign(place: Expr, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place, value))
}

pub fn set_valid(header: Expr, valid: bool) -> Stmt {
    stmt(StmtKind::SetValid(header, valid))
}

pub fn block(stmts: Vec<Stmt>) -> Block {
    Block { annotations: vec![], stmts }
}

pub fn if_then(cond: Expr, yes: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::If(cond, block(yes), Block::default()))
}

pub fn call(callee: Callee, type_args: Vec<Type>, args: Vec<Expr>) -> Stmt {
    let args = args.into_iter().map(Some).collect();
    stmt(StmtKind::Call(Call { callee, type_args, args, span: Span::NONE }))
}

pub fn run(action: ActionId) -> Stmt {
    call(Callee::Action(action), vec![], vec![])
}

pub fn struct_field(name: &str, ty: Type) -> Field {
    Field { name: name.into(), ty, annotations: vec![] }
}

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

pub fn data_param(name: &str, ty: Type) -> Var {
    let kind = VarKind::Param(ir::Direction::None);
    Var { name: name.into(), ty, kind, annotations: vec![], span: Span::NONE }
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
