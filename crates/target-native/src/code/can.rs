//! Abilities of code: asked before it is made, so that nothing is left half made.

use super::place::{HeaderAt, Index, Places};
use crate::layout::{Kind, Shape, kind_of};
use ir::{BinaryOp, Const, Expr, ExprKind, Type, UnaryOp};

impl<'l> Places<'l> {
    /// True if code can compute the scalar `expr`.
    pub(crate) fn can(&self, expr: &'l Expr) -> bool {
        let Some(kind) = kind_of(self.program, &expr.ty) else { return false };
        match &expr.kind {
            ExprKind::Const(value) => {
                matches!(value, Const::Bits(_) | Const::Bool(_) | Const::Error(_) | Const::Enum(_))
            }
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => self.scalar(expr).is_some(),
            ExprKind::Slice { base, hi, lo } => {
                self.scalar(expr).is_some()
                    || self.can(base)
                        && kind_of(self.program, &base.ty).is_some_and(|k| *lo <= *hi && *hi < k.width())
            }
            ExprKind::SlicePlus { base, start, .. } => self.can(base) && self.can_shift_by(start),
            // `next` may be behind the last element: its validity is an error, which the interpreter reports.
            ExprKind::IsValid(header) => self.header(header).is_some_and(|(at, _)| !is_next(&at)),
            ExprKind::LastIndex(stack) => self.stack(stack).is_some(),
            ExprKind::PacketLength(_) => true,
            ExprKind::Unary(op, operand) => {
                self.can(operand) && matches!(op, UnaryOp::Not | UnaryOp::Neg | UnaryOp::BitNot)
            }
            ExprKind::Cast(operand) => {
                let from = kind_of(self.program, &operand.ty);
                let plain = match (from, kind) {
                    (Some(Kind::Bits(_)), Kind::Bits(_) | Kind::Bool) => true,
                    (Some(Kind::Bool), Kind::Bits(_)) => true,
                    (Some(a), b) => a == b,
                    (None, _) => false,
                };
                plain && self.can(operand)
            }
            ExprKind::Ternary(cond, yes, no) => self.can(cond) && self.can(yes) && self.can(no),
            ExprKind::Binary(op, left, right) => self.can_binary(*op, left, right),
            _ => false,
        }
    }

    fn can_binary(&self, op: BinaryOp, left: &'l Expr, right: &'l Expr) -> bool {
        if !self.can(left) {
            return false;
        }
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            return self.can_shift_by(right);
        }
        let Some(kind) = kind_of(self.program, &left.ty) else { return false };
        self.can(right)
            && match op {
                BinaryOp::Div | BinaryOp::Mod => kind.width() <= 64 && !self.is_signed(&left.ty),
                BinaryOp::AddSat | BinaryOp::SubSat => {
                    kind.width() <= if self.is_signed(&left.ty) { 62 } else { 64 }
                }
                _ => true,
            }
    }

    /// The right side of a shift.
    fn can_shift_by(&self, amount: &'l Expr) -> bool {
        match &amount.kind {
            ExprKind::Const(Const::Int(n)) => u32::try_from(n).is_ok(),
            _ => self.can(amount) && matches!(kind_of(self.program, &amount.ty), Some(Kind::Bits(_))),
        }
    }

    pub(crate) fn is_signed(&self, ty: &Type) -> bool {
        matches!(self.program.representation(ty), Type::Int(_))
    }

    /// A header that code can make valid or invalid, or copy to: its index is known.
    pub(crate) fn target(&self, expr: &'l Expr) -> Option<(HeaderAt<'l>, &'l Shape)> {
        self.header(expr)
            .filter(|(at, _)| !matches!(at, HeaderAt::Element(_, Index::Computed(_) | Index::Next)))
    }
}

fn is_next(at: &HeaderAt) -> bool {
    matches!(at, HeaderAt::Element(_, Index::Next))
}
