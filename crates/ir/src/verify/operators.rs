//! Operators and casts of P4 by type (P4-16 §8.5 to §8.11).

use super::Verifier;
use crate::{BinaryOp, Expr, Type, UnaryOp};

impl Verifier<'_> {
    pub(super) fn unary_result(&self, op: UnaryOp, operand: &Type) -> Option<Type> {
        let has = match op {
            UnaryOp::Neg => is_number(operand),
            UnaryOp::BitNot => is_sized(operand),
            UnaryOp::Not => *operand == Type::Bool,
        };
        has.then(|| operand.clone())
    }

    /// The type of `left op right`; none if P4 has no such operator.
    pub(super) fn binary_result(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Type> {
        let (left, right) = (&left.ty, &right.ty);
        let same = left == right;
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => {
                (same && is_number(left)).then(|| left.clone())
            }
            BinaryOp::AddSat | BinaryOp::SubSat | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                (same && is_sized(left)).then(|| left.clone())
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                (is_number(left) && matches!(right, Type::Bit(_) | Type::InfInt)).then(|| left.clone())
            }
            BinaryOp::Concat => match (left, right) {
                (Type::Bit(a), Type::Bit(b) | Type::Int(b)) => Some(Type::Bit(a.checked_add(*b)?)),
                (Type::Int(a), Type::Bit(b) | Type::Int(b)) => Some(Type::Int(a.checked_add(*b)?)),
                (Type::String, Type::String) => Some(Type::String),
                _ => None,
            },
            BinaryOp::Eq | BinaryOp::Ne => (same && self.is_comparable(left)).then_some(Type::Bool),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                (same && is_number(left)).then_some(Type::Bool)
            }
            BinaryOp::And | BinaryOp::Or => (same && *left == Type::Bool).then_some(Type::Bool),
        }
    }

    fn is_comparable(&self, ty: &Type) -> bool {
        self.is_value(ty) && !matches!(ty, Type::Extern(..))
    }

    /// True if a value of type `from` can be cast to `to`, newtypes and serializable enums standing for what
    /// represents them.
    pub(super) fn casts(&self, from: &Type, to: &Type) -> bool {
        let (from, to) = (self.program.representation(from), self.program.representation(to));
        match (from, to) {
            (Type::Bit(_), Type::Bit(_)) | (Type::Int(_), Type::Int(_)) => true,
            (Type::Bit(a), Type::Int(b)) | (Type::Int(a), Type::Bit(b)) => a == b,
            (Type::Bit(1), Type::Bool) | (Type::Bool, Type::Bit(1)) => true,
            (Type::InfInt, Type::Bit(_) | Type::Int(_) | Type::Bool) => true,
            _ => from == to,
        }
    }
}

fn is_sized(ty: &Type) -> bool {
    matches!(ty, Type::Bit(_) | Type::Int(_))
}

fn is_number(ty: &Type) -> bool {
    is_sized(ty) || *ty == Type::InfInt
}
