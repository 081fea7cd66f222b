//! `bind-action-arguments`: tables run actions with data only.
//!
//! Before: `action a(inout bit<8> y, bit<8> d) { y = d; } table t { actions = { a(x); } }`
//! After:  `action a_2(bit<8> d) { x = d; } table t { actions = { a_2; } }`
//!
//! Requires `eliminate-exits`, `eliminate-returns`: results are copied back at the end of the body. Each list of
//! arguments has an action of its own, with the same control-plane name. Ensures: no arguments in action lists. Why: a
//! table action's reads and writes are then all in its body.

use crate::bind::{Caller, Target, mentioned, shown};
use crate::hoist_effects::acts;
use crate::places::{Signatures, Writes};
use crate::substitute::{Substitution, declared_in};
use crate::units::{each_control, free_name};
use crate::{Changed, hoist_effects};
use ir::{Action, ActionId, Control, Direction, Expr, ExprKind, Program, VarKind};

/// See the head of this file.
pub fn bind_action_arguments(program: &mut Program) -> Changed {
    let (mut changed, mut effects) = (false, false);
    each_control(program, &mut |program, control| {
        for table in 0..control.tables.len() {
            for at in 0..control.tables[table].actions.len() {
                let run = &mut control.tables[table].actions[at];
                if run.args.is_empty() {
                    continue;
                }
                let args = std::mem::take(&mut run.args);
                let action = run.action;
                effects |= args.iter().any(acts);
                control.tables[table].actions[at].action = bound(program, control, action, args);
                changed = true;
            }
        }
    });
    if effects {
        let _ = hoist_effects(program);
    }
    Changed(changed)
}

/// A new action that is `id` with these arguments.
fn bound(program: &Program, control: &mut Control, id: ActionId, args: Vec<Expr>) -> ActionId {
    let Some(action) = control.actions.get(id.index()).cloned() else { return id };
    let mut body = action.body.clone();
    let (given, data) = action.params.split_at(args.len().min(action.params.len()));
    let mut writes = Writes::default();
    writes.stmts(&body.stmts, &Signatures::with_actions(program, &control.actions, &control.vars));
    let own = control.vars.clone();
    let (reads, shown) = (mentioned(&body.stmts), shown(&body.stmts));
    let target = Target { params: given, vars: &own, reads, writes, shown };
    let mut subst = Substitution::default();
    let mut caller =
        Caller { program, vars: &mut control.vars, locals: None, copy_all: false, settled: false };
    let args: Vec<Option<Expr>> = args.into_iter().map(Some).collect();
    let bound = caller.bind(&target, &args, &mut subst);
    let mut params = vec![];
    for param in data {
        subst.renew(*param, &own, &mut control.vars);
        if let Some(ExprKind::Var(new)) = subst.get(*param).map(|e| e.kind.clone()) {
            control.vars[new.index()].kind = VarKind::Param(Direction::None);
            params.push(new);
        }
    }
    for var in declared_in(&body.stmts) {
        subst.renew(var, &own, &mut control.vars);
    }
    subst.stmts(&mut body.stmts);
    body.stmts.splice(0..0, bound.before);
    body.stmts.extend(bound.after);
    let name = free_name(&action.name, &|name| control.actions.iter().any(|other| other.name == name));
    // The action reads and writes this control's variables: inlined controls must not use it instead of the program's
    // action.
    control.actions.push(Action { name, params, body, top_level: false, ..action });
    ActionId::from(control.actions.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn arguments_become_part_of_the_body() {
        let vars = "inout bit<8> y; param bit<8> d;";
        let beside =
            "action a(y, d) \"C.a\" { y = d; } table t \"C.t\" { actions { a(x); } default a(8w1); }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                inout bit<8> y;
                param bit<8> d;
                param bit<8> d;
              }
              action a(y, d#3) "C.a" {
                y = d#3;
              }
              action a_2(d#4) "C.a" {
                x = d#4;
              }
              table t "C.t" {
                actions {
                  a_2();
                }
                default a_2(8w0x1);
              }
              apply {
                apply t;
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, beside, "apply t;"), bind_action_arguments));
    }

    #[test]
    fn an_argument_that_the_body_reads_is_copied() {
        let vars = "inout bit<8> y;";
        let beside =
            "action a(y) \"C.a\" { y = x; x = 8w3; } table t \"C.t\" { actions { a(x); } default a(); }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                inout bit<8> y;
                local bit<8> y;
              }
              action a(y#2) "C.a" {
                y#2 = x;
                x = 8w0x3;
              }
              action a_2() "C.a" {
                var y#3 = x;
                y#3 = x;
                x = 8w0x3;
                x = y#3;
              }
              table t "C.t" {
                actions {
                  a_2();
                }
                default a_2();
              }
              apply {
                apply t;
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, beside, "apply t;"), bind_action_arguments));
    }
}
