//! Decides which tables and objects of ingress get a copy for resident flows, and refuses those that do not allow one.
//!
//! ```text
//! table                               a copy with the entries that resident flows hit, or with all of them
//! counter, @merge register            a copy; the values of both are merged
//! @soft register                      a copy; the values may be lost
//! other register, meter, with memory  refused: both places would need the same one
//! ```

use crate::merged;
use base_diag::{Diagnostic, codes::pin as codes};
use ir::{ActionId, Call, Callee, ControlId, ExprKind, InstanceId, Program, StmtKind, Table, TableId, visit};
use ir_state::{Mode, StateObject, adds_up, uses_of_block};
use std::collections::BTreeSet;

/// The members of ingress that get a copy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doubled {
    pub tables: BTreeSet<TableId>,
    pub actions: BTreeSet<ActionId>,
    pub instances: BTreeSet<InstanceId>,
}

/// Decides for every table, action and object of ingress.
pub fn doubled(program: &Program, ingress: ControlId) -> Result<Doubled, Vec<Diagnostic>> {
    let control = program.control(ingress);
    let uses = uses_of_block(program, ingress, &control.body);
    let mut wrong = vec![];
    let mut doubled = Doubled::default();
    for object in ir_state::objects(program) {
        if !object.accessors.iter().any(|accessor| accessor.stage == "ingress") {
            continue;
        }
        match check(program, &object) {
            Ok(true) => drop(doubled.instances.insert(object.instance)),
            Ok(false) => {}
            Err(why) => wrong.push(why),
        }
    }
    // An action that calls one that is copied is copied too.
    loop {
        let needs = |id: &ActionId| needs_copy(program, ingress, *id, &doubled);
        let more: Vec<ActionId> = uses.actions.iter().copied().filter(needs).collect();
        if more.is_empty() {
            break;
        }
        doubled.actions.extend(more);
    }
    for &id in &uses.tables {
        let table = &control.tables[id.index()];
        match table.implementation {
            Some(profile) => wrong.push(refuse_profile(program, table, profile)),
            None => drop(doubled.tables.insert(id)),
        }
    }
    if wrong.is_empty() { Ok(doubled) } else { Err(wrong) }
}

/// True if the object gets a copy.
fn check(program: &Program, object: &StateObject) -> Result<bool, Diagnostic> {
    let instance = program.instance(object.instance);
    let name = &instance.control_plane_name;
    let kind = &program.extern_object(instance.object).name;
    let sums = adds_up(program, object.instance);
    let title = format!("`{name}` cannot be at the switch and at helpers");
    let refuse = |label: &str| Diagnostic::error(codes::NOT_PINNED, title.clone()).at(instance.span, label);
    match object.mode {
        Mode::Replicated => return Ok(false),
        Mode::Merged(_) if !sums && kind != "register" => {
            return Err(refuse(&format!("this is a {kind}: its copies are not merged yet")).help(ELSEWHERE));
        }
        Mode::Merged(_) | Mode::Soft => {}
        Mode::Sharded => {
            return Err(refuse("its cells would have to move with their flows, which is not supported yet")
                .help("write `@merge(\"add\")` or `@soft` before the declaration if that is right")
                .help(ELSEWHERE));
        }
        Mode::Exclusive => {
            return Err(refuse(&format!("packets of all flows use this {kind}, and there is one"))
                .help("if it is a register whose copies may be merged, or whose values may be lost, write `@merge(\"add\")` or `@soft` before it")
                .help(ELSEWHERE));
        }
    }
    let elsewhere = object.accessors.iter().find(|accessor| accessor.stage != "ingress");
    if let Some(other) = elsewhere.filter(|_| !sums) {
        return Err(refuse(&format!(
            "{} uses it too, which runs at the switch for all packets",
            other.stage
        ))
        .help("use two objects, one in each")
        .help(ELSEWHERE));
    }
    if let (Mode::Merged(_), false) = (object.mode, sums) {
        merged::check(program, object.instance)?;
    }
    Ok(true)
}

const ELSEWHERE: &str = "or process all flows of the app at one place: `affinity = \"high\"` or `\"low\"`";

fn needs_copy(program: &Program, ingress: ControlId, id: ActionId, doubled: &Doubled) -> bool {
    let body = &program.control(ingress).actions[id.index()].body;
    let mut found = false;
    let mut call = |call: &Call| match call.callee {
        Callee::Method(instance, _) => found |= doubled.instances.contains(&instance),
        Callee::Action(other) => found |= doubled.actions.contains(&other),
        _ => {}
    };
    visit::stmts(body, &mut |stmt| {
        if let StmtKind::Call(called) = &stmt.kind {
            call(called);
        }
    });
    visit::all_exprs(body, &mut |e| {
        if let ExprKind::Call(called) = &e.kind {
            call(called);
        }
    });
    found && !doubled.actions.contains(&id)
}

fn refuse_profile(program: &Program, table: &Table, profile: InstanceId) -> Diagnostic {
    let title = format!("`{}` cannot have a copy at the switch", table.control_plane_name);
    Diagnostic::error(codes::NOT_PINNED, title)
        .at(
            table.span,
            format!("its entries name members of `{}`", program.instance(profile).control_plane_name),
        )
        .note("members and groups of a profile are not copied yet")
        .help(ELSEWHERE)
}
