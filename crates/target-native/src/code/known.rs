//! Numbers that are known while code is made: no code is made for what they rule out.
//!
//! ```text
//! Before: meta.app = 1;  if (meta.app == 2) { yes } else { no }
//! After:  meta.app = 1;  no
//! ```
//!
//! A variable has a known number where every path to the code gives it the same constant. Zero and one are made once for the function, so that
//! paths that set a variable to the same of them agree.

use super::place::HeaderAt;
use super::wire::ones;
use super::{Code, Made};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Type, Value, types};
use ir::{BinaryOp, Expr, ExprKind, UnaryOp};

/// Zero and one of the types that variables have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits([(Type, [Value; 2]); 3]);

impl Bits {
    /// To be made in a block before all others.
    pub(crate) fn new(b: &mut cranelift_frontend::FunctionBuilder) -> Bits {
        Bits([types::I8, types::I32, types::I64].map(|ty| (ty, [0, 1].map(|bit| b.ins().iconst(ty, bit)))))
    }

    pub(crate) fn get(&self, ty: Type, number: u64) -> Option<Value> {
        let (_, bits) = self.0.iter().find(|(of, _)| *of == ty)?;
        bits.get(usize::try_from(number).ok()?).copied()
    }
}

impl<'a> Code<'a, '_> {
    /// The number that a value of up to 64 bits is known to be.
    pub(crate) fn known_number(&self, value: Value) -> Option<u64> {
        let made = &self.b.func.dfg;
        let value = made.resolve_aliases(value);
        let inst = made.value_def(value).inst()?;
        match made.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                Some(imm.bits() as u64 & ones(made.value_type(value).bits()) as u64)
            }
            _ => None,
        }
    }

    /// Whether a condition is known to hold, or not to.
    pub(crate) fn is_known(&self, cond: Value) -> Option<bool> {
        self.known_number(cond).map(|number| number != 0)
    }

    /// `to - from`, where it is known.
    pub(crate) fn distance(&self, from: Value, to: Value) -> Option<i64> {
        let made = &self.b.func.dfg;
        let from = made.resolve_aliases(from);
        let (mut at, mut distance) = (made.resolve_aliases(to), 0i64);
        while at != from {
            let inst = made.value_def(at).inst()?;
            let InstructionData::Binary { opcode: Opcode::Iadd, args: [before, by] } = made.insts[inst]
            else {
                return None;
            };
            distance = distance.checked_add(self.known_number(by)? as i64)?;
            at = made.resolve_aliases(before);
        }
        Some(distance)
    }

    pub(crate) fn bool(&mut self, is: bool) -> Value {
        self.number(types::I8, u64::from(is))
    }

    /// `a == b`, as 0 or 1.
    pub(crate) fn equal(&mut self, a: Value, b: Value) -> Value {
        match (self.known_number(a), self.known_number(b)) {
            (Some(a), Some(b)) => self.bool(a == b),
            _ => self.b.ins().icmp(IntCC::Equal, a, b),
        }
    }

    /// `!a` of a condition.
    pub(crate) fn not(&mut self, cond: Value) -> Value {
        match self.is_known(cond) {
            Some(is) => self.bool(!is),
            None => self.b.ins().bxor_imm_s(cond, 1),
        }
    }

    /// A condition holds, or not, from here on: headers of which it asks whether they are valid are known to be so, or not. Only where that saves more
    /// than branches: where each write to a header notes that it may be invalid.
    pub(crate) fn assume(&mut self, cond: &'a Expr, holds: bool) {
        if self.is_in_frame || !self.has_many_headers() {
            return;
        }
        match &cond.kind {
            ExprKind::Unary(UnaryOp::Not, cond) => self.assume(cond, !holds),
            ExprKind::Binary(BinaryOp::And, a, b) if holds => {
                [a, b].into_iter().for_each(|cond| self.assume(cond, true))
            }
            ExprKind::Binary(BinaryOp::Or, a, b) if !holds => {
                [a, b].into_iter().for_each(|cond| self.assume(cond, false))
            }
            ExprKind::IsValid(header) => {
                if let Some((HeaderAt::Own(index), _)) = self.places().header(header) {
                    let valid = self.bool(holds);
                    self.set_header_valid(index, valid);
                }
            }
            _ => {}
        }
    }

    /// `a && b`.
    pub(crate) fn both(&mut self, a: Value, b: Value) -> Value {
        match (self.is_known(a), self.is_known(b)) {
            (Some(false), _) | (_, Some(true)) => a,
            (Some(true), _) | (_, Some(false)) => b,
            _ => self.b.ins().band(a, b),
        }
    }

    /// `a || b`.
    pub(crate) fn either(&mut self, a: Value, b: Value) -> Value {
        match (self.is_known(a), self.is_known(b)) {
            (Some(true), _) | (_, Some(false)) => a,
            (Some(false), _) | (_, Some(true)) => b,
            _ => self.b.ins().bor(a, b),
        }
    }

    /// `a && b`, or `a || b`: the second is not computed where the first decides.
    pub(crate) fn logic(&mut self, op: BinaryOp, a: Value, right: &'a Expr) -> Made<Value> {
        let decides = op == BinaryOp::Or;
        if let Some(is) = self.is_known(a) {
            return if is == decides { Ok(a) } else { self.value(right) };
        }
        let b = self.value(right)?;
        Ok(if decides { self.either(a, b) } else { self.both(a, b) })
    }
}
