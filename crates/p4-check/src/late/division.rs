//! Division and remainder are for values known at compile time and for powers of two (P4-16 §8.8).
//!
//! `x / 4` and `x % 4` become a shift and a mask; `0 / x` is 0; anything else that a data plane would have to divide is
//! refused, unless constructor arguments decide it or no packet can come by: actions and functions that nothing uses and
//! branches whose condition is known to be otherwise are not looked at.

use base_diag::{Diagnostic, Diagnostics};
use num_bigint::BigInt;

use crate::codes;
use crate::late::reach::Reach;
use crate::typed::walk::{Visitor, walk_expr, walk_stmt};
use crate::typed::{BinaryOp, Expr, ExprKind, Program, Stmt, StmtKind, VarKind};

pub(crate) fn check_division(program: &Program, reach: &Reach, diags: &mut Diagnostics) {
    let mut visitor = Divisions { program, diags };
    reach.visit_bodies(program, &mut visitor);
}

struct Divisions<'a> {
    program: &'a Program,
    diags: &'a mut Diagnostics,
}

impl Divisions<'_> {
    fn check(&mut self, a: Option<&Expr>, b: &Expr, span: base_diag::Span) {
        let power = b.as_int().is_some_and(|d| d.magnitude().count_ones() == 1);
        let zero = a.and_then(Expr::as_int).is_some_and(|n| *n == BigInt::ZERO);
        let known = a.is_some_and(|a| self.is_known(a)) && self.is_known(b);
        if !power && !zero && !known && !matches!(b.kind, ExprKind::Error) {
            self.diags.push(
                Diagnostic::error(codes::RUN_TIME_DIVISION, "division at run time")
                    .at(span, "its operands are not known at compile time")
                    .note("a value of the data plane can be divided by powers of two only"),
            );
        }
    }
}

impl Divisions<'_> {
    /// True for a number that elaboration knows: it depends on constructor parameters at most.
    fn is_known(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Const(_) | ExprKind::SizeOf(..) => true,
            ExprKind::Var(id) => self.program.vars[*id].kind == VarKind::ConstructorParam,
            ExprKind::Unary(_, operand) | ExprKind::Cast { operand, .. } => self.is_known(operand),
            ExprKind::Binary(_, a, b) => self.is_known(a) && self.is_known(b),
            _ => false,
        }
    }
}

impl Visitor for Divisions<'_> {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod, a, b) = &expr.kind {
            self.check(Some(a), b, expr.span);
        }
        if let ExprKind::Ternary(cond, yes, no) = &expr.kind
            && let ExprKind::Bool(taken) = cond.kind
        {
            return self.expr(if taken { yes } else { no });
        }
        walk_expr(self, expr);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::If { condition, then, otherwise } = &stmt.kind
            && let ExprKind::Bool(taken) = condition.kind
        {
            if taken {
                self.block(then)
            } else if let Some(otherwise) = otherwise {
                self.block(otherwise)
            }
            return;
        }
        if let StmtKind::Assign { op: Some(BinaryOp::Div | BinaryOp::Mod), value, .. } = &stmt.kind {
            self.check(None, value, stmt.span);
        }
        walk_stmt(self, stmt);
    }
}
