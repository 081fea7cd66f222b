//! Direct counters: v1model counts every hit of the table, TNA what the action counts.
//!
//! Before: `action send(bit<9> port) { standard_metadata.egress_spec = port; }   table t { actions = { send; } counters = hits; ... }`
//! After:  `action send(bit<9> port) { hits.count(); standard_metadata.egress_spec = port; }   ...`
//!
//! `count` of v1model does nothing; calls of it are left out.

use crate::original::refused;
use base_diag::Diagnostic;
use ir::{
    ActionId, Block, Callee, Control, InstanceId, Name, Program, Stmt, StmtKind, Table, Type, build, visit,
};

const OBJECT: &str = "direct_counter";
const COUNTER_BITS: u32 = 64;

fn is_direct(program: &Program, id: InstanceId) -> bool {
    let object = program.extern_object(program.instances[id.index()].object);
    object.name == OBJECT && !object.user
}

/// The direct counter of a table.
fn counter(program: &Program, table: &Table) -> Option<InstanceId> {
    table.counters.filter(|id| is_direct(program, *id))
}

/// The actions that entries run.
fn of_entries(table: &Table) -> impl Iterator<Item = ActionId> {
    let is_default_only = |annotations: &ir::Annotations| annotations.iter().any(|a| a.name == "defaultonly");
    table
        .actions
        .iter()
        .filter(move |action| !is_default_only(&action.annotations))
        .map(|action| action.action)
}

/// Refuses actions that cannot count.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    for control in &program.controls {
        for (at, table) in control.tables.iter().enumerate() {
            if counter(program, table).is_none() {
                continue;
            }
            for id in of_entries(table) {
                let action = &control.actions[id.index()];
                let label = match () {
                    () if action.top_level => {
                        "an entry may run it, and it cannot count: `@defaultonly` says that none does"
                    }
                    () if runs_elsewhere(control, at, id) => "other tables or statements run it, too",
                    () => continue,
                };
                let what = format!("the direct counter of `{}` with action `{}`", table.name, action.name);
                found.push(refused(&what, table.span, label));
            }
        }
    }
    found
}

/// True if more than the table at `at` runs an action.
fn runs_elsewhere(control: &Control, at: usize, action: ActionId) -> bool {
    let in_table = |table: &Table| table.actions.iter().any(|of| of.action == action);
    let others = control.tables.iter().enumerate().filter(|(other, _)| *other != at);
    let mut found = others.map(|(_, table)| table).any(in_table);
    let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
    bodies.for_each(|body| {
        visit::calls(&body.stmts, &mut |call| found |= call.callee == Callee::Action(action));
    });
    found
}

/// Makes the actions count.
pub(crate) fn replace(program: &mut Program) {
    let old = program.clone();
    let Some(object) = old.externs.iter().position(|object| object.name == OBJECT && !object.user) else {
        return;
    };
    for control in &mut program.controls {
        strip(&old, &mut control.body);
        control.actions.iter_mut().for_each(|action| strip(&old, &mut action.body));
        for table in &control.tables {
            let Some(counter) = counter(&old, table) else { continue };
            for id in of_entries(table) {
                let count = build::call(Callee::Method(counter, 0), vec![], vec![]).at(table.span);
                control.actions[id.index()].body.stmts.insert(0, count);
            }
        }
    }
    for instance in program.instances.iter_mut().filter(|instance| instance.object.index() == object) {
        instance.type_args = vec![Type::Bit(COUNTER_BITS)];
    }
    program.externs[object].name = Name::from("DirectCounter");
}

/// Removes calls of direct counters.
fn strip(program: &Program, block: &mut Block) {
    block.stmts.retain(|stmt| !is_count(program, stmt));
    block.stmts.iter_mut().for_each(|stmt| visit::blocks_mut(stmt, &mut |block| strip(program, block)));
}

fn is_count(program: &Program, stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Call(call) if matches!(call.callee, Callee::Method(id, _) if is_direct(program, id)))
}
