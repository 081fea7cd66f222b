//! `bind-whole-arguments`: an action that is always given one parameter of its control names that parameter itself.
//!
//! Before: `action decap(inout headers h) { h.outer.setInvalid(); }` in a list of actions as `decap(hdr)`
//! After:  `action decap() { hdr.outer.setInvalid(); }`, listed as `decap`
//!
//! Why: copying all headers in and out hides which of them an action touches, and the length of a varbit after the
//! copy. The meaning stays if the action accesses the control's parameter by this name only. Only arguments that
//! contain a varbit are bound, and only in actions of a single control: shared actions are printed once for all
//! controls.

use super::colours::run_by;
use super::varbit::holds_varbit;
use crate::arch;
use crate::expressions::root;
use ir::{
    ActionId, Call, Callee, Control, ControlId, Direction, Expr, ExprKind, Name, Program, StmtKind, Type,
    VarId, VarKind, visit,
};
use p4_arch::Duty;
use std::collections::BTreeSet;

/// Binds suitable arguments in ingress and egress.
pub fn bind_whole_arguments(program: &mut Program) {
    for stage in [Duty::Ingress, Duty::Egress] {
        if let Some(id) = arch::control(program, stage) {
            // An action that calls another may have to go first.
            while let Some((action, at, whole)) = find(program, id) {
                bind(&mut program.controls[id.index()], action, at, whole);
            }
        }
    }
}

/// An action, the number of its parameter, and the control's parameter that it always is.
fn find(program: &Program, control: ControlId) -> Option<(ActionId, usize, VarId)> {
    let others = program.controls.iter().enumerate().filter(|(number, _)| *number != control.index());
    let elsewhere: BTreeSet<&Name> =
        others.flat_map(|(_, other)| &other.actions).map(|action| &action.control_plane_name).collect();
    let control = program.control(control);
    let actions = control.actions.iter().enumerate();
    for (number, action) in actions.filter(|(_, action)| !elsewhere.contains(&action.control_plane_name)) {
        for (at, param) in action.params.iter().enumerate() {
            let var = &control.vars[param.index()];
            let is_copied = matches!(var.kind, VarKind::Param(Direction::In | Direction::InOut));
            if !is_copied || !holds_varbit(program, &var.ty) {
                continue;
            }
            let id = ActionId::from(number);
            if let Some(whole) = always_given(control, id, at)
                && !names(control, id, whole)
            {
                return Some((id, at, whole));
            }
        }
    }
    None
}

/// The control's parameter that every use of the action gives for its parameter `at`, and for no other one that is written.
fn always_given(control: &Control, action: ActionId, at: usize) -> Option<VarId> {
    let mut uses: Vec<Vec<Option<Expr>>> = vec![];
    let bodies = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
    for body in bodies {
        visit::stmts(body, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind
                && call.callee == Callee::Action(action)
            {
                uses.push(call.args.clone());
            }
        });
    }
    for run in control.tables.iter().flat_map(|t| &t.actions).filter(|run| run.action == action) {
        uses.push(run.args.iter().cloned().map(Some).collect());
    }
    let whole_of = |args: &Vec<Option<Expr>>| match &args.get(at)?.as_ref()?.kind {
        ExprKind::Var(var) if control.params.contains(var) => Some(*var),
        _ => None,
    };
    let whole = whole_of(uses.first()?)?;
    let params = &control.actions[action.index()].params;
    // The copy-out of another written parameter could overwrite the control's parameter (P4-16 §6.8).
    let is_alone = |args: &Vec<Option<Expr>>| {
        args.iter().zip(params).enumerate().all(|(other, (arg, param))| {
            let written =
                matches!(control.vars[param.index()].kind, VarKind::Param(Direction::Out | Direction::InOut));
            other == at || !written || arg.as_ref().and_then(root) != Some(whole)
        })
    };
    uses.iter().all(|args| whole_of(args) == Some(whole) && is_alone(args)).then_some(whole)
}

/// Whether an action, or one that it calls, names a variable of the control.
fn names(control: &Control, action: ActionId, var: VarId) -> bool {
    run_by(control, action).into_iter().any(|action| {
        let mut found = false;
        visit::all_exprs(&control.actions[action.index()].body, &mut |e| {
            found |= matches!(e.kind, ExprKind::Var(v) if v == var);
        });
        found
    })
}

fn bind(control: &mut Control, action: ActionId, at: usize, whole: VarId) {
    let param = control.actions[action.index()].params.remove(at);
    let body = &mut control.actions[action.index()].body;
    visit::stmts_mut(body, &mut |stmt| {
        visit::exprs_mut(stmt, &mut |e| {
            visit::subexprs_mut(e, &mut |e| {
                if matches!(e.kind, ExprKind::Var(v) if v == param) {
                    e.kind = ExprKind::Var(whole);
                }
            });
        });
    });
    // The variable is left over.
    let var = &mut control.vars[param.index()];
    (var.kind, var.ty) = (VarKind::Local, Type::Bool);
    let drop_argument = |call: &mut Call| {
        if call.callee == Callee::Action(action) {
            call.args.remove(at);
        }
    };
    let bodies = std::iter::once(&mut control.body).chain(control.actions.iter_mut().map(|a| &mut a.body));
    for body in bodies {
        visit::stmts_mut(body, &mut |stmt| {
            if let StmtKind::Call(call) = &mut stmt.kind {
                drop_argument(call);
            }
        });
    }
    for run in control.tables.iter_mut().flat_map(|t| &mut t.actions).filter(|run| run.action == action) {
        run.args.remove(at);
    }
}
