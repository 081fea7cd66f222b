//! Walks over blocks, statements and expressions, read-only and in place.
//!
//! Statements are visited before those nested in them, in source order; expressions likewise.

use crate::{Block, Call, Expr, ExprKind, ForRange, Stmt, StmtKind, SwitchOn};

macro_rules! walks {
    ($stmts:ident, $exprs:ident, $subexprs:ident, $parts:ident, $call_exprs:ident, $blocks:ident, $($mutability:tt)?) => {
        /// Calls `f` with every statement in `block`, nested ones included.
        pub fn $stmts(block: &$($mutability)? Block, f: &mut dyn FnMut(&$($mutability)? Stmt)) {
            for stmt in &$($mutability)? block.stmts {
                f(stmt);
                $blocks(stmt, &mut |inner| $stmts(inner, f));
            }
        }

        /// Calls `f` with every block that stands directly in `stmt`. The statements in the head of a `for` are
        /// no block.
        pub fn $blocks(stmt: &$($mutability)? Stmt, f: &mut dyn FnMut(&$($mutability)? Block)) {
            match &$($mutability)? stmt.kind {
                StmtKind::If(_, yes, no) => {
                    f(yes);
                    f(no);
                }
                StmtKind::Switch(_, cases) => {
                    for case in cases {
                        f(&$($mutability)? case.body);
                    }
                }
                StmtKind::Block(block) => f(block),
                StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => f(body),
                _ => {}
            }
        }

        /// Calls `f` with the outermost expressions of `stmt` itself, places included; not with those of nested
        /// blocks.
        pub fn $exprs(stmt: &$($mutability)? Stmt, f: &mut dyn FnMut(&$($mutability)? Expr)) {
            match &$($mutability)? stmt.kind {
                StmtKind::Declare(_, init) => init.into_iter().for_each(f),
                StmtKind::Assign(a, b) | StmtKind::AssignOp(_, a, b) | StmtKind::Verify(a, b) => {
                    f(a);
                    f(b);
                }
                StmtKind::Call(call) => $call_exprs(call, f),
                StmtKind::SetValid(e, _)
                | StmtKind::PushFront(e, _)
                | StmtKind::PopFront(e, _)
                | StmtKind::Advance(_, e)
                | StmtKind::Emit(_, e)
                | StmtKind::If(e, ..)
                | StmtKind::Switch(SwitchOn::Value(e), _) => f(e),
                StmtKind::Extract { header, varbit_bits, .. } => {
                    f(header);
                    varbit_bits.into_iter().for_each(f);
                }
                StmtKind::Return(e) => e.into_iter().for_each(f),
                StmtKind::For { init, cond, update, .. } => {
                    for stmt in init {
                        $exprs(stmt, f);
                    }
                    f(cond);
                    for stmt in update {
                        $exprs(stmt, f);
                    }
                }
                StmtKind::ForIn { range: ForRange::Range(a, b), .. } => {
                    f(a);
                    f(b);
                }
                StmtKind::ForIn { range: ForRange::Values(e), .. } => f(e),
                StmtKind::Apply(_)
                | StmtKind::Switch(SwitchOn::ActionRun(_), _)
                | StmtKind::Block(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Exit => {}
            }
        }

        /// Calls `f` with the arguments of `call`.
        pub fn $call_exprs<'e>(
            call: &'e $($mutability)? Call,
            f: &mut dyn FnMut(&'e $($mutability)? Expr),
        ) {
            for arg in &$($mutability)? call.args {
                arg.into_iter().for_each(&mut *f);
            }
        }

        /// Calls `f` with `expr` and every expression in it.
        pub fn $subexprs(expr: &$($mutability)? Expr, f: &mut dyn FnMut(&$($mutability)? Expr)) {
            f(expr);
            $parts(expr, &mut |part| $subexprs(part, f));
        }

        /// Calls `f` with the expressions that stand directly in `expr`, in the order of their evaluation.
        pub fn $parts<'e>(expr: &'e $($mutability)? Expr, f: &mut dyn FnMut(&'e $($mutability)? Expr)) {
            match &$($mutability)? expr.kind {
                ExprKind::Const(_)
                | ExprKind::Var(_)
                | ExprKind::InvalidHeader
                | ExprKind::Lookahead(_)
                | ExprKind::PacketLength(_)
                | ExprKind::ApplyHit(_)
                | ExprKind::ApplyMiss(_) => {}
                ExprKind::Field(e, _)
                | ExprKind::Next(e)
                | ExprKind::Last(e)
                | ExprKind::LastIndex(e)
                | ExprKind::Slice { base: e, .. }
                | ExprKind::Unary(_, e)
                | ExprKind::Cast(e)
                | ExprKind::IsValid(e) => f(e),
                ExprKind::Index(a, b) | ExprKind::SlicePlus { base: a, start: b, .. } | ExprKind::Binary(_, a, b) => {
                    f(a);
                    f(b);
                }
                ExprKind::Ternary(a, b, c) => {
                    f(a);
                    f(b);
                    f(c);
                }
                ExprKind::Aggregate(parts) => parts.into_iter().for_each(f),
                ExprKind::Call(call) => $call_exprs(call, f),
            }
        }
    };
}

walks!(stmts, exprs, subexprs, parts, call_exprs, blocks,);
walks!(stmts_mut, exprs_mut, subexprs_mut, parts_mut, call_exprs_mut, blocks_mut, mut);

/// Calls `f` with every call in statements, at any depth.
pub fn calls(stmts: &[Stmt], f: &mut dyn FnMut(&Call)) {
    for stmt in stmts {
        // The statements in the head of a `for` are no block; their expressions are the loop's.
        let head = match &stmt.kind {
            StmtKind::For { init, update, .. } => [init.as_slice(), update.as_slice()],
            _ => [&[][..], &[][..]],
        };
        for stmt in std::iter::once(stmt).chain(head.into_iter().flatten()) {
            if let StmtKind::Call(call) = &stmt.kind {
                f(call);
            }
        }
        exprs(stmt, &mut |expr| calls_in(expr, f));
        blocks(stmt, &mut |block| calls(&block.stmts, f));
    }
}

/// Calls `f` with every call in an expression.
pub fn calls_in(expr: &Expr, f: &mut dyn FnMut(&Call)) {
    subexprs(expr, &mut |expr| {
        if let ExprKind::Call(call) = &expr.kind {
            f(call);
        }
    });
}

/// Calls `f` with every expression in `block`, at any depth.
pub fn all_exprs(block: &Block, f: &mut dyn FnMut(&Expr)) {
    stmts(block, &mut |stmt| exprs(stmt, &mut |expr| subexprs(expr, f)));
}
