//! `hoist-keys`: the keys of tables, `select` and `switch` are places or variables.
//!
//! Before: `key = { hdr.h.a + 1: exact; } ... if (t.apply().hit) { ... } transition select(packet.lookahead<bit<8>>()) { ... }`
//! After:  `key = { key: exact; } ... key = hdr.h.a + 1; hit = t.apply().hit; if (hit) { ... }
//!          ahead = packet.lookahead<bit<8>>(); transition select(ahead) { ... }`
//!
//! Requires `hoist-effects`, `expand-structs`. Ensures: keys are scalar places with constant indices, or
//! constants; control-plane names stay. `hit` is the whole value of an assignment; there is no `miss`.
//! Why: a lookup reads its key and does not compute it.

use crate::Changed;
use crate::expand_structs::{is_split, parts_of};
use crate::hoist_effects::applied_by;
use crate::places::is_fixed;
use crate::units::Unit;
use crate::units::each_unit;
use ir::build;
use ir::{
    Control, Expr, ExprKind, Keyset, Program, Select, Stmt, StmtKind, SwitchOn, Transition, Type, UnaryOp,
    Var, visit,
};

/// See the head of this file.
pub fn hoist_keys(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        match unit {
            Unit::Control(control) => changed |= table_keys(control),
            Unit::Parser(parser) => {
                for state in &mut parser.states {
                    if let Transition::Select(select) = &mut state.transition {
                        changed |= select_keys(program, &mut parser.vars, select, &mut state.stmts);
                    }
                }
            }
            Unit::Function(_) => {}
        }
        let (vars, lists) = unit.lists_mut();
        for list in lists {
            changed |= conditions(vars, list);
        }
    });
    Changed(changed)
}

fn is_key(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(_)) || is_fixed(expr)
}

fn table_keys(control: &mut Control) -> bool {
    let mut before: Vec<Vec<Stmt>> = vec![];
    for table in &mut control.tables {
        let mut stmts = vec![];
        for key in table.keys.iter_mut().filter(|key| !is_key(&key.expr)) {
            let span = key.expr.span;
            let var = build::local(&mut control.vars, "key", key.expr.ty.clone(), span);
            control.locals.push(build::declare(var, None).at(span));
            let place = build::var_of(&control.vars, var).at(span);
            let value = std::mem::replace(&mut key.expr, place.clone());
            stmts.push(build::assign(place, value).at(span));
        }
        before.push(stmts);
    }
    let changed = before.iter().any(|stmts| !stmts.is_empty());
    if changed {
        before_applications(&mut control.body.stmts, &before);
    }
    changed
}

fn before_applications(stmts: &mut Vec<Stmt>, before: &[Vec<Stmt>]) {
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| before_applications(&mut inner.stmts, before));
        for table in applied_by(&stmt) {
            stmts.extend(before.get(table.index()).into_iter().flatten().cloned());
        }
        stmts.push(stmt);
    }
}

fn keep(vars: &mut Vec<Var>, name: &str, value: Expr, out: &mut Vec<Stmt>) -> Expr {
    let span = value.span;
    let var = build::local(vars, name, value.ty.clone(), span);
    out.push(build::declare(var, Some(value)).at(span));
    build::var_of(vars, var).at(span)
}

fn select_keys(program: &Program, vars: &mut Vec<Var>, select: &mut Select, out: &mut Vec<Stmt>) -> bool {
    let mut changed = split_keys(program, select);
    for expr in select.exprs.iter_mut().filter(|expr| !is_key(expr)) {
        changed = true;
        let value = expr.clone();
        *expr = keep(vars, "key", value, out);
    }
    changed
}

/// A key of a struct's type is as many keys as it has fields.
fn split_keys(program: &Program, select: &mut Select) -> bool {
    let Some(at) = select.exprs.iter().position(|expr| is_split(program, &expr.ty)) else { return false };
    let whole = select.exprs.remove(at);
    let parts = match whole.kind {
        ExprKind::Aggregate(parts) => parts,
        _ => parts_of(program, &whole),
    };
    for case in &mut select.cases {
        let stands_for_all = matches!(case.keys.as_slice(), [Keyset::DontCare]);
        if stands_for_all || case.keys.len() <= at || matches!(case.keys[at], Keyset::ValueSet(_)) {
            continue;
        }
        let keys = match case.keys.remove(at) {
            Keyset::Value(Expr { kind: ExprKind::Aggregate(values), .. }) => {
                values.into_iter().map(Keyset::Value).collect()
            }
            Keyset::Value(value) => parts_of(program, &value).into_iter().map(Keyset::Value).collect(),
            _ => vec![Keyset::DontCare; parts.len()],
        };
        case.keys.splice(at..at, keys);
    }
    select.exprs.splice(at..at, parts);
    split_keys(program, select);
    true
}

/// Applications in conditions, and subjects of `switch`.
fn conditions(vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| changed |= conditions(vars, &mut inner.stmts));
        match &mut stmt.kind {
            StmtKind::If(cond, ..) => changed |= application(vars, cond, stmts),
            StmtKind::Assign(_, value) | StmtKind::Declare(_, Some(value))
                if !matches!(value.kind, ExprKind::ApplyHit(_)) =>
            {
                changed |= application(vars, value, stmts);
            }
            StmtKind::Switch(SwitchOn::Value(value), _) if !is_key(value) => {
                changed = true;
                *value = keep(vars, "on", value.clone(), stmts);
            }
            _ => {}
        }
        stmts.push(stmt);
    }
    changed
}

fn application(vars: &mut Vec<Var>, cond: &mut Expr, out: &mut Vec<Stmt>) -> bool {
    let span = cond.span;
    match &mut cond.kind {
        ExprKind::Unary(UnaryOp::Not, inner) => application(vars, inner, out),
        ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
            let hit = Expr { kind: ExprKind::ApplyHit(*table), ty: Type::Bool, span };
            let is_miss = matches!(cond.kind, ExprKind::ApplyMiss(_));
            let hit = keep(vars, "hit", hit, out);
            *cond = if is_miss { build::not(hit) } else { hit };
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn keys_and_hits() {
        let beside = "action a() \"C.a\" { } table t \"C.t\" { key { x + 8w1: exact \"x + 1\"; hdr.h.$isValid: exact \"v\"; x: ternary \"x\"; }
            actions { a(); } default a(); }";
        let body = "if (!$miss(t)) { x = 8w1; } switch (apply t) { case action a: { x = 8w2; } }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> key;
                local bool key;
                local bool hit;
              }
              locals {
                var key#2;
                var key#3;
              }
              action a() "C.a" { }
              table t "C.t" {
                key {
                  key#2: exact "x + 1";
                  key#3: exact "v";
                  x: ternary "x";
                }
                actions {
                  a();
                }
                default a();
              }
              apply {
                key#2 = x + 8w0x1;
                key#3 = hdr.h.$isValid;
                var hit = $hit(t);
                if (!!hit) {
                  x = 8w0x1;
                }
                key#2 = x + 8w0x1;
                key#3 = hdr.h.$isValid;
                switch (apply t) {
                  case action a: {
                    x = 8w0x2;
                  }
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("", beside, body), hoist_keys));
    }

    #[test]
    fn selects() {
        let before =
            "parser P(p, q, x) \"P\" { vars { param extern packet_in p; in pair_t q; inout bit<8> x; }
            value_set v: pair_t \"P.v\" match(exact, exact) size 4;
            state start { select (q) { (set v): accept; (({8w1, 8w2} : pair_t)): next; (_): accept; } }
            state next { select ($lookahead<bit<8>>(p)) { (8w2): start; (_): accept; } } }";
        expect![[r#"
            parser P(p, q, x) "P" {
              vars {
                param extern packet_in p;
                in pair_t q;
                inout bit<8> x;
                local bit<8> key;
              }
              value_set v: pair_t "P.v" match(exact, exact) size 4;
              state start {
                select (q.first, q.second) {
                  (set v): accept;
                  (8w0x1, 8w0x2): next;
                  (_): accept;
                }
              }
              state next {
                var key = $lookahead<bit<8>>(p);
                select (key) {
                  (8w0x2): start;
                  (_): accept;
                }
              }
            }
        "#]]
        .assert_eq(&after(before, hoist_keys));
    }
}
