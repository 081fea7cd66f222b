//! `inline-actions`: direct calls of actions become their bodies.
//!
//! Before: `action set(out bit<8> to, bit<8> v) { to = v; } ... apply { set(x, 8w5); }`
//! After:  `x = 8w0; x = 8w5;`
//!
//! Requires `eliminate-exits`, `eliminate-returns`. Ensures: no call of an action; tables run them as before.
//! Why: values flow in one piece of code, and an action runs with data from a table only.

use crate::bind::{Caller, Target, mentioned, shown};
use crate::places::{Signatures, Writes};
use crate::substitute::{Substitution, declared_in};
use crate::units::each_control;
use crate::{Changed, walk};
use ir::{Action, ActionId, Callee, Program, Stmt, StmtKind, Var, visit};

/// See the head of this file.
pub fn inline_actions(program: &mut Program) -> Changed {
    let mut changed = false;
    each_control(program, &mut |program, control| {
        for id in callees_first(&control.actions) {
            let mut stmts = std::mem::take(&mut control.actions[id.index()].body.stmts);
            changed |= inline(program, &control.actions, &mut control.vars, &mut stmts);
            control.actions[id.index()].body.stmts = stmts;
        }
        changed |= inline(program, &control.actions, &mut control.vars, &mut control.body.stmts);
    });
    Changed(changed)
}

fn inline(program: &Program, actions: &[Action], vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| {
            changed |= inline(program, actions, vars, &mut inner.stmts)
        });
        match called(&stmt).and_then(|id| actions.get(id.index())) {
            Some(action) => {
                changed = true;
                replace(program, actions, action, vars, &stmt, stmts);
            }
            None => stmts.push(stmt),
        }
    }
    changed
}

fn called(stmt: &Stmt) -> Option<ActionId> {
    match &stmt.kind {
        StmtKind::Call(call) => match call.callee {
            Callee::Action(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

fn replace(
    program: &Program,
    actions: &[Action],
    action: &Action,
    vars: &mut Vec<Var>,
    stmt: &Stmt,
    out: &mut Vec<Stmt>,
) {
    let StmtKind::Call(call) = &stmt.kind else { return };
    let mut body = action.body.stmts.clone();
    let mut writes = Writes::default();
    writes.stmts(&body, &Signatures::with_actions(program, actions, vars));
    let own = vars.clone();
    let target =
        Target { params: &action.params, vars: &own, reads: mentioned(&body), writes, shown: shown(&body) };
    let mut subst = Substitution::default();
    let mut caller = Caller { program, vars, locals: None, copy_all: false, settled: false };
    let bound = caller.bind(&target, &call.args, &mut subst);
    for var in declared_in(&body) {
        subst.renew(var, &own, vars);
    }
    subst.stmts(&mut body);
    out.extend(bound.before);
    if action.body.annotations.is_empty() {
        out.extend(body);
    } else {
        let block = ir::Block { annotations: action.body.annotations.clone(), stmts: body };
        out.push(Stmt { kind: StmtKind::Block(block), span: stmt.span });
    }
    out.extend(bound.after);
}

/// Actions, each after those it calls.
fn callees_first(actions: &[Action]) -> Vec<ActionId> {
    let calls = |action: &Action| {
        let mut found = vec![];
        walk::all_stmts(&action.body.stmts, &mut |stmt| found.extend(called(stmt).map(ActionId::index)));
        found
    };
    crate::order::callees_first(&actions.iter().map(calls).collect::<Vec<_>>())
        .into_iter()
        .map(ActionId::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn a_body() {
        let beside = "action set(to, v) \"C.set\" { to = v; }";
        let vars = "out bit<8> to; param bit<8> v; ";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                out bit<8> to;
                param bit<8> v;
              }
              action set(to, v) "C.set" {
                to = v;
              }
              apply {
                x = 8w0x0;
                x = 8w0x5;
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, beside, "action set(x, 8w5);"), inline_actions));
    }

    #[test]
    fn an_action_that_writes_its_argument_gets_a_copy() {
        let beside = "action add(v) \"C.add\" { x = x + v; x = x + v; }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                in bit<8> v;
                local bit<8> v;
              }
              action add(v#2) "C.add" {
                x = x + v#2;
                x = x + v#2;
              }
              apply {
                var v#3 = x;
                x = x + v#3;
                x = x + v#3;
              }
            }
        "#]]
        .assert_eq(&after(&control("in bit<8> v; ", beside, "action add(x);"), inline_actions));
    }
}
