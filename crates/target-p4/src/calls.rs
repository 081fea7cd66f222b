//! Everything that statements call, and all of their expressions.

use ir::{Callee, Stmt, StmtKind};

/// Calls `f` with everything that `stmts` call.
pub(crate) fn note_calls(stmts: &[Stmt], f: &mut dyn FnMut(&Callee)) {
    each_call(stmts, &mut |call| f(&call.callee));
}

/// Calls `f` with every call in `stmts`.
pub(crate) fn each_call(stmts: &[Stmt], f: &mut dyn FnMut(&ir::Call)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Call(call) => f(call),
            StmtKind::For { init, update, .. } => {
                each_call(init, f);
                each_call(update, f);
            }
            _ => {}
        }
        ir::visit::exprs(stmt, &mut |expr| {
            ir::visit::subexprs(expr, &mut |e| {
                if let ir::ExprKind::Call(call) = &e.kind {
                    f(call);
                }
            });
        });
        ir::visit::blocks(stmt, &mut |block| each_call(&block.stmts, f));
    }
}

/// Calls `f` with every expression in `stmts`.
pub(crate) fn note_exprs(stmts: &[Stmt], f: &mut dyn FnMut(&ir::Expr)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Call(call) => {
                call.args.iter().flatten().for_each(|arg| ir::visit::subexprs(arg, f));
            }
            StmtKind::For { init, update, .. } => {
                note_exprs(init, f);
                note_exprs(update, f);
            }
            _ => {}
        }
        ir::visit::exprs(stmt, &mut |expr| ir::visit::subexprs(expr, f));
        ir::visit::blocks(stmt, &mut |block| note_exprs(&block.stmts, f));
    }
}
