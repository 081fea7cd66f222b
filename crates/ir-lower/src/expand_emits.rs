//! `expand-emits`: the deparser emits headers one by one.
//!
//! Before: `packet.emit(hdr);`
//! After:  `packet.emit(hdr.ethernet); packet.emit(hdr.tags[0]); packet.emit(hdr.tags[1]); packet.emit(hdr.u.v4);`
//!
//! Ensures: what is emitted is a header in its place.
//! Why: each emit is one test of validity and one piece of bytes.

use crate::expand_structs::{is_split, parts_of};
use crate::places::is_place;
use crate::units::each_unit;
use crate::{Changed, make};
use ir::{Expr, ExprKind, Program, Stmt, StmtKind, Type, Var, visit};

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
    let var = make::local(vars, "emitted", header.ty.clone(), span);
    out.push(make::declare(var, Some(header), span));
    make::var(vars, var, span)
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
                let index = make::bits(32, u128::from(at), span);
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
