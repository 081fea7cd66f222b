//! TNA's externs of parsers and deparsers: ones' complement sums with residuals, and the parser's counters.

use super::place::Place;
use super::{Code, Made};
use crate::layout::kind_of;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use device::stage::BlockName;
use ir::{Callee, Expr, InstanceId, StmtKind, Type};

/// A residual that is complete at the end of the parser.
pub(crate) struct Deposit<'a> {
    to: &'a Expr,
    place: Place<'a>,
    /// Whether the parser came here, the sum there, and the position there.
    is_made: Variable,
    sum: Variable,
    from: Variable,
}

impl<'a> Code<'a, '_> {
    /// At the parser's start: its residuals, none of which is made. They are left out where two have one destination, whose order
    /// would matter.
    pub(crate) fn begin_deposits(&mut self) {
        self.deposits = vec![];
        let parser = self.program.parser(self.facts.parser);
        let mut calls = vec![];
        for stmt in parser.states.iter().flat_map(|state| &state.stmts) {
            if let StmtKind::Call(call) = &stmt.kind
                && let Callee::Method(instance, method) = call.callee
                && let [Some(to)] = call.args.as_slice()
            {
                let object = self.program.extern_object(self.program.instance(instance).object);
                let method = object.methods.get(method as usize).map(|method| method.name.as_str());
                if object.name == "Checksum" && method == Some("subtract_all_and_deposit") {
                    calls.push(to);
                }
            }
        }
        let places: Vec<String> = calls.iter().map(|to| format!("{:?}", self.places().find(to))).collect();
        let is_alone = |at: usize| places.iter().filter(|place| **place == places[at]).count() == 1;
        if !(0..places.len()).all(is_alone) {
            return;
        }
        for to in calls {
            let Some((place, _)) = self.places().scalar(to) else { continue };
            let [is_made, sum, from] = [types::I8, types::I64, types::I64].map(|ty| self.b.declare_var(ty));
            for (var, ty) in [(is_made, types::I8), (sum, types::I64), (from, types::I64)] {
                let zero = self.number(ty, 0);
                self.b.def_var(var, zero);
            }
            self.deposits.push(Deposit { to, place, is_made, sum, from });
        }
    }

    /// The sum now; at the end of the parser less all that was extracted in between.
    pub(crate) fn deposit(&mut self, instance: InstanceId, to: &'a Expr) -> Made<bool> {
        let Some(index) = self.sum_register(instance) else { return Ok(false) };
        let known = self.deposits.iter().find(|deposit| std::ptr::eq(deposit.to, to));
        let Some(Deposit { place, is_made, sum, from, .. }) = known else { return Ok(false) };
        let (place, is_made, sum, from) = (place.clone(), *is_made, *sum, *from);
        let now = self.scalar(index);
        self.write(&place, now)?;
        let now = self.resize(now, types::I64);
        let cursor = self.scalar(self.layout.registers.cursor);
        let yes = self.number(types::I8, 1);
        for (var, value) in [(is_made, yes), (sum, now), (from, cursor)] {
            self.b.def_var(var, value);
        }
        Ok(true)
    }

    /// At the end of a parser that accepts.
    pub(crate) fn end_deposits(&mut self, error: Value) -> Made<()> {
        for Deposit { place, is_made, sum, from, .. } in std::mem::take(&mut self.deposits) {
            let is_made = self.b.use_var(is_made);
            let accepts = self.b.ins().icmp_imm_u(IntCC::Equal, error, 0);
            let is_made = self.b.ins().band(is_made, accepts);
            let (sum, from) = (self.b.use_var(sum), self.b.use_var(from));
            self.branch(
                is_made,
                |code| {
                    let cursor = code.scalar(code.layout.registers.cursor);
                    let bytes = code.b.ins().isub(cursor, from);
                    let call = code.b.ins().call(code.calls.residual, &[from, bytes, sum]);
                    let rest = code.b.inst_results(call)[0];
                    let rest = code.resize(rest, types::I32);
                    code.write(&place, rest)
                },
                |_| Ok(()),
            )?;
        }
        Ok(())
    }

    /// The checksum of a list of fields. With the flag, a checksum of zero is written as ones (UDP).
    pub(crate) fn update_sum(
        &mut self,
        data: &'a Expr,
        zeros_as_ones: Option<&'a Expr>,
    ) -> Made<Option<Value>> {
        if self.block != BlockName::Deparser || zeros_as_ones.is_some_and(|flag| !self.places().can(flag)) {
            return Ok(None);
        }
        let Some(plan) = self.plan_sum(data) else { return Ok(None) };
        let (sum, _) = self.sum_of_words(&plan)?;
        let sum = self.folded(sum);
        let sum = self.b.ins().bxor_imm_u(sum, 0xffff);
        let Some(flag) = zeros_as_ones else { return Ok(Some(sum)) };
        let flag = self.value(flag)?;
        let is_zero = self.b.ins().icmp_imm_u(IntCC::Equal, sum, 0);
        let all = self.b.ins().band(flag, is_zero);
        let ones = self.number(types::I64, 0xffff);
        Ok(Some(self.b.ins().select(all, ones, sum)))
    }

    pub(crate) fn parser_counter(&self, instance: InstanceId) -> Option<usize> {
        self.layout.half.as_ref()?.counters.get(&instance).copied()
    }

    /// A new number of a parser's counter, made of the old one and an argument: eight bits.
    pub(crate) fn change_counter(
        &mut self,
        instance: InstanceId,
        by: &'a Expr,
        new: impl FnOnce(&mut Self, Value, Value) -> Value,
    ) -> Made<bool> {
        let Some(index) = self.parser_counter(instance) else { return Ok(false) };
        let Some(by) = self.word(by)? else { return Ok(false) };
        let old = self.scalar(index);
        let old = self.resize(old, types::I64);
        let new = new(self, old, by);
        self.set_to(index, new);
        Ok(true)
    }

    /// `set(field, max, rotate, mask, add)`. Tofino 1 gives the mask as the number of its bits, less one.
    pub(crate) fn counter_from_field(&mut self, instance: InstanceId, args: [&'a Expr; 5]) -> Made<bool> {
        let Some(index) = self.parser_counter(instance) else { return Ok(false) };
        let fits = |arg: &&'a Expr| kind_of(self.program, &arg.ty).is_some() && self.places().can(arg);
        if self.reject.is_none() || !args.iter().all(fits) {
            return Ok(false);
        }
        let Some(error) = self.program.errors.iter().position(|error| *error == "CounterRange") else {
            return Ok(false);
        };
        let is_width = args[3].ty == Type::Bit(3);
        let mut numbers = vec![];
        for arg in args {
            let value = self.value(arg)?;
            numbers.push(self.resize(value, types::I64));
        }
        let &[field, most, rotate, mask, more] = numbers.as_slice() else { return Ok(false) };
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, field, most);
        let error = self.error_number(error as u64);
        self.fail_if(beyond, error)?;
        let byte = self.keep_low(field, 8);
        let rotate = self.keep_low(rotate, 3);
        let eight = self.number(types::I64, 8);
        let back = self.b.ins().isub(eight, rotate);
        let (low, high) = (self.b.ins().ushr(byte, rotate), self.b.ins().ishl(byte, back));
        let rotated = self.b.ins().bor(low, high);
        let mask = if is_width {
            // A width of w + 1 bits: the mask 2^(w + 1) - 1.
            let two = self.number(types::I64, 2);
            let bits = self.b.ins().ishl(two, mask);
            self.b.ins().iadd_imm_s(bits, -1)
        } else {
            mask
        };
        let masked = self.b.ins().band(rotated, mask);
        let masked = self.keep_low(masked, 8);
        let count = self.b.ins().iadd(masked, more);
        self.set_to(index, count);
        Ok(true)
    }
}
