//! v1model's externs, as far as code does them itself.

use super::place::Place;
use super::{Code, Made, PLAIN, Unable, type_of};
use crate::context::Context;
use crate::layout::{Kind, Node, kind_of};
use base_diag::Span;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use dataplane_api::DropReason;
use device::ValueCallee;
use ir::{Call, Callee, Const, Expr, ExprKind, InstanceId};
use std::mem::offset_of;

/// BMv2 keeps one bit of a session's 16 for itself.
const SESSION_MASK: i64 = 0x7fff;

impl<'a> Code<'a, '_> {
    /// A call for its effects; false, and nothing is made, if only the interpreter can do it.
    pub(crate) fn call(&mut self, call: &'a Call) -> Made<bool> {
        if let Some(callee) = ValueCallee::of(self.program, &call.callee) {
            return self.call_value(callee, call, None);
        }
        if self.is_tna() {
            return self.tna_call(call);
        }
        let args: Vec<&'a Expr> = call.args.iter().flatten().collect();
        match call.callee {
            Callee::ExternFunction(id) => {
                let name = self.program.extern_functions[id.index()].name.as_str();
                self.function(name, &args, call.span)
            }
            Callee::Method(instance, method) => {
                let object = self.program.extern_object(self.program.instance(instance).object);
                let Some(method) = object.methods.get(method as usize) else { return Ok(false) };
                if self.facts.frame_externs.contains(&instance) {
                    return self.call_frame(instance, &method.name, &args).map(|()| true);
                }
                Ok(self.method(instance, object.name.as_str(), method.name.as_str(), &args)?
                    || self.answer(None, call)?)
            }
            _ => Ok(false),
        }
    }

    fn function(&mut self, name: &str, args: &[&'a Expr], call: Span) -> Made<bool> {
        let registers = self.layout.registers;
        match (name, args) {
            ("mark_to_drop", [standard]) => Ok(self.mark_to_drop(standard)),
            ("static_assert", _) => Ok(true),
            ("assert" | "assume", [cond]) => {
                if !self.places().can(cond) {
                    return Ok(false);
                }
                let holds = self.value(cond)?;
                let fails = self.b.ins().bxor_imm_s(holds, 1);
                let block = self.drop_for(DropReason::AssertFailed);
                self.leave_if(fails, block, &[]);
                Ok(true)
            }
            ("truncate", [length]) => {
                let Some(length) = self.word(length)? else { return Ok(false) };
                let length = self.keep_low(length, 32);
                let old = self.scalar(registers.truncate);
                // A second `truncate` cannot make the packet longer again.
                let least = self.b.ins().umin(old, length);
                self.set_scalar(registers.truncate, least);
                Ok(true)
            }
            ("clone", [_, session]) => self.clone_packet(session, None),
            ("clone_preserving_field_list", [_, session, list]) => self.clone_packet(session, Some(list)),
            ("resubmit_preserving_field_list", [list]) => self.request(registers.resubmit, list),
            ("recirculate_preserving_field_list", [list]) => self.request(registers.recirculate, list),
            ("random", [result, lo, hi]) => self.random(result, lo, hi),
            ("digest", [_, data]) => self.digest(data),
            ("log_msg", [message]) => self.log(message, None),
            ("log_msg", [message, data]) => self.log(message, Some(data)),
            ("hash", [result, algorithm, base, data, max]) => {
                self.hash([result, algorithm, base, data, max], call)
            }
            ("verify_checksum", [cond, data, checksum, algorithm]) => {
                self.verify_checksum(cond, data, checksum, (algorithm, call), false)
            }
            ("verify_checksum_with_payload", [cond, data, checksum, algorithm]) => {
                self.verify_checksum(cond, data, checksum, (algorithm, call), true)
            }
            ("update_checksum", [cond, data, checksum, algorithm]) => {
                self.update_checksum(cond, data, checksum, (algorithm, call), false)
            }
            ("update_checksum_with_payload", [cond, data, checksum, algorithm]) => {
                self.update_checksum(cond, data, checksum, (algorithm, call), true)
            }
            _ => Ok(false),
        }
    }

    fn method(&mut self, instance: InstanceId, object: &str, method: &str, args: &[&'a Expr]) -> Made<bool> {
        match (object, method, args) {
            ("register", "read", [result, index]) => self.register_read(instance, result, index),
            ("register", "write", [index, value]) => self.register_write(instance, index, value),
            ("counter", "count", [index]) => self.count(instance, index, None),
            ("direct_counter", "count", []) => Ok(true),
            ("meter", "execute_meter", [index, result]) => self.execute_meter(instance, index, result),
            ("direct_meter", "read", [result]) => self.read_meter(instance, result),
            _ => self.psa_method(instance, object, method, args),
        }
    }

    /// The lowest 64 bits of a number; `None`, and nothing is made, if code cannot compute it.
    pub(crate) fn word(&mut self, expr: &'a Expr) -> Made<Option<Value>> {
        if let ExprKind::Const(Const::Int(n)) = &expr.kind {
            let low = base_bits::Bits::from_bigint(64, n).low_u64();
            return Ok(Some(self.number(types::I64, low)));
        }
        if !self.places().can(expr) {
            return Ok(None);
        }
        let value = self.value(expr)?;
        Ok(Some(self.resize(value, types::I64)))
    }

    /// Writes a number of 64 bits, cut to the place's width.
    pub(crate) fn give(&mut self, place: &Place<'a>, kind: Kind, value: Value) -> Made<()> {
        let value = match kind {
            Kind::Bool => self.b.ins().icmp_imm_u(IntCC::NotEqual, value, 0),
            kind => {
                let value = self.resize(value, type_of(kind));
                self.keep_low(value, kind.width())
            }
        };
        self.write(place, value)
    }

    fn mark_to_drop(&mut self, standard: &'a Expr) -> bool {
        let Some(Place::Node(Node::Struct(nodes))) = self.places().find(standard) else { return false };
        let names = self.program.fields(&standard.ty);
        for (name, value) in [("egress_spec", self.facts.drop_port), ("mcast_grp", 0)] {
            let at = names.iter().position(|field| field.name == name);
            if let Some(Node::Scalar(index)) = at.and_then(|at| nodes.get(at)) {
                self.set_standard(*index, u64::from(value));
            }
        }
        true
    }

    /// Sets a scalar to a constant, cut to its width.
    pub(crate) fn set_standard(&mut self, index: usize, value: u64) {
        let kind = self.layout.scalars[index].kind;
        let value = self.constant(type_of(kind), u128::from(value) & super::wire::ones(kind.width()));
        self.set_scalar(index, value);
    }

    /// The session in the lower half, and the field list's index and one in the upper.
    fn clone_packet(&mut self, session: &'a Expr, list: Option<&'a Expr>) -> Made<bool> {
        let small = |list: &Expr| match &list.kind {
            ExprKind::Const(Const::Bits(bits)) => bits.to_u32().is_some_and(|n| n < 1 << 30),
            _ => kind_of(self.program, &list.ty).is_some_and(|kind| kind.width() <= 30),
        };
        if !list.is_none_or(small) || list.is_some_and(|list| !self.places().can(list)) {
            return Ok(false);
        }
        let Some(session) = self.word(session)? else { return Ok(false) };
        let session = self.b.ins().band_imm_s(session, SESSION_MASK);
        let effect = match list {
            None => session,
            Some(list) => {
                let list = self.word(list)?.ok_or(Unable("a field list"))?;
                let list = self.b.ins().iadd_imm_s(list, 1);
                let list = self.shift_up(list, 32);
                self.b.ins().bor(session, list)
            }
        };
        self.set_scalar(self.layout.registers.clone, effect);
        Ok(true)
    }

    fn request(&mut self, register: usize, list: &'a Expr) -> Made<bool> {
        let Some(list) = self.word(list)? else { return Ok(false) };
        let list = self.keep_low(list, 32);
        self.set_scalar(register, list);
        Ok(true)
    }

    /// `result = base + H(data) mod max`, in 64 bits; `max` 0 counts as 1.
    fn hash(&mut self, [result, algorithm, base, data, max]: [&'a Expr; 5], call: Span) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(result) else { return Ok(false) };
        let Some(plan) = self.plan_call(algorithm, data, call) else { return Ok(false) };
        let (Some(base), Some(max)) = (self.word(base)?, self.word(max)?) else { return Ok(false) };
        let hash = self.hash_of(&plan, false)?;
        let one = self.number(types::I64, 1);
        let max = self.b.ins().umax(max, one);
        let hash = self.b.ins().urem(hash, max);
        let value = self.b.ins().iadd(hash, base);
        self.give(&place, kind, value)?;
        Ok(true)
    }

    fn verify_checksum(
        &mut self,
        cond: &'a Expr,
        data: &'a Expr,
        checksum: &'a Expr,
        (algorithm, call): (&'a Expr, Span),
        payload: bool,
    ) -> Made<bool> {
        let Some((place, _)) = self.places().scalar(checksum) else { return Ok(false) };
        let Some(plan) = self.plan_call(algorithm, data, call) else { return Ok(false) };
        if !self.places().can(cond) {
            return Ok(false);
        }
        let mut cond = self.value(cond)?;
        // The checksum of an invalid header is not verified.
        if let Some(header) = super::pack::owner(&place) {
            let valid = self.valid(header)?;
            cond = self.both(cond, valid);
        }
        let register = self.layout.registers.checksum_error;
        self.branch(
            cond,
            |code| {
                let hash = code.hash_of(&plan, payload)?;
                let want = code.read(&place)?;
                let want = code.resize(want, types::I64);
                let wrong = code.b.ins().icmp(IntCC::NotEqual, hash, want);
                let old = code.scalar(register);
                let error = code.either(old, wrong);
                code.set_scalar(register, error);
                Ok(())
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    fn update_checksum(
        &mut self,
        cond: &'a Expr,
        data: &'a Expr,
        checksum: &'a Expr,
        (algorithm, call): (&'a Expr, Span),
        payload: bool,
    ) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(checksum) else { return Ok(false) };
        let Some(plan) = self.plan_call(algorithm, data, call) else { return Ok(false) };
        if !self.places().can(cond) {
            return Ok(false);
        }
        let cond = self.value(cond)?;
        self.branch(
            cond,
            |code| {
                let hash = code.hash_of(&plan, payload)?;
                code.give(&place, kind, hash)
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    /// The address of the cells of a flat object.
    fn cells(&mut self, index: usize) -> Value {
        let cells = self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, cells) as i32);
        self.b.ins().load(types::I64, PLAIN, cells, 8 * index as i32)
    }

    /// Out of range the result is left alone.
    fn register_read(&mut self, instance: InstanceId, result: &'a Expr, index: &'a Expr) -> Made<bool> {
        let Some(cells) = self.facts.cells.get(&instance).copied() else { return Ok(false) };
        let Some((place, kind)) = self.places().scalar(result) else { return Ok(false) };
        if cells.size == 0 || kind != cells.kind {
            return Ok(false);
        }
        let Some(index) = self.word(index)? else { return Ok(false) };
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, cells.size as i64);
        if self.ahead && !cells.is_small() {
            self.prefetch_cell(cells, index);
            return Ok(true);
        }
        let old = self.read(&place)?;
        let zero = self.number(types::I64, 0);
        let index = self.b.ins().select(inside, index, zero);
        let address = self.cell(cells, index);
        let value = self.b.ins().load(super::wire::int(cells.bytes), PLAIN, address, 0);
        let value = self.resize(value, type_of(kind));
        let value = self.b.ins().select(inside, value, old);
        self.write(&place, value)?;
        Ok(true)
    }

    /// Out of range nothing happens.
    pub(crate) fn register_write(
        &mut self,
        instance: InstanceId,
        index: &'a Expr,
        value: &'a Expr,
    ) -> Made<bool> {
        let Some(cells) = self.facts.cells.get(&instance).copied() else { return Ok(false) };
        if !self.places().can(value) || kind_of(self.program, &value.ty) != Some(cells.kind) {
            return Ok(false);
        }
        let Some(index) = self.word(index)? else { return Ok(false) };
        if self.ahead {
            self.prefetch_cell(cells, index);
            return Ok(true);
        }
        let value = self.value(value)?;
        let value = self.resize(value, super::wire::int(cells.bytes));
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, cells.size as i64);
        self.branch(
            inside,
            |code| {
                let address = code.cell(cells, index);
                if !code.facts.shares {
                    code.b.ins().store(PLAIN, value, address, 0);
                    return Ok(());
                }
                // Writing a value that is already there would take the line from the other workers.
                let old = code.b.ins().load(super::wire::int(cells.bytes), PLAIN, address, 0);
                let is_new = code.b.ins().icmp(IntCC::NotEqual, old, value);
                let write = |code: &mut Self| {
                    code.b.ins().store(PLAIN, value, address, 0);
                    Ok(())
                };
                code.branch(is_new, write, |_| Ok(()))
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    pub(crate) fn cell(&mut self, cells: crate::facts::CellsCode, index: Value) -> Value {
        let offset = self.shift_up(index, cells.bytes.ilog2());
        let base = self.cells(cells.index);
        self.b.ins().iadd(base, offset)
    }
}
