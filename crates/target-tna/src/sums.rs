//! Sums of several values, one operation a statement.
//!
//! Before: `sum = a + (16w0 ++ ~b[31:16]) + c + d;`
//! After:  `part0 = ~b[31:16]; part1 = 16w0 ++ part0; part2 = a + part1; part3 = c + d; sum = part2 + part3;`
//!
//! Why: an ALU of a Tofino adds two values that stand as they are in containers. Statements that do not depend on each other share a stage, so sums are added in pairs.

use crate::original::{PART, local, path};
use ir::{BinaryOp, Block, Control, Expr, ExprKind, Program, Stmt, StmtKind, Type, build, visit};

/// Divides the sums of all controls.
pub(crate) fn divide(program: &mut Program) {
    for control in &mut program.controls {
        let mut body = std::mem::take(&mut control.body);
        block(control, &mut body);
        control.body = body;
        for at in 0..control.actions.len() {
            let mut body = std::mem::take(&mut control.actions[at].body);
            block(control, &mut body);
            control.actions[at].body = body;
        }
    }
}

fn block(control: &mut Control, block: &mut Block) {
    let stmts = std::mem::take(&mut block.stmts);
    for mut stmt in stmts {
        visit::blocks_mut(&mut stmt, &mut |inner| self::block(control, inner));
        let value = match &mut stmt.kind {
            StmtKind::Assign(_, value) | StmtKind::Declare(_, Some(value)) => value,
            _ => {
                block.stmts.push(stmt);
                continue;
            }
        };
        if is_divided(value) {
            let mut before = vec![];
            simplify(control, value, &mut before);
            block.stmts.extend(before.into_iter().map(|part| part.at(stmt.span)));
        }
        block.stmts.push(stmt);
    }
}

/// True for a sum within another operation, or of a value that has to be put together.
fn is_divided(value: &Expr) -> bool {
    let (mut sums, mut operations, mut calls) = (0, 0, false);
    visit::subexprs(value, &mut |part| match &part.kind {
        ExprKind::Binary(op, left, right) => {
            operations += 1;
            if is_sum(*op, &part.ty) {
                sums += 1;
                operations += usize::from(!is_plain(left)) + usize::from(!is_plain(right));
            }
        }
        ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) | ExprKind::Ternary(..) => {
            calls = true;
        }
        _ => {}
    });
    sums > 0 && operations > 1 && !calls
}

fn is_sum(op: BinaryOp, ty: &Type) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub) && matches!(ty, Type::Bit(_))
}

/// True for a value that an ALU reads as it is.
fn is_plain(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Const(_)) || path(value).is_some()
}

/// Makes `value` one operation of values that are known; `before` computes them.
fn simplify(control: &mut Control, value: &mut Expr, before: &mut Vec<Stmt>) {
    if let ExprKind::Binary(BinaryOp::Add, ..) = value.kind
        && is_sum(BinaryOp::Add, &value.ty)
    {
        let mut parts = vec![];
        add_parts(value, &mut parts);
        parts.iter_mut().for_each(|part| take_out(control, part, before));
        while parts.len() > 2 {
            let mut pairs = vec![];
            let mut rest = parts.into_iter();
            while let Some(left) = rest.next() {
                pairs.push(match rest.next() {
                    Some(right) => {
                        let mut sum = build::add(left, right);
                        keep(control, &mut sum, before);
                        sum
                    }
                    None => left,
                });
            }
            parts = pairs;
        }
        let mut parts = parts.into_iter();
        if let (Some(left), Some(right)) = (parts.next(), parts.next()) {
            value.kind = build::add(left, right).kind;
        }
        return;
    }
    // Bits that are put together are one operation.
    let is_whole = matches!(value.kind, ExprKind::Cast(_) | ExprKind::Slice { .. })
        || matches!(value.kind, ExprKind::Binary(BinaryOp::Concat, ..));
    visit::parts_mut(value, &mut |part| {
        let is_slice = matches!(&part.kind, ExprKind::Slice { base, .. } if is_plain(base));
        let computes = matches!(part.kind, ExprKind::Binary(..) | ExprKind::Unary(..));
        if computes || !is_whole && !is_slice {
            take_out(control, part, before);
        }
    });
}

/// The values that a sum adds.
fn add_parts(sum: &Expr, parts: &mut Vec<Expr>) {
    match &sum.kind {
        ExprKind::Binary(BinaryOp::Add, left, right) => {
            add_parts(left, parts);
            add_parts(right, parts);
        }
        _ => parts.push(sum.clone()),
    }
}

/// Computes a value before, unless it is plain.
fn take_out(control: &mut Control, value: &mut Expr, before: &mut Vec<Stmt>) {
    if !is_plain(value) {
        simplify(control, value, before);
        keep(control, value, before);
    }
}

/// Puts a value into a variable.
fn keep(control: &mut Control, value: &mut Expr, before: &mut Vec<Stmt>) {
    let place = local(control, PART, &value.ty);
    let value = std::mem::replace(value, place.clone());
    before.push(build::assign(place, value));
}
