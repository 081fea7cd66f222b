//! Expressions: evaluated left to right, each operand once (P4-16 §8).

use crate::machine::{Arch, Machine};
use crate::place::is_place;
use base_bits::Bits;
use device::stage::Stop;
use ir::{BinaryOp, Expr, ExprKind, Type};
use ir_value::Value;
use ir_value::operate;

impl<A: Arch> Machine<'_, A> {
    /// The value of `expr`. Side effects happen, also if the result is not used.
    pub(crate) fn eval(&mut self, expr: &Expr) -> Result<Value, Stop> {
        // Each expression takes from the packet's budget, which ends every run.
        self.spend(1)?;
        match &expr.kind {
            ExprKind::Const(value) => Ok(Value::from(value)),
            _ if is_place(expr) => {
                let place = self.place(expr)?;
                self.read(&place, &expr.ty)
            }
            ExprKind::Binary(op, left, right) => self.eval_binary(*op, left, right),
            ExprKind::Unary(op, operand) => {
                let value = self.eval(operand)?;
                operate::unary(*op, &value).ok_or(Stop::Broken("an operand of a wrong type"))
            }
            ExprKind::Ternary(cond, yes, no) => {
                let arm = if self.eval_bool(cond)? { yes } else { no };
                self.eval(arm)
            }
            ExprKind::Cast(operand) => self.eval_cast(operand, &expr.ty),
            ExprKind::IsValid(operand) => self.eval_is_valid(operand),
            ExprKind::Slice { base, hi, lo } => self.eval_slice(base, *hi, *lo),
            ExprKind::SlicePlus { base, start, width } => self.eval_slice_plus(base, start, *width),
            ExprKind::Aggregate(parts) => self.eval_aggregate(parts, &expr.ty),
            ExprKind::InvalidHeader => Ok(Value::zero(self.program, &expr.ty)),
            ExprKind::LastIndex(stack) => self.eval_last_index(stack),
            ExprKind::Lookahead(_) => self.lookahead(&expr.ty),
            ExprKind::PacketLength(_) => Ok(Value::Bits(Bits::new(32, self.input.bytes().len() as u128))),
            ExprKind::ApplyHit(table) => self.apply(*table).map(|applied| Value::Bool(applied.hit)),
            ExprKind::ApplyMiss(table) => self.apply(*table).map(|applied| Value::Bool(!applied.hit)),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Field(base, index) => {
                let value = self.eval(base)?;
                value.part(*index).cloned().ok_or(Stop::Broken("a field of what has no such field"))
            }
            ExprKind::Index(base, index) => self.eval_index(base, index, &expr.ty),
            ExprKind::Var(_) | ExprKind::Next(_) | ExprKind::Last(_) => Err(Stop::Broken("not a place")),
        }
    }

    /// The value of a `bool` expression.
    pub(crate) fn eval_bool(&mut self, expr: &Expr) -> Result<bool, Stop> {
        self.eval(expr)?.as_bool().ok_or(Stop::Broken("a condition that is no bool"))
    }

    /// The value of a `bit<N>` expression.
    pub(crate) fn eval_bits(&mut self, expr: &Expr) -> Result<Bits, Stop> {
        match self.eval(expr)? {
            Value::Bits(bits) | Value::Varbit(bits) => Ok(bits),
            _ => Err(Stop::Broken("a number is wanted")),
        }
    }

    fn eval_binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<Value, Stop> {
        let a = self.eval(left)?;
        match (op, &a) {
            (BinaryOp::And, Value::Bool(false)) | (BinaryOp::Or, Value::Bool(true)) => return Ok(a),
            _ => {}
        }
        let b = self.eval(right)?;
        self.operate(op, &left.ty, &a, &b)
    }

    /// `a op b`, the left operand being of type `ty`.
    pub(crate) fn operate(&self, op: BinaryOp, ty: &Type, a: &Value, b: &Value) -> Result<Value, Stop> {
        let signed = operate::is_signed(self.program, ty);
        operate::binary(op, signed, a, b).ok_or(Stop::Broken("operands of wrong types"))
    }

    fn eval_cast(&mut self, operand: &Expr, to: &Type) -> Result<Value, Stop> {
        let value = self.eval(operand)?;
        operate::cast(self.program, value, &operand.ty, to).ok_or(Stop::Broken("an impossible cast"))
    }

    fn eval_is_valid(&mut self, operand: &Expr) -> Result<Value, Stop> {
        if !is_place(operand) {
            return Ok(Value::Bool(self.eval(operand)?.is_valid()));
        }
        let place = self.place(operand)?;
        let valid = self.at(&place)?.is_some_and(Value::is_valid);
        Ok(Value::Bool(valid))
    }

    fn eval_slice(&mut self, base: &Expr, hi: u32, lo: u32) -> Result<Value, Stop> {
        let bits = self.eval_bits(base)?;
        if lo <= hi && hi < bits.width() {
            Ok(Value::Bits(bits.slice(hi, lo)))
        } else {
            Err(Stop::Broken("a slice of what has no such bits"))
        }
    }

    /// Bits beyond the base read as zero.
    fn eval_slice_plus(&mut self, base: &Expr, start: &Expr, width: u32) -> Result<Value, Stop> {
        let bits = self.eval_bits(base)?;
        let start = self.eval(start)?.to_index().map_or(u64::MAX, u64::from);
        Ok(Value::Bits(bits.shr_by(start).resize(width)))
    }

    fn eval_aggregate(&mut self, parts: &[Expr], ty: &Type) -> Result<Value, Stop> {
        let parts = parts.iter().map(|part| self.eval(part)).collect::<Result<Vec<_>, _>>()?;
        self.spend(parts.len() as u64)?;
        Ok(operate::aggregate(self.program, self.program.representation(ty), parts))
    }

    fn eval_last_index(&mut self, stack: &Expr) -> Result<Value, Stop> {
        let place = self.place(stack)?;
        match self.at(&place)? {
            Some(Value::Stack(stack)) => {
                Ok(Value::Bits(Bits::new(32, u128::from(stack.next.wrapping_sub(1)))))
            }
            _ => Err(Stop::Broken("lastIndex of a value that is no stack")),
        }
    }

    fn eval_index(&mut self, base: &Expr, index: &Expr, ty: &Type) -> Result<Value, Stop> {
        let stack = self.eval(base)?;
        let index = self.eval(index)?.to_index();
        let found = index.and_then(|i| stack.part(i)).cloned();
        Ok(found.unwrap_or_else(|| Value::zero(self.program, ty)))
    }
}
