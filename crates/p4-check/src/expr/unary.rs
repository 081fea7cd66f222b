//! `-`, `+`, `~` and `!` (P4-16 §8.5 to §8.7).

use base_diag::Span;
use num_bigint::BigInt;
use p4_syntax::ast;

use super::wrap;
use crate::codes;
use crate::cx::Checker;
use crate::typed::{Expr, ExprKind, Type, UnaryOp};

impl Checker {
    pub(crate) fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        let operand = self.expr(operand, None);
        let operand = self.to_numeric(operand);
        if operand.ty.is_error() {
            return Expr::error(span);
        }
        let ty = self.infer.shallow(&operand.ty);
        let ok = match op {
            ast::UnaryOp::Not => ty == Type::Bool,
            ast::UnaryOp::Complement => matches!(ty, Type::Bit(_) | Type::Signed(_)),
            ast::UnaryOp::Minus | ast::UnaryOp::Plus => {
                matches!(ty, Type::Bit(_) | Type::Signed(_) | Type::Int)
            }
        };
        let sign = match op {
            ast::UnaryOp::Not => "!",
            ast::UnaryOp::Complement => "~",
            ast::UnaryOp::Minus => "-",
            ast::UnaryOp::Plus => "+",
        };
        if !ok {
            let shown = self.show(&ty);
            let label = if ty == Type::Int {
                "its width is not known".to_string()
            } else {
                format!("this is `{shown}`")
            };
            self.error(codes::OPERANDS, span, format!("`{sign}` cannot be applied to `{shown}`"), label);
            return Expr::error(span);
        }
        let op = match op {
            ast::UnaryOp::Plus => return Expr { span, ..operand },
            ast::UnaryOp::Not => UnaryOp::Not,
            ast::UnaryOp::Complement => UnaryOp::Complement,
            ast::UnaryOp::Minus => UnaryOp::Neg,
        };
        let kind = match (&operand.kind, op) {
            (ExprKind::Bool(value), UnaryOp::Not) => ExprKind::Bool(!value),
            (ExprKind::Int(value), UnaryOp::Neg) => ExprKind::Int(wrap(&-value, &ty)),
            (ExprKind::Int(value), UnaryOp::Complement) => {
                ExprKind::Int(wrap(&(-value - BigInt::from(1)), &ty))
            }
            _ => ExprKind::Unary(op, Box::new(operand)),
        };
        self.known(kind, ty, span)
    }
}
