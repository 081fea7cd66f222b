//! `flatten-blocks`: nested blocks without annotations become part of their blocks.
//!
//! Before: `{ a; { b; } } if (c) { } else { d; }`
//! After:  `a; b; if (!c) { d; }`
//!
//! Requires `hoist-locals`, `hoist-keys`: conditions only read. Ensures: a nested block has an annotation (a region, say); an `if` has something to do when its
//! condition holds.
//! Why: fewer shapes.

use crate::Changed;
use crate::units::each_unit;
use ir::build;
use ir::{ExprKind, Program, Stmt, StmtKind, UnaryOp, visit};

/// See the head of this file.
pub fn flatten_blocks(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |_, unit| {
        for list in unit.lists_mut().1 {
            changed |= flatten(list);
        }
    });
    Changed(changed)
}

fn flatten(stmts: &mut Vec<Stmt>) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| changed |= flatten(&mut inner.stmts));
        let span = stmt.span;
        match stmt.kind {
            StmtKind::Block(mut block) if block.annotations.is_empty() => {
                changed = true;
                stmts.append(&mut block.stmts);
            }
            StmtKind::If(_, yes, no) if is_nothing(&yes) && is_nothing(&no) => changed = true,
            StmtKind::If(cond, yes, no) if is_nothing(&yes) => {
                changed = true;
                let cond = match cond.kind {
                    ExprKind::Unary(UnaryOp::Not, inner) => *inner,
                    _ => build::not(cond),
                };
                stmts.push(Stmt { kind: StmtKind::If(cond, no, yes), span });
            }
            kind => stmts.push(Stmt { kind, span }),
        }
    }
    changed
}

fn is_nothing(block: &ir::Block) -> bool {
    block.stmts.is_empty() && block.annotations.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn blocks_and_arms() {
        let body = "{ x = 8w1; { x = 8w2; } } @region(\"R\") { { x = 8w3; } } if (x == 8w0) { } else { x = 8w4; } if (x == 8w1) { { } }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
              }
              apply {
                x = 8w0x1;
                x = 8w0x2;
                @region("R") {
                  x = 8w0x3;
                }
                if (!(x == 8w0x0)) {
                  x = 8w0x4;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("", "", body), flatten_blocks));
    }
}
