//! `hoist-locals`: declare a body's variables beside its tables.
//!
//! Before: `bit<8> a = e; apply { if (c) { bit<8> b = a; ... } }`
//! After:  `bit<8> a; bit<8> b; apply { a = e; if (c) { b = a; ... } }`
//!
//! Why: a cut may fall between a variable's declaration and its uses. Variables of loops stay where they are: no cut
//! falls in a loop.

use ir::{Block, Control, Expr, ExprKind, Stmt, StmtKind};

/// Hoists the variables of `control`'s body.
pub fn hoist_locals(control: &mut Control) {
    let mut first = vec![];
    for local in &mut control.locals {
        if let StmtKind::Declare(var, init) = &mut local.kind {
            first.extend(
                init.take()
                    .map(|value| assign(control.vars[var.index()].ty.clone(), *var, value, local.span)),
            );
        }
    }
    let mut body = std::mem::take(&mut control.body);
    hoist_block(control, &mut body);
    first.append(&mut body.stmts);
    body.stmts = first;
    control.body = body;
}

fn hoist_block(control: &mut Control, block: &mut Block) {
    let stmts = std::mem::take(&mut block.stmts);
    for mut stmt in stmts {
        match stmt.kind {
            StmtKind::Declare(var, init) => {
                control.locals.push(Stmt { kind: StmtKind::Declare(var, None), span: stmt.span });
                let ty = control.vars[var.index()].ty.clone();
                block.stmts.extend(init.map(|value| assign(ty, var, value, stmt.span)));
            }
            StmtKind::For { .. } | StmtKind::ForIn { .. } => block.stmts.push(stmt),
            _ => {
                ir::visit::blocks_mut(&mut stmt, &mut |inner| hoist_block(control, inner));
                block.stmts.push(stmt);
            }
        }
    }
}

fn assign(ty: ir::Type, var: ir::VarId, value: Expr, span: base_diag::Span) -> Stmt {
    Stmt { kind: StmtKind::Assign(Expr { kind: ExprKind::Var(var), ty, span }, value), span }
}
