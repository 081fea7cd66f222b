//! Left-values (P4-16 §6.6).

use base_diag::Diagnostic;
use p4_syntax::ast;

use crate::codes;
use crate::cx::Checker;
use crate::typed::{Direction, Expr, ExprKind, Type, VarKind};

impl Checker {
    /// An l-value, or an error at its place.
    pub(crate) fn lvalue(&mut self, e: &ast::Expr) -> Expr {
        let expr = self.expr(e, None);
        if expr.ty.is_error() {
            return expr;
        }
        match self.not_assignable(&expr) {
            None => expr,
            Some(why) => {
                self.report(
                    Diagnostic::error(codes::NOT_ASSIGNABLE, "this cannot be assigned to").at(expr.span, why),
                );
                Expr::error(expr.span)
            }
        }
    }

    /// Reason why an expression is no l-value; `None` if it is one.
    pub(crate) fn not_assignable(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Var(id) => {
                let var = &self.program.vars[*id];
                let name = &var.name.text;
                match var.kind {
                    VarKind::Local | VarKind::Loop => None,
                    VarKind::Param(Direction::Out | Direction::InOut) => None,
                    VarKind::Param(Direction::In) => Some(format!("`{name}` is an `in` parameter")),
                    VarKind::Param(Direction::None) => Some(format!("parameter `{name}` has no direction")),
                    VarKind::ConstructorParam => Some(format!("`{name}` is a constructor parameter")),
                }
            }
            ExprKind::Field { base, .. }
            | ExprKind::Index { base, .. }
            | ExprKind::TupleIndex { base, .. }
            | ExprKind::Slice { base, .. }
            | ExprKind::SliceAt { base, .. } => self.not_assignable(base),
            ExprKind::StackNext(base) | ExprKind::StackLast(base) => self.not_assignable(base),
            // Reported where the error was found.
            ExprKind::Error => None,
            ExprKind::Cast { .. } => Some("this is a cast, not a variable".into()),
            _ if matches!(expr.ty, Type::Extern(..)) => Some("an instance cannot be assigned to".into()),
            ExprKind::Const(_) | ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::String(_) => {
                Some("this is a constant".into())
            }
            _ => Some("this is a value, not a variable".into()),
        }
    }
}
