//! Statements (P4-16 §11, §12).

use crate::machine::{Arch, Flow, Machine};
use crate::place::Place;
use base_bits::Bits;
use device::stage::Stop;
use device::trace::EventKind;
use ir::{BinaryOp, Block, Expr, ForRange, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, VarId};
use ir_value::operate;
use ir_value::wire::{encode, header_bits};
use ir_value::{Header, Value};
use std::cmp::Ordering;

impl<A: Arch> Machine<'_, A> {
    /// Runs statements in order until one does not lead to the next.
    pub(crate) fn run(&mut self, stmts: &[Stmt]) -> Result<Flow, Stop> {
        for stmt in stmts {
            match self.exec(stmt)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a block.
    pub(crate) fn run_block(&mut self, block: &Block) -> Result<Flow, Stop> {
        self.run(&block.stmts)
    }

    fn exec(&mut self, stmt: &Stmt) -> Result<Flow, Stop> {
        self.spend(1)?;
        self.state.trace.stand_at(stmt.span);
        match &stmt.kind {
            StmtKind::If(cond, yes, no) => {
                let arm = if self.test(cond)? { yes } else { no };
                return self.run_block(arm);
            }
            StmtKind::Block(block) => return self.run_block(block),
            StmtKind::Switch(on, cases) => {
                return match self.choose(on, cases)? {
                    Some(case) => self.run_block(&cases[case].body),
                    None => Ok(Flow::Next),
                };
            }
            StmtKind::For { init, cond, update, body } => return self.exec_for(init, cond, update, body),
            StmtKind::ForIn { var, range, body } => return self.exec_for_in(*var, range, body),
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Exit => {
                self.state.trace.add(|| EventKind::Exit);
                return Err(Stop::Exit);
            }
            StmtKind::Return(value) => return self.exec_return(value.as_ref()),
            _ => self.exec_simple(stmt)?,
        }
        Ok(Flow::Next)
    }

    /// A statement that has no other in it and leads to the next.
    fn exec_simple(&mut self, stmt: &Stmt) -> Result<(), Stop> {
        match &stmt.kind {
            StmtKind::Declare(var, init) => self.exec_declare(*var, init.as_ref()),
            StmtKind::Assign(place, value) => self.exec_assign(place, value),
            StmtKind::AssignOp(op, place, value) => self.exec_assign_op(*op, place, value),
            StmtKind::Call(call) => self.call(call).map(drop),
            StmtKind::Apply(table) => self.apply(*table).map(drop),
            StmtKind::SetValid(header, valid) => self.exec_set_valid(header, *valid),
            StmtKind::PushFront(stack, count) => self.exec_push_front(stack, *count),
            StmtKind::PopFront(stack, count) => self.exec_pop_front(stack, *count),
            StmtKind::Extract { header, varbit_bits, .. } => self.extract(header, varbit_bits.as_ref()),
            StmtKind::Advance(_, bits) => self.advance(bits),
            StmtKind::Emit(_, value) => {
                let emitted = self.eval(value)?;
                if self.state.trace.on() {
                    self.trace_emit(value, &emitted);
                }
                self.append(&emitted);
                Ok(())
            }
            StmtKind::Verify(cond, error) => self.verify(cond, error),
            _ => Err(Stop::Broken("not a simple statement")),
        }
    }

    /// Appends emitted headers to the packet.
    fn append(&mut self, emitted: &Value) {
        match emitted {
            Value::Struct(parts) | Value::Union(parts) if A::WHOLE_BYTES => {
                parts.iter().for_each(|part| self.append(part));
            }
            Value::Stack(stack) if A::WHOLE_BYTES => stack.elems.iter().for_each(|part| self.append(part)),
            _ => {
                encode(emitted, &mut self.output);
                if A::WHOLE_BYTES {
                    self.output.pad();
                }
            }
        }
    }

    fn exec_declare(&mut self, var: VarId, init: Option<&Expr>) -> Result<(), Stop> {
        let value = match init {
            Some(init) => self.eval(init)?,
            None => Value::zero(self.program, &self.var(var)?.ty),
        };
        self.spend(value.leaves())?;
        if init.is_some() && self.state.trace.on() {
            self.trace_declare(var, &value);
        }
        self.set_var(var, value)
    }

    fn exec_assign(&mut self, place: &Expr, value: &Expr) -> Result<(), Stop> {
        let to = self.place(place)?;
        let value = self.eval(value)?;
        self.write(&to, value)
    }

    /// The condition of an `if` or a loop.
    fn test(&mut self, cond: &Expr) -> Result<bool, Stop> {
        let taken = self.eval_bool(cond)?;
        self.state.trace.add_at(cond.span, || EventKind::Branch { taken });
        Ok(taken)
    }

    fn exec_assign_op(&mut self, op: BinaryOp, place: &Expr, value: &Expr) -> Result<(), Stop> {
        let to = self.place(place)?;
        let left = self.read(&to, &place.ty)?;
        let right = self.eval(value)?;
        let result = self.operate(op, &place.ty, &left, &right)?;
        self.write(&to, result)
    }

    /// A header that becomes valid has all fields zero; one that is valid already is left alone. A member of a
    /// union that becomes valid makes the others invalid (P4-16 §8.20); one made invalid leaves them alone, as
    /// in BMv2.
    fn exec_set_valid(&mut self, header: &Expr, valid: bool) -> Result<(), Stop> {
        let place = self.place(header)?;
        let zero = Value::zero(self.program, &header.ty);
        let was = self.at(&place)?.is_some_and(Value::is_valid);
        if self.state.trace.on() {
            let (header, _) = self.place_name(&place);
            self.state.trace.add(|| EventKind::Validity { header, valid });
        }
        if was != valid {
            if valid {
                self.clear_union(&place)?;
            }
            let mut bits = header_bits(&zero) as i64;
            match (self.at_mut(&place)?, zero) {
                (Some(Value::Header(old)), Value::Header(new)) if valid => {
                    *old = Header { valid: true, ..new };
                }
                (Some(Value::Header(old)), _) => {
                    old.valid = false;
                    bits = -(old.fields.iter().map(header_bits).sum::<u64>() as i64);
                }
                (None, _) => return Ok(()),
                _ => return Err(Stop::Broken("setValid of a value that is no header")),
            }
            self.arch.resized(bits / 8);
        }
        Ok(())
    }

    fn exec_push_front(&mut self, stack: &Expr, count: u32) -> Result<(), Stop> {
        let place = self.place(stack)?;
        let empty = self.element_zero(stack)?;
        self.trace_shift(&place, i64::from(count));
        if let Some(Value::Stack(stack)) = self.at_mut(&place)? {
            let size = stack.elems.len();
            let count = (count as usize).min(size);
            stack.elems.truncate(size - count);
            stack.elems.splice(0..0, std::iter::repeat_n(empty, count));
            stack.next = (stack.next as usize + count).min(size) as u32;
        }
        self.spend(u64::from(count.min(1 << 16)))
    }

    fn exec_pop_front(&mut self, stack: &Expr, count: u32) -> Result<(), Stop> {
        let place = self.place(stack)?;
        let empty = self.element_zero(stack)?;
        self.trace_shift(&place, -i64::from(count));
        if let Some(Value::Stack(stack)) = self.at_mut(&place)? {
            let count = (count as usize).min(stack.elems.len());
            stack.elems.drain(..count);
            stack.elems.extend(std::iter::repeat_n(empty, count));
            stack.next = stack.next.saturating_sub(count as u32);
        }
        self.spend(u64::from(count.min(1 << 16)))
    }

    fn trace_shift(&mut self, place: &Place, by: i64) {
        if self.state.trace.on() {
            let (stack, _) = self.place_name(place);
            self.state.trace.add(|| EventKind::Shift { stack, by });
        }
    }

    fn element_zero(&self, stack: &Expr) -> Result<Value, Stop> {
        match &stack.ty {
            ir::Type::Stack(elem, _) => Ok(Value::zero(self.program, elem)),
            _ => Err(Stop::Broken("push or pop on a value that is no stack")),
        }
    }

    fn exec_return(&mut self, value: Option<&Expr>) -> Result<Flow, Stop> {
        Ok(Flow::Return(match value {
            Some(value) => Some(self.eval(value)?),
            None => None,
        }))
    }

    /// The case of a `switch` that runs.
    pub(crate) fn choose(&mut self, on: &SwitchOn, cases: &[SwitchCase]) -> Result<Option<usize>, Stop> {
        let found = match on {
            SwitchOn::ActionRun(table) => {
                let action = self.apply(*table)?.action;
                cases.iter().position(|c| c.labels.contains(&SwitchLabel::Action(action)))
            }
            SwitchOn::Value(expr) => {
                let value = self.eval(expr)?;
                let fits = |l: &SwitchLabel| matches!(l, SwitchLabel::Value(c) if Value::from(c) == value);
                cases.iter().position(|c| c.labels.iter().any(fits))
            }
        };
        self.spend(cases.len() as u64)?;
        let found = found.or_else(|| cases.iter().position(SwitchCase::is_default));
        let case = found.and_then(|at| cases.get(at)).map(|case| case.span);
        self.state.trace.add(|| EventKind::Switch { case });
        Ok(found)
    }

    fn exec_for(&mut self, init: &[Stmt], cond: &Expr, update: &[Stmt], body: &Block) -> Result<Flow, Stop> {
        self.run(init)?;
        while self.test(cond)? {
            match self.run_block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                flow @ Flow::Return(_) => return Ok(flow),
            }
            self.run(update)?;
        }
        Ok(Flow::Next)
    }

    fn exec_for_in(&mut self, var: VarId, range: &ForRange, body: &Block) -> Result<Flow, Stop> {
        match range {
            ForRange::Values(list) => {
                let values = match self.eval(list)? {
                    Value::Struct(values) => values,
                    Value::Stack(stack) => stack.elems,
                    _ => return Err(Stop::Broken("a loop over a value that is no list")),
                };
                for value in values {
                    match self.round(var, value, body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
                Ok(Flow::Next)
            }
            ForRange::Range(lo, hi) => self.exec_for_range(var, lo, hi, body),
        }
    }

    fn exec_for_range(&mut self, var: VarId, lo: &Expr, hi: &Expr, body: &Block) -> Result<Flow, Stop> {
        let ty = &self.var(var)?.ty;
        let signed = operate::is_signed(self.program, ty);
        let mut at = self.loop_bound(lo, ty)?;
        let end = self.loop_bound(hi, ty)?;
        let order = if signed { at.cmp_signed(&end) } else { at.cmp_unsigned(&end) };
        if order == Ordering::Greater {
            return Ok(Flow::Next);
        }
        loop {
            match self.round(var, Value::Bits(at.clone()), body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                flow @ Flow::Return(_) => return Ok(flow),
            }
            if at == end {
                return Ok(Flow::Next);
            }
            at = at.add(&Bits::one(at.width()));
        }
    }

    fn loop_bound(&mut self, bound: &Expr, ty: &ir::Type) -> Result<Bits, Stop> {
        let value = self.eval(bound)?;
        match operate::cast(self.program, value, &bound.ty, ty) {
            Some(Value::Bits(bits)) => Ok(bits),
            _ => Err(Stop::Broken("a loop over a value that is no number")),
        }
    }

    fn round(&mut self, var: VarId, value: Value, body: &Block) -> Result<Flow, Stop> {
        self.spend(1 + value.leaves())?;
        self.set_var(var, value)?;
        self.run_block(body)
    }
}
