//! Statements.

use super::parser::Extracted;
use super::place::{HeaderAt, Place};
use super::value::{Reach, is_array};
use super::{Code, Made, Unable, type_of};
use crate::layout::{Elem, Kind, Node, Part, Shape, Stack, kind_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use dataplane_api::DropReason;
use device::ValueCallee;
use ir::{Block, Const, Expr, ExprKind, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn};

/// Bytes of a stack that code moves itself.
const MOST_MOVED: i32 = 4096;

impl<'a> Code<'a, '_> {
    /// Statements in order.
    pub(crate) fn stmts(&mut self, stmts: &'a [Stmt]) -> Made<()> {
        let asked = self.asked.len();
        stmts.iter().try_for_each(|stmt| self.stmt(stmt))?;
        self.asked.truncate(asked);
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Made<()> {
        self.check_size()?;
        if self.try_stmt(stmt)? {
            return Ok(());
        }
        match (&stmt.kind, self.ahead) {
            (_, false) => self.interpret(stmt),
            (StmtKind::Call(_), true) => {}
            (_, true) => self.end_ahead(),
        }
        Ok(())
    }

    /// False, and nothing is made, if only the interpreter can do it.
    fn try_stmt(&mut self, stmt: &'a Stmt) -> Made<bool> {
        match &stmt.kind {
            StmtKind::Declare(var, init) => self.declare(*var, init.as_ref()),
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Call(call) => self.call(call),
            StmtKind::Apply(table) => Ok(self.apply(*table)?.is_some()),
            StmtKind::SetValid(header, valid) => self.validity(header, *valid),
            StmtKind::PushFront(stack, count) => self.shift_stack(stack, *count, true),
            StmtKind::PopFront(stack, count) => self.shift_stack(stack, *count, false),
            StmtKind::Extract { header, varbit_bits: None, .. } => {
                Ok(self.extract(header)? == Extracted::Done)
            }
            StmtKind::Extract { header, varbit_bits: Some(bits), .. } => {
                Ok(self.extract_varbit(header, bits)? == Extracted::Done)
            }
            StmtKind::Advance(_, bits) => self.advance(bits),
            StmtKind::Verify(cond, error) => self.verify(cond, error),
            StmtKind::If(cond, yes, no) => {
                if !self.places().can(cond) {
                    return Ok(false);
                }
                let is = self.value(cond)?;
                let arm = |holds: bool, block: &'a Block| {
                    move |code: &mut Self| {
                        code.assume(cond, holds);
                        code.stmts(&block.stmts)
                    }
                };
                self.branch(is, arm(true, yes), arm(false, no))?;
                Ok(true)
            }
            StmtKind::Switch(SwitchOn::ActionRun(table), cases) => {
                let Some(applied) = self.apply(*table)? else { return Ok(false) };
                let fits = |label: &SwitchLabel| match label {
                    SwitchLabel::Action(action) => Some(u128::from(*action)),
                    _ => None,
                };
                self.cases(applied.action, types::I32, cases, &fits)?;
                Ok(true)
            }
            StmtKind::Switch(SwitchOn::Value(on), cases) => {
                if !self.places().can(on) {
                    return Ok(false);
                }
                let value = self.value(on)?;
                let ty = self.b.func.dfg.value_type(value);
                self.cases(value, ty, cases, &constant_label)?;
                Ok(true)
            }
            StmtKind::Block(block) => {
                self.stmts(&block.stmts)?;
                Ok(true)
            }
            StmtKind::For { init, cond, update, body } if init.is_empty() && update.is_empty() => {
                self.rounds(cond, body)
            }
            _ => Ok(false),
        }
    }

    fn declare(&mut self, var: ir::VarId, init: Option<&'a Expr>) -> Made<bool> {
        let Some(node) = self.nodes.get(var.index()) else { return Err(Unable("a variable")) };
        match init {
            None => {
                self.zero(node);
                if let Node::Stack(stack) = node {
                    self.clear_stack(stack);
                }
                Ok(!contains_value(node))
            }
            Some(init) => {
                let Node::Scalar(index) = node else { return Ok(false) };
                if !self.places().can(init) {
                    return Ok(false);
                }
                let value = self.value(init)?;
                self.set_scalar(*index, value);
                Ok(true)
            }
        }
    }

    pub(crate) fn clear_stack(&mut self, stack: &Stack) {
        let base = self.at(stack.base);
        self.clear(base, (stack.stride * stack.size as i32) as usize);
    }

    fn assign(&mut self, place: &'a Expr, value: &'a Expr) -> Made<bool> {
        match &value.kind {
            ExprKind::Call(call) => {
                return match ValueCallee::of(self.program, &call.callee) {
                    Some(callee) => self.call_value(callee, call, Some(place)),
                    None => self.answer(Some(place), call),
                };
            }
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                let Some((to, _)) = self.places().scalar(place) else { return Ok(false) };
                let Some(applied) = self.apply(*table)? else { return Ok(false) };
                let is_hit = matches!(value.kind, ExprKind::ApplyHit(_));
                let hit = if is_hit { applied.hit } else { self.b.ins().bxor_imm_s(applied.hit, 1) };
                self.write(&to, hit)?;
                return Ok(true);
            }
            ExprKind::Lookahead(_) => return self.lookahead(place, value),
            ExprKind::Slice { base, hi, .. } if matches!(base.kind, ExprKind::Lookahead(_)) => {
                return self.lookahead_slice(place, value, (base, *hi));
            }
            _ => {}
        }
        if kind_of(self.program, &place.ty).is_some() {
            let Some((to, _)) = self.places().scalar(place) else { return Ok(false) };
            if !self.places().can(value) {
                return Ok(false);
            }
            let value = self.value(value)?;
            self.write(&to, value)?;
            return Ok(true);
        }
        if self.assign_wide(place, value)? {
            return Ok(true);
        }
        if let Some((to, shape)) = self.places().target(place) {
            return self.assign_header(place, to, shape, value);
        }
        match self.places().stack(place) {
            Some(stack) => self.assign_stack(stack, value),
            None => Ok(false),
        }
    }

    /// `header.field = N` of a number that no register holds: 64 bits at a time.
    fn assign_wide(&mut self, place: &'a Expr, value: &'a Expr) -> Made<bool> {
        let (Some(to @ Place::Part(HeaderAt::Own(_), Part::Field(..))), ExprKind::Const(Const::Bits(bits))) =
            (self.places().find(place), &value.kind)
        else {
            return Ok(false);
        };
        let mut hi = bits.width();
        while hi > 0 {
            let lo = hi.saturating_sub(64);
            let number = bits.slice(hi - 1, lo).low_u128();
            let number = self.constant(type_of(Kind::Bits(hi - lo)), number);
            self.write(&Place::Slice(Box::new(to.clone()), hi - 1, lo), number)?;
            hi = lo;
        }
        Ok(true)
    }

    fn assign_header(
        &mut self,
        place: &'a Expr,
        to: HeaderAt<'a>,
        shape: &'a Shape,
        value: &'a Expr,
    ) -> Made<bool> {
        let siblings = self.places().siblings(place);
        match &value.kind {
            ExprKind::InvalidHeader => {
                let home = self.at_home(&to)?;
                self.clear(home, shape.bytes());
                self.empty_varbit(&to);
                let no = self.number(types::I8, 0);
                self.set_valid(&to, no)?;
            }
            ExprKind::Aggregate(parts) => {
                let fields: Option<Vec<u32>> = shape
                    .parts
                    .iter()
                    .zip(parts)
                    .map(|(field, part)| match field {
                        Part::Field(at, kind) => {
                            (kind.width() <= 128 && self.places().can(part)).then_some(*at)
                        }
                        Part::Struct(_) | Part::Varbit => None,
                    })
                    .collect();
                let Some(fields) = fields else { return Ok(false) };
                // A field is stored by one access of 16 bytes at most, which a field that begins within a byte may exceed.
                let near = |part: &Part| match part {
                    Part::Field(at, kind) => (at + kind.width()).div_ceil(8) - at / 8 <= 16,
                    Part::Struct(_) | Part::Varbit => false,
                };
                if !shape.parts.iter().all(near) {
                    return Ok(false);
                }
                // All values before the first store: they may read the header itself.
                let values = parts.iter().map(|part| self.value(part)).collect::<Made<Vec<_>>>()?;
                let home = self.at_home(&to)?;
                for ((at, part), value) in fields.into_iter().zip(&shape.parts).zip(values) {
                    let Part::Field(_, kind) = part else { return Err(Unable("a struct in a header")) };
                    self.store_field(home, at, kind.width(), value, 0);
                }
                let yes = self.number(types::I8, 1);
                self.clear_siblings(siblings, yes);
                self.set_valid(&to, yes)?;
            }
            _ => {
                let Some((from, _)) = self.places().header(value) else { return Ok(false) };
                // Read before `clear_siblings`: the source may be a sibling of the target in a union.
                let valid = self.valid(&from)?;
                let source = self.pointer(&from, Reach::Read)?;
                let home = self.at_home(&to)?;
                self.copy_header(home, source, &from, shape);
                self.copy_varbit(&to, &from);
                self.clear_siblings(siblings, valid);
                self.set_valid(&to, valid)?;
            }
        }
        Ok(true)
    }

    /// The header is at its home from now on, which is this.
    fn at_home(&mut self, header: &HeaderAt<'a>) -> Made<Value> {
        if let HeaderAt::Own(index) = header {
            self.go_home(*index);
            self.touch_homes();
        }
        self.pointer(header, Reach::Write)
    }

    /// Makes the members of a union invalid if `valid` says that one of them becomes valid.
    pub(crate) fn clear_siblings(&mut self, siblings: &'a [Node], valid: Value) {
        for node in siblings {
            if let Node::Header(index) = node {
                let old = self.header_valid(*index);
                let kept = self.b.ins().band_not(old, valid);
                self.set_header_valid(*index, kept);
            }
        }
    }

    fn assign_stack(&mut self, to: &'a Stack, value: &'a Expr) -> Made<bool> {
        if let ExprKind::Aggregate(parts) = &value.kind {
            if !is_array(to) || !parts.iter().all(|part| self.places().can(part)) {
                return Ok(false);
            }
            // All values before the first write: they may read the array itself.
            let values = parts.iter().map(|part| self.value(part)).collect::<Made<Vec<_>>>()?;
            for (at, value) in (0..to.size).zip(values) {
                let place = Place::Element(to, super::place::Index::Known(at));
                self.write(&place, value)?;
            }
            let zero = self.number(types::I32, 0);
            self.set_scalar(to.next, zero);
            return Ok(true);
        }
        let Some(from) = self.places().stack(value) else { return Ok(false) };
        let bytes = to.stride * to.size as i32;
        if (from.stride, from.size) != (to.stride, to.size) {
            return Ok(false);
        }
        if from.base != to.base {
            let (target, source) = (self.at(to.base), self.at(from.base));
            self.copy(target, source, bytes as usize);
        }
        let next = self.scalar(from.next);
        self.set_scalar(to.next, next);
        Ok(true)
    }

    fn validity(&mut self, expr: &'a Expr, valid: bool) -> Made<bool> {
        let Some((header, shape)) = self.places().target(expr) else { return Ok(false) };
        let bytes = i64::from(shape.bits / 8);
        let was = self.valid(&header)?;
        if !valid {
            let no = self.number(types::I8, 0);
            self.set_valid(&header, no)?;
            match self.variable_size(&header, shape) {
                None => self.grow_if(was, -bytes),
                Some(size) => {
                    let less = self.b.ins().ineg(size);
                    self.grow_by(was, less);
                }
            }
            return Ok(true);
        }
        // A header that is valid already keeps its fields; one that becomes valid has zero fields.
        let siblings = self.places().siblings(expr);
        self.branch(
            was,
            |_| Ok(()),
            |code| {
                let yes = code.number(types::I8, 1);
                code.clear_siblings(siblings, yes);
                let home = code.at_home(&header)?;
                code.clear(home, shape.bytes());
                code.empty_varbit(&header);
                code.set_valid(&header, yes)?;
                code.grow_if(yes, bytes);
                Ok(())
            },
        )?;
        Ok(true)
    }

    /// Adds to the length of the packet if `cond` holds.
    fn grow_if(&mut self, cond: Value, bytes: i64) {
        let bytes = self.b.ins().iconst(types::I64, bytes);
        self.grow_by(cond, bytes);
    }

    fn grow_by(&mut self, cond: Value, bytes: Value) {
        let index = self.layout.registers.length;
        let old = self.scalar(index);
        let cond = self.resize(cond, types::I64);
        let by = self.b.ins().imul(cond, bytes);
        let new = self.b.ins().iadd(old, by);
        self.set_scalar(index, new);
    }

    fn shift_stack(&mut self, expr: &'a Expr, count: u32, push: bool) -> Made<bool> {
        let Some(stack) = self.places().stack(expr) else { return Ok(false) };
        let (size, stride) = (stack.size as i32, stack.stride);
        if stride * size > MOST_MOVED || !matches!(stack.elem, Elem::Header(_)) {
            return Ok(false);
        }
        let count = count.min(stack.size) as i32;
        let moves: Vec<(i32, i32)> = match push {
            // From the far end, so that no element is overwritten before it has moved.
            true => (count..size).rev().map(|to| (to - count, to)).collect(),
            false => (0..size - count).map(|to| (to + count, to)).collect(),
        };
        for (from, to) in moves {
            let (target, source) = (self.at(stack.base + to * stride), self.at(stack.base + from * stride));
            self.copy(target, source, stride as usize);
        }
        let first = if push { 0 } else { size - count };
        let cleared = self.at(stack.base + first * stride);
        self.clear(cleared, (count * stride) as usize);
        let next = self.scalar(stack.next);
        let limit = if push { stack.size } else { count as u32 };
        let limit = self.number(types::I32, u64::from(limit));
        let next = if push {
            let next = self.b.ins().iadd_imm_s(next, i64::from(count));
            self.b.ins().umin(next, limit)
        } else {
            let less = self.b.ins().umax(next, limit);
            self.b.ins().iadd_imm_s(less, -i64::from(count))
        };
        self.set_scalar(stack.next, next);
        Ok(true)
    }

    fn cases(
        &mut self,
        value: Value,
        ty: cranelift_codegen::ir::Type,
        cases: &'a [SwitchCase],
        number: &dyn Fn(&SwitchLabel) -> Option<u128>,
    ) -> Made<()> {
        let join = self.b.create_block();
        let bodies: Vec<_> = cases.iter().map(|_| self.b.create_block()).collect();
        for (case, body) in cases.iter().zip(&bodies) {
            for label in case.labels.iter().filter_map(number) {
                let label = self.constant(ty, label);
                let fits = self.equal(value, label);
                self.leave_if(fits, *body, &[]);
            }
        }
        let default = cases.iter().position(SwitchCase::is_default);
        let rest = default.map_or(join, |at| bodies[at]);
        self.b.ins().jump(rest, &[]);
        for (case, body) in cases.iter().zip(bodies) {
            self.b.seal_block(body);
            self.b.switch_to_block(body);
            self.stmts(&case.body.stmts)?;
            self.b.ins().jump(join, &[]);
        }
        self.b.seal_block(join);
        self.b.switch_to_block(join);
        Ok(())
    }

    fn rounds(&mut self, cond: &'a Expr, body: &'a Block) -> Made<bool> {
        if !self.places().can(cond) {
            return Ok(false);
        }
        let [head, inside, behind] = [(); 3].map(|()| self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let goes_on = self.value(cond)?;
        self.b.ins().brif(goes_on, inside, &[], behind, &[]);
        self.b.seal_block(inside);
        self.b.switch_to_block(inside);
        self.burn(cost(cond, body));
        self.stmts(&body.stmts)?;
        self.b.ins().jump(head, &[]);
        self.b.seal_block(head);
        self.b.seal_block(behind);
        self.b.switch_to_block(behind);
        Ok(true)
    }

    /// Takes steps off the budget; a packet without steps is dropped.
    pub(crate) fn burn(&mut self, steps: u32) {
        let index = self.layout.registers.fuel;
        let fuel = self.scalar(index);
        let steps = self.number(types::I32, u64::from(steps));
        let empty = self.b.ins().icmp(IntCC::UnsignedLessThan, fuel, steps);
        let block = self.drop_for(DropReason::StepLimit);
        self.leave_if(empty, block, &[]);
        let fuel = self.b.ins().isub(fuel, steps);
        self.set_scalar(index, fuel);
        // Copies share the remaining budget.
        self.spill_scalar(index);
    }
}

/// About as many steps as the interpreter counts for a round.
fn cost(cond: &Expr, body: &Block) -> u32 {
    let mut steps = 1u32;
    let mut count = |expr: &Expr| ir::visit::subexprs(expr, &mut |_| steps = steps.saturating_add(1));
    count(cond);
    ir::visit::all_exprs(body, &mut |_| steps = steps.saturating_add(1));
    steps
}

fn constant_label(label: &SwitchLabel) -> Option<u128> {
    match label {
        SwitchLabel::Value(Const::Bits(bits)) => Some(bits.low_u128()),
        SwitchLabel::Value(Const::Bool(b)) => Some(u128::from(*b)),
        SwitchLabel::Value(Const::Error(id)) => Some(u128::from(id.0)),
        SwitchLabel::Value(Const::Enum(member)) => Some(u128::from(*member)),
        _ => None,
    }
}

/// True if a part of it is the interpreter's.
fn contains_value(node: &Node) -> bool {
    match node {
        Node::Value(_) => true,
        Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().any(contains_value),
        _ => false,
    }
}
