//! `expand-loops`: every loop tests one condition before each round, and is left by nothing else.
//!
//! Before: `for (i in 8w1 .. n) { if (c) { break; } a; }`
//! After:  `at = 1; end = n; more = at <= end;
//!          while (more) { i = at; has_broken = false; if (c) { has_broken = true; } else { a; }
//!                         more = !has_broken && at != end; at = at + 1; }`
//!
//! Requires `hoist-effects`. Ensures: loops are `for (; cond; ) { }` without `break` and `continue`. A list is an array
//! that is gone through by index. Does not unroll.
//! Why: one form of loop for analyses and code generators.

use crate::Changed;
use crate::jumps::Jumps;
use crate::units::each_unit;
use base_diag::Span;
use ir::build;
use ir::{BinaryOp, Block, Expr, ExprKind, ForRange, Program, Stmt, StmtKind, Type, Var, VarId, visit};

/// See the head of this file.
pub fn expand_loops(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |_, unit| {
        let (vars, lists) = unit.lists_mut();
        for list in lists {
            changed |= expand(vars, list);
        }
    });
    Changed(changed)
}

fn expand(vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| changed |= expand(vars, &mut inner.stmts));
        let span = stmt.span;
        match stmt.kind {
            StmtKind::For { init, cond, update, mut body } => {
                let done = init.is_empty() && update.is_empty() && !leaves(&body.stmts);
                changed |= !done;
                stmts.extend(init);
                let broken = without_jumps(vars, &mut body, span, stmts);
                match &broken {
                    // `break` leaves the loop without the update.
                    Some(broken) if !update.is_empty() => {
                        body.stmts.push(build::if_else(build::not(broken.clone()), update, vec![]).at(span));
                    }
                    _ => body.stmts.extend(update),
                }
                let cond = unless(broken, cond);
                stmts.push(while_loop(cond, body, span));
            }
            StmtKind::ForIn { var, range: ForRange::Range(lo, hi), body } => {
                changed = true;
                over_range(vars, var, [lo, hi], body, span, stmts);
            }
            StmtKind::ForIn { var, range: ForRange::Values(values), body } => {
                changed = true;
                over_values(vars, var, values, body, span, stmts);
            }
            kind => stmts.push(Stmt { kind, span }),
        }
    }
    changed
}

fn while_loop(cond: Expr, body: Block, span: Span) -> Stmt {
    Stmt { kind: StmtKind::For { init: vec![], cond, update: vec![], body }, span }
}

fn leaves(stmts: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in stmts {
        found |= matches!(stmt.kind, StmtKind::Break | StmtKind::Continue);
        if !matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. }) {
            visit::blocks(stmt, &mut |inner| found |= leaves(&inner.stmts));
        }
    }
    found
}

/// Takes `continue` and `break` out of a loop's body. Gives the flag that says that the loop was left, which is
/// declared in `before`.
fn without_jumps(vars: &mut Vec<Var>, body: &mut Block, span: Span, before: &mut Vec<Stmt>) -> Option<Expr> {
    let mut jumps = Jumps {
        taken: &|stmt| matches!(stmt.kind, StmtKind::Continue).then(Vec::new),
        may_raise: &|_| false,
        through_loops: false,
        is_flag_read: false,
        flag: None,
        name: "has_continued",
        vars,
    };
    jumps.body(&mut body.stmts);
    if let Some(flag) = jumps.flag {
        body.stmts.insert(0, build::declare(flag, Some(build::bool(false).at(span))).at(span));
    }
    let mut jumps = Jumps {
        taken: &|stmt| matches!(stmt.kind, StmtKind::Break).then(Vec::new),
        may_raise: &|_| false,
        through_loops: false,
        is_flag_read: true,
        flag: None,
        name: "has_broken",
        vars,
    };
    jumps.body(&mut body.stmts);
    let flag = jumps.flag?;
    before.push(build::declare(flag, Some(build::bool(false).at(span))).at(span));
    Some(build::var_of(vars, flag).at(span))
}

/// `!flag && cond`
fn unless(flag: Option<Expr>, cond: Expr) -> Expr {
    match flag {
        Some(flag) if matches!(cond.kind, ExprKind::Const(ir::Const::Bool(true))) => build::not(flag),
        Some(flag) => build::binary(BinaryOp::And, build::not(flag), cond, Type::Bool),
        None => cond,
    }
}

fn declared(vars: &mut Vec<Var>, name: &str, value: Expr, out: &mut Vec<Stmt>) -> Expr {
    let span = value.span;
    let var = build::local(vars, name, value.ty.clone(), span);
    out.push(build::declare(var, Some(value)).at(span));
    build::var_of(vars, var).at(span)
}

/// Both bounds are included: the last round must not count on.
fn over_range(
    vars: &mut Vec<Var>,
    var: VarId,
    [lo, hi]: [Expr; 2],
    mut body: Block,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let ty = lo.ty.clone();
    let at = declared(vars, "at", lo, out);
    let end = declared(vars, "end", hi, out);
    let compare = |op| build::binary(op, at.clone(), end.clone(), Type::Bool);
    let more = declared(vars, "more", compare(BinaryOp::Le), out);
    let broken = without_jumps(vars, &mut body, span, out);
    body.stmts.insert(0, build::declare(var, Some(at.clone())).at(span));
    body.stmts.push(build::assign(more.clone(), unless(broken, compare(BinaryOp::Ne))).at(span));
    if let Type::Bit(width) | Type::Int(width) = ty {
        let one = Expr { ty: ty.clone(), ..build::bits(width, 1).at(span) };
        let next = build::binary(BinaryOp::Add, at.clone(), one, ty);
        body.stmts.push(build::assign(at, next).at(span));
    }
    out.push(while_loop(more, body, span));
}

fn over_values(
    vars: &mut Vec<Var>,
    var: VarId,
    values: Expr,
    mut body: Block,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let (elem, count) = match &values.ty {
        Type::Stack(elem, count) => (elem.as_ref().clone(), *count),
        Type::Tuple(types) if !types.is_empty() => (types[0].clone(), types.len() as u32),
        _ => return,
    };
    let list = array(vars, values, &elem, count, out);
    let at = declared(vars, "at", build::bits(32, 0).at(span), out);
    let broken = without_jumps(vars, &mut body, span, out);
    let kind = ExprKind::Index(Box::new(list), Box::new(at.clone()));
    body.stmts.insert(0, build::declare(var, Some(Expr { kind, ty: elem, span })).at(span));
    let next = build::binary(BinaryOp::Add, at.clone(), build::bits(32, 1).at(span), Type::Bit(32));
    body.stmts.push(build::assign(at.clone(), next).at(span));
    let more = build::binary(BinaryOp::Lt, at, build::bits(32, u64::from(count)).at(span), Type::Bool);
    out.push(while_loop(unless(broken, more), body, span));
}

/// A variable with the values, which are evaluated once.
fn array(vars: &mut Vec<Var>, values: Expr, elem: &Type, count: u32, out: &mut Vec<Stmt>) -> Expr {
    let span = values.span;
    if matches!(values.ty, Type::Stack(..)) {
        return declared(vars, "values", values, out);
    }
    let ty = Type::Stack(Box::new(elem.clone()), count);
    let list = build::local(vars, "values", ty, span);
    out.push(build::declare(list, None).at(span));
    let list = build::var_of(vars, list).at(span);
    let parts = match values.kind {
        ExprKind::Aggregate(parts) => parts,
        _ => {
            let values = declared(vars, "values", values, out);
            (0..count as usize).map(|at| build::field(values.clone(), at, elem.clone())).collect()
        }
    };
    for (at, part) in parts.into_iter().enumerate() {
        let index = build::bits(32, at as u64).at(span);
        let kind = ExprKind::Index(Box::new(list.clone()), Box::new(index));
        out.push(build::assign(Expr { kind, ty: elem.clone(), span }, part).at(span));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn a_range() {
        let body = "for (i in 8w1 .. x) { if (i == 8w3) { break; } x = x + i; }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> i;
                local bit<8> at;
                local bit<8> end;
                local bool more;
                local bool has_broken;
              }
              apply {
                var at = 8w0x1;
                var end = x;
                var more = at <= end;
                var has_broken = false;
                for {
                } while (more) step {
                } do {
                  var i = at;
                  if (i == 8w0x3) {
                    has_broken = true;
                  } else {
                    x = x + i;
                  }
                  more = !has_broken && at != end;
                  at = at + 8w0x1;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("local bit<8> i;", "", body), expand_loops));
    }

    #[test]
    fn a_list() {
        let body = "for (i in {8w1, x}) { if (i == 8w3) { continue; } x = x + i; }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> i;
                local bit<8>[2] values;
                local bit<32> at;
              }
              apply {
                var values;
                values[32w0x0] = 8w0x1;
                values[32w0x1] = x;
                var at = 32w0x0;
                for {
                } while (at < 32w0x2) step {
                } do {
                  var i = values[at];
                  if (i == 8w0x3) { } else {
                    x = x + i;
                  }
                  at = at + 32w0x1;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("local bit<8> i;", "", body), expand_loops));
    }

    #[test]
    fn a_loop_with_a_step() {
        let body = "for { var i = 8w0; } while (i < 8w9) step { i = i + 8w1; } do { if (x == i) { break; } }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> i;
                local bool has_broken;
              }
              apply {
                var i = 8w0x0;
                var has_broken = false;
                for {
                } while (!has_broken && i < 8w0x9) step {
                } do {
                  if (x == i) {
                    has_broken = true;
                  }
                  if (!has_broken) {
                    i = i + 8w0x1;
                  }
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("local bit<8> i;", "", body), expand_loops));
    }
}
