//! Statements and transitions that a pass has added.

use ir::{Program, Stmt, StmtKind, Transition};
use std::collections::BTreeMap;

/// Number of occurrences of each statement and transition in a program, by the block that contains it.
pub(super) struct Before(BTreeMap<String, u32>);

impl Before {
    pub(super) fn of(program: &Program) -> Before {
        let mut all = BTreeMap::new();
        // A copy, because only what may be changed can be walked this way.
        let mut program = program.clone();
        each_list(&mut program, &mut |unit, stmts| {
            for stmt in stmts.iter() {
                *all.entry(format!("{unit} {}", head(stmt))).or_insert(0) += 1;
            }
        });
        each_transition(&mut program, &mut |unit, transition| {
            *all.entry(format!("{unit} {transition:?}")).or_insert(0) += 1;
        });
        Before(all)
    }

    /// True if `stmt` is one more than there were.
    pub(super) fn makes(&mut self, unit: &str, stmt: &Stmt) -> bool {
        self.makes_key(format!("{unit} {}", head(stmt)))
    }

    /// True if `transition` is one more than there were.
    pub(super) fn makes_transition(&mut self, unit: &str, transition: &Transition) -> bool {
        self.makes_key(format!("{unit} {transition:?}"))
    }

    fn makes_key(&mut self, key: String) -> bool {
        match self.0.get_mut(&key) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        }
    }
}

/// A statement without the blocks in it.
fn head(stmt: &Stmt) -> String {
    match &stmt.kind {
        StmtKind::If(cond, ..) => format!("if {cond:?}"),
        StmtKind::Switch(on, cases) => {
            format!("switch {on:?} {:?}", cases.iter().map(|case| &case.labels).collect::<Vec<_>>())
        }
        StmtKind::Block(block) => format!("block {:?}", block.annotations),
        StmtKind::For { cond, .. } => format!("for {cond:?}"),
        StmtKind::ForIn { var, range, .. } => format!("for {var:?} in {range:?}"),
        kind => format!("{kind:?}"),
    }
}

/// Calls `f` with every list of statements and the block that has it; inner lists first.
pub(super) fn each_list(program: &mut Program, f: &mut dyn FnMut(&str, &mut Vec<Stmt>)) {
    for function in &mut program.functions {
        in_list(&function.name, &mut function.body.stmts, f);
    }
    for parser in &mut program.parsers {
        for state in &mut parser.states {
            in_list(&parser.name, &mut state.stmts, f);
        }
    }
    for control in &mut program.controls {
        for action in &mut control.actions {
            in_list(&control.name, &mut action.body.stmts, f);
        }
        in_list(&control.name, &mut control.body.stmts, f);
    }
}

fn in_list(unit: &str, stmts: &mut Vec<Stmt>, f: &mut dyn FnMut(&str, &mut Vec<Stmt>)) {
    for stmt in stmts.iter_mut() {
        ir::visit::blocks_mut(stmt, &mut |block| in_list(unit, &mut block.stmts, f));
    }
    f(unit, stmts);
}

/// Calls `f` with the transition of every state and the parser that has it.
pub(super) fn each_transition(program: &mut Program, f: &mut dyn FnMut(&str, &mut Transition)) {
    for parser in &mut program.parsers {
        for state in &mut parser.states {
            f(&parser.name, &mut state.transition);
        }
    }
}
