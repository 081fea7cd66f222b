//! Computed values that compilers have to leave where they are.
//!
//! Before: `part0 = ~hdr.ip.sum; sum = part0 + part1;`
//! After:  `action part0_step() { part0 = ~hdr.ip.sum; } ... part0_step(); sum_step();`
//!
//! Why: the open compiler puts the value of a variable in place of its uses, which makes one statement of them again. It does not do so across the call of an action.
//!
//! Variables of the control's body that such an action uses become variables of the control.

use crate::original::{ORDER, PART, fresh, places, undeclare};
use ir::{ActionId, Block, Control, Expr, ExprKind, Name, Program, Stmt, StmtKind, VarId, build, visit};
use std::collections::BTreeSet;

/// Moves the statements of all controls.
pub(crate) fn build(program: &mut Program) {
    let objects: BTreeSet<Name> = program.instances.iter().map(|object| object.name.clone()).collect();
    for control in &mut program.controls {
        let mut used = BTreeSet::new();
        visit::stmts(&control.body, &mut |stmt| {
            if is_fenced(control, stmt) {
                visit::exprs(stmt, &mut |expr| places(expr, &mut |(var, _)| _ = used.insert(var)));
            }
        });
        if used.is_empty() {
            continue;
        }
        let mut body = std::mem::take(&mut control.body);
        declare_outside(control, &mut body, &used, &objects);
        fence(control, &mut body);
        control.body = body;
    }
}

/// True for a variable that [`crate::sums`] or [`crate::conditions`] added.
fn is_added(control: &Control, expr: &Expr) -> bool {
    let ExprKind::Var(id) = expr.kind else { return false };
    let name = &control.vars[id.index()].name;
    let number = name.strip_prefix(PART).or_else(|| name.strip_prefix(ORDER));
    let is_local =
        || control.locals.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare(var, _) if var == id));
    number.is_some_and(|number| number.parse::<u32>().is_ok()) && is_local()
}

/// True for an assignment that has to stay one statement.
fn is_fenced(control: &Control, stmt: &Stmt) -> bool {
    let StmtKind::Assign(place, value) = &stmt.kind else { return false };
    let mut adds = false;
    if let ExprKind::Binary(..) = value.kind {
        visit::parts(value, &mut |part| adds |= is_added(control, part));
    }
    let mut is_known = true;
    visit::subexprs(value, &mut |part| is_known &= !matches!(part.kind, ExprKind::Call(_)));
    is_known && (adds || is_added(control, place))
}

/// Makes variables of the body those of the control.
fn declare_outside(
    control: &mut Control,
    body: &mut Block,
    used: &BTreeSet<VarId>,
    objects: &BTreeSet<Name>,
) {
    let mut declared = vec![];
    visit::stmts_mut(body, &mut |stmt| declared.extend(undeclare(stmt, &control.vars, used)));
    for var in declared {
        let name = control.vars[var.index()].name.clone();
        let others = control.vars.iter().filter(|other| other.name == name).count();
        let is_taken = others > 1
            || objects.contains(&name)
            || control.actions.iter().any(|action| action.name == name)
            || control.tables.iter().any(|table| table.name == name);
        if is_taken {
            control.vars[var.index()].name = fresh(control, &format!("{name}_outside")).into();
        }
        control.locals.push(build::declare(var, None));
    }
}

fn fence(control: &mut Control, block: &mut Block) {
    for stmt in &mut block.stmts {
        visit::blocks_mut(stmt, &mut |inner| fence(control, inner));
        if !is_fenced(control, stmt) {
            continue;
        }
        let StmtKind::Assign(place, _) = &stmt.kind else { continue };
        let mut of = None;
        places(place, &mut |(var, _)| of = Some(var));
        let word = of.map_or("value".to_string(), |var| control.vars[var.index()].name.to_string());
        let name = fresh(control, &format!("{word}_step"));
        let call = build::run(ActionId::from(control.actions.len())).at(stmt.span);
        let stmt = std::mem::replace(stmt, call);
        let of = control.control_plane_name.clone();
        control.actions.push(build::action(&name, &of, vec![], vec![stmt]));
    }
}
