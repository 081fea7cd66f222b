//! Direct counters: v1model counts every hit of the table, TNA what the action counts.
//!
//! Before: `action send(bit<9> port) { standard_metadata.egress_spec = port; }   table t { actions = { send; } counters = hits; ... }`
//! After:  `action send(bit<9> port) { hits.count(); standard_metadata.egress_spec = port; }   ...`
//!
//! `count` of v1model does nothing; calls of it are left out. `NoAction` cannot count, so a table whose entries may run it gets an action of its own with that
//! control-plane name:
//!
//! Before: `table t { actions = { send; NoAction; } counters = hits; ... }`
//! After:  `@name(".NoAction") action t_NoAction() { hits.count(); }   table t { actions = { send; t_NoAction; } ... }`

use crate::original::refused;
use base_diag::Diagnostic;
use ir::{
    Action, ActionId, ActionRef, Block, Callee, Control, InstanceId, Name, Program, Stmt, StmtKind, Table,
    Type, build, visit,
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

/// True if entries may run the action.
fn is_of_entries(action: &ActionRef) -> bool {
    !action.annotations.iter().any(|a| a.name == "defaultonly")
}

/// True for `NoAction` and other actions of the program that do nothing. Controls share them.
fn does_nothing(action: &Action) -> bool {
    action.top_level && action.params.is_empty() && action.body.stmts.is_empty()
}

/// Refuses actions that cannot count.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    for control in &program.controls {
        for (at, table) in control.tables.iter().enumerate() {
            if counter(program, table).is_none() {
                continue;
            }
            for id in table.actions.iter().filter(|action| is_of_entries(action)).map(|of| of.action) {
                let action = &control.actions[id.index()];
                let label = match () {
                    () if does_nothing(action) => continue,
                    () if action.top_level => "controls share it, and it cannot count",
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
        for table in 0..control.tables.len() {
            count_hits(&old, control, table);
        }
    }
    for instance in program.instances.iter_mut().filter(|instance| instance.object.index() == object) {
        instance.type_args = vec![Type::Bit(COUNTER_BITS)];
    }
    program.externs[object].name = Name::from("DirectCounter");
}

/// Makes the actions of a table's entries count.
fn count_hits(old: &Program, control: &mut Control, table: usize) {
    let Some(counter) = counter(old, &control.tables[table]) else { return };
    let span = control.tables[table].span;
    for at in 0..control.tables[table].actions.len() {
        if !is_of_entries(&control.tables[table].actions[at]) {
            continue;
        }
        let mut id = control.tables[table].actions[at].action;
        if does_nothing(&control.actions[id.index()]) {
            let action = &control.actions[id.index()];
            let name = format!("{}_{}", control.tables[table].name, action.name);
            let own = Action { name: name.into(), top_level: false, ..action.clone() };
            id = ActionId::from(control.actions.len());
            control.actions.push(own);
            control.tables[table].actions[at].action = id;
        }
        let count = build::call(Callee::Method(counter, 0), vec![], vec![]).at(span);
        control.actions[id.index()].body.stmts.insert(0, count);
    }
}

/// Removes calls of direct counters.
fn strip(program: &Program, block: &mut Block) {
    block.stmts.retain(|stmt| !is_count(program, stmt));
    block.stmts.iter_mut().for_each(|stmt| visit::blocks_mut(stmt, &mut |block| strip(program, block)));
}

fn is_count(program: &Program, stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Call(call) if matches!(call.callee, Callee::Method(id, _) if is_direct(program, id)))
}
