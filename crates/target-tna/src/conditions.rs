//! Conditions that a stage cannot decide at once.
//!
//! ```text
//! Before: if (hdr.ip.dst < hdr.ip.src || hdr.ip.src == hdr.ip.dst && hdr.udp.dst < hdr.udp.src) { ... }
//! After:  bit<32> order0 = hdr.ip.src |-| hdr.ip.dst; bit<16> order1 = hdr.udp.src |-| hdr.udp.dst;
//!         bit<8> holds0 = 0; if (order0 != 0) { holds0 = 1; } ...
//!         if (holds0 == 1 || holds1 == 1 && holds2 == 1) { ... }
//! ```
//!
//! ```text
//! Before: meta.class = count <= budget ? class : 7;
//! After:  if (count <= budget) { meta.class = class; } else { meta.class = 7; }, with the condition as above
//! ```
//!
//! Why: a condition of a Tofino compares values with constants, or two values for equality, and takes at most 44 bits of a packet, or 12 for a range. Differences that end at 0 say which
//! of two values is larger. An instruction has no condition.

use crate::original::{ORDER, local, path};
use ir::{
    BinaryOp, Block, Const, Control, Expr, ExprKind, Program, Stmt, StmtKind, Type, UnaryOp, VarId, build,
    visit,
};
use std::collections::BTreeMap;

/// Bits that a condition takes.
const MOST_BITS: u64 = 44;
/// Bits of a value whose range a condition compares.
const RANGE_BITS: u32 = 12;
/// Bits of a result, if the condition has room for them: a container of its own. Results of one bit share one, and a stage writes a container once.
const FLAG_BITS: u32 = 8;
/// Widths that an ALU subtracts with saturation.
const ALU_BITS: [u32; 3] = [8, 16, 32];

/// Divides the conditions of all controls.
pub(crate) fn divide(program: &mut Program) {
    let old = program.clone();
    for control in &mut program.controls {
        let mut body = std::mem::take(&mut control.body);
        Divide { program: &old, control }.block(&mut body);
        control.body = body;
    }
}

struct Divide<'p> {
    program: &'p Program,
    control: &'p mut Control,
}

impl Divide<'_> {
    fn block(&mut self, block: &mut Block) {
        let stmts = std::mem::take(&mut block.stmts);
        for mut stmt in stmts {
            choose(&mut stmt);
            visit::blocks_mut(&mut stmt, &mut |inner| self.block(inner));
            if let StmtKind::If(condition, ..) = &mut stmt.kind {
                block.stmts.append(&mut self.condition(condition));
            }
            block.stmts.push(stmt);
        }
    }

    /// Simplifies a condition. Returns the statements before it.
    fn condition(&mut self, condition: &mut Expr) -> Vec<Stmt> {
        let mut before = vec![];
        let mut is_known = true;
        visit::subexprs(condition, &mut |part| {
            is_known &=
                !matches!(part.kind, ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_));
        });
        if !is_known {
            return before;
        }
        leaves(condition, &mut |leaf| self.order(leaf, &mut before));
        if self.bits(condition) > MOST_BITS {
            let mut bits = 0;
            leaves(condition, &mut |leaf| bits += if self.bits(leaf) > 1 { u64::from(FLAG_BITS) } else { 1 });
            let flag_bits = if bits > MOST_BITS { 1 } else { FLAG_BITS };
            leaves(condition, &mut |leaf| self.flag(leaf, flag_bits, &mut before));
        }
        before
    }

    /// Makes a comparison of two values by their order one of their difference with 0.
    fn order(&mut self, leaf: &mut Expr, before: &mut Vec<Stmt>) {
        let ExprKind::Binary(op, left, right) = &leaf.kind else { return };
        let Type::Bit(bits) = *self.program.representation(&left.ty) else { return };
        if !ALU_BITS.contains(&bits) {
            return;
        }
        let (more, less, mut is_more) = match op {
            BinaryOp::Lt => (right, left, true),
            BinaryOp::Gt => (left, right, true),
            BinaryOp::Le => (left, right, false),
            BinaryOp::Ge => (right, left, false),
            _ => return,
        };
        let ty = Type::Bit(bits);
        let value = |of: &Expr| if of.ty == ty { of.clone() } else { build::cast(of.clone(), ty.clone()) };
        let (more, less) = match (constant(more), constant(less)) {
            (None, None) => (value(more), value(less)),
            // A range whose border is a power of two is a prefix, and others take few bits.
            (None, Some(limit)) if !(limit + 1).is_power_of_two() && bits > RANGE_BITS => {
                (value(more), value(less))
            }
            (Some(limit), None) if limit > 0 && !limit.is_power_of_two() && bits > RANGE_BITS => {
                is_more = !is_more;
                (value(less), build::bits(bits, limit - 1))
            }
            _ => return,
        };
        let difference = build::binary(BinaryOp::SubSat, more, less, ty.clone());
        let place = local(self.control, ORDER, &ty);
        before.push(build::assign(place.clone(), difference).at(leaf.span));
        let zero = build::bits(bits, 0);
        *leaf = if is_more { build::differs(place, zero) } else { build::equals(place, zero) };
    }

    /// Puts the result of a comparison into a variable.
    fn flag(&mut self, leaf: &mut Expr, bits: u32, before: &mut Vec<Stmt>) {
        if self.bits(leaf) <= 1 {
            return;
        }
        let flag = local(self.control, "holds", &Type::Bit(bits));
        let set = |value: u64| build::assign(flag.clone(), build::bits(bits, value));
        before.push(set(0));
        before.push(build::if_then(leaf.clone(), vec![set(1)]).at(leaf.span));
        *leaf = build::equals(flag, build::bits(bits, 1));
    }

    /// Bits of the values in a condition, each counted once.
    fn bits(&self, condition: &Expr) -> u64 {
        let mut found = BTreeMap::new();
        self.values(condition, &mut found);
        found.values().sum()
    }

    fn values(&self, expr: &Expr, found: &mut BTreeMap<(VarId, Vec<u32>), u64>) {
        let bits = match expr.kind {
            ExprKind::IsValid(_) => 1,
            _ => self.program.bits(&expr.ty).unwrap_or(0),
        };
        let place = match &expr.kind {
            ExprKind::IsValid(header) => path(header),
            ExprKind::Slice { base, .. } => path(base),
            _ => path(expr),
        };
        match place {
            Some(place) => {
                let known = found.entry(place).or_default();
                *known = bits.max(*known);
            }
            None => visit::parts(expr, &mut |part| self.values(part, found)),
        }
    }
}

/// Makes the assignment of a value that depends on a condition two, one in each branch.
fn choose(stmt: &mut Stmt) {
    let StmtKind::Assign(place, value) = &stmt.kind else { return };
    let ExprKind::Ternary(condition, yes, no) = &value.kind else { return };
    let assign = |value: &Expr| vec![build::assign(place.clone(), value.clone()).at(stmt.span)];
    *stmt = build::if_else(Expr::clone(condition), assign(yes), assign(no)).at(stmt.span);
}

fn constant(expr: &Expr) -> Option<u64> {
    if let ExprKind::Const(Const::Bits(bits)) = &expr.kind { bits.to_u64() } else { None }
}

/// Calls `f` with each part of a condition that is no conjunction, alternative or negation.
fn leaves(condition: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut condition.kind {
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
            leaves(left, f);
            leaves(right, f);
        }
        ExprKind::Unary(UnaryOp::Not, inner) => leaves(inner, f),
        _ => f(condition),
    }
}
