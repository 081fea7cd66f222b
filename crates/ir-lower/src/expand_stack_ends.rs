//! `expand-stack-ends`: `last` and `next` become elements with an index that is checked first.
//!
//! Before: `x = hdr.s.last.a;`
//! After:  `index = hdr.s.lastIndex; verify(index < 2, error.StackOutOfBounds); x = hdr.s[index].a;`
//!
//! Requires `hoist-effects`, `inline-functions`, `hoist-keys`. Ensures: `next` stands only in `extract(stack.next)` and in
//! `extract(stack.next.member)`, which check and count themselves; no `last`. Indices are constants or variables.
//! Why: a parser error is an effect, and expressions have none.

use crate::bind::Caller;
use crate::places::{constant_index, is_place};
use crate::units::{Unit, each_unit};
use crate::{Changed, walk};
use ir::build;
use ir::{Expr, ExprKind, Program, Stmt, StmtKind, Type, Var, visit};

/// See the head of this file.
pub fn expand_stack_ends(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        if let Unit::Parser(parser) = unit {
            for state in &mut parser.states {
                let mut settle = Settle { program, vars: &mut parser.vars, changed: false };
                let out = &mut state.stmts;
                walk::transition_exprs_mut(&mut state.transition, &mut |expr| settle.expr(expr, out));
                changed |= settle.changed;
            }
        }
        let (vars, lists) = unit.lists_mut();
        let mut settle = Settle { program, vars, changed: false };
        for list in lists {
            settle.list(list);
        }
        changed |= settle.changed;
    });
    Changed(changed)
}

struct Settle<'a> {
    program: &'a Program,
    vars: &'a mut Vec<Var>,
    changed: bool,
}

impl Settle<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(stmts) {
            match &mut stmt.kind {
                StmtKind::Extract { header, varbit_bits, .. } => {
                    match &mut header.kind {
                        ExprKind::Next(stack) => self.expr(stack, stmts),
                        ExprKind::Field(base, _) => match &mut base.kind {
                            ExprKind::Next(stack) => self.expr(stack, stmts),
                            _ => self.expr(header, stmts),
                        },
                        _ => self.expr(header, stmts),
                    }
                    varbit_bits.iter_mut().for_each(|bits| self.expr(bits, stmts));
                }
                // The condition is computed before the loop and at the end of each round.
                StmtKind::For { cond, body, .. } if has_index(cond) => {
                    self.changed = true;
                    keep_condition(self.vars, cond, &mut body.stmts, stmts);
                    if let Some(first) = stmts.pop() {
                        let mut first = vec![first];
                        self.list(&mut first);
                        stmts.append(&mut first);
                    }
                }
                _ => walk::own_exprs_mut(&mut stmt, &mut |expr| self.expr(expr, stmts)),
            }
            visit::blocks_mut(&mut stmt, &mut |inner| self.list(&mut inner.stmts));
            stmts.push(stmt);
        }
    }

    fn expr(&mut self, expr: &mut Expr, out: &mut Vec<Stmt>) {
        if is_place(expr) {
            walk_indices(expr, &mut |index| self.expr(index, out));
            let before = out.len();
            Caller { program: self.program, vars: self.vars, locals: None, copy_all: false, settled: false }
                .settle(expr, out);
            self.changed |= out.len() > before;
            return;
        }
        walk::children(expr).into_iter().for_each(|child| self.expr(child, out));
    }
}

fn has_index(expr: &Expr) -> bool {
    let mut found = false;
    visit::subexprs(expr, &mut |e| {
        found |= match &e.kind {
            ExprKind::Index(_, index) | ExprKind::SlicePlus { start: index, .. } => {
                constant_index(index).is_none()
            }
            ExprKind::Next(_) | ExprKind::Last(_) => true,
            _ => false,
        };
    });
    found
}

/// A condition whose indices must be worked out is computed before each round.
fn keep_condition(vars: &mut Vec<Var>, cond: &mut Expr, body: &mut Vec<Stmt>, out: &mut Vec<Stmt>) {
    let span = cond.span;
    let more = build::local(vars, "more", Type::Bool, span);
    out.push(build::declare(more, None).at(span));
    let more = build::var_of(vars, more).at(span);
    body.push(build::assign(more.clone(), cond.clone()).at(span));
    out.push(build::assign(more.clone(), std::mem::replace(cond, more)).at(span));
}

fn walk_indices(place: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut place.kind {
        ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
            walk_indices(base, f);
            f(index);
        }
        ExprKind::Field(base, _)
        | ExprKind::Next(base)
        | ExprKind::Last(base)
        | ExprKind::Slice { base, .. } => walk_indices(base, f),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::after;
    use expect_test::expect;

    #[test]
    fn last_and_next() {
        let before = "parser P(p, hdr, x) \"P\" { vars { param extern packet_in p; inout headers_t hdr; inout bit<8> x; }
            state start { $extract(p, hdr.s.$next); x = hdr.s.$last.a; x = hdr.s[x + 8w1].b;
                select (hdr.s.$last.b) { (8w1): start; (_): accept; } } }";
        expect![[r#"
            parser P(p, hdr, x) "P" {
              vars {
                param extern packet_in p;
                inout headers_t hdr;
                inout bit<8> x;
                local bit<32> `index$`;
                local bit<32> `index$`;
                local bit<8> `index$`;
              }
              state start {
                $extract(p, hdr.s.$next);
                var `index$`#4 = hdr.s.$lastIndex;
                $verify(`index$`#4 < 32w0x2, error::StackOutOfBounds);
                x = hdr.s[`index$`#4].a;
                var `index$`#5 = x + 8w0x1;
                x = hdr.s[`index$`#5].b;
                var `index$`#3 = hdr.s.$lastIndex;
                $verify(`index$`#3 < 32w0x2, error::StackOutOfBounds);
                select (hdr.s[`index$`#3].b) {
                  (8w0x1): start;
                  (_): accept;
                }
              }
            }
        "#]]
        .assert_eq(&after(before, expand_stack_ends));
    }
}
