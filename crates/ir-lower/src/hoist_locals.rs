//! `hoist-locals`: variables are declared beside a body, and their initial values are assigned.
//!
//! Before: `state next { bit<8> n; n = n + x; transition next; }`
//! After:  `bit<8> n; state next { n = 0; n = n + x; transition next; }`
//!
//! Ensures: declarations stand only beside bodies (in functions: first), with constants or nothing. A variable whose
//! declaration may run again is set to zero where it stood.
//! Why: nothing depends on scopes, and parser states can be cut in pieces.

use crate::cycles::on_cycles;
use crate::units::{Unit, before_start, each_unit, targets};
use crate::{Changed, zero};
use ir::build;
use ir::{ControlId, Expr, ExprKind, Parser, Program, StateRef, Stmt, StmtKind, Var, visit};

/// See the head of this file.
pub fn hoist_locals(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        let mut hoist = Hoist { program, into_loops: true, locals: vec![], changed: false };
        match unit {
            Unit::Control(control) => {
                // One packet may run an action several times.
                for action in &mut control.actions {
                    hoist.list(&mut control.vars, &mut action.body.stmts, true);
                }
                hoist.list(&mut control.vars, &mut control.body.stmts, false);
                let inits = take_values(&control.vars, &mut control.locals, is_computed);
                hoist.changed |= !inits.is_empty();
                control.body.stmts.splice(0..0, inits);
                control.locals.append(&mut hoist.locals);
            }
            Unit::Parser(parser) => {
                let again = visited_again(parser);
                for (state, again) in parser.states.iter_mut().zip(again) {
                    hoist.list(&mut parser.vars, &mut state.stmts, again);
                }
                let inits = take_values(&parser.vars, &mut parser.locals, is_computed);
                hoist.changed |= !inits.is_empty();
                before_start(parser, inits);
                parser.locals.append(&mut hoist.locals);
            }
            Unit::Function(function) => {
                let is_declaration = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Declare(_, None));
                let first = function.body.stmts.iter().take_while(|stmt| is_declaration(stmt)).count();
                let mut rest = function.body.stmts.split_off(first);
                hoist.list(&mut function.vars, &mut rest, false);
                function.body.stmts.append(&mut hoist.locals);
                function.body.stmts.append(&mut rest);
            }
        }
        changed |= hoist.changed;
    });
    Changed(changed)
}

/// Hoists the variables of one control's body, so that it can be cut anywhere outside of its loops: their initial
/// values, constants included, are assigned in the body. Variables of loops stay where they are.
pub fn hoist_body(program: &mut Program, id: ControlId) {
    let mut control = program.control(id).clone();
    let mut hoist = Hoist { program, into_loops: false, locals: vec![], changed: false };
    hoist.list(&mut control.vars, &mut control.body.stmts, false);
    let inits = take_values(&control.vars, &mut control.locals, |_| true);
    control.body.stmts.splice(0..0, inits);
    control.locals.append(&mut hoist.locals);
    program.controls[id.index()] = control;
}

struct Hoist<'a> {
    program: &'a Program,
    into_loops: bool,
    locals: Vec<Stmt>,
    changed: bool,
}

impl Hoist<'_> {
    /// `again`: the statements may run several times.
    fn list(&mut self, vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>, again: bool) {
        for mut stmt in std::mem::take(stmts) {
            let span = stmt.span;
            let is_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
            if is_loop && !self.into_loops {
                stmts.push(stmt);
                continue;
            }
            visit::blocks_mut(&mut stmt, &mut |inner| self.list(vars, &mut inner.stmts, again || is_loop));
            let StmtKind::Declare(var, init) = stmt.kind else {
                stmts.push(stmt);
                continue;
            };
            self.changed = true;
            self.locals.push(build::declare(var, None).at(span));
            let place = build::var_of(vars, var).at(span);
            match init {
                Some(init) => stmts.push(build::assign(place, init).at(span)),
                // Each time the declaration is executed, the variable starts from zero.
                None if again => {
                    let mut zero = vec![];
                    zero::zero_place(self.program, vars, &place, &mut zero);
                    for stmt in zero {
                        match stmt.kind {
                            StmtKind::Declare(..) => self.locals.push(stmt),
                            _ => stmts.push(stmt),
                        }
                    }
                }
                None => {}
            }
        }
    }
}

fn is_computed(value: &Expr) -> bool {
    !matches!(value.kind, ExprKind::Const(_))
}

/// The values of declarations that are `wanted`, as assignments.
fn take_values(vars: &[Var], locals: &mut [Stmt], wanted: fn(&Expr) -> bool) -> Vec<Stmt> {
    let mut out = vec![];
    for local in locals {
        let StmtKind::Declare(var, init) = &mut local.kind else { continue };
        if let Some(value) = init.take_if(|value| wanted(value)) {
            out.push(build::assign(build::var_of(vars, *var).at(local.span), value).at(local.span));
        }
    }
    out
}

/// For each state whether it may be visited again.
fn visited_again(parser: &Parser) -> Vec<bool> {
    let next: Vec<Vec<usize>> = parser
        .states
        .iter()
        .map(|state| {
            let states = targets(&state.transition).into_iter().filter_map(|target| match target {
                StateRef::State(id) => Some(id.index()).filter(|id| *id < parser.states.len()),
                StateRef::Accept | StateRef::Reject => None,
            });
            states.collect()
        })
        .collect();
    on_cycles(&next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn variables_of_a_body_and_of_a_loop() {
        let vars = "local bit<8> y; local bit<8> z;";
        let body = "var y = x; for { } while (y != 8w0) step { } do { var z; z = z + y; y = z; }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> y;
                local bit<8> z;
              }
              locals {
                var y;
                var z;
              }
              apply {
                y = x;
                for {
                } while (y != 8w0x0) step {
                } do {
                  z = 8w0x0;
                  z = z + y;
                  y = z;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, "", body), hoist_locals));
    }

    /// The form that a cut needs: every value is assigned in the body, and loops stay unchanged.
    #[test]
    fn one_body_outside_of_its_loops() {
        let vars = "local bit<8> y; local bit<8> z;";
        let body = "var y = 8w1; for { } while (y != 8w0) step { } do { var z; z = z + y; y = z; }";
        let hoist = |program: &mut Program| {
            hoist_body(program, ControlId(0));
            Changed(true)
        };
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> y;
                local bit<8> z;
              }
              locals {
                var y;
              }
              apply {
                y = 8w0x1;
                for {
                } while (y != 8w0x0) step {
                } do {
                  var z;
                  z = z + y;
                  y = z;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, "", body), hoist));
    }

    #[test]
    fn a_state_that_is_visited_again() {
        let before = "parser P(x) \"P\" { vars { inout bit<8> x; local bit<8> n; local bit<8> m; }
            state start { var m; x = m; goto next; }
            state next { var n; n = n + x; x = n; select (x) { (8w0): accept; (_): next; } } }";
        expect![[r#"
            parser P(x) "P" {
              vars {
                inout bit<8> x;
                local bit<8> n;
                local bit<8> m;
              }
              locals {
                var m;
                var n;
              }
              state start {
                x = m;
                goto next;
              }
              state next {
                n = 8w0x0;
                n = n + x;
                x = n;
                select (x) {
                  (8w0x0): accept;
                  (_): next;
                }
              }
            }
        "#]]
        .assert_eq(&after(before, hoist_locals));
    }
}
