//! TNA's externs, as far as code does them itself. A register action is a read, code and a write
//! (`ir_lower::expand_register_actions`).

use super::tna::REFUSED;
use super::{Code, Made, type_of};
use crate::layout::{Kind, kind_of};
use crate::notes::{Given, Message};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::stage::BlockName;
use device::tna::HashUnit;
use ir::{BinaryOp, Call, Callee, Const, Expr, ExprKind, ExternMethod, InstanceId};
use p4_arch::tna::NO_PORT;

/// Numbers of `MeterColor_t` for green, yellow and red.
const COLOURS: [u64; 3] = [0, 1, 3];

/// Methods and functions that need nothing of their stage beside its variables.
const ALONE: [(&str, &[&str]); 10] = [
    ("Register", &["read", "write"]),
    ("RegisterParam", &["read"]),
    ("RegisterAction", &["execute", "execute_log", "predicate"]),
    ("Hash", &["get"]),
    ("MathUnit", &["execute"]),
    ("Lpf", &["execute"]),
    ("Wred", &["execute"]),
    ("Random", &["get"]),
    ("Counter", &["count"]),
    ("Meter", &["execute"]),
];

/// True if the interpreter can run a statement with these calls in the middle of a half: no state of the stage is needed.
pub(crate) fn is_alone(program: &ir::Program, block: BlockName, stmt: &ir::Stmt) -> bool {
    let mut alone = !matches!(block, BlockName::Parser | BlockName::Deparser);
    let mut call = |call: &Call| match call.callee {
        Callee::ExternFunction(id) => {
            alone &= program.extern_functions[id.index()].name != "port_metadata_unpack";
        }
        Callee::Method(instance, method) => {
            let object = program.extern_object(program.instance(instance).object);
            let method = object.methods.get(method as usize).map_or("", |method| method.name.as_str());
            let of = if object.name.starts_with("RegisterAction") { "RegisterAction" } else { &object.name };
            alone &= ALONE.iter().any(|(name, methods)| *name == of && methods.contains(&method));
        }
        _ => alone = false,
    };
    let mut block = ir::Block::default();
    block.stmts.push(stmt.clone());
    let mut applies = false;
    ir::visit::stmts(&block, &mut |stmt| {
        applies |=
            matches!(stmt.kind, ir::StmtKind::Apply(_) | ir::StmtKind::Switch(ir::SwitchOn::ActionRun(_), _));
        if let ir::StmtKind::Call(c) = &stmt.kind {
            call(c);
        }
    });
    ir::visit::all_exprs(&block, &mut |expr| {
        ir::visit::subexprs(expr, &mut |expr| match &expr.kind {
            ExprKind::Call(c) => call(c),
            ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => applies = true,
            _ => {}
        });
    });
    alone && !applies
}

impl<'a> Code<'a, '_> {
    /// See [`answer`](Code::answer).
    pub(crate) fn tna_answer(&mut self, to: Option<&'a Expr>, call: &'a Call) -> Made<bool> {
        if let Some(to) = to
            && kind_of(self.program, &to.ty).is_none()
        {
            return self.answer_struct(to, call);
        }
        let to = to.map(|to| self.places().scalar(to));
        if matches!(to, Some(None)) {
            return Ok(false);
        }
        let value = match call.callee {
            Callee::ExternFunction(id) => {
                let name = self.program.extern_functions[id.index()].name.as_str();
                self.tna_function(name, call)?
            }
            Callee::Method(instance, method) => {
                let object = self.program.extern_object(self.program.instance(instance).object);
                let Some(method) = object.methods.get(method as usize) else { return Ok(false) };
                self.tna_value(instance, object.name.as_str(), method, call)?
            }
            _ => None,
        };
        let Some(value) = value else { return Ok(false) };
        if let Some((place, kind)) = to.flatten() {
            let value = self.resize(value, type_of(kind));
            let value = self.keep_low(value, kind.width());
            self.write(&place, value)?;
        }
        Ok(true)
    }

    /// Functions that give a scalar.
    fn tna_function(&mut self, name: &str, call: &'a Call) -> Made<Option<Value>> {
        let args: Vec<&'a Expr> = call.args.iter().flatten().collect();
        let bits = |arg: &Expr| self.program.bits(&arg.ty).unwrap_or(0);
        Ok(match (name, args.as_slice()) {
            ("max", [a, b]) => self.extreme(BinaryOp::Ge, a, b)?,
            ("min", [a, b]) => self.extreme(BinaryOp::Le, a, b)?,
            ("sizeInBits", [of]) => Some(bits(of)).map(|bits| self.number(types::I64, bits)),
            ("sizeInBytes", [of]) => Some(bits(of)).map(|bits| self.number(types::I64, bits.div_ceil(8))),
            ("static_assert", _) => Some(self.number(types::I8, 1)),
            ("is_validated", [header]) if self.program.is_header(&header.ty) => {
                match self.places().target(header) {
                    Some((header, _)) => Some(self.valid(&header)?),
                    None => None,
                }
            }
            ("is_validated", [field]) => match self.places().scalar(field) {
                Some((place, _)) => match super::pack::owner(&place) {
                    Some(header) => Some(self.valid(header)?),
                    None => Some(self.number(types::I8, 1)),
                },
                None => None,
            },
            _ => None,
        })
    }

    /// The one of two numbers for which `op` holds; the first if both are equal.
    fn extreme(&mut self, op: BinaryOp, a: &'a Expr, b: &'a Expr) -> Made<Option<Value>> {
        if !self.places().can(a) || !self.places().can(b) {
            return Ok(None);
        }
        let Some(kind) = kind_of(self.program, &a.ty) else { return Ok(None) };
        let signed = self.places().is_signed(&a.ty);
        let values = [self.value(a)?, self.value(b)?];
        let [x, y] = if signed { values.map(|value| self.extend_sign(value, kind.width())) } else { values };
        let first = self.compare(op, signed, x, y);
        Ok(Some(self.b.ins().select(first, values[0], values[1])))
    }

    /// Methods that give a scalar.
    fn tna_value(
        &mut self,
        instance: InstanceId,
        object: &str,
        method: &'a ExternMethod,
        call: &'a Call,
    ) -> Made<Option<Value>> {
        let args: Vec<&'a Expr> = call.args.iter().flatten().collect();
        match (object, method.name.as_str(), args.as_slice()) {
            ("Hash", "get", [data]) if self.block != BlockName::Deparser => self.hash_unit(instance, data),
            ("Random", "get", []) => {
                let ty = self.program.instance(instance).type_args.first();
                let width = ty.and_then(|ty| kind_of(self.program, ty)).map_or(0, Kind::width);
                if width == 0 {
                    return Ok(None);
                }
                self.draw([0, u128::MAX >> (128 - width)]).map(Some)
            }
            ("Register", "read", [index]) => self.read_register(instance, index),
            ("RegisterParam", "read", []) => {
                let first = self.number(types::I64, 0);
                self.read_cell(instance, first)
            }
            ("DirectRegister", "read", []) => {
                let width = self.packed_type(instance).map_or(0, |(width, _)| width);
                self.read_direct(instance, width)
            }
            ("Meter" | "DirectMeter", "execute", _) => self.execute_tna(instance, method, call),
            ("Checksum", "get", []) => Ok(self.sum_register(instance).map(|index| self.scalar(index))),
            ("Checksum", "verify", []) => Ok(self.sum_register(instance).map(|index| {
                let sum = self.scalar(index);
                self.b.ins().icmp_imm_u(IntCC::NotEqual, sum, 0xffff)
            })),
            ("Checksum", "update", [data, flag @ ..]) if flag.len() < 2 => {
                self.update_sum(data, flag.first().copied())
            }
            ("ParserCounter", "is_zero", []) => Ok(self.parser_counter(instance).map(|index| {
                let count = self.scalar(index);
                self.b.ins().icmp_imm_u(IntCC::Equal, count, 0)
            })),
            ("ParserCounter", "is_negative", []) => Ok(self.parser_counter(instance).map(|index| {
                let count = self.scalar(index);
                self.shift_down(count, 7)
            })),
            (name, "predicate", _) if name.contains("RegisterAction") => {
                let own = method.signature.params.len();
                self.predicate(call.args.get(..own).unwrap_or(&call.args))
            }
            _ => Ok(None),
        }
    }

    /// Methods and functions that give nothing.
    pub(crate) fn tna_call(&mut self, call: &'a Call) -> Made<bool> {
        let args: Vec<&'a Expr> = call.args.iter().flatten().collect();
        let (instance, method) = match call.callee {
            Callee::ExternFunction(id) => {
                return match (self.program.extern_functions[id.index()].name.as_str(), args.as_slice()) {
                    ("funnel_shift_right", [to, high, low, by]) => self.funnel_shift(to, high, low, by),
                    ("invalidate", [field]) => self.invalidate(field),
                    _ => self.tna_answer(None, call),
                };
            }
            Callee::Method(instance, method) => (instance, method),
            _ => return Ok(false),
        };
        let object = self.program.extern_object(self.program.instance(instance).object);
        let Some(method) = object.methods.get(method as usize) else { return Ok(false) };
        match (object.name.as_str(), method.name.as_str(), args.as_slice()) {
            ("Counter", "count", [index, less @ ..]) if less.len() < 2 => {
                self.count(instance, index, less.first().copied())
            }
            ("DirectCounter", "count", less) if less.len() < 2 => self.count_entry(less.first().copied()),
            ("Register", "write", [index, value]) => self.write_cell(instance, index, value),
            ("DirectRegister", "write", [value]) => self.write_direct(instance, value),
            ("Checksum", "add", [data]) => self.add(instance, data, false),
            ("Checksum", "subtract", [data]) => self.add(instance, data, true),
            ("Checksum", "subtract_all_and_deposit", [to]) => self.deposit(instance, to),
            ("ParserCounter", "set", [value]) => self.change_counter(instance, value, |_, _, new| new),
            ("ParserCounter", "set", [field, most, rotate, mask, more]) => {
                self.counter_from_field(instance, [field, most, rotate, mask, more])
            }
            ("ParserCounter", "increment", [by]) => {
                self.change_counter(instance, by, |code, old, by| code.b.ins().iadd(old, by))
            }
            ("ParserCounter", "decrement", [by]) => {
                self.change_counter(instance, by, |code, old, by| code.b.ins().isub(old, by))
            }
            ("ParserPriority", "set", [value]) => Ok(self.places().can(value)),
            ("Digest", "pack", [data]) => {
                let mut numbers = vec![];
                let Some(given) = self.given(data, &mut numbers) else { return Ok(false) };
                let name = self.program.instance(instance).control_plane_name.clone();
                self.report(&numbers, Message::Digest(name, given))
            }
            ("Mirror", "emit", [session, header @ ..]) if header.len() < 2 => {
                let mut numbers = vec![];
                let session = self.given(session, &mut numbers);
                let Some(session @ Given::Number(..)) = session else { return Ok(false) };
                let header = header.first().map(|header| self.given(header, &mut numbers).ok_or(()));
                let Ok(header) = header.transpose() else { return Ok(false) };
                self.report(&numbers, Message::Mirror(session, header))
            }
            ("Resubmit", "emit", header) if header.len() < 2 => {
                let mut numbers = vec![];
                let header = header.first().map(|header| self.given(header, &mut numbers).ok_or(()));
                let Ok(header) = header.transpose() else { return Ok(false) };
                self.report(&numbers, Message::Resubmission(header))
            }
            _ => self.tna_answer(None, call),
        }
    }

    /// The low half of two numbers side by side, shifted to the right.
    fn funnel_shift(&mut self, to: &'a Expr, high: &'a Expr, low: &'a Expr, by: &'a Expr) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(to) else { return Ok(false) };
        let width = |of: &Expr| kind_of(self.program, &of.ty).map_or(0, Kind::width);
        let (above, below) = (width(high), width(low));
        let fits = above > 0 && below > 0 && above + below <= 128 && kind == Kind::Bits(below);
        if !fits || !self.places().can(high) || !self.places().can(low) {
            return Ok(false);
        }
        let Some(by) = self.word(by)? else { return Ok(false) };
        let [high, low] = [self.value(high)?, self.value(low)?].map(|value| self.resize(value, types::I128));
        let high = self.shift_up(high, below);
        let both = self.b.ins().bor(high, low);
        let most = self.number(types::I64, u64::from(above + below));
        let by = self.b.ins().umin(by, most);
        let shifted = self.b.ins().ushr(both, by);
        let gone = self.b.ins().icmp_imm_u(IntCC::Equal, by, 128);
        let zero = self.number(types::I128, 0);
        let shifted = self.b.ins().select(gone, zero, shifted);
        let value = self.resize(shifted, type_of(kind));
        let value = self.keep_low(value, below);
        self.write(&place, value)?;
        Ok(true)
    }

    /// A field counts as never written: a unicast port is no port again, every other field is zero.
    fn invalidate(&mut self, field: &'a Expr) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(field) else { return Ok(false) };
        let is_port = match &field.kind {
            ExprKind::Field(base, at) => {
                let fields = self.program.fields(&base.ty);
                fields.get(*at as usize).is_some_and(|field| field.name == "ucast_egress_port")
            }
            _ => false,
        };
        let value = self.number(type_of(kind), if is_port { u64::from(NO_PORT) } else { 0 });
        let value = self.keep_low(value, kind.width());
        self.write(&place, value)?;
        Ok(true)
    }

    /// Zero bits fill up the first byte.
    fn hash_unit(&mut self, instance: InstanceId, data: &'a Expr) -> Made<Option<Value>> {
        let Some(unit) = HashUnit::of(self.program, self.program.instance(instance)) else { return Ok(None) };
        let Some(plan) = self.plan_sum(data) else { return Ok(None) };
        let (list, count) = self.list(&plan)?;
        let id = self.number(types::I32, self.notes.hash_units.len() as u64);
        self.notes.hash_units.push(unit);
        let call = self.b.ins().call(self.calls.hash_unit, &[self.context, id, list, count]);
        Ok(Some(self.b.inst_results(call)[0]))
    }

    /// The colour before is green without an argument, and stays without a cell.
    fn execute_tna(
        &mut self,
        instance: InstanceId,
        method: &'a ExternMethod,
        call: &'a Call,
    ) -> Made<Option<Value>> {
        let named = |name: &str| {
            let at = method.signature.params.iter().position(|param| param.name == name)?;
            call.args.get(at)?.as_ref()
        };
        let is_direct = named("index").is_none();
        if is_direct && self.current.is_none() {
            return Ok(None);
        }
        let wanted = [named("index"), named("color"), named("adjust_byte_count")];
        if !wanted.iter().flatten().all(|arg| self.places().can(arg)) {
            return Ok(None);
        }
        let mut numbers = [None; 3];
        for (number, arg) in numbers.iter_mut().zip(wanted) {
            if let Some(arg) = arg {
                *number = self.word(arg)?;
            }
        }
        let [index, colour, less] = numbers;
        let zero = self.number(types::I64, 0);
        let before = match colour {
            None => zero,
            Some(colour) => {
                let two = self.number(types::I64, 2);
                // TNA's colours are 0 green, 1 and 2 yellow, 3 red; the meter counts them as 0, 1, 2.
                let red = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, colour, 2);
                let one = self.number(types::I64, 1);
                let one = self.b.ins().umin(colour, one);
                self.b.ins().select(red, two, one)
            }
        };
        let bytes = self.counted_less(less);
        let id = self.number(types::I32, u64::from(instance.0));
        let call = match index {
            Some(index) => self.b.ins().call(self.calls.meter, &[self.context, id, index, bytes, before]),
            None => self.b.ins().call(self.calls.direct_meter, &[self.context, id, bytes, before]),
        };
        let colour = self.b.inst_results(call)[0];
        let is_one = self.b.ins().icmp_imm_s(IntCC::NotEqual, colour, crate::layout::NONE);
        let colour = self.b.ins().select(is_one, colour, before);
        Ok(Some(self.number_at(colour, (0..).zip(self.colours(instance)))))
    }

    /// The numbers of green, yellow and red: three arguments of the constructor, the last first, or `MeterColor_t`'s.
    fn colours(&self, instance: InstanceId) -> [u64; 3] {
        let args = self.program.instance(instance).args.iter().rev();
        let numbers: Vec<u64> = args
            .filter_map(|arg| match &arg.kind {
                ExprKind::Const(Const::Bits(bits)) if bits.width() == 8 => bits.to_u64(),
                _ => None,
            })
            .collect();
        <[u64; 3]>::try_from(numbers).unwrap_or(COLOURS)
    }

    /// One bit for each combination of the comparisons: that of the one that holds is set.
    fn predicate(&mut self, comparisons: &'a [Option<Expr>]) -> Made<Option<Value>> {
        let can = |holds: &'a Expr| self.places().can(holds);
        if !comparisons.iter().flatten().all(can) || comparisons.len() > 4 {
            return Ok(None);
        }
        let mut combination = self.number(types::I64, 0);
        for (holds, at) in comparisons.iter().zip(0..) {
            let Some(holds) = holds else { continue };
            let holds = self.value(holds)?;
            let holds = self.resize(holds, types::I64);
            let holds = self.shift_up(holds, at);
            combination = self.b.ins().bor(combination, holds);
        }
        let one = self.number(types::I64, 1);
        Ok(Some(self.b.ins().ishl(one, combination)))
    }

    /// The number of an error for the parser's end.
    pub(crate) fn error_number(&self, error: u64) -> u64 {
        if self.is_tna() && error == 0 { REFUSED } else { error }
    }
}
