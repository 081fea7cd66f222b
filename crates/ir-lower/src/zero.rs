//! Zeros: values of variables without an initializer.

use base_bits::Bits;
use base_diag::Span;
use ir::{Const, ErrorId, Expr, ExprKind, Program, Stmt, StmtKind, Type, TypeKind, Var, build};

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

/// Statements that set a place to the value of an uninitialised variable of its type: zero, headers invalid.
pub(crate) fn zero_place(program: &Program, vars: &mut Vec<Var>, place: &Expr, out: &mut Vec<Stmt>) {
    let span = place.span;
    if let Some(zero) = zero(program, &place.ty, span) {
        out.push(build::assign(place.clone(), zero).at(span));
        return;
    }
    match &place.ty {
        Type::Stack(elem, size) if program.is_header_or_union(elem) => {
            // Removing every element makes all headers invalid and the index 0.
            out.push(Stmt { kind: StmtKind::PopFront(place.clone(), *size), span });
        }
        ty if program.is_struct(ty) => {
            for (index, field) in program.fields(ty).iter().enumerate() {
                zero_place(program, vars, &build::field(place.clone(), index, field.ty.clone()), out);
            }
        }
        ty => {
            let zero = build::local(vars, "zero", ty.clone(), span);
            out.push(build::declare(zero, None).at(span));
            let zero = build::var_of(vars, zero).at(span);
            out.push(build::assign(place.clone(), zero).at(span));
        }
    }
}
