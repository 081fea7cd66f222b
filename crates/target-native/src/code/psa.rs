//! PSA's externs, as far as code does them itself.

use super::pack::HashPlan;
use super::{Code, Made, PLAIN, type_of};
use crate::layout::{Kind, NONE, kind_of};
use crate::notes::Message;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::{Call, Callee, Const, Expr, ExprKind, InstanceId, Type, TypeKind};
use p4_arch::psa::PORT_RECIRCULATE;

/// Results of meters, indexed as in the interpreter.
const COLOURS: [&str; 3] = ["GREEN", "YELLOW", "RED"];

impl<'a> Code<'a, '_> {
    /// Makes a call whose result goes to a place or is ignored. Returns false, and makes nothing, if only the
    /// interpreter can do it.
    pub(crate) fn answer(&mut self, to: Option<&'a Expr>, call: &'a Call) -> Made<bool> {
        if self.layout.half.is_none() {
            return Ok(false);
        }
        if self.is_tna() {
            return self.tna_answer(to, call);
        }
        let to = to.map(|to| self.places().scalar(to));
        if matches!(to, Some(None)) {
            return Ok(false);
        }
        let Some(value) = self.answered(call)? else { return Ok(false) };
        if let Some((place, kind)) = to.flatten() {
            let value = self.resize(value, type_of(kind));
            let value = self.keep_low(value, kind.width());
            self.write(&place, value)?;
        }
        Ok(true)
    }

    fn answered(&mut self, call: &'a Call) -> Made<Option<Value>> {
        let args: Vec<&'a Expr> = call.args.iter().flatten().collect();
        match call.callee {
            Callee::ExternFunction(id) => {
                let name = self.program.extern_functions[id.index()].name.as_str();
                self.is_asked(name, &args)
            }
            Callee::Method(instance, method) => {
                let object = self.program.extern_object(self.program.instance(instance).object);
                let Some(method) = object.methods.get(method as usize) else { return Ok(None) };
                match (object.name.as_str(), method.name.as_str(), args.as_slice()) {
                    ("Hash", "get_hash", [data]) => self.get_hash(instance, data, None),
                    ("Hash", "get_hash", [base, data, max]) => {
                        self.get_hash(instance, data, Some((base, max)))
                    }
                    ("InternetChecksum", "get", []) => Ok(self.sum_register(instance).map(|index| {
                        let sum = self.scalar(index);
                        self.b.ins().bxor_imm_u(sum, 0xffff)
                    })),
                    ("InternetChecksum", "get_state", []) => {
                        Ok(self.sum_register(instance).map(|index| self.scalar(index)))
                    }
                    ("Meter", "execute", [index, rest @ ..]) if rest.len() < 2 => {
                        self.execute(instance, index, rest.first().copied(), &method.signature.returns)
                    }
                    ("Register", "read", [index]) => self.read_register(instance, index),
                    ("Random", "read", []) => self.read_random(instance),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Methods that give nothing.
    pub(crate) fn psa_method(
        &mut self,
        instance: InstanceId,
        object: &str,
        method: &str,
        args: &[&'a Expr],
    ) -> Made<bool> {
        match (object, method, args) {
            ("Counter", "count", [index]) => self.count(instance, index, None),
            ("DirectCounter", "count", []) => self.count_entry(None),
            ("Register", "write", [index, value]) => self.register_write(instance, index, value),
            ("Digest", "pack", [data]) => {
                let mut numbers = vec![];
                let Some(given) = self.given(data, &mut numbers) else { return Ok(false) };
                let name = self.program.instance(instance).control_plane_name.clone();
                self.report(&numbers, Message::Digest(name, given))
            }
            ("InternetChecksum", "clear", []) => {
                let zero = self.number(types::I32, 0);
                Ok(self.sum_register(instance).map(|index| self.set_scalar(index, zero)).is_some())
            }
            ("InternetChecksum", "set_state", [state]) => {
                let Some(index) = self.sum_register(instance) else { return Ok(false) };
                let Some(state) = self.word(state)? else { return Ok(false) };
                self.set_to(index, state);
                Ok(true)
            }
            ("InternetChecksum", "add", [data]) => self.add(instance, data, false),
            ("InternetChecksum", "subtract", [data]) => self.add(instance, data, true),
            _ => Ok(false),
        }
    }

    /// Makes a call of the functions that look at requested effects.
    fn is_asked(&mut self, name: &str, args: &[&'a Expr]) -> Made<Option<Value>> {
        let field = |at: usize, name| args.get(at).and_then(|of| self.field_of(of, name));
        let [clone, drop, again] = ["clone", "drop", "resubmit"].map(|name| field(0, name));
        let port = field(1, "egress_port");
        let not = |code: &mut Self, value| code.b.ins().bxor_imm_s(value, 1);
        Ok(match (name, clone, drop, again, port) {
            ("psa_clone_i2e" | "psa_clone_e2e", Some(clone), ..) => Some(self.value(clone)?),
            ("psa_resubmit" | "psa_normal", _, Some(drop), Some(again), _) => {
                let (drop, again) = (self.value(drop)?, self.value(again)?);
                let again = if name == "psa_normal" { not(self, again) } else { again };
                let stays = not(self, drop);
                Some(self.b.ins().band(stays, again))
            }
            ("psa_recirculate", _, Some(drop), _, Some(port)) => {
                let (drop, port) = (self.value(drop)?, self.value(port)?);
                let port = self.resize(port, types::I64);
                let back = self.b.ins().icmp_imm_u(IntCC::Equal, port, i64::from(PORT_RECIRCULATE));
                let stays = not(self, drop);
                Some(self.b.ins().band(stays, back))
            }
            _ => None,
        })
    }

    /// A field of a struct of the architecture's, which comes as the list of its fields.
    fn field_of(&self, of: &'a Expr, name: &str) -> Option<&'a Expr> {
        let at = self.program.fields(&of.ty).iter().position(|field| field.name == name)?;
        let parts = match &of.kind {
            ExprKind::Aggregate(parts) => parts,
            _ => return None,
        };
        parts.get(at).filter(|part| self.places().can(part))
    }

    /// `H(data)`, or `base + H(data) mod max` in 64 bits; `max` 0 counts as 1.
    fn get_hash(
        &mut self,
        instance: InstanceId,
        data: &'a Expr,
        range: Option<(&'a Expr, &'a Expr)>,
    ) -> Made<Option<Value>> {
        let Some(algorithm) = self.program.instance(instance).args.first() else { return Ok(None) };
        let plan = self.plan_hash(algorithm, data).map(HashPlan::filled_in_front);
        let Some(plan) = plan else { return Ok(None) };
        let Some((base, max)) = range else { return self.hash_of(&plan, false).map(Some) };
        let (Some(base), Some(max)) = (self.word(base)?, self.word(max)?) else { return Ok(None) };
        let hash = self.hash_of(&plan, false)?;
        let one = self.number(types::I64, 1);
        let max = self.b.ins().umax(max, one);
        let hash = self.b.ins().urem(hash, max);
        Ok(Some(self.b.ins().iadd(hash, base)))
    }

    pub(crate) fn sum_register(&self, instance: InstanceId) -> Option<usize> {
        self.layout.half.as_ref()?.sums.get(&instance).copied()
    }

    /// Adds the 16-bit words of `data` to the ones' complement sum, or their complements.
    pub(crate) fn add(&mut self, instance: InstanceId, data: &'a Expr, subtract: bool) -> Made<bool> {
        let Some(index) = self.sum_register(instance) else { return Ok(false) };
        let Some(plan) = self.plan_sum(data) else { return Ok(false) };
        let (mut sum, words) = self.sum_of_words(&plan)?;
        if subtract {
            let all = self.b.ins().imul_imm_s(words, 0xffff);
            sum = self.b.ins().isub(all, sum);
        }
        let old = self.scalar(index);
        let old = self.resize(old, types::I64);
        let sum = self.b.ins().iadd(sum, old);
        let sum = self.folded(sum);
        self.set_to(index, sum);
        Ok(true)
    }

    /// Counts for the entry that was hit last, or for the default action. `less` bytes do not count.
    pub(crate) fn count_entry(&mut self, less: Option<&'a Expr>) -> Made<bool> {
        let Some(homes) = &self.layout.half else { return Ok(false) };
        let Some(bytes) = self.counted_but(less)? else { return Ok(false) };
        let counter = self.scalar(homes.counter);
        self.branch(
            counter,
            |code| {
                code.count_packet(counter, bytes);
                Ok(())
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    /// The packet's colour before the meter, green if the program gives none; a value out of range stays.
    fn execute(
        &mut self,
        instance: InstanceId,
        index: &'a Expr,
        before: Option<&'a Expr>,
        colours: &Type,
    ) -> Made<Option<Value>> {
        let Type::Named(id) = colours else { return Ok(None) };
        let TypeKind::Enum(members) = &self.program.type_decl(*id).kind else { return Ok(None) };
        let position = |name: &str| members.iter().position(|member| member == name).map(|at| at as u64);
        let [Some(green), Some(yellow), Some(red)] = COLOURS.map(position) else { return Ok(None) };
        let members = [green, yellow, red];
        if before.is_some_and(|before| !self.places().can(before)) {
            return Ok(None);
        }
        let Some(index) = self.word(index)? else { return Ok(None) };
        let before = match before {
            None => self.number(types::I64, 0),
            Some(before) => {
                let member = self.word(before)?;
                let Some(member) = member else { return Ok(None) };
                self.number_at(member, members.into_iter().zip(0..))
            }
        };
        let bytes = self.counted();
        let instance = self.number(types::I32, u64::from(instance.0));
        let call = self.b.ins().call(self.calls.meter, &[self.context, instance, index, bytes, before]);
        let colour = self.b.inst_results(call)[0];
        let is_one = self.b.ins().icmp_imm_s(IntCC::NotEqual, colour, NONE);
        let colour = self.b.ins().select(is_one, colour, before);
        Ok(Some(self.number_at(colour, (0..).zip(members))))
    }

    /// The second number of the pair with `value` for its first; 0 if there is none.
    pub(crate) fn number_at(&mut self, value: Value, pairs: impl Iterator<Item = (u64, u64)>) -> Value {
        let mut found = self.number(types::I64, 0);
        for (from, to) in pairs {
            let is_it = self.b.ins().icmp_imm_u(IntCC::Equal, value, from as i64);
            let to = self.number(types::I64, to);
            found = self.b.ins().select(is_it, to, found);
        }
        found
    }

    /// Out of range it is zero.
    pub(crate) fn read_register(&mut self, instance: InstanceId, index: &'a Expr) -> Made<Option<Value>> {
        if self.shared_cells(instance).is_none() {
            return Ok(None);
        }
        match self.word(index)? {
            Some(index) => self.read_cell(instance, index),
            None => Ok(None),
        }
    }

    /// Uniform between the constructor's two numbers.
    fn read_random(&mut self, instance: InstanceId) -> Made<Option<Value>> {
        let declared = self.program.instance(instance);
        let kind = declared.type_args.first().and_then(|ty| kind_of(self.program, ty));
        let Some(kind @ Kind::Bits(_)) = kind else { return Ok(None) };
        let bound = |at: usize| match declared.args.get(at).map(|arg| &arg.kind) {
            Some(ExprKind::Const(Const::Bits(bits))) => bits.low_u128(),
            _ => 0,
        };
        let bounds = [bound(0), bound(1)];
        if bounds[0] > bounds[1] {
            return Ok(Some(self.constant(type_of(kind), bounds[0])));
        }
        let drawn = self.draw(bounds)?;
        Ok(Some(self.resize(drawn, type_of(kind))))
    }

    /// A number between two, of 128 bits.
    pub(crate) fn draw(&mut self, bounds: [u128; 2]) -> Made<Value> {
        for (at, bound) in bounds.into_iter().enumerate() {
            let bound = self.constant(types::I128, bound);
            self.store_key_pair(at, bound);
        }
        self.b.ins().call(self.calls.random, &[self.context]);
        Ok(self.b.ins().load(types::I128, PLAIN, self.frame, self.layout.homes.keys))
    }
}
