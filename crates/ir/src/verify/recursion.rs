//! Nothing calls itself (P4-16 §4.5): functions, actions, parsers, controls.

use super::Verifier;
use crate::{Block, Call, Callee, Expr, ExprKind, Keyset, Stmt, StmtKind, Transition, visit};

impl Verifier<'_> {
    pub(super) fn recursion(&mut self) {
        let program = self.program;
        let functions: Vec<Vec<usize>> = program
            .functions
            .iter()
            .map(|function| {
                let mut calls = vec![];
                block_calls(&function.body, &mut |call| {
                    if let Callee::Function(id) = call.callee {
                        calls.push(id.index());
                    }
                });
                calls
            })
            .collect();
        self.acyclic("functions", &functions);
        let parsers: Vec<Vec<usize>> = program.parsers.iter().map(parser_calls).collect();
        self.acyclic("parsers", &parsers);
        for (index, control) in program.controls.iter().enumerate() {
            self.at(format!("control {}", control.name), |v| v.control_calls(index, control));
        }
    }

    fn control_calls(&mut self, index: usize, control: &crate::Control) {
        let mut before = true;
        block_calls(&control.body, &mut |call| {
            if let Callee::Control(id) = call.callee {
                before &= id.index() < index;
            }
        });
        self.require(before, control.span, |_| "it applies a control that is not before it".to_string());
        let calls = |action: &crate::Action| {
            let mut calls = vec![];
            block_calls(&action.body, &mut |call| {
                if let Callee::Action(id) = call.callee {
                    calls.push(id.index());
                }
            });
            calls
        };
        let actions: Vec<Vec<usize>> = control.actions.iter().map(calls).collect();
        self.acyclic("actions", &actions);
    }

    /// Marks functions that call only marked ones, until nothing changes.
    fn acyclic(&mut self, what: &str, calls: &[Vec<usize>]) {
        let mut done = vec![false; calls.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (node, callees) in calls.iter().enumerate() {
                // Missing callees are reported elsewhere.
                if !done[node] && callees.iter().all(|callee| done.get(*callee).is_none_or(|d| *d)) {
                    done[node] = true;
                    changed = true;
                }
            }
        }
        let all = done.iter().all(|done| *done);
        self.require(all, base_diag::Span::NONE, |_| format!("its {what} call themselves"));
    }
}

fn parser_calls(parser: &crate::Parser) -> Vec<usize> {
    let mut calls = vec![];
    let mut note = |call: &Call| {
        if let Callee::Parser(id) = call.callee {
            calls.push(id.index());
        }
    };
    for state in &parser.states {
        stmts_calls(&state.stmts, &mut note);
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(|expr| expr_calls(expr, &mut note));
            for case in &select.cases {
                case.keys.iter().for_each(|key| keyset_calls(key, &mut note));
            }
        }
    }
    calls
}

fn keyset_calls(keyset: &Keyset, f: &mut dyn FnMut(&Call)) {
    match keyset {
        Keyset::Value(value) => expr_calls(value, f),
        Keyset::Mask(a, b) | Keyset::Range(a, b) => {
            expr_calls(a, f);
            expr_calls(b, f);
        }
        Keyset::DontCare | Keyset::ValueSet(_) => {}
    }
}

fn stmts_calls(stmts: &[Stmt], f: &mut dyn FnMut(&Call)) {
    for stmt in stmts {
        stmt_calls(stmt, f);
        visit::blocks(stmt, &mut |block| block_calls(block, f));
    }
}

fn block_calls(block: &Block, f: &mut dyn FnMut(&Call)) {
    stmts_calls(&block.stmts, f);
}

fn stmt_calls(stmt: &Stmt, f: &mut dyn FnMut(&Call)) {
    match &stmt.kind {
        StmtKind::Call(call) => f(call),
        StmtKind::For { init, update, .. } => {
            stmts_calls(init, f);
            stmts_calls(update, f);
        }
        _ => {}
    }
    visit::exprs(stmt, &mut |expr| expr_calls(expr, f));
}

fn expr_calls(expr: &Expr, f: &mut dyn FnMut(&Call)) {
    visit::subexprs(expr, &mut |e| {
        if let ExprKind::Call(call) = &e.kind {
            f(call);
        }
    });
}
