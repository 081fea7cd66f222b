//! Questions about an expression that need no program around it.

use ir::{Const, Expr, ExprKind, VarId};

/// The value of a constant index.
pub fn constant(index: &Expr) -> Option<u32> {
    match &index.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u32(),
        ExprKind::Const(Const::Int(n)) => u32::try_from(n).ok(),
        ExprKind::Cast(inner) => constant(inner),
        _ => None,
    }
}

/// The variable that a place is a part of.
pub fn root(place: &Expr) -> Option<VarId> {
    match &place.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Field(base, _)
        | ExprKind::Index(base, _)
        | ExprKind::Next(base)
        | ExprKind::Last(base)
        | ExprKind::Slice { base, .. }
        | ExprKind::SlicePlus { base, .. } => root(base),
        _ => None,
    }
}
