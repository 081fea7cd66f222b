//! Walks that `ir::visit` lacks: from the inside out, and over names that statements use outside of expressions.

use ir::{Call, Expr, ExprKind, Keyset, Stmt, StmtKind, Transition, VarId, visit};

/// The expressions that stand directly in one, in the order of their evaluation.
pub(crate) fn children(expr: &mut Expr) -> Vec<&mut Expr> {
    let mut found = vec![];
    visit::parts_mut(expr, &mut |part| found.push(part));
    found
}

/// The read-only form of [`children`].
pub(crate) fn parts(expr: &Expr) -> Vec<&Expr> {
    let mut found = vec![];
    visit::parts(expr, &mut |part| found.push(part));
    found
}

/// Calls `f` with every subexpression of `expr` and then with `expr`; replacements made by `f` are not visited.
pub(crate) fn subexprs_up(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    visit::parts_mut(expr, &mut |part| subexprs_up(part, f));
    f(expr);
}

/// Calls `f` with every statement in `stmts` before those nested in it, the heads of loops included.
pub(crate) fn all_stmts_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    for stmt in stmts {
        f(stmt);
        if let StmtKind::For { init, update, .. } = &mut stmt.kind {
            init.iter_mut().chain(update).for_each(&mut *f);
        }
        visit::blocks_mut(stmt, &mut |block| all_stmts_mut(&mut block.stmts, f));
    }
}

/// The read-only form of [`all_stmts_mut`].
pub(crate) fn all_stmts(stmts: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    for stmt in stmts {
        f(stmt);
        if let StmtKind::For { init, update, .. } = &stmt.kind {
            init.iter().chain(update).for_each(&mut *f);
        }
        visit::blocks(stmt, &mut |block| all_stmts(&block.stmts, f));
    }
}

/// Calls `f` with the outermost expressions of the statement itself; those in the head of a loop are met when
/// [`all_stmts_mut`] comes to them, but for the condition.
pub(crate) fn own_exprs_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    match &mut stmt.kind {
        StmtKind::For { cond, .. } => f(cond),
        _ => visit::exprs_mut(stmt, f),
    }
}

/// The read-only form of [`own_exprs_mut`].
pub(crate) fn own_exprs(stmt: &Stmt, f: &mut dyn FnMut(&Expr)) {
    match &stmt.kind {
        StmtKind::For { cond, .. } => f(cond),
        _ => visit::exprs(stmt, f),
    }
}

/// Every expression in `stmts`, at any depth.
pub(crate) fn all_exprs(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    all_stmts(stmts, &mut |stmt| own_exprs(stmt, &mut |expr| visit::subexprs(expr, f)));
}

/// Calls `f` with the expressions of a keyset.
pub(crate) fn keyset_exprs_mut(keyset: &mut Keyset, f: &mut dyn FnMut(&mut Expr)) {
    match keyset {
        Keyset::DontCare | Keyset::ValueSet(_) => {}
        Keyset::Value(a) => f(a),
        Keyset::Mask(a, b) | Keyset::Range(a, b) => {
            f(a);
            f(b);
        }
    }
}

/// Calls `f` with the outermost expressions of a transition.
pub(crate) fn transition_exprs_mut(transition: &mut Transition, f: &mut dyn FnMut(&mut Expr)) {
    if let Transition::Select(select) = transition {
        select.exprs.iter_mut().for_each(&mut *f);
        select.cases.iter_mut().flat_map(|case| &mut case.keys).for_each(|key| keyset_exprs_mut(key, f));
    }
}

/// Calls `f` with the variables that a statement names other than by an expression or a callee.
pub(crate) fn named_vars_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut VarId)) {
    match &mut stmt.kind {
        StmtKind::Declare(var, _)
        | StmtKind::Extract { packet: var, .. }
        | StmtKind::Advance(var, _)
        | StmtKind::Emit(var, _)
        | StmtKind::ForIn { var, .. } => f(var),
        _ => {}
    }
}

/// The call that is the whole of a statement, or the whole value that it stores.
pub(crate) fn call_of(stmt: &Stmt) -> Option<&Call> {
    match &stmt.kind {
        StmtKind::Call(call) => Some(call),
        StmtKind::Declare(_, Some(Expr { kind: ExprKind::Call(call), .. }))
        | StmtKind::Assign(_, Expr { kind: ExprKind::Call(call), .. }) => Some(call),
        _ => None,
    }
}

/// The value that a statement stores.
pub(crate) fn value_of_mut(stmt: &mut Stmt) -> Option<&mut Expr> {
    match &mut stmt.kind {
        StmtKind::Declare(_, Some(value)) | StmtKind::Assign(_, value) => Some(value),
        _ => None,
    }
}
