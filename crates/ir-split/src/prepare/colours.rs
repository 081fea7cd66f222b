//! `note-colours`: the colour that a direct meter has for a packet, as a value, where actions of other tables read it.
//!
//! Before: `action forward() { m.read(meta.colour); }`, run by `acl`, which has the meter, and by `qos`
//! After:  `action forward() { m.read(meta.p4rack_colour); if (meta.p4rack_colour != 3) { meta.colour = meta.p4rack_colour; } }`,
//!         and each action that an entry of `acl` runs begins with `m.read(meta.p4rack_colour);`
//!
//! Why: a hit in the meter's own table gives the packet its colour; an action of another table reads that, and nothing where the
//! table was not hit. As a value it travels, so the other table may be on another device: there nothing is left of the
//! meter, and its calls are left out.

use super::{add_metadata, role_type};
use crate::arch;
use ir::{
    Action, ActionId, BinaryOp, Block, Call, Callee, Control, ControlId, Expr, ExprKind, Field, InstanceId,
    Program, Role, StageKind, Stmt, StmtKind, Table, TableId, Type, VarId, build, visit,
};
use ir_state::{Uses, uses_of_block};
use p4_arch::Duty;
use std::collections::BTreeSet;

/// A colour that no meter gives.
const NONE: u64 = 3;

/// Direct meters with colours that are values, and direct counters that actions of other tables call, each with its own table.
pub type ForeignObjects = Vec<(ControlId, InstanceId, TableId)>;

/// Notes the colours of the meters that actions of other tables read. To call another table's direct counter does nothing.
pub fn note_colours(program: &mut Program, prefix: &str) -> ForeignObjects {
    let mut foreign = ForeignObjects::new();
    for stage in [Duty::Ingress, Duty::Egress] {
        let Some(id) = arch::control(program, stage) else { continue };
        for table in (0..program.control(id).tables.len()).map(TableId::from) {
            let control = program.control(id);
            if let Some(counter) = control.tables[table.index()].counters
                && called_elsewhere(control, table, counter).is_some()
            {
                foreign.push((id, counter, table));
            }
            let Some(meter) = control.tables[table.index()].meters else { continue };
            let Some(call) = called_elsewhere(control, table, meter) else { continue };
            let Some(ty) = call.args.first().and_then(|arg| Some(arg.as_ref()?.ty.clone())) else { continue };
            let read = Read { call, ty };
            if !can_note(program, control, table, &read) {
                continue;
            }
            let name = format!("{prefix}_colour_{}", meter.0).into();
            let field = Field { name, ty: read.ty.clone(), annotations: vec![] };
            let (Some(number), Some(metadata)) = (add_metadata(program, field), metadata_of(program, stage))
            else {
                continue;
            };
            let colour = build::field(metadata, number, read.ty.clone());
            note(&mut program.controls[id.index()], table, meter, &read, &colour);
            foreign.push((id, meter, table));
        }
    }
    foreign
}

fn has(table: &Table, object: InstanceId) -> bool {
    table.meters == Some(object) || table.counters == Some(object)
}

/// A call of the meter's `read`, and the type of its result.
struct Read {
    call: Call,
    ty: Type,
}

/// A call of the object in an action that another table, or the body, runs.
fn called_elsewhere(control: &Control, table: TableId, object: InstanceId) -> Option<Call> {
    let others = control.tables.iter().enumerate().filter(|(number, _)| *number != table.index());
    let mut run: Vec<ActionId> = others.flat_map(|(_, other)| &other.actions).map(|run| run.action).collect();
    visit::stmts(&control.body, &mut |stmt| {
        if let StmtKind::Call(Call { callee: Callee::Action(action), .. }) = &stmt.kind {
            run.push(*action);
        }
    });
    let mut found = None;
    for action in run.into_iter().flat_map(|action| run_by(control, action)) {
        visit::stmts(&control.actions[action.index()].body, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind
                && matches!(call.callee, Callee::Method(id, _) if id == object)
            {
                found = Some(call.clone());
            }
        });
    }
    found
}

/// An action and those that it calls.
pub fn run_by(control: &Control, action: ActionId) -> BTreeSet<ActionId> {
    let (mut all, mut open) = (BTreeSet::new(), vec![action]);
    while let Some(next) = open.pop() {
        if all.insert(next) {
            visit::stmts(&control.actions[next.index()].body, &mut |stmt| {
                if let StmtKind::Call(Call { callee: Callee::Action(inner), .. }) = &stmt.kind {
                    open.push(*inner);
                }
            });
        }
    }
    all
}

/// The colour has room for one more, its type is known where the metadata is declared, and all that an entry of the table runs
/// can be changed.
fn can_note(program: &Program, control: &Control, table: TableId, read: &Read) -> bool {
    let has_room = matches!(program.representation(&read.ty), Type::Bit(width) if *width >= 2);
    let is_known = match (&read.ty, role_type(program, Role::Metadata)) {
        (Type::Named(id), Some(Type::Named(metadata))) => id < &metadata,
        _ => true,
    };
    let run = control.tables[table.index()].actions.iter();
    let on_a_hit = run.filter(|run| !run.annotations.iter().any(|a| a.name == "defaultonly"));
    let is_own = |action: ActionId| control.actions[action.index()].name != "NoAction";
    has_room && is_known && on_a_hit.map(|run| run.action).all(is_own)
}

fn metadata_of(program: &Program, stage: Duty) -> Option<Expr> {
    let stage = arch::stage(program, stage)?;
    let StageKind::Control(id) = stage.kind else { return None };
    let position = stage.roles.iter().position(|r| *r == Role::Metadata)?;
    let control = program.control(id);
    let var: VarId = *control.params.get(position)?;
    Some(build::var(var, &control.vars[var.index()].ty))
}

fn note(control: &mut Control, table: TableId, meter: InstanceId, read: &Read, colour: &Expr) {
    let none = match &read.ty {
        Type::Bit(width) => build::bits(*width, NONE),
        ty => build::cast(build::bits(2, NONE), ty.clone()),
    };
    let mut noting = read.call.clone();
    noting.args = vec![Some(colour.clone())];
    let noting = build::stmt(StmtKind::Call(noting));
    for action in &mut control.actions {
        give(&mut action.body, meter, &noting, colour, &none);
    }
    let own: BTreeSet<ActionId> = control.tables[table.index()]
        .actions
        .iter()
        .filter(|run| !run.annotations.iter().any(|a| a.name == "defaultonly"))
        .map(|run| run.action)
        .collect();
    for action in own {
        control.actions[action.index()].body.stmts.insert(0, noting.clone());
    }
    control.body.stmts.insert(0, build::assign(colour.clone(), none));
}

/// `m.read(x);` becomes `m.read(colour); if (colour != none) { x = colour; }`
fn give(block: &mut Block, meter: InstanceId, noting: &Stmt, colour: &Expr, none: &Expr) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| give(inner, meter, noting, colour, none));
        let place = match &stmt.kind {
            StmtKind::Call(call) if matches!(call.callee, Callee::Method(id, _) if id == meter) => {
                call.args.first().cloned().flatten()
            }
            _ => None,
        };
        let Some(place) = place else {
            block.stmts.push(stmt);
            continue;
        };
        block.stmts.push(noting.clone());
        let differs = ExprKind::Binary(BinaryOp::Ne, Box::new(colour.clone()), Box::new(none.clone()));
        let is_some = build::expr(differs, Type::Bool);
        block.stmts.push(build::if_then(is_some, vec![build::assign(place, colour.clone())]));
    }
}

/// Removes the calls of meters and counters of tables that the program does not apply.
pub fn drop_foreign_calls(program: &mut Program, foreign: &ForeignObjects) {
    for &(_, object, _) in foreign {
        let has_it = (0..program.controls.len()).map(ControlId::from).any(|id| {
            let control = program.control(id);
            let applied = uses_of_block(program, id, &control.body).tables;
            applied.iter().map(|t| &control.tables[t.index()]).any(|table| has(table, object))
        });
        if !has_it {
            let actions = program.controls.iter_mut().flat_map(|c| &mut c.actions);
            actions.for_each(|action| drop_calls(&mut action.body, object));
        }
    }
}

/// True if an action shared by several controls reads a meter of `foreign`: it is declared once for all of them, and the others
/// have no such meter.
pub fn is_torn(program: &Program, foreign: &ForeignObjects) -> bool {
    let calls = |action: &Action| {
        let mut found = false;
        visit::stmts(&action.body, &mut |stmt| {
            found |= matches!(&stmt.kind, StmtKind::Call(Call { callee: Callee::Method(id, _), .. })
                if foreign.iter().any(|(_, object, _)| object == id));
        });
        found
    };
    let controls = program.controls.iter().enumerate();
    controls.flat_map(|(at, control)| control.actions.iter().map(move |action| (at, action))).any(
        |(at, action)| {
            let others = program.controls.iter().enumerate().filter(|(other, _)| *other != at);
            let mut names = others.flat_map(|(_, c)| &c.actions).map(|a| &a.control_plane_name);
            calls(action) && names.any(|name| *name == action.control_plane_name)
        },
    )
}

fn drop_calls(block: &mut Block, object: InstanceId) {
    let is_call = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Call(call) if matches!(call.callee, Callee::Method(id, _) if id == object));
    block.stmts.retain(|stmt| !is_call(stmt));
    for stmt in &mut block.stmts {
        visit::blocks_mut(stmt, &mut |inner| drop_calls(inner, object));
    }
}

/// Sections that only read another table's meter do not use it.
pub fn forget_foreign(uses: &mut Uses, control: ControlId, foreign: &ForeignObjects) {
    for (owner, object, table) in foreign {
        if *owner == control && !uses.tables.contains(table) {
            uses.instances.remove(object);
        }
    }
}
