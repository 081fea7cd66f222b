//! `eliminate-returns`: `return` becomes structure, or a flag where structure does not suffice.
//!
//! Before: `apply { if (c) { a; return; } b; }`
//! After:  `apply { if (c) { a; } else { b; } }`
//!
//! A function that gives a value keeps one `return`, its last statement. Ensures: no other `return`. Why: the control
//! flow is in the structure, and a call can be replaced by the body.

use crate::Changed;
use crate::jumps::Jumps;
use base_diag::Span;
use ir::build;
use ir::{Program, Stmt, StmtKind, Type, Var};

/// See the head of this file.
pub fn eliminate_returns(program: &mut Program) -> Changed {
    let mut changed = false;
    for control in &mut program.controls {
        for action in &mut control.actions {
            changed |= plain(&mut control.vars, &mut action.body.stmts);
        }
        changed |= plain(&mut control.vars, &mut control.body.stmts);
    }
    for function in &mut program.functions {
        changed |= match function.returns {
            Type::Void => plain(&mut function.vars, &mut function.body.stmts),
            _ => valued(&mut function.vars, &function.returns, &mut function.body.stmts),
        };
    }
    Changed(changed)
}

/// A body whose `return` gives nothing.
fn plain(vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>) -> bool {
    leave(vars, stmts, &|stmt| matches!(stmt.kind, StmtKind::Return(None)).then(Vec::new))
}

/// The body of a function: the value goes to a variable, which is returned in the end.
fn valued(vars: &mut Vec<Var>, ty: &Type, stmts: &mut Vec<Stmt>) -> bool {
    let mut returns = 0u32;
    crate::walk::all_stmts(stmts, &mut |stmt| returns += u32::from(matches!(stmt.kind, StmtKind::Return(_))));
    let is_last = matches!(stmts.last(), Some(Stmt { kind: StmtKind::Return(_), .. }));
    if returns == 1 && is_last {
        return false;
    }
    let result = build::local(vars, "result", ty.clone(), Span::NONE);
    let place = build::var_of(vars, result).at(Span::NONE);
    leave(vars, stmts, &|stmt| match &stmt.kind {
        StmtKind::Return(Some(value)) => {
            Some(vec![build::assign(place.clone(), value.clone()).at(stmt.span)])
        }
        _ => None,
    });
    stmts.insert(0, build::declare(result, None).at(Span::NONE));
    stmts.push(Stmt::new(StmtKind::Return(Some(place))));
    true
}

fn leave(vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>, taken: &dyn Fn(&Stmt) -> Option<Vec<Stmt>>) -> bool {
    let mut jumps = Jumps {
        taken,
        may_raise: &|_| false,
        through_loops: true,
        is_flag_read: false,
        flag: None,
        name: "has_returned",
        vars,
    };
    let changed = jumps.body(stmts);
    if let Some(flag) = jumps.flag {
        stmts.insert(0, build::declare(flag, Some(build::bool(false).at(Span::NONE))).at(Span::NONE));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn structure_suffices() {
        let before = control("", "", "if (x == 8w0) { x = 8w1; return; } x = 8w2;");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
              }
              apply {
                if (x == 8w0x0) {
                  x = 8w0x1;
                } else {
                  x = 8w0x2;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, eliminate_returns));
    }

    #[test]
    fn a_flag_where_two_ways_lead_on() {
        let before = control("", "", "if (x == 8w0) { if (x == 8w1) { return; } x = 8w3; } x = 8w2;");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool has_returned;
              }
              apply {
                var has_returned = false;
                if (x == 8w0x0) {
                  if (x == 8w0x1) {
                    has_returned = true;
                  } else {
                    x = 8w0x3;
                  }
                }
                if (!has_returned) {
                  x = 8w0x2;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, eliminate_returns));
    }

    #[test]
    fn a_region_keeps_its_code() {
        let before = control("", "", "@region(\"A\") { if (x == 8w0) { return; } x = 8w1; } x = 8w2;");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool has_returned;
              }
              apply {
                var has_returned = false;
                @region("A") {
                  if (x == 8w0x0) {
                    has_returned = true;
                  } else {
                    x = 8w0x1;
                  }
                }
                if (!has_returned) {
                  x = 8w0x2;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, eliminate_returns));
    }

    #[test]
    fn out_of_a_loop() {
        let before = "function f(n) -> bit<8> { vars { in bit<8> n; local bit<8> i; } body {
            for (i in 8w0 .. 8w9) { if (i == n) { return i; } } return 8w10; } }";
        expect![[r#"
            function f(n) -> bit<8> {
              vars {
                in bit<8> n;
                local bit<8> i;
                local bit<8> result;
                local bool has_returned;
              }
              body {
                var result;
                var has_returned = false;
                for (i in 8w0x0 .. 8w0x9) {
                  if (i == n) {
                    result = i;
                    has_returned = true;
                    break;
                  }
                }
                if (!has_returned) {
                  result = 8w0xa;
                }
                return result;
              }
            }
        "#]]
        .assert_eq(&after(before, eliminate_returns));
    }

    #[test]
    fn many_returns_do_not_nest_without_end() {
        let one = "if (x == 8w0) { return; } x = x + 8w1; ";
        let text = after(&control("", "", &one.repeat(500)), eliminate_returns);
        let deepest = text.lines().map(|line| line.len() - line.trim_start().len()).max();
        assert!(deepest.is_some_and(|spaces| spaces < 80), "{deepest:?}");
    }
}
