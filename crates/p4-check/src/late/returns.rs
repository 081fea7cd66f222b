//! A function with a result returns one on every path (P4-16 §10).
//!
//! `bit<8> f(in bool b) { if (b) { return 1; } }` is refused. Loops may run no turn, so a `return` in their body does
//! not count; a `switch` counts if it has a `default`.

use base_diag::{Diagnostic, Diagnostics};

use crate::codes;
use crate::typed::{Block, Program, Stmt, StmtKind, SwitchLabel, Type};

pub(crate) fn check_returns(program: &Program, diags: &mut Diagnostics) {
    for (_, f) in program.functions.iter() {
        let Some(body) = &f.body else { continue };
        if !matches!(f.returns, Type::Void | Type::Error) && !block_returns(body) {
            diags.push(
                Diagnostic::error(
                    codes::MISSING_RETURN,
                    format!("function `{}` may end without a result", f.name.text),
                )
                .at(f.name.span, format!("it returns `{}`", program.show_type(&f.returns)))
                .help("add `return` at its end"),
            );
        }
    }
}

fn block_returns(block: &Block) -> bool {
    block.stmts.iter().any(stmt_returns)
}

fn stmt_returns(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Exit => true,
        StmtKind::Block(block) => block_returns(block),
        StmtKind::If { then, otherwise, .. } => {
            block_returns(then) && otherwise.as_ref().is_some_and(block_returns)
        }
        StmtKind::Switch(switch) => {
            let whole =
                switch.cases.iter().flat_map(|c| &c.labels).any(|l| matches!(l, SwitchLabel::Default));
            whole && switch.cases.iter().all(|c| block_returns(&c.body))
        }
        _ => false,
    }
}
