//! Remove unused parts of a device's program: tables, actions, instances and variables of sections that run elsewhere.
//!
//! Parts that no device uses stay at the origin.

use crate::parser_places::successors;
use crate::state::Idle;
use base_bits::Bits;
use base_diag::Span;
use ir::{
    ActionId, Block, Call, Callee, Const, Control, ControlId, Expr, ExprKind, InstanceId, Parser, Program,
    Renumber, StageKind, StateId, StateRef, StmtKind, TableId, Transition, Type, visit,
};
use ir_state::{Touch, Uses, calls_of_block, uses_of_block};
use std::collections::{BTreeMap, BTreeSet};

/// Removes unused tables and actions from every control, then unused instances from the program, except those in
/// `kept`.
pub fn prune(program: &mut Program, kept: &Idle) {
    let mut instances = kept.instances.clone();
    if kept.tables.is_empty() {
        clear_idle_controls(program);
    }
    let looked_up = looked_up(program);
    for index in 0..program.controls.len() {
        let id = ControlId::from(index);
        let mut uses = uses_of_block(program, id, &program.control(id).body);
        if let Some(idle) = kept.tables.get(&id) {
            uses.tables.extend(&idle.tables);
            uses.actions.extend(&idle.actions);
        }
        let hollow = kept.hollow.get(&id).into_iter().chain(looked_up.get(&id)).flatten();
        for table in hollow.filter(|table| !uses.tables.contains(table)).collect::<Vec<_>>() {
            keep_hollow(&mut program.controls[index], *table, &mut uses);
        }
        prune_control(&mut program.controls[index], &uses);
        instances.extend(uses.instances.into_keys());
    }
    for at in 0..program.parsers.len() {
        prune_states(&mut program.parsers[at]);
        let stmts = program.parsers[at].states.iter().flat_map(|s| s.stmts.iter().cloned()).collect();
        let used = calls_of_block(program, &Block { annotations: vec![], stmts });
        program.parsers[at].instances.retain(|i| used.contains_key(i));
        instances.extend(used.into_keys());
    }
    prune_instances(program, &instances);
}

/// The tables that handlers of this device look up: the device has them, whether packets look them up here or not. Where its handlers are
/// elsewhere, a table is no longer mirrored.
fn looked_up(program: &mut Program) -> BTreeMap<ControlId, BTreeSet<TableId>> {
    let ids = (0..program.controls.len()).map(ControlId::from);
    let used = ids.flat_map(|id| uses_of_block(program, id, &program.control(id).body).instances.into_keys());
    let own = |id: InstanceId| {
        program.extern_object(program.instance(id).object).value_extern()?.as_str().map(str::to_string)
    };
    let handlers: BTreeSet<String> = used.filter_map(own).collect();
    let (mut found, mut names) = (BTreeMap::<_, BTreeSet<TableId>>::new(), BTreeSet::new());
    for (at, control) in program.controls.iter_mut().enumerate() {
        for (number, table) in control.tables.iter_mut().enumerate() {
            table.annotations.retain(|annotation| {
                annotation.name != "mirror" || annotation.as_str().is_some_and(|name| handlers.contains(name))
            });
            let is_mirrored = table.annotations.iter().any(|annotation| annotation.name == "mirror");
            // Tables of egress that come to a helper are there twice.
            if is_mirrored && names.insert(table.control_plane_name.clone()) {
                found.entry(ControlId::from(at)).or_default().insert(TableId::from(number));
            }
        }
    }
    found
}

/// Keeps a table that nothing applies, with its actions: those that nothing else runs do nothing.
fn keep_hollow(control: &mut Control, table: TableId, uses: &mut Uses) {
    let declared = &control.tables[table.index()];
    uses.tables.insert(table);
    for object in [declared.implementation, declared.counters, declared.meters].into_iter().flatten() {
        uses.touch(object, Touch::default());
    }
    for run in &declared.actions {
        if uses.actions.insert(run.action) {
            control.actions[run.action.index()].body.stmts.clear();
        }
    }
}

/// Empties the controls that no stage applies: the origin has them.
fn clear_idle_controls(program: &mut Program) {
    let mut busy = BTreeSet::new();
    let mut open: Vec<ControlId> = vec![];
    for stage in &program.stages {
        if let StageKind::Control(id) | StageKind::Deparse(id) = stage.kind {
            open.push(id);
        }
    }
    while let Some(id) = open.pop() {
        if !busy.insert(id) {
            continue;
        }
        visit::stmts(&program.control(id).body, &mut |stmt| {
            if let StmtKind::Call(Call { callee: Callee::Control(inner), .. }) = &stmt.kind {
                open.push(*inner);
            }
        });
    }
    for (index, control) in program.controls.iter_mut().enumerate() {
        if !busy.contains(&ControlId::from(index)) {
            control.body = Block::default();
            control.locals.clear();
        }
    }
}

/// Removes states that nothing leads to.
fn prune_states(parser: &mut Parser) {
    let mut reached = vec![false; parser.states.len()];
    // State 0 is `start`.
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if let Some(seen) = reached.get_mut(at)
            && !std::mem::replace(seen, true)
        {
            open.extend(successors(&parser.states[at].transition));
        }
    }
    let number = numbers(parser.states.len(), |i| reached[i]);
    keep(&mut parser.states, &number);
    let renumber = |next: &mut StateRef| {
        if let StateRef::State(id) = next {
            *id = number[id.index()].map_or(*id, StateId::from);
        }
    };
    for state in &mut parser.states {
        match &mut state.transition {
            Transition::Goto(next) => renumber(next),
            Transition::Select(select) => select.cases.iter_mut().for_each(|c| renumber(&mut c.next)),
        }
    }
}

fn prune_control(control: &mut Control, uses: &Uses) {
    let table_number = numbers(control.tables.len(), |i| uses.tables.contains(&TableId::from(i)));
    let action_number = numbers(control.actions.len(), |i| uses.actions.contains(&ActionId::from(i)));
    keep(&mut control.tables, &table_number);
    keep(&mut control.actions, &action_number);
    let action = |a: ActionId| action_number[a.index()].map_or(a, ActionId::from);
    let table = |t: TableId| table_number[t.index()].map_or(t, TableId::from);
    let renumber = Renumber { var: &|v| v, action: &action, table: &table, instance: &|i| i };
    renumber.block(&mut control.body);
    control.tables.iter_mut().for_each(|t| renumber.in_table(t));
    control.actions.iter_mut().for_each(|a| renumber.block(&mut a.body));
    prune_locals(control);
}

/// Hoisted variables without initialiser go where nothing names them any more.
fn prune_locals(control: &mut Control) {
    let mut named = BTreeSet::new();
    let mut note = |e: &Expr| {
        if let ExprKind::Var(var) = e.kind {
            named.insert(var);
        }
    };
    visit::all_exprs(&control.body, &mut note);
    control.actions.iter().for_each(|a| visit::all_exprs(&a.body, &mut note));
    control.locals.iter().for_each(|l| visit::exprs(l, &mut |e| visit::subexprs(e, &mut note)));
    for table in &control.tables {
        table.keys.iter().for_each(|key| visit::subexprs(&key.expr, &mut note));
        table.actions.iter().flat_map(|run| &run.args).for_each(|arg| visit::subexprs(arg, &mut note));
    }
    control.locals.retain(|l| !matches!(l.kind, StmtKind::Declare(var, None) if !named.contains(&var)));
    for local in &mut control.locals {
        if let StmtKind::Declare(var, init @ None) = &mut local.kind {
            *init = zero(&control.vars[var.index()].ty);
        }
    }
}

/// Initial value of a hoisted variable, stated so that every compiler knows it. A restored variable is set by its
/// hand-over, which a compiler cannot see.
fn zero(ty: &Type) -> Option<Expr> {
    let value = match ty {
        Type::Bit(width) | Type::Int(width) => Const::Bits(Bits::zero(*width)),
        Type::Bool => Const::Bool(false),
        _ => return None,
    };
    Some(Expr { kind: ExprKind::Const(value), ty: ty.clone(), span: Span::NONE })
}

fn prune_instances(program: &mut Program, used: &BTreeSet<InstanceId>) {
    let number = numbers(program.instances.len(), |i| used.contains(&InstanceId::from(i)));
    keep(&mut program.instances, &number);
    let instance = |i: InstanceId| number[i.index()].map_or(i, InstanceId::from);
    let renumber = Renumber { var: &|v| v, action: &|a| a, table: &|t| t, instance: &instance };
    for control in &mut program.controls {
        control.instances.retain(|i| number[i.index()].is_some());
        control.instances.iter_mut().for_each(|i| *i = instance(*i));
        renumber.block(&mut control.body);
        control.actions.iter_mut().for_each(|a| renumber.block(&mut a.body));
        control.tables.iter_mut().for_each(|t| renumber.in_table(t));
    }
    for parser in &mut program.parsers {
        parser.instances.iter_mut().for_each(|i| *i = instance(*i));
        for state in &mut parser.states {
            state.stmts.iter_mut().for_each(|s| renumber.stmt(s));
        }
    }
}

/// The new number of each element, `None` for those that go.
fn numbers(count: usize, wanted: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut next = 0..;
    (0..count).map(|i| if wanted(i) { next.next() } else { None }).collect()
}

fn keep<T>(list: &mut Vec<T>, number: &[Option<usize>]) {
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        number[index - 1].is_some()
    });
}
