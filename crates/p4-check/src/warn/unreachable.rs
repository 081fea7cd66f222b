//! `unreachable`: statements after `return`, `exit`, `break` and `continue`; states that no path from `start` leads to;
//! `accept` where a parser never ends there.

use base_diag::{Diagnostic, Diagnostics};

use super::silenced;
use crate::codes;
use crate::late::targets;
use crate::typed::walk::{Visitor, walk_block, walk_state};
use crate::typed::{Block, Parser, Program, Stmt, StmtKind, SwitchLabel, Target};

pub(crate) fn warn_unreachable(program: &Program, diags: &mut Diagnostics) {
    let mut dead = Dead { diags };
    program.functions.iter().filter_map(|(_, f)| f.body.as_ref()).for_each(|b| dead.block(b));
    program.actions.iter().for_each(|(_, a)| dead.block(&a.body));
    program.controls.iter().for_each(|(_, c)| dead.block(&c.body));
    for (_, parser) in program.parsers.iter() {
        parser.states.iter().for_each(|s| walk_state(&mut dead, s));
        dead.states(parser);
    }
}

struct Dead<'a> {
    diags: &'a mut Diagnostics,
}

impl Dead<'_> {
    fn states(&mut self, parser: &Parser) {
        let mut seen = vec![false; parser.states.len()];
        let mut work: Vec<usize> =
            parser.states.iter().position(|s| s.name.text == "start").into_iter().collect();
        let mut accepts = false;
        while let Some(i) = work.pop() {
            let Some(state) = parser.states.get(i) else { continue };
            if !std::mem::replace(&mut seen[i], true) {
                let targets = targets(&state.transition);
                accepts |= targets.contains(&Target::Accept);
                work.extend(targets.iter().filter_map(|t| match t {
                    Target::State(next) => Some(*next as usize),
                    _ => None,
                }));
            }
        }
        if !accepts && !silenced(&parser.annotations, "unreachable") {
            let title = format!("parser `{}` never accepts a packet", parser.name.text);
            self.diags.push(
                Diagnostic::warning(codes::UNREACHABLE, "unreachable", title)
                    .at(parser.name.span, "no path from `start` leads to `accept`"),
            );
        }
        for (state, _) in parser.states.iter().zip(seen).filter(|(_, seen)| !seen) {
            if !silenced(&state.annotations, "unreachable") {
                let title = format!("state `{}` is unreachable", state.name.text);
                let label = "no path from `start` leads here";
                self.diags.push(
                    Diagnostic::warning(codes::UNREACHABLE, "unreachable", title).at(state.name.span, label),
                );
            }
        }
    }
}

impl Visitor for Dead<'_> {
    fn block(&mut self, block: &Block) {
        let end = block.stmts.iter().position(leaves);
        let after =
            end.and_then(|i| block.stmts[i + 1..].iter().find(|s| !matches!(s.kind, StmtKind::Empty)));
        if let (Some(end), Some(after)) = (end, after) {
            self.diags.push(
                Diagnostic::warning(codes::UNREACHABLE, "unreachable", "this statement is never run")
                    .at(after.span, "")
                    .at(block.stmts[end].span, "no later statement is reached"),
            );
        }
        walk_block(self, block);
    }
}

/// True if the next statement is never run.
fn leaves(stmt: &Stmt) -> bool {
    let block = |b: &Block| b.stmts.iter().any(leaves);
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Exit | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::Block(b) => block(b),
        StmtKind::If { then, otherwise, .. } => block(then) && otherwise.as_ref().is_some_and(block),
        StmtKind::Switch(switch) => {
            let labels = switch.cases.iter().flat_map(|c| &c.labels);
            labels.into_iter().any(|l| matches!(l, SwitchLabel::Default))
                && switch.cases.iter().all(|c| block(&c.body))
        }
        _ => false,
    }
}
