//! `remove-unused`: removes everything that is not used.
//!
//! Before: `bit<8> n; action a(out bit<8> x) { ... } action b() { ... } table t { actions = { b; } } apply { t.apply(); }`
//! After:  `action b() { ... } table t { actions = { b; } } apply { t.apply(); }`
//!
//! Requires `inline-actions`, `bind-action-arguments`. Ensures: every action is in a table's list, and has data
//! parameters only; every declared variable is mentioned. Does not remove stores. Why: a code generator reserves memory
//! for everything that is left.

use crate::substitute::Substitution;
use crate::units::{Unit, each_unit};
use crate::{Changed, split_structs};
use ir::{ActionId, Control, ExprKind, Program, Stmt, StmtKind, VarId, visit};
use std::collections::BTreeSet;

/// See the head of this file.
pub fn remove_unused(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |_, unit| {
        if let Unit::Control(control) = unit {
            changed |= actions(control);
        }
        changed |= declarations(unit);
    });
    Changed(changed)
}

/// Removes the actions that no table lists. None is called: the others are inlined.
fn actions(control: &mut Control) -> bool {
    let listed: BTreeSet<ActionId> =
        control.tables.iter().flat_map(|table| &table.actions).map(|run| run.action).collect();
    if listed.len() == control.actions.len() {
        return false;
    }
    let mut subst = Substitution::default();
    for (new, old) in listed.iter().enumerate() {
        subst.actions.insert(*old, ActionId::from(new));
    }
    let mut at = 0;
    control.actions.retain(|_| {
        at += 1;
        listed.contains(&ActionId(at - 1))
    });
    control.tables.iter_mut().for_each(|table| subst.table(table));
    true
}

fn declarations(unit: &mut Unit) -> bool {
    let mut used: BTreeSet<VarId> = BTreeSet::new();
    split_structs::each_expr(unit, &mut |expr| {
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::Var(var) = e.kind {
                used.insert(var);
            }
        });
    });
    let mut changed = false;
    let mut remove = |stmts: &mut Vec<Stmt>| {
        let before = stmts.len();
        stmts.retain(|stmt| !matches!(&stmt.kind, StmtKind::Declare(var, _) if !used.contains(var)));
        changed |= stmts.len() < before;
    };
    match unit {
        Unit::Control(control) => remove(&mut control.locals),
        Unit::Parser(parser) => remove(&mut parser.locals),
        Unit::Function(function) => remove(&mut function.body.stmts),
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn an_action_and_a_variable() {
        let vars = "local bit<8> n; local bit<8> m; out bit<8> y;";
        let beside = "locals { var n; var m; } action a(y) \"C.a\" { y = 8w1; } action b() \"C.b\" { x = m; }
            table t \"C.t\" { actions { b(); } default b(); }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> n;
                local bit<8> m;
                out bit<8> y;
              }
              locals {
                var m;
              }
              action b() "C.b" {
                x = m;
              }
              table t "C.t" {
                actions {
                  b();
                }
                default b();
              }
              apply {
                apply t;
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, beside, "apply t;"), remove_unused));
    }
}
