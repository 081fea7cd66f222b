//! `expand-emits`: the deparser emits headers one by one.
//!
//! Before: `packet.emit(hdr);`
//! After:  `packet.emit(hdr.ethernet); packet.emit(hdr.tags[0]); packet.emit(hdr.tags[1]); packet.emit(hdr.u.v4);`
//!
//! Ensures: every emitted value is a header.
//! Why: each emit is one test of validity and one sequence of bytes.

use crate::Changed;
use crate::expand_structs::{is_split, parts_of};
use crate::places::is_place;
use crate::units::each_unit;
use ir::build;
use ir::{ControlId, Expr, ExprKind, Program, Stmt, StmtKind, Type, Var, visit};

/// See the head of this file.
pub fn expand_emits(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        let (vars, lists) = unit.lists_mut();
        for list in lists {
            changed |= expand(program, vars, list);
        }
    });
    Changed(changed)
}

/// Emits the members of structs one by one in one deparser, so that fields added to its headers struct are not emitted
/// with them. Stacks and unions stay whole.
pub fn expand_struct_emits(program: &mut Program, id: ControlId) {
    let mut body = std::mem::take(&mut program.controls[id.index()].body);
    for stmt in std::mem::take(&mut body.stmts) {
        match &stmt.kind {
            StmtKind::Emit(packet, value) => {
                let mut headers = vec![];
                parts(program, value, &|ty| program.is_struct(ty), &mut headers);
                let emit = |header| build::stmt(StmtKind::Emit(*packet, header)).at(stmt.span);
                body.stmts.extend(headers.into_iter().map(emit));
            }
            _ => body.stmts.push(stmt),
        }
    }
    program.controls[id.index()].body = body;
}

/// The parts of a value as long as `opens` says so of their types, in declaration order.
fn parts(program: &Program, value: &Expr, opens: &dyn Fn(&Type) -> bool, out: &mut Vec<Expr>) {
    if !opens(&value.ty) {
        return out.push(value.clone());
    }
    parts_of(program, value).iter().for_each(|part| parts(program, part, opens, out));
}

fn expand(program: &Program, vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| changed |= expand(program, vars, &mut inner.stmts));
        match &stmt.kind {
            StmtKind::Emit(packet, value) if !program.is_header(&value.ty) || !is_place(value) => {
                changed = true;
                let mut headers = vec![];
                headers_of(program, value, &mut headers);
                for header in headers {
                    let header = if is_place(&header) { header } else { keep(vars, header, stmts) };
                    stmts.push(Stmt { kind: StmtKind::Emit(*packet, header), span: stmt.span });
                }
            }
            _ => stmts.push(stmt),
        }
    }
    changed
}

/// A header that is made for the emit.
fn keep(vars: &mut Vec<Var>, header: Expr, out: &mut Vec<Stmt>) -> Expr {
    let span = header.span;
    let var = build::local(vars, "emitted", header.ty.clone(), span);
    out.push(build::declare(var, Some(header)).at(span));
    build::var_of(vars, var).at(span)
}

/// The headers of a value, in the order in which they are emitted.
pub fn headers_of(program: &Program, value: &Expr, out: &mut Vec<Expr>) {
    let span = value.span;
    match (&value.kind, &value.ty) {
        (ExprKind::Aggregate(parts), ty) if !program.is_header(ty) => {
            parts.iter().for_each(|part| headers_of(program, part, out));
        }
        (_, Type::Stack(elem, size)) => {
            for at in 0..*size {
                let index = build::bits(32, u64::from(at)).at(span);
                let kind = ExprKind::Index(Box::new(value.clone()), Box::new(index));
                headers_of(program, &Expr { kind, ty: elem.as_ref().clone(), span }, out);
            }
        }
        (_, ty) if is_split(program, ty) => {
            parts_of(program, value).iter().for_each(|part| headers_of(program, part, out));
        }
        _ => out.push(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::after;
    use expect_test::expect;

    #[test]
    fn only_structs() {
        let before = "control D(p, hdr) \"D\" { vars { param extern packet_out p; in headers_t hdr; } apply { $emit(p, hdr); } }";
        let expand = |program: &mut Program| {
            expand_struct_emits(program, ControlId(0));
            Changed(true)
        };
        expect![[r#"
            control D(p, hdr) "D" {
              vars {
                param extern packet_out p;
                in headers_t hdr;
              }
              apply {
                $emit(p, hdr.h);
                $emit(p, hdr.g);
                $emit(p, hdr.s);
                $emit(p, hdr.u);
              }
            }
        "#]]
        .assert_eq(&after(before, expand));
    }

    #[test]
    fn a_struct_with_a_stack_and_a_union() {
        let before = "control D(p, hdr) \"D\" { vars { param extern packet_out p; in headers_t hdr; } apply { $emit(p, hdr); } }";
        expect![[r#"
            control D(p, hdr) "D" {
              vars {
                param extern packet_out p;
                in headers_t hdr;
              }
              apply {
                $emit(p, hdr.h);
                $emit(p, hdr.g);
                $emit(p, hdr.s[32w0x0]);
                $emit(p, hdr.s[32w0x1]);
                $emit(p, hdr.u.x);
                $emit(p, hdr.u.y);
              }
            }
        "#]]
        .assert_eq(&after(before, expand_emits));
    }
}
