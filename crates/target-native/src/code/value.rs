//! Values: operators, casts, reads and writes of places.

use super::place::{HeaderAt, Index, Place, header_of, span};
use super::wire::ones;
use super::{Code, Made, PLAIN, Unable, type_of};
use crate::layout::{Elem, Kind, Node, Stack, kind_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::{BinaryOp, Const, Expr, ExprKind, Type, UnaryOp};

impl<'a> Code<'a, '_> {
    fn kind(&self, ty: &Type) -> Made<Kind> {
        kind_of(self.program, ty).ok_or(Unable("a type that is no scalar"))
    }

    /// The value of a scalar expression.
    pub(crate) fn value(&mut self, expr: &'a Expr) -> Made<Value> {
        let kind = self.kind(&expr.ty)?;
        let ty = type_of(kind);
        match &expr.kind {
            ExprKind::Const(value) => Ok(match value {
                Const::Bits(bits) => self.constant(ty, bits.low_u128()),
                Const::Bool(b) => self.number(ty, u64::from(*b)),
                Const::Error(id) => self.number(ty, u64::from(id.0)),
                Const::Enum(member) => self.number(ty, u64::from(*member)),
                _ => return Err(Unable("a constant that is no scalar")),
            }),
            ExprKind::Unary(op, operand) => {
                let value = self.value(operand)?;
                Ok(match op {
                    UnaryOp::Not => self.not(value),
                    UnaryOp::Neg => {
                        let value = self.b.ins().ineg(value);
                        self.keep_low(value, kind.width())
                    }
                    UnaryOp::BitNot => {
                        let value = self.b.ins().bnot(value);
                        self.keep_low(value, kind.width())
                    }
                })
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, kind),
            ExprKind::Ternary(cond, yes, no) => {
                // Values have no effects, so both arms may be computed.
                let cond = self.value(cond)?;
                if let Some(is) = self.is_known(cond) {
                    return self.value(if is { yes } else { no });
                }
                let (yes, no) = (self.value(yes)?, self.value(no)?);
                Ok(self.b.ins().select(cond, yes, no))
            }
            ExprKind::Cast(operand) => self.cast(operand, kind),
            ExprKind::Slice { base, lo, .. } => match self.places().scalar(expr) {
                Some((place, _)) => self.read(&place),
                None => {
                    let base = self.value(base)?;
                    let value = self.shift_down(base, *lo);
                    let value = self.resize(value, ty);
                    Ok(self.keep_low(value, kind.width()))
                }
            },
            ExprKind::SlicePlus { base, start, .. } => {
                let base_kind = self.kind(&base.ty)?;
                let base = self.value(base)?;
                let value = self
                    .shift(base, base_kind, start, |code, value, amount| code.b.ins().ushr(value, amount))?;
                let value = self.resize(value, ty);
                Ok(self.keep_low(value, kind.width()))
            }
            ExprKind::IsValid(header) => {
                let (at, _) = self.places().header(header).ok_or(Unable("no header"))?;
                self.valid(&at)
            }
            ExprKind::LastIndex(stack) => {
                let stack = self.places().stack(stack).ok_or(Unable("no stack"))?;
                let next = self.scalar(stack.next);
                Ok(self.b.ins().iadd_imm_s(next, -1))
            }
            ExprKind::PacketLength(_) => {
                let (start, end) =
                    (self.scalar(self.layout.registers.start), self.scalar(self.layout.registers.end));
                let length = self.b.ins().isub(end, start);
                Ok(self.b.ins().ireduce(types::I32, length))
            }
            _ => {
                let (place, _) = self.places().scalar(expr).ok_or(Unable("no place"))?;
                self.read(&place)
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &'a Expr, right: &'a Expr, kind: Kind) -> Made<Value> {
        let signed = self.places().is_signed(&left.ty);
        let of = self.kind(&left.ty)?;
        let a = self.value(left)?;
        match op {
            BinaryOp::Shl | BinaryOp::Shr => return self.shift_op(op, signed, a, of, right),
            BinaryOp::And | BinaryOp::Or => return self.logic(op, a, right),
            _ => {}
        }
        let b = self.value(right)?;
        let width = of.width();
        Ok(match op {
            BinaryOp::Add => {
                let value = self.b.ins().iadd(a, b);
                self.keep_low(value, width)
            }
            BinaryOp::Sub => {
                let value = self.b.ins().isub(a, b);
                self.keep_low(value, width)
            }
            BinaryOp::Mul => {
                let value = self.b.ins().imul(a, b);
                self.keep_low(value, width)
            }
            BinaryOp::Div | BinaryOp::Mod => {
                let ty = type_of(of);
                let (zero, one) = (self.number(ty, 0), self.number(ty, 1));
                // The machine traps on a division by zero: the divisor becomes 1, and the result is replaced by 0, as in the interpreter.
                let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
                let by = self.b.ins().select(is_zero, one, b);
                let value =
                    if op == BinaryOp::Div { self.b.ins().udiv(a, by) } else { self.b.ins().urem(a, by) };
                self.b.ins().select(is_zero, zero, value)
            }
            BinaryOp::AddSat | BinaryOp::SubSat => self.saturating(op, signed, a, b, width),
            BinaryOp::BitAnd => self.b.ins().band(a, b),
            BinaryOp::BitOr => self.b.ins().bor(a, b),
            BinaryOp::BitXor => self.b.ins().bxor(a, b),
            BinaryOp::Concat => {
                let low = self.kind(&right.ty)?.width();
                let ty = type_of(kind);
                let (a, b) = (self.resize(a, ty), self.resize(b, ty));
                // The machine takes a shift amount modulo the width: a shift by all bits would shift by none.
                let a = if low >= ty.bits() { self.number(ty, 0) } else { self.shift_up(a, low) };
                self.b.ins().bor(a, b)
            }
            BinaryOp::Eq => self.equal(a, b),
            BinaryOp::Ne => match (self.known_number(a), self.known_number(b)) {
                (Some(a), Some(b)) => self.bool(a != b),
                _ => self.b.ins().icmp(IntCC::NotEqual, a, b),
            },
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let (a, b) =
                    if signed { (self.extend_sign(a, width), self.extend_sign(b, width)) } else { (a, b) };
                self.compare(op, signed, a, b)
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Shl | BinaryOp::Shr => {
                return Err(Unable("done before"));
            }
        })
    }

    /// `value`, whose sign is bit `width - 1`, extended with its sign.
    pub(crate) fn extend_sign(&mut self, value: Value, width: u32) -> Value {
        let bits = self.b.func.dfg.value_type(value).bits();
        if width >= bits || width == 0 {
            return value;
        }
        let amount = self.b.ins().iconst(types::I32, i64::from(bits - width));
        let up = self.b.ins().ishl(value, amount);
        self.b.ins().sshr(up, amount)
    }

    /// Saturating arithmetic for up to 64 bits, signed up to 62: computed in 64.
    fn saturating(&mut self, op: BinaryOp, signed: bool, a: Value, b: Value, width: u32) -> Value {
        let from = self.b.func.dfg.value_type(a);
        let (a, b) = (self.resize(a, types::I64), self.resize(b, types::I64));
        let value = match (op, signed) {
            (_, true) => {
                let (a, b) = (self.extend_sign(a, width), self.extend_sign(b, width));
                let exact =
                    if op == BinaryOp::AddSat { self.b.ins().iadd(a, b) } else { self.b.ins().isub(a, b) };
                let most = (1i64 << width.max(1) >> 1) - 1;
                let least = self.number(types::I64, if width == 0 { 0 } else { !most as u64 });
                let most = self.number(types::I64, most as u64);
                let value = self.b.ins().smax(exact, least);
                self.b.ins().smin(value, most)
            }
            (BinaryOp::AddSat, false) => {
                let sum = self.b.ins().iadd(a, b);
                let most = self.number(types::I64, ones(width) as u64);
                // A sum of 64 bits may wrap: it is then smaller than a summand.
                let wrapped = self.b.ins().icmp(IntCC::UnsignedLessThan, sum, a);
                let value = self.b.ins().umin(sum, most);
                self.b.ins().select(wrapped, most, value)
            }
            (_, false) => {
                let zero = self.number(types::I64, 0);
                let difference = self.b.ins().isub(a, b);
                let below = self.b.ins().icmp(IntCC::UnsignedLessThan, a, b);
                self.b.ins().select(below, zero, difference)
            }
        };
        let value = self.resize(value, from);
        self.keep_low(value, width)
    }

    /// `a op b` for an order; signed numbers have their signs extended.
    pub(crate) fn compare(&mut self, op: BinaryOp, signed: bool, a: Value, b: Value) -> Value {
        match self.b.func.dfg.value_type(a) {
            types::I128 => self.compare_wide(op, signed, a, b),
            _ => self.b.ins().icmp(order(op, signed), a, b),
        }
    }

    /// `a op b` of numbers of 128 bits, by halves: the code generator has no instruction for the lesser of two such numbers, and
    /// would make one of a comparison and a choice.
    fn compare_wide(&mut self, op: BinaryOp, signed: bool, a: Value, b: Value) -> Value {
        let (a_low, a_high) = self.b.ins().isplit(a);
        let (b_low, b_high) = self.b.ins().isplit(b);
        let strict = if matches!(op, BinaryOp::Lt | BinaryOp::Le) { BinaryOp::Lt } else { BinaryOp::Gt };
        let high = self.b.ins().icmp(order(strict, signed), a_high, b_high);
        let same = self.b.ins().icmp(IntCC::Equal, a_high, b_high);
        let low = self.b.ins().icmp(order(op, false), a_low, b_low);
        let low = self.b.ins().band(same, low);
        self.b.ins().bor(high, low)
    }

    fn shift_op(&mut self, op: BinaryOp, signed: bool, a: Value, of: Kind, by: &'a Expr) -> Made<Value> {
        let width = of.width();
        if op == BinaryOp::Shl {
            let value = self.shift(a, of, by, |code, value, amount| code.b.ins().ishl(value, amount))?;
            return Ok(self.keep_low(value, width));
        }
        if !signed {
            return self.shift(a, of, by, |code, value, amount| code.b.ins().ushr(value, amount));
        }
        // Shifts by the width or more: the result is the sign, as after one bit less.
        let value = self.extend_sign(a, width);
        let bits = self.b.func.dfg.value_type(value).bits();
        let amount = match self.known(by) {
            Some(amount) => self.number(types::I32, amount.min(u64::from(bits - 1))),
            None => {
                let amount = self.value(by)?;
                let ty = self.b.func.dfg.value_type(amount);
                let most = self.number(ty, u64::from(bits - 1));
                let above = self.compare(BinaryOp::Gt, false, amount, most);
                let amount = self.resize(amount, types::I32);
                let most = self.number(types::I32, u64::from(bits - 1));
                self.b.ins().select(above, most, amount)
            }
        };
        let value = self.b.ins().sshr(value, amount);
        Ok(self.keep_low(value, width))
    }

    /// A shift that returns zero if the distance is at least the width of the type.
    fn shift(
        &mut self,
        value: Value,
        of: Kind,
        by: &'a Expr,
        shift: impl FnOnce(&mut Self, Value, Value) -> Value,
    ) -> Made<Value> {
        let ty = type_of(of);
        let zero = self.number(ty, 0);
        if let Some(amount) = self.known(by) {
            if amount >= u64::from(of.width()) {
                return Ok(zero);
            }
            let amount = self.number(types::I32, amount);
            return Ok(shift(self, value, amount));
        }
        let amount = self.value(by)?;
        let amount_type = self.b.func.dfg.value_type(amount);
        let width = self.number(amount_type, u64::from(of.width()));
        let far = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, amount, width);
        // An amount type too narrow for the width never gets that far.
        let far = if fits(amount_type, of.width()) { far } else { self.number(types::I8, 0) };
        let amount = self.resize(amount, types::I32);
        let shifted = shift(self, value, amount);
        Ok(self.b.ins().select(far, zero, shifted))
    }

    fn known(&self, expr: &Expr) -> Option<u64> {
        match &expr.kind {
            ExprKind::Const(Const::Int(n)) => Some(u64::try_from(n).unwrap_or(u64::MAX)),
            ExprKind::Const(Const::Bits(bits)) => Some(bits.to_u64().unwrap_or(u64::MAX)),
            _ => None,
        }
    }

    fn cast(&mut self, operand: &'a Expr, to: Kind) -> Made<Value> {
        let from = self.kind(&operand.ty)?;
        let signed = self.places().is_signed(&operand.ty);
        let value = self.value(operand)?;
        let ty = type_of(to);
        Ok(match (from, to) {
            (Kind::Bits(_), Kind::Bool) => {
                let zero = self.number(type_of(from), 0);
                self.b.ins().icmp(IntCC::NotEqual, value, zero)
            }
            (Kind::Bits(old), Kind::Bits(new)) if signed && new > old => {
                let value = self.extend_sign(value, old);
                let held = self.b.func.dfg.value_type(value);
                let value = if ty.bits() > held.bits() { self.b.ins().sextend(ty, value) } else { value };
                self.keep_low(value, new)
            }
            (Kind::Bits(_), Kind::Bits(new)) => {
                let value = self.resize(value, ty);
                self.keep_low(value, new)
            }
            _ => self.resize(value, ty),
        })
    }

    /// A scalar variable.
    pub(crate) fn scalar(&mut self, index: usize) -> Value {
        let var = self.scalars[index];
        self.b.use_var(var)
    }

    /// See [`scalar`](Code::scalar).
    pub(crate) fn set_scalar(&mut self, index: usize, value: Value) {
        let var = self.scalars[index];
        self.b.def_var(var, value);
    }

    /// The value of a scalar place.
    pub(crate) fn read(&mut self, place: &Place<'a>) -> Made<Value> {
        let kind = self.places().kind(place).ok_or(Unable("no scalar"))?;
        if let Some((at, width)) = span(place) {
            let header = header_of(place).ok_or(Unable("no header"))?;
            if let HeaderAt::Own(index) = header
                && self.is_clear(*index)
            {
                return Ok(self.constant(type_of(kind), 0));
            }
            let pointer = self.pointer(header, Reach::Read)?;
            if kind == Kind::Bool {
                let bit = self.load_field(pointer, at, width, Kind::Bits(1));
                return Ok(self.b.ins().ireduce(types::I8, bit));
            }
            return Ok(self.load_field(pointer, at, width, kind));
        }
        match place {
            Place::Node(Node::Scalar(index)) => Ok(self.scalar(*index)),
            Place::Element(stack, index) => {
                let pointer = self.element(stack, index, Reach::Read)?;
                Ok(self.b.ins().load(type_of(kind), PLAIN, pointer, 0))
            }
            Place::Slice(base, _, lo) => {
                let value = self.read(base)?;
                let value = self.shift_down(value, *lo);
                let value = self.resize(value, type_of(kind));
                Ok(self.keep_low(value, kind.width()))
            }
            _ => Err(Unable("no scalar")),
        }
    }

    /// Writes a scalar place.
    pub(crate) fn write(&mut self, place: &Place<'a>, value: Value) -> Made<()> {
        if let Some((at, width)) = span(place) {
            let header = header_of(place).ok_or(Unable("no header"))?;
            let pointer = self.pointer(header, Reach::Write)?;
            let known = match header {
                HeaderAt::Own(index) => {
                    self.touch_home_unless_valid(*index);
                    self.stored.insert(*index);
                    self.writes(*index, at, width);
                    self.layout.headers[*index].shape.bytes()
                }
                HeaderAt::Element(..) => 0,
            };
            self.store_field(pointer, at, width, value, known);
            return Ok(());
        }
        match place {
            Place::Node(Node::Scalar(index)) => self.set_scalar(*index, value),
            Place::Element(stack, index) => {
                let pointer = self.element(stack, index, Reach::Write)?;
                if !self.ahead {
                    self.b.ins().store(PLAIN, value, pointer, 0);
                }
            }
            Place::Slice(base, hi, lo) => {
                let kind = self.places().kind(base).ok_or(Unable("no scalar"))?;
                let ty = type_of(kind);
                let old = self.read(base)?;
                let hole = !(ones(hi - lo + 1) << lo) & ones(kind.width());
                let hole = self.constant(ty, hole);
                let kept = self.b.ins().band(old, hole);
                let value = self.resize(value, ty);
                let value = self.shift_up(value, *lo);
                let value = self.b.ins().bor(kept, value);
                self.write(base, value)?;
            }
            _ => return Err(Unable("no scalar")),
        }
        Ok(())
    }

    /// The address of a header's bytes.
    pub(crate) fn pointer(&mut self, header: &HeaderAt<'a>, reach: Reach) -> Made<Value> {
        match header {
            HeaderAt::Own(index) => Ok(self.header_pointer(*index)),
            HeaderAt::Element(stack, index) => self.element(stack, index, reach),
        }
    }

    /// True if a header is valid.
    pub(crate) fn valid(&mut self, header: &HeaderAt<'a>) -> Made<Value> {
        match header {
            HeaderAt::Own(index) => Ok(self.header_valid(*index)),
            HeaderAt::Element(stack, index) => {
                let pointer = self.element(stack, index, Reach::Read)?;
                Ok(self.b.ins().load(types::I8, PLAIN, pointer, stack.valid()))
            }
        }
    }

    /// Makes a header valid or not, and no more.
    pub(crate) fn set_valid(&mut self, header: &HeaderAt<'a>, valid: Value) -> Made<()> {
        match header {
            HeaderAt::Own(index) => {
                self.set_header_valid(*index, valid);
            }
            HeaderAt::Element(stack, index) => {
                let pointer = self.element(stack, index, Reach::Write)?;
                if !self.ahead {
                    self.b.ins().store(PLAIN, valid, pointer, stack.valid());
                }
            }
        }
        Ok(())
    }

    /// The address of an element. Out of range, reads give zeros, and writes are lost.
    fn element(&mut self, stack: &Stack, index: &Index<'a>, reach: Reach) -> Made<Value> {
        let index = match index {
            Index::Known(at) => return Ok(self.at(stack.base + *at as i32 * stack.stride)),
            Index::Computed(expr) => self.value(expr)?,
            Index::Next => self.scalar(stack.next),
        };
        let index = self.resize(index, types::I64);
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(stack.size));
        let offset = self.b.ins().imul_imm_s(index, i64::from(stack.stride));
        let base = self.at(stack.base);
        let element = self.b.ins().iadd(base, offset);
        let homes = self.layout.homes;
        let nowhere = match reach {
            Reach::Read => self.at(homes.zeros),
            Reach::Write => self.at(homes.trash),
        };
        Ok(self.b.ins().select(inside, element, nowhere))
    }
}

/// Access to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    Read,
    Write,
}

/// True if `width` is a number of the type.
fn fits(ty: cranelift_codegen::ir::Type, width: u32) -> bool {
    ty.bits() >= 32 || width < 1 << ty.bits()
}

fn order(op: BinaryOp, signed: bool) -> IntCC {
    match (op, signed) {
        (BinaryOp::Lt, false) => IntCC::UnsignedLessThan,
        (BinaryOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (BinaryOp::Gt, false) => IntCC::UnsignedGreaterThan,
        (BinaryOp::Lt, true) => IntCC::SignedLessThan,
        (BinaryOp::Le, true) => IntCC::SignedLessThanOrEqual,
        (BinaryOp::Gt, true) => IntCC::SignedGreaterThan,
        (_, false) => IntCC::UnsignedGreaterThanOrEqual,
        (_, true) => IntCC::SignedGreaterThanOrEqual,
    }
}

/// The element's kind, for stacks of scalars.
pub(crate) fn is_array(stack: &Stack) -> bool {
    matches!(stack.elem, Elem::Scalar(_))
}
