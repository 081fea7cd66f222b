//! Short ways to make expressions, statements and variables.

use base_bits::Bits;
use base_diag::Span;
use ir::{
    Block, Const, ErrorId, Expr, ExprKind, Program, Stmt, StmtKind, Type, TypeKind, UnaryOp, Var, VarId,
    VarKind,
};

/// A new local variable.
pub(crate) fn local(vars: &mut Vec<Var>, name: &str, ty: Type, span: Span) -> VarId {
    vars.push(Var { name: name.into(), ty, kind: VarKind::Local, annotations: vec![], span });
    VarId::from(vars.len() - 1)
}

/// The value of a variable.
pub(crate) fn var(vars: &[Var], id: VarId, span: Span) -> Expr {
    let ty = vars.get(id.index()).map_or(Type::Void, |var| var.ty.clone());
    Expr { kind: ExprKind::Var(id), ty, span }
}

/// A field of a struct, header, union or tuple.
pub(crate) fn field(base: &Expr, index: usize, ty: &Type) -> Expr {
    Expr { kind: ExprKind::Field(Box::new(base.clone()), index as u32), ty: ty.clone(), span: base.span }
}

/// `place = value;`
pub(crate) fn assign(place: Expr, value: Expr, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Assign(place, value), span }
}

/// A declaration.
pub(crate) fn declare(var: VarId, init: Option<Expr>, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Declare(var, init), span }
}

/// `if (cond) { yes } else { no }`
pub(crate) fn if_else(cond: Expr, yes: Vec<Stmt>, no: Vec<Stmt>, span: Span) -> Stmt {
    Stmt { kind: StmtKind::If(cond, block(yes), block(no)), span }
}

/// A block without annotations.
pub(crate) fn block(stmts: Vec<Stmt>) -> Block {
    Block { annotations: vec![], stmts }
}

/// `true` or `false`.
pub(crate) fn bool(value: bool, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(Const::Bool(value)), ty: Type::Bool, span }
}

/// A `bit<width>`.
pub(crate) fn bits(width: u32, value: u128, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(Const::Bits(Bits::new(width, value))), ty: Type::Bit(width), span }
}

/// `!operand`
pub(crate) fn not(operand: Expr) -> Expr {
    let span = operand.span;
    Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(operand)), ty: Type::Bool, span }
}

/// `left op right`, of type `ty`.
pub(crate) fn binary(op: ir::BinaryOp, left: Expr, right: Expr, ty: Type) -> Expr {
    let span = left.span;
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span }
}

/// The zero of a type whose zero can be written; `None` for structs, tuples, stacks, varbits.
pub(crate) fn zero(program: &Program, ty: &Type, span: Span) -> Option<Expr> {
    let value = match program.representation(ty) {
        Type::Bit(width) | Type::Int(width) => Const::Bits(Bits::zero(*width)),
        Type::Bool => Const::Bool(false),
        Type::Error => Const::Error(ErrorId(0)),
        Type::String => Const::Str(String::new()),
        Type::InfInt => Const::Int(num_bigint::BigInt::ZERO),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Enum(members) if !members.is_empty() => Const::Enum(0),
            TypeKind::Header(_) | TypeKind::Union(_) => {
                return Some(Expr { kind: ExprKind::InvalidHeader, ty: ty.clone(), span });
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Expr { kind: ExprKind::Const(value), ty: ty.clone(), span })
}

/// Statements that make a place what an uninitialised variable of its type is: zero, headers invalid.
pub(crate) fn zero_place(program: &Program, vars: &mut Vec<Var>, place: &Expr, out: &mut Vec<Stmt>) {
    let span = place.span;
    if let Some(zero) = zero(program, &place.ty, span) {
        out.push(assign(place.clone(), zero, span));
        return;
    }
    match &place.ty {
        Type::Stack(elem, size) if is_header_or_union(program, elem) => {
            out.push(Stmt { kind: StmtKind::PopFront(place.clone(), *size), span });
        }
        ty if is_struct(program, ty) => {
            for (index, field) in program.fields(ty).iter().enumerate() {
                zero_place(program, vars, &self::field(place, index, &field.ty), out);
            }
        }
        ty => {
            let zero = local(vars, "zero", ty.clone(), span);
            out.push(declare(zero, None, span));
            out.push(assign(place.clone(), var(vars, zero, span), span));
        }
    }
}

/// True for structs (not tuples).
pub(crate) fn is_struct(program: &Program, ty: &Type) -> bool {
    matches!(ty, Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Struct(_)))
}

/// True for headers and header unions.
pub(crate) fn is_header_or_union(program: &Program, ty: &Type) -> bool {
    program.is_header(ty) || is_union(program, ty)
}

/// True for header unions.
pub(crate) fn is_union(program: &Program, ty: &Type) -> bool {
    matches!(ty, Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Union(_)))
}
