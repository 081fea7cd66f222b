//! Actions whose statements depend on each other: the later ones run after the table.
//!
//! ```text
//! Before: action rewrite(bit<48> mac) { hdr.eth.src = mac; hdr.ip.sum = hdr.ip.sum + 256; if (hdr.ip.sum < 256) { hdr.ip.sum = hdr.ip.sum + 1; } }
//!         ... next_hops.apply();
//! After:  action rewrite(bit<48> mac) { hdr.eth.src = mac; hdr.ip.sum = hdr.ip.sum + 256; rewrite_goes_on = 1; }
//!         ... next_hops.apply(); if (rewrite_goes_on == 1) { if (hdr.ip.sum < 256) { hdr.ip.sum = hdr.ip.sum + 1; } }
//! ```
//!
//! Why: an action of a Tofino runs in one stage, where each ALU computes once, and all read what was there before the stage. Statements of a control may take several stages.
//!
//! A miss has no hash: calls of the default action of a table whose index or data are values of the packet run after it, too.
//!
//! An action stays as it is if a `switch` asks which action ran, or if a condition applies its table among others.

use crate::original::{declare, fresh, places, undeclare};
use ir::{
    ActionId, Block, Callee, Control, Direction, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, TableId,
    Type, UnaryOp, Var, VarId, VarKind, build, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// A variable, and the fields below it.
type Place = (VarId, Vec<u32>);

/// Splits the actions of all controls.
pub(crate) fn split_actions(program: &mut Program) {
    let old = program.clone();
    for control in &mut program.controls {
        let mut later: BTreeMap<ActionId, BTreeSet<usize>> = BTreeMap::new();
        for at in 0..control.actions.len() {
            let id = ActionId::from(at);
            if let Some(moved) = moved(&old, control, id).filter(|moved| !moved.is_empty()) {
                later.insert(id, moved);
            }
        }
        // The rest of an action that others run would have no place.
        for action in &control.actions {
            visit::calls(&action.body.stmts, &mut |call| {
                if let Callee::Action(id) = call.callee {
                    later.remove(&id);
                }
            });
        }
        let mut places = Places { control, later: &mut later, count: BTreeMap::new() };
        places.block(&control.body);
        let count = places.count;
        let mut rests = BTreeMap::new();
        for (id, moved) in later {
            rests.insert(id, split(control, id, &moved, count.get(&id).is_some_and(|count| *count > 1)));
        }
        let mut body = std::mem::take(&mut control.body);
        go_on(control, &rests, &mut body);
        control.body = body;
    }
}

/// Uses of a statement.
#[derive(Default)]
struct Effects {
    reads: Vec<Place>,
    writes: Vec<Place>,
    /// Writes whose value needs an ALU.
    computed: Vec<Place>,
    instances: BTreeSet<usize>,
    /// A stage has no such statement in an action.
    branches: bool,
    /// The statement has to stay where it is.
    is_fixed: bool,
    /// A call takes values of the packet.
    hashes: bool,
}

fn overlap(some: &[Place], others: &[Place]) -> bool {
    some.iter().any(|(var, fields)| {
        others.iter().any(|(other, of)| var == other && (fields.starts_with(of) || of.starts_with(fields)))
    })
}

/// True for values that an action copies.
fn is_copy(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Binary(..)
        | ExprKind::Call(_)
        | ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
        | ExprKind::Ternary(..) => false,
        _ => {
            let mut copies = true;
            visit::parts(value, &mut |part| copies &= is_copy(part));
            copies
        }
    }
}

impl Effects {
    /// Adds a statement of an action with this data.
    fn add(&mut self, program: &Program, data: &[VarId], stmt: &Stmt) {
        let read = |reads: &mut Vec<Place>, expr: &Expr| places(expr, &mut |place| reads.push(place));
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                self.write((*var, vec![]), init.as_ref().is_some_and(|init| !is_copy(init)));
                init.iter().for_each(|init| read(&mut self.reads, init));
            }
            StmtKind::Assign(place, value) => {
                places(place, &mut |place| self.write(place, !is_copy(value)));
                read(&mut self.reads, value);
            }
            StmtKind::AssignOp(_, place, value) => {
                places(place, &mut |place| self.write(place, true));
                read(&mut self.reads, place);
                read(&mut self.reads, value);
            }
            StmtKind::SetValid(place, _) => places(place, &mut |place| self.write(place, false)),
            StmtKind::If(..) => self.branches = true,
            StmtKind::Block(_) | StmtKind::Call(_) => {}
            _ => self.is_fixed = true,
        }
        visit::exprs(stmt, &mut |expr| {
            if !matches!(stmt.kind, StmtKind::Assign(..) | StmtKind::AssignOp(..) | StmtKind::SetValid(..)) {
                read(&mut self.reads, expr);
            }
        });
        visit::calls(std::slice::from_ref(stmt), &mut |call| {
            match call.callee {
                Callee::Method(instance, _) => {
                    self.instances.insert(instance.index());
                    let object = &program.extern_object(program.instances[instance.index()].object).name;
                    self.is_fixed |= object.starts_with("Direct");
                }
                Callee::Function(_) | Callee::ExternFunction(_) => {}
                _ => self.is_fixed = true,
            }
            for arg in call.args.iter().flatten() {
                let is_method = matches!(call.callee, Callee::Method(..));
                places(arg, &mut |(var, _)| self.hashes |= is_method && !data.contains(&var));
                // It may be an `out` argument.
                places(arg, &mut |place| self.writes.push(place));
            }
        });
        visit::blocks(stmt, &mut |block| block.stmts.iter().for_each(|stmt| self.add(program, data, stmt)));
    }

    fn write(&mut self, place: Place, is_computed: bool) {
        if is_computed {
            self.computed.push(place.clone());
        }
        self.writes.push(place);
    }
}

/// The statements of an action that have to run after it; `None` if it has to stay whole.
fn moved(program: &Program, control: &Control, id: ActionId) -> Option<BTreeSet<usize>> {
    let action = &control.actions[id.index()];
    let is_data = |var: &VarId| control.vars[var.index()].kind == VarKind::Param(Direction::None);
    let mut has_parts = false;
    visit::stmts(&action.body, &mut |stmt| {
        if let StmtKind::Declare(var, None) = &stmt.kind {
            let ty = &control.vars[var.index()].ty;
            has_parts |= !matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Bool);
        }
    });
    if has_parts || !action.params.iter().all(is_data) {
        return None;
    }
    let mut kept = Effects::default();
    let mut after = Effects::default();
    let mut moved = BTreeSet::new();
    let mut keyed = control.tables.iter().filter(|table| !table.keys.is_empty());
    let is_default = keyed.any(|table| {
        table.actions.get(table.default_action.action as usize).is_some_and(|run| run.action == id)
    });
    for (at, stmt) in action.body.stmts.iter().enumerate() {
        let mut own = Effects::default();
        own.add(program, &action.params, stmt);
        let waits = own.branches
            || is_default && own.hashes && !own.is_fixed
            || overlap(&own.reads, &kept.computed)
            || overlap(&own.reads, &after.writes)
            || overlap(&own.writes, &after.writes)
            || overlap(&own.writes, &after.reads)
            || !own.instances.is_disjoint(&after.instances);
        if waits && own.is_fixed || matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Exit) {
            return None;
        }
        if waits {
            moved.insert(at);
        }
        let of = if waits { &mut after } else { &mut kept };
        of.reads.append(&mut own.reads);
        of.writes.append(&mut own.writes);
        of.computed.append(&mut own.computed);
        of.instances.append(&mut own.instances);
    }
    Some(moved)
}

/// Places that run the actions.
struct Places<'c> {
    control: &'c Control,
    later: &'c mut BTreeMap<ActionId, BTreeSet<usize>>,
    count: BTreeMap<ActionId, usize>,
}

impl Places<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            let in_head = applied(stmt);
            for table in &in_head {
                let can_go_on = in_head.len() == 1 && goes_on(stmt);
                for action in &self.control.tables[table.index()].actions {
                    *self.count.entry(action.action).or_default() += 1;
                    if !can_go_on {
                        self.later.remove(&action.action);
                    }
                }
            }
            if let StmtKind::Call(call) = &stmt.kind
                && let Callee::Action(id) = call.callee
            {
                *self.count.entry(id).or_default() += 1;
                if !call.args.is_empty() {
                    self.later.remove(&id);
                }
            }
            visit::blocks(stmt, &mut |block| self.block(block));
        }
    }
}

/// Tables that a statement applies, without those of its blocks.
fn applied(stmt: &Stmt) -> Vec<TableId> {
    let mut found = vec![];
    match stmt.kind {
        StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => found.push(table),
        _ => {}
    }
    visit::exprs(stmt, &mut |expr| {
        visit::subexprs(expr, &mut |part| {
            if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = part.kind {
                found.push(table);
            }
        });
    });
    found
}

/// True if statements can follow right after the table that the statement applies.
fn goes_on(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Apply(_) => true,
        StmtKind::Declare(_, Some(value)) | StmtKind::Assign(_, value) | StmtKind::If(value, ..) => {
            let inner = match &value.kind {
                ExprKind::Unary(UnaryOp::Not, inner) => inner,
                _ => value,
            };
            matches!(inner.kind, ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_))
        }
        _ => false,
    }
}

/// Takes the statements out of an action. Returns those that go on after it.
fn split(control: &mut Control, id: ActionId, moved: &BTreeSet<usize>, again: bool) -> Stmt {
    let action = control.actions[id.index()].clone();
    let (mut kept, mut rest) = (vec![], vec![]);
    for (at, stmt) in action.body.stmts.into_iter().enumerate() {
        if moved.contains(&at) { &mut rest } else { &mut kept }.push(stmt);
    }
    let mut used = BTreeSet::new();
    for stmt in &rest {
        let mut look = |stmt: &Stmt| {
            visit::exprs(stmt, &mut |expr| places(expr, &mut |(var, _)| _ = used.insert(var)));
            if let StmtKind::Declare(var, _) = stmt.kind {
                used.insert(var);
            }
        };
        look(stmt);
        visit::blocks(stmt, &mut |block| visit::stmts(block, &mut look));
    }
    // Data of the entry, for the rest.
    for param in action.params.iter().filter(|param| used.contains(param)) {
        let Var { name, ty, .. } = control.vars[param.index()].clone();
        let copy = local(control, &format!("{}_{name}", action.name), &ty);
        kept.push(build::assign(build::var(copy, &ty), build::var(*param, &ty)));
        rename(&mut rest, *param, copy);
    }
    // Variables of the action that the rest uses become those of the control.
    let mut declared = vec![];
    for stmts in [&mut kept, &mut rest] {
        let mut change = |stmt: &mut Stmt| declared.extend(undeclare(stmt, &control.vars, &used));
        for stmt in stmts.iter_mut() {
            change(stmt);
            visit::blocks_mut(stmt, &mut |block| visit::stmts_mut(block, &mut change));
        }
    }
    for var in declared {
        let name = fresh(control, &format!("{}_{}", action.name, control.vars[var.index()].name));
        control.vars[var.index()].name = name.as_str().into();
        control.locals.push(build::declare(var, None));
    }
    let flag = local(control, &format!("{}_goes_on", action.name), &Type::Bit(1));
    let flag = build::var(flag, &Type::Bit(1));
    kept.push(build::assign(flag.clone(), build::bits(1, 1)));
    if again {
        rest.insert(0, build::assign(flag.clone(), build::bits(1, 0)));
    }
    control.actions[id.index()].body.stmts = kept;
    build::if_then(build::equals(flag, build::bits(1, 1)), rest)
}

/// A variable of the control; a bit begins with 0.
fn local(control: &mut Control, name: &str, ty: &Type) -> VarId {
    let name = fresh(control, name);
    let zero = (*ty == Type::Bit(1)).then(|| build::bits(1, 0));
    declare(control, &name, ty, zero)
}

fn rename(stmts: &mut [Stmt], from: VarId, to: VarId) {
    let mut change = |stmt: &mut Stmt| {
        visit::exprs_mut(stmt, &mut |expr| {
            visit::subexprs_mut(expr, &mut |part| {
                if let ExprKind::Var(id) = &mut part.kind
                    && *id == from
                {
                    *id = to;
                }
            });
        });
    };
    for stmt in stmts {
        change(stmt);
        visit::blocks_mut(stmt, &mut |block| visit::stmts_mut(block, &mut change));
    }
}

/// Adds the rests of actions after the tables and calls that run them.
fn go_on(control: &Control, rests: &BTreeMap<ActionId, Stmt>, block: &mut Block) {
    let stmts = std::mem::take(&mut block.stmts);
    for mut stmt in stmts {
        visit::blocks_mut(&mut stmt, &mut |block| go_on(control, rests, block));
        let mut after: Vec<Stmt> = vec![];
        for table in applied(&stmt) {
            let actions = control.tables[table.index()].actions.iter();
            after.extend(actions.filter_map(|action| rests.get(&action.action).cloned()));
        }
        if let StmtKind::Call(call) = &stmt.kind
            && let Callee::Action(id) = call.callee
        {
            after.extend(rests.get(&id).cloned());
        }
        if let StmtKind::If(_, yes, no) = &mut stmt.kind {
            yes.stmts.splice(0..0, after.iter().cloned()).for_each(drop);
            no.stmts.splice(0..0, after).for_each(drop);
            block.stmts.push(stmt);
        } else {
            block.stmts.push(stmt);
            block.stmts.append(&mut after);
        }
    }
}
