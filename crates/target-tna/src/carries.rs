//! Ones' complement sums with a constant, without a number that is one bit wider.
//!
//! Before: `bit<17> sum = (bit<17>)hdr.ipv4.sum + 256; hdr.ipv4.sum = sum[15:0] + (bit<16>)sum[16:16];`
//! After:  `hdr.ipv4.sum = hdr.ipv4.sum + 256; if (hdr.ipv4.sum < 256) { hdr.ipv4.sum = hdr.ipv4.sum + 1; }`
//!
//! The sum is less than the constant if it has a carry. Why: an ALU of a Tofino adds numbers of 8, 16 or 32 bits, and does not add a bit of one to another.

use crate::original::path;
use base_bits::Bits;
use ir::{
    BinaryOp, Block, Const, Control, Expr, ExprKind, Program, Stmt, StmtKind, Type, VarId, build, visit,
};

/// Replaces the sums of all controls.
pub(crate) fn replace(program: &mut Program) {
    for control in &mut program.controls {
        let old = control.clone();
        let bodies = control.actions.iter_mut().map(|action| &mut action.body).chain([&mut control.body]);
        bodies.for_each(|body| block(&old, body));
    }
}

fn block(control: &Control, block: &mut Block) {
    let stmts = &mut block.stmts;
    for at in 1..stmts.len() {
        let Some(sum) = Sum::of(&stmts[at - 1], &stmts[at]) else { continue };
        let own = Block { annotations: vec![], stmts: stmts[at - 1..=at].to_vec() };
        if uses_of(control, sum.wide) == uses(&own, sum.wide) {
            let span = stmts[at].span;
            let [add, carry] = sum.stmts();
            stmts[at - 1] = add.at(span);
            stmts[at] = carry.at(span);
        }
    }
    for stmt in stmts {
        visit::blocks_mut(stmt, &mut |inner| self::block(control, inner));
    }
}

/// The number of mentions of a variable in a control.
fn uses_of(control: &Control, var: VarId) -> usize {
    let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
    let mut found = bodies.map(|body| uses(body, var)).sum();
    let keys = control.tables.iter().flat_map(|table| &table.keys).map(|key| &key.expr);
    keys.for_each(|key| visit::subexprs(key, &mut |part| found += usize::from(is(part, var))));
    found
}

fn uses(block: &Block, var: VarId) -> usize {
    let mut found = 0;
    visit::all_exprs(block, &mut |part| found += usize::from(is(part, var)));
    found
}

fn is(expr: &Expr, var: VarId) -> bool {
    matches!(expr.kind, ExprKind::Var(id) if id == var)
}

struct Sum {
    /// The variable that is one bit wider.
    wide: VarId,
    value: Expr,
    constant: Expr,
    place: Expr,
}

impl Sum {
    /// The sum that two statements compute.
    fn of(first: &Stmt, second: &Stmt) -> Option<Sum> {
        let (wide, sum) = match &first.kind {
            StmtKind::Declare(wide, Some(sum)) => (*wide, sum),
            StmtKind::Assign(place, sum) => match place.kind {
                ExprKind::Var(wide) => (wide, sum),
                _ => return None,
            },
            _ => return None,
        };
        let (value, constant) = either(sum, |value, constant| {
            let ExprKind::Cast(value) = &value.kind else { return None };
            let ExprKind::Const(Const::Bits(constant)) = &constant.kind else { return None };
            Some((value.as_ref().clone(), constant.clone()))
        })?;
        let (Type::Bit(bits), Type::Bit(all)) = (&value.ty, &sum.ty) else { return None };
        let bits = *bits;
        let constant = constant.to_u128().filter(|_| *all == bits + 1 && bits < 128)?;
        if constant >> bits != 0 {
            return None;
        }
        let StmtKind::Assign(place, folded) = &second.kind else { return None };
        path(place)?;
        let is_slice = |expr: &Expr, high: u32, low: u32| match &expr.kind {
            ExprKind::Slice { base, hi, lo } => {
                (*hi, *lo) == (high, low) && matches!(base.kind, ExprKind::Var(id) if id == wide)
            }
            _ => false,
        };
        either(folded, |low, carry| {
            let ExprKind::Cast(carry) = &carry.kind else { return None };
            (is_slice(low, bits - 1, 0) && is_slice(carry, bits, bits)).then_some(())
        })?;
        let constant = ExprKind::Const(Const::Bits(Bits::new(bits, constant)));
        let constant = build::expr(constant, value.ty.clone());
        Some(Sum { wide, value, constant, place: place.clone() })
    }

    fn stmts(self) -> [Stmt; 2] {
        let Sum { value, constant, place, .. } = self;
        let one = build::expr(
            ExprKind::Const(Const::Bits(Bits::one(if let Type::Bit(bits) = value.ty { bits } else { 1 }))),
            value.ty.clone(),
        );
        let has_carry = build::less(place.clone(), constant.clone());
        let carry = build::assign(place.clone(), build::add(place.clone(), one));
        [build::assign(place, build::add(value, constant)), build::if_then(has_carry, vec![carry])]
    }
}

/// The result of `f` for the operands of a sum, in one order or the other.
fn either<T>(sum: &Expr, f: impl Fn(&Expr, &Expr) -> Option<T>) -> Option<T> {
    let ExprKind::Binary(BinaryOp::Add, left, right) = &sum.kind else { return None };
    f(left, right).or_else(|| f(right, left))
}
