//! Code that can run.

use ir::{
    ActionId, Block, Call, Callee, Const, Control, ControlId, Expr, ExprKind, ParserId, Program, StageKind,
    Stmt, StmtKind, SwitchOn, TableId, visit,
};
use std::collections::BTreeSet;

/// Blocks that can run, in the order of their descriptions: a block follows the blocks that it applies.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) parsers: Vec<ParserId>,
    pub(crate) controls: Vec<ControlId>,
}

/// Tables and actions of a control that are used.
#[derive(Default)]
pub(crate) struct Within {
    pub(crate) tables: BTreeSet<TableId>,
    /// In the lists of tables.
    pub(crate) listed: BTreeSet<ActionId>,
    /// Actions called by the control's body. An action called only by other actions is part of these.
    pub(crate) called: BTreeSet<ActionId>,
}

impl Within {
    /// True if the control plane can give the parameters without direction of this action.
    pub(crate) fn has_data(&self, action: ActionId) -> bool {
        self.listed.contains(&action)
    }
}

/// The blocks that can run; all of them in a program without stages.
pub(crate) fn blocks(program: &Program) -> Used {
    let mut used = Used::default();
    for stage in &program.stages {
        match stage.kind {
            StageKind::Parse(id) => parser(program, id, &mut used),
            StageKind::Control(id) | StageKind::Deparse(id) => control(program, id, &mut used),
            StageKind::TrafficManager => {}
        }
    }
    if program.stages.is_empty() {
        used.parsers = (0..program.parsers.len()).map(ParserId::from).collect();
        used.controls = (0..program.controls.len()).map(ControlId::from).collect();
    }
    used
}

fn parser(program: &Program, id: ParserId, used: &mut Used) {
    if used.parsers.contains(&id) {
        return;
    }
    for state in &program.parser(id).states {
        let stmts = &mut state.stmts.iter();
        stmts.for_each(|stmt| each_call(stmt, &mut |call| apply(program, call, used)));
    }
    used.parsers.push(id);
}

fn control(program: &Program, id: ControlId, used: &mut Used) {
    if used.controls.contains(&id) {
        return;
    }
    reachable(&program.control(id).body, &mut |stmt| {
        each_call(stmt, &mut |call| apply(program, call, used));
    });
    used.controls.push(id);
}

fn apply(program: &Program, call: &Call, used: &mut Used) {
    match call.callee {
        Callee::Parser(id) => parser(program, id, used),
        Callee::Control(id) => control(program, id, used),
        _ => {}
    }
}

/// The tables and actions of a control that can run.
pub(crate) fn within(control: &Control) -> Within {
    let mut found = Within::default();
    reachable(&control.body, &mut |stmt| {
        match &stmt.kind {
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => {
                found.tables.insert(*table);
            }
            _ => {}
        }
        visit::exprs(stmt, &mut |expr| tables_in(expr, &mut found.tables));
        each_call(stmt, &mut |call| {
            if let Callee::Action(action) = call.callee {
                found.called.insert(action);
            }
        });
    });
    // Handlers look these up, also where no packet does.
    let is_mirrored = |table: &ir::Table| table.annotations.iter().any(|a| a.name == "mirror");
    let mirrored = control.tables.iter().enumerate().filter(|(_, table)| is_mirrored(table));
    found.tables.extend(mirrored.map(|(at, _)| TableId::from(at)));
    let mut open: Vec<TableId> = found.tables.iter().copied().collect();
    while let Some(table) = open.pop().and_then(|id| control.tables.get(id.index())) {
        found.listed.extend(table.actions.iter().map(|a| a.action));
        let mut inner = BTreeSet::new();
        table.keys.iter().for_each(|key| tables_in(&key.expr, &mut inner));
        open.extend(inner.into_iter().filter(|id| found.tables.insert(*id)));
    }
    found
}

/// The tables whose hit or miss an expression asks for.
fn tables_in(expr: &Expr, found: &mut BTreeSet<TableId>) {
    visit::subexprs(expr, &mut |e| {
        if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = e.kind {
            found.insert(table);
        }
    });
}

/// Calls `f` with the calls of a statement itself, not with those of nested blocks.
pub(crate) fn each_call(stmt: &Stmt, f: &mut dyn FnMut(&Call)) {
    if let StmtKind::Call(call) = &stmt.kind {
        f(call);
    }
    visit::exprs(stmt, &mut |expr| {
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                f(call);
            }
        });
    });
}

/// Calls `f` with every statement that some packet may come to: not with the arm of an `if` whose condition is
/// known to be otherwise.
pub(crate) fn reachable(block: &Block, f: &mut dyn FnMut(&Stmt)) {
    for stmt in &block.stmts {
        f(stmt);
        match &stmt.kind {
            StmtKind::If(cond, yes, no) => {
                let known = known(cond);
                if known != Some(false) {
                    reachable(yes, f);
                }
                if known != Some(true) {
                    reachable(no, f);
                }
            }
            _ => visit::blocks(stmt, &mut |inner| reachable(inner, f)),
        }
    }
}

fn known(cond: &Expr) -> Option<bool> {
    match cond.kind {
        ExprKind::Const(Const::Bool(value)) => Some(value),
        _ => None,
    }
}
