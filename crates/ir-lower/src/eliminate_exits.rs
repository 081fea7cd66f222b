//! `eliminate-exits`: `exit` becomes structure, or a flag that is tested after each statement that may have exited.
//!
//! Before: `action a() { exit; } ... apply { t.apply(); x = 1; }`
//! After:  `action a() { has_exited = true; } ... apply { t.apply(); if (!has_exited) { x = 1; } }`
//!
//! Requires `hoist-effects`: a table is applied by a statement. A control that may exit and is applied by others gets a
//! parameter `inout bool has_exited`. Ensures: no `exit`. Why: the control flow is in the structure; results of calls
//! are copied back also when the callee exits (P4-16 §12.5).

use crate::jumps::Jumps;
use crate::units::each_control;
use crate::{Changed, walk};
use base_diag::Span;
use ir::build;
use ir::{
    ActionId, Callee, Control, ControlId, Direction, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn,
    TableId, Type, Var, VarId, VarKind, visit,
};
use std::collections::BTreeMap;

const FLAG: &str = "has_exited";

/// See the head of this file.
pub fn eliminate_exits(program: &mut Program) -> Changed {
    let applied = applied_controls(program);
    let mut exiting: BTreeMap<ControlId, Exits> = BTreeMap::new();
    for (at, control) in program.controls.iter().enumerate() {
        let found = Exits::of(control, &exiting);
        if found.anything() {
            exiting.insert(ControlId::from(at), found);
        }
    }
    if exiting.is_empty() {
        return Changed(false);
    }
    let mut at = 0;
    each_control(program, &mut |_, control| {
        let id = ControlId::from(at);
        if let Some(exits) = exiting.get(&id) {
            rewrite(control, exits, applied.contains(&id), &exiting);
        }
        at += 1;
    });
    Changed(true)
}

/// The controls that another control applies.
fn applied_controls(program: &Program) -> Vec<ControlId> {
    let mut applied = vec![];
    for control in &program.controls {
        walk::all_stmts(&control.body.stmts, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind
                && let Callee::Control(id) = call.callee
            {
                applied.push(id);
            }
        });
    }
    applied
}

/// Parts of a control that may exit.
struct Exits {
    actions: Vec<bool>,
    tables: Vec<bool>,
    body: bool,
}

impl Exits {
    fn of(control: &Control, exiting: &BTreeMap<ControlId, Exits>) -> Exits {
        let mut found = Exits { actions: vec![false; control.actions.len()], tables: vec![], body: false };
        // Actions call each other in no particular order.
        loop {
            let mut news = false;
            for (at, action) in control.actions.iter().enumerate() {
                if !found.actions[at] && found.any(&action.body.stmts, exiting) {
                    found.actions[at] = true;
                    news = true;
                }
            }
            if !news {
                break;
            }
        }
        found.tables = control
            .tables
            .iter()
            .map(|table| table.actions.iter().any(|run| found.action(run.action)))
            .collect();
        found.body = found.any(&control.body.stmts, exiting);
        found
    }

    fn anything(&self) -> bool {
        self.body || self.actions.contains(&true)
    }

    fn any(&self, stmts: &[Stmt], exiting: &BTreeMap<ControlId, Exits>) -> bool {
        let mut any = false;
        walk::all_stmts(stmts, &mut |stmt| any |= is_exit(stmt) || self.may_raise(stmt, exiting));
        any
    }

    fn action(&self, id: ActionId) -> bool {
        self.actions.get(id.index()).copied().unwrap_or(false)
    }

    fn table(&self, id: TableId) -> bool {
        self.tables.get(id.index()).copied().unwrap_or(false)
    }

    /// True if the statement's own calls may exit.
    fn may_raise(&self, stmt: &Stmt, exiting: &BTreeMap<ControlId, Exits>) -> bool {
        let mut may = match &stmt.kind {
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => self.table(*table),
            StmtKind::Call(call) => match call.callee {
                Callee::Action(id) => self.action(id),
                Callee::Control(id) => exiting.get(&id).is_some_and(|exits| exits.body),
                _ => false,
            },
            _ => false,
        };
        walk::own_exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |e| {
                if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = &e.kind {
                    may |= self.table(*table);
                }
            });
        });
        may
    }
}

fn is_exit(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Exit)
}

fn rewrite(control: &mut Control, exits: &Exits, is_applied: bool, exiting: &BTreeMap<ControlId, Exits>) {
    let mut flag = None;
    if is_applied && exits.body {
        let var = flag_var(control, VarKind::Param(Direction::InOut));
        control.params.push(var);
        flag = Some(var);
    } else if exits.actions.contains(&true) || calls_exiting(control, exiting) {
        flag = Some(declared_flag(control));
    }
    let taken = |stmt: &Stmt| is_exit(stmt).then(Vec::new);
    let may_raise = |stmt: &Stmt| exits.may_raise(stmt, exiting);
    let mut jumps = Jumps {
        taken: &taken,
        may_raise: &may_raise,
        through_loops: true,
        is_flag_read: true,
        flag,
        name: FLAG,
        vars: &mut control.vars,
    };
    for action in &mut control.actions {
        jumps.body(&mut action.body.stmts);
    }
    // After the body, only a control that applies this one reads the flag.
    jumps.is_flag_read = is_applied;
    jumps.body(&mut control.body.stmts);
    let (made, known) = (jumps.flag, flag);
    if let (Some(var), None) = (made, known) {
        control.locals.push(build::declare(var, Some(build::bool(false).at(Span::NONE))).at(Span::NONE));
    }
    if let Some(var) = made {
        pass_flag(control, var, exiting);
    }
}

fn calls_exiting(control: &Control, exiting: &BTreeMap<ControlId, Exits>) -> bool {
    let mut any = false;
    walk::all_stmts(&control.body.stmts, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind
            && let Callee::Control(id) = call.callee
        {
            any |= exiting.get(&id).is_some_and(|exits| exits.body);
        }
    });
    any
}

fn flag_var(control: &mut Control, kind: VarKind) -> VarId {
    control.vars.push(Var { name: FLAG.into(), ty: Type::Bool, kind, annotations: vec![], span: Span::NONE });
    VarId::from(control.vars.len() - 1)
}

fn declared_flag(control: &mut Control) -> VarId {
    let var = flag_var(control, VarKind::Local);
    control.locals.push(build::declare(var, Some(build::bool(false).at(Span::NONE))).at(Span::NONE));
    var
}

/// Passes the flag to the controls that may raise it.
fn pass_flag(control: &mut Control, flag: VarId, exiting: &BTreeMap<ControlId, Exits>) {
    walk::all_stmts_mut(&mut control.body.stmts, &mut |stmt| {
        if let StmtKind::Call(call) = &mut stmt.kind
            && let Callee::Control(id) = call.callee
            && exiting.get(&id).is_some_and(|exits| exits.body)
        {
            call.args.push(Some(Expr { kind: ExprKind::Var(flag), ty: Type::Bool, span: call.span }));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn an_action_raises_the_flag() {
        let beside = "action a() \"C.a\" { exit; } table t \"C.t\" { actions { a(); } default a(); }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool has_exited;
              }
              locals {
                var has_exited = false;
              }
              action a() "C.a" {
                has_exited = true;
              }
              table t "C.t" {
                actions {
                  a();
                }
                default a();
              }
              apply {
                apply t;
                if (!has_exited) {
                  x = 8w0x1;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("", beside, "apply t; x = 8w1;"), eliminate_exits));
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool has_exited;
              }
              locals {
                var has_exited = false;
              }
              action a() "C.a" {
                has_exited = true;
              }
              table t "C.t" {
                actions {
                  a();
                }
                default a();
              }
              apply {
                if ($hit(t)) {
                  if (!has_exited) {
                    x = 8w0x1;
                  }
                }
                if (!has_exited) {
                  x = 8w0x2;
                }
              }
            }
        "#]]
        .assert_eq(&after(
            &control("", beside, "if ($hit(t)) { x = 8w1; } else { } x = 8w2;"),
            eliminate_exits,
        ));
    }

    #[test]
    fn an_applied_control_raises_the_flag_of_its_caller() {
        let inner =
            "control I(v) \"C.i\" { vars { inout bit<8> v; } apply { if (v == 8w0) { exit; } v = 8w1; } } ";
        let before = inner.to_string() + &control("", "", "control I(x); x = 8w2;");
        expect![[r#"
            control I(v, has_exited) "C.i" {
              vars {
                inout bit<8> v;
                inout bool has_exited;
              }
              apply {
                if (v == 8w0x0) {
                  has_exited = true;
                } else {
                  v = 8w0x1;
                }
              }
            }

            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool has_exited;
              }
              locals {
                var has_exited = false;
              }
              apply {
                control I(x, has_exited);
                if (!has_exited) {
                  x = 8w0x2;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, eliminate_exits));
    }

    #[test]
    fn a_stage_needs_no_flag_where_structure_suffices() {
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
              }
              apply {
                if (x == 8w0x0) { } else {
                  x = 8w0x1;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("", "", "if (x == 8w0) { exit; } x = 8w1;"), eliminate_exits));
    }
}
