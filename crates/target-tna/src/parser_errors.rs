//! Errors of the parser: a Tofino drops the packets that the parser rejects, so a control sees no error.
//!
//! Before: `if (standard_metadata.parser_error != error.NoError) { ... }`
//! After:  `if (false) { ... }`
//!
//! Other uses of the field are left, and refused.

use crate::original::metadata;
use ir::{BinaryOp, Const, ErrorId, Expr, ExprKind, Program, Stmt, visit};

const FIELD: &str = "parser_error";
/// `error.NoError`
const NONE: ErrorId = ErrorId(0);

/// Decides comparisons of the error.
pub(crate) fn decide(program: &mut Program) {
    let old = program.clone();
    let mut change = |stmt: &mut Stmt| {
        visit::exprs_mut(stmt, &mut |expr| {
            visit::subexprs_mut(expr, &mut |expr| {
                if let Some(holds) = decided(&old, expr) {
                    expr.kind = ExprKind::Const(Const::Bool(holds));
                }
            });
        });
    };
    for control in &mut program.controls {
        visit::stmts_mut(&mut control.body, &mut change);
        control.actions.iter_mut().for_each(|action| visit::stmts_mut(&mut action.body, &mut change));
    }
}

/// The result of a comparison of the error with a constant.
fn decided(program: &Program, expr: &Expr) -> Option<bool> {
    let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
    let ExprKind::Const(Const::Error(error)) = right.kind else { return None };
    if metadata(program, left) != Some(FIELD) {
        return None;
    }
    match op {
        BinaryOp::Eq => Some(error == NONE),
        BinaryOp::Ne => Some(error != NONE),
        _ => None,
    }
}
