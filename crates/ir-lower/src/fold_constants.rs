//! `fold-constants`: constant expressions are computed, and branches that are never taken are removed.
//!
//! Before: `if (8w1 + 8w2 == 8w3 && c) { a; } else { b; } x = y & 8w0xff; z = y << 8w0;`
//! After:  `if (c) { a; } else { b; } x = y; z = y;`
//!
//! Requires `hoist-effects`: expressions only read. Ensures: no operator on constants of `bit`, `int` and `bool` alone, no
//! branch or loop on a constant but `for (; true; )` and branches around regions, where frames may start; nothing that is
//! assigned to itself.
//! Why: generated and inlined code is full of constants.

use crate::units::each_unit;
use crate::{Changed, walk};
use base_bits::Bits;
use ir::{
    BinaryOp, Const, Expr, ExprKind, Program, Stmt, StmtKind, SwitchLabel, SwitchOn, Type, UnaryOp, visit,
};
use std::cmp::Ordering;

/// See the head of this file.
pub fn fold_constants(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |_, unit| {
        for list in unit.lists_mut().1 {
            walk::all_stmts_mut(list, &mut |stmt| changed |= in_stmt(stmt));
            changed |= branches(list);
        }
    });
    Changed(changed)
}

/// Arguments of externs stay: hashes and checksums leave fields of invalid headers out, but not computed values.
fn in_stmt(stmt: &mut Stmt) -> bool {
    let is_call = match &stmt.kind {
        StmtKind::Call(_) => true,
        StmtKind::Assign(_, value) | StmtKind::Declare(_, Some(value)) => {
            matches!(value.kind, ExprKind::Call(_))
        }
        _ => false,
    };
    let mut changed = false;
    if !is_call {
        walk::own_exprs_mut(stmt, &mut |expr| walk::subexprs_up(expr, &mut |e| changed |= fold(e)));
    }
    changed
}

fn branches(stmts: &mut Vec<Stmt>) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| changed |= branches(&mut inner.stmts));
        let span = stmt.span;
        let taken = match &mut stmt.kind {
            StmtKind::If(cond, yes, no) => {
                // A branch with a region stays, even if it is dead: the region keeps its name for maps and messages.
                let known = truth(cond).filter(|cond| !has_region(if *cond { no } else { yes }));
                known.map(|cond| std::mem::take(if cond { yes } else { no }))
            }
            StmtKind::For { init, cond, .. } if init.is_empty() && truth(cond) == Some(false) => {
                Some(ir::Block::default())
            }
            StmtKind::Switch(SwitchOn::Value(Expr { kind: ExprKind::Const(on), .. }), cases)
                if !cases.iter().any(|case| has_region(&case.body)) =>
            {
                let fits = |label: &SwitchLabel| matches!(label, SwitchLabel::Value(value) if value == on);
                let case = cases.iter().position(|case| case.labels.iter().any(fits));
                let case = case.or_else(|| cases.iter().position(ir::SwitchCase::is_default));
                Some(case.map(|case| std::mem::take(&mut cases[case].body)).unwrap_or_default())
            }
            // An assignment of a place to itself has no effect if reading the place has none.
            StmtKind::Assign(place, value) if place == value && crate::places::is_fixed(place) => {
                Some(ir::Block::default())
            }
            _ => None,
        };
        match taken {
            None => stmts.push(stmt),
            Some(mut block) => {
                changed = true;
                // Annotations belong to the block, so a block that has some is kept.
                if block.annotations.is_empty() {
                    stmts.append(&mut block.stmts);
                } else {
                    stmts.push(Stmt { kind: StmtKind::Block(block), span });
                }
            }
        }
    }
    changed
}

/// True if the block is a region, or one is in it.
fn has_region(block: &ir::Block) -> bool {
    let mut found = block.region().is_some();
    for stmt in &block.stmts {
        visit::blocks(stmt, &mut |inner| found |= has_region(inner));
    }
    found
}

fn truth(expr: &Expr) -> Option<bool> {
    match expr.kind {
        ExprKind::Const(Const::Bool(value)) => Some(value),
        _ => None,
    }
}

fn number(expr: &Expr) -> Option<&Bits> {
    match &expr.kind {
        ExprKind::Const(Const::Bits(bits)) => Some(bits),
        _ => None,
    }
}

/// Folds `expr`, its operands being folded.
fn fold(expr: &mut Expr) -> bool {
    let new = match &mut expr.kind {
        ExprKind::Unary(op, operand) => unary(*op, operand),
        ExprKind::Binary(op, left, right) => binary(*op, left, right),
        ExprKind::Ternary(cond, yes, no) => {
            truth(cond).map(|cond| if cond { yes.kind.clone() } else { no.kind.clone() })
        }
        ExprKind::Slice { base, hi, lo } => match number(base) {
            Some(bits) if *lo <= *hi && *hi < bits.width() => {
                Some(ExprKind::Const(Const::Bits(bits.slice(*hi, *lo))))
            }
            None if *lo == 0 && base.ty == Type::Bit(*hi + 1) && base.ty == expr.ty && !is_place(base) => {
                Some(base.kind.clone())
            }
            _ => match &base.kind {
                ExprKind::Slice { base: whole, lo: below, .. } => {
                    Some(ExprKind::Slice { base: whole.clone(), hi: below + *hi, lo: below + *lo })
                }
                _ => None,
            },
        },
        ExprKind::Cast(operand) => match (number(operand), &operand.ty, &expr.ty) {
            (Some(bits), Type::Bit(_), Type::Bit(width)) => {
                Some(ExprKind::Const(Const::Bits(bits.resize(*width))))
            }
            _ if operand.ty == expr.ty => Some(operand.kind.clone()),
            _ => None,
        },
        _ => None,
    };
    match new {
        Some(kind) => {
            expr.kind = kind;
            true
        }
        None => false,
    }
}

/// A slice of a place may be written: it stays.
fn is_place(expr: &Expr) -> bool {
    crate::places::is_place(expr)
}

fn unary(op: UnaryOp, operand: &Expr) -> Option<ExprKind> {
    let bits = |bits: Bits| Some(ExprKind::Const(Const::Bits(bits)));
    match (op, &operand.kind) {
        (UnaryOp::Not, ExprKind::Const(Const::Bool(value))) => Some(ExprKind::Const(Const::Bool(!value))),
        (UnaryOp::Not, ExprKind::Unary(UnaryOp::Not, inner)) => Some(inner.kind.clone()),
        (UnaryOp::BitNot, ExprKind::Const(Const::Bits(value))) => bits(value.not()),
        (UnaryOp::Neg, ExprKind::Const(Const::Bits(value))) => bits(value.neg()),
        _ => None,
    }
}

fn binary(op: BinaryOp, left: &Expr, right: &Expr) -> Option<ExprKind> {
    if let (BinaryOp::And | BinaryOp::Or, a, b) = (op, truth(left), truth(right)) {
        let (one, other) = (a.map(|a| (a, right)), b.map(|b| (b, left)));
        let (known, rest) = one.or(other)?;
        return Some(if known == (op == BinaryOp::And) {
            rest.kind.clone()
        } else {
            ExprKind::Const(Const::Bool(known))
        });
    }
    let unsigned = matches!(left.ty, Type::Bit(_));
    match (number(left), number(right)) {
        (Some(a), Some(b)) if unsigned && matches!(right.ty, Type::Bit(_)) => known(op, a, b),
        (None, Some(b)) if unsigned => identity(op, b).then(|| left.kind.clone()),
        _ => None,
    }
}

/// `a op b` for `bit<N>`.
fn known(op: BinaryOp, a: &Bits, b: &Bits) -> Option<ExprKind> {
    let bits = |bits: Bits| Some(ExprKind::Const(Const::Bits(bits)));
    let bool = |value: bool| Some(ExprKind::Const(Const::Bool(value)));
    if a.width() != b.width() {
        return match op {
            BinaryOp::Concat => bits(a.concat(b)),
            _ => None,
        };
    }
    let order = a.cmp_unsigned(b);
    match op {
        BinaryOp::Add => bits(a.add(b)),
        BinaryOp::Sub => bits(a.sub(b)),
        BinaryOp::Mul => bits(a.mul(b)),
        BinaryOp::BitAnd => bits(a.and(b)),
        BinaryOp::BitOr => bits(a.or(b)),
        BinaryOp::BitXor => bits(a.xor(b)),
        BinaryOp::Concat => bits(a.concat(b)),
        BinaryOp::Eq => bool(order == Ordering::Equal),
        BinaryOp::Ne => bool(order != Ordering::Equal),
        BinaryOp::Lt => bool(order == Ordering::Less),
        BinaryOp::Le => bool(order != Ordering::Greater),
        BinaryOp::Gt => bool(order == Ordering::Greater),
        BinaryOp::Ge => bool(order != Ordering::Less),
        _ => None,
    }
}

/// True if `x op b` is `x`.
fn identity(op: BinaryOp, b: &Bits) -> bool {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::AddSat
        | BinaryOp::SubSat
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Shl
        | BinaryOp::Shr => b.is_zero(),
        BinaryOp::BitAnd => b.width() > 0 && b.not().is_zero(),
        BinaryOp::Mul => b.width() > 0 && *b == Bits::one(b.width()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn values_and_branches() {
        let body = "if (8w1 + 8w2 == 8w3 && c) { x = 8w1; } else { x = 8w2; } x = x & 8w255; x = x << 8w0;
            if (c || true) { x = x + 8w3; } x[6:1][2:1] = x[7:4][1:0]; for { } while (!true) step { } do { x = 8w4; }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool c;
              }
              locals {
                var c;
              }
              apply {
                if (c) {
                  x = 8w0x1;
                } else {
                  x = 8w0x2;
                }
                x = x + 8w0x3;
                x[3:2] = x[5:4];
              }
            }
        "#]]
        .assert_eq(&after(&control("local bool c;", "locals { var c; }", body), fold_constants));
    }

    #[test]
    fn frames_may_start_where_packets_never_come() {
        let body = "if (false) { @region(\"A\") { x = 8w1; } } if (true) { @region(\"B\") { x = 8w2; } }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
              }
              apply {
                if (false) {
                  @region("A") {
                    x = 8w0x1;
                  }
                }
                @region("B") {
                  x = 8w0x2;
                }
              }
            }
        "#]]
        .assert_eq(&after(&control("", "", body), fold_constants));
    }
}
