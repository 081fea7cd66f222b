//! What each of v1model's extern functions and methods does.

use super::externs::{FrameCall, V1, arg};
use super::packet::CloneOrder;
use crate::access::AccessKind;
use crate::environment::Source;
use crate::hash::{self, Algorithm};
use crate::machine::{Machine, Stop};
use crate::objects::Object;
use crate::state::Digest;
use crate::table::Entry;
use crate::trace::{EventKind, shown, value_text};
use crate::value::Value;
use base_bits::Bits;
use ir::{ControlId, Expr, InstanceId, Name, TableId, Type, TypeKind};

/// BMv2 keeps one bit of a session's 16 for itself.
const SESSION_MASK: u64 = 0x7fff;

impl Machine<'_, V1<'_>> {
    /// The lowest 64 bits of a number.
    pub(super) fn eval_number(&mut self, expr: &Expr) -> Result<u64, Stop> {
        let value = self.eval(expr)?;
        match value {
            Value::Int(n) => Ok(Bits::from_bigint(64, &n).low_u64()),
            value => Ok(value.to_key().ok_or(Stop::Broken("a number is wanted"))?.low_u64()),
        }
    }

    /// Writes a number into an `out` argument, cut to its width.
    fn give(&mut self, to: &Expr, number: u128) -> Result<(), Stop> {
        let place = self.place(to)?;
        match self.program.representation(&to.ty) {
            Type::Bit(n) | Type::Int(n) => self.write(&place, Value::Bits(Bits::new(*n, number))),
            Type::Bool => self.write(&place, Value::Bool(number != 0)),
            _ => Err(Stop::Broken("a number for what is none")),
        }
    }

    pub(super) fn mark_to_drop(&mut self, standard: &Expr) -> Result<(), Stop> {
        let place = self.place(standard)?;
        let mut value = self.read(&place, &standard.ty)?;
        self.arch.layout.set(&mut value, "egress_spec", u128::from(self.arch.drop_port));
        self.arch.layout.set(&mut value, "mcast_grp", 0);
        self.write(&place, value)
    }

    /// Uniform in `lo..=hi`; the result is left alone if the range is empty.
    pub(super) fn random(&mut self, result: &Expr, lo: &Expr, hi: &Expr) -> Result<(), Stop> {
        let (lo, hi) = (self.eval_bits(lo)?.low_u128(), self.eval_bits(hi)?.low_u128());
        if lo > hi {
            return Ok(());
        }
        let span = hi - lo;
        let offset = match u64::try_from(span) {
            Ok(span) => u128::from(self.state.rng.between(0, span)),
            Err(_) if span == u128::MAX => self.state.rng.next_u128(),
            Err(_) => self.state.rng.next_u128() % (span + 1),
        };
        let drawn = self.state.environment.read(&Source::Random, lo + offset);
        self.state.accesses.add(&Name::from("random"), AccessKind::Update);
        self.give(result, drawn)
    }

    /// `result = base + H(data) mod max`, in 64 bits; `max` 0 counts as 1.
    pub(super) fn hash(&mut self, args: &[Option<Expr>]) -> Result<(), Stop> {
        let algorithm = self.algorithm(arg(args, 1)?)?;
        let base = self.eval_number(arg(args, 2)?)?;
        let data = self.packed(arg(args, 3)?, false)?;
        let max = self.eval_number(arg(args, 4)?)?.max(1);
        self.spend(data.len() as u64)?;
        let value = (hash::compute(algorithm, &data) % max).wrapping_add(base);
        self.give(arg(args, 0)?, u128::from(value))
    }

    /// The member of `HashAlgorithm` that the argument names.
    fn algorithm(&mut self, expr: &Expr) -> Result<Algorithm, Stop> {
        let value = self.eval(expr)?;
        let name = match (&expr.ty, value) {
            (Type::Named(id), Value::Enum(member)) => match &self.program.type_decl(*id).kind {
                TypeKind::Enum(members) => members.get(member as usize),
                _ => None,
            },
            _ => None,
        };
        name.and_then(|n| Algorithm::by_name(n)).ok_or(Stop::Broken("an unknown hash algorithm"))
    }

    /// Skipped if the condition does not hold or the header of the checksum is invalid.
    pub(super) fn verify_checksum(&mut self, args: &[Option<Expr>], payload: bool) -> Result<(), Stop> {
        let (condition, data, checksum) = (arg(args, 0)?, arg(args, 1)?, arg(args, 2)?);
        let algorithm = self.algorithm(arg(args, 3)?)?;
        if !self.eval_bool(condition)? || self.in_invalid_header(checksum)? {
            return Ok(());
        }
        let data = self.packed(data, payload)?;
        self.spend(data.len() as u64)?;
        let want = self.eval_number(checksum)?;
        if hash::compute(algorithm, &data) != want {
            self.arch.checksum_error = true;
        }
        Ok(())
    }

    pub(super) fn update_checksum(&mut self, args: &[Option<Expr>], payload: bool) -> Result<(), Stop> {
        let (condition, data, checksum) = (arg(args, 0)?, arg(args, 1)?, arg(args, 2)?);
        let algorithm = self.algorithm(arg(args, 3)?)?;
        if !self.eval_bool(condition)? {
            return Ok(());
        }
        let data = self.packed(data, payload)?;
        self.spend(data.len() as u64)?;
        self.give(checksum, u128::from(hash::compute(algorithm, &data)))
    }

    /// `Checksum16.get`: the Internet checksum of the data.
    pub(super) fn checksum16(&mut self, data: &Expr) -> Result<Value, Stop> {
        let data = self.packed(data, false)?;
        self.spend(data.len() as u64)?;
        Ok(Value::Bits(Bits::new(16, u128::from(hash::compute(Algorithm::Csum16, &data)))))
    }

    pub(super) fn clone_packet(&mut self, session: &Expr, field_list: Option<&Expr>) -> Result<(), Stop> {
        let session = (self.eval_number(session)? & SESSION_MASK) as u32;
        let field_list = match field_list {
            Some(list) => Some(self.eval_number(list)? as u32),
            None => None,
        };
        self.arch.orders.clone = Some(CloneOrder { session, field_list });
        Ok(())
    }

    pub(super) fn digest(&mut self, receiver: &Expr, data: &Expr) -> Result<(), Stop> {
        self.eval(receiver)?;
        let name = match &data.ty {
            Type::Named(id) => self.program.type_decl(*id).name.clone(),
            _ => "digest".into(),
        };
        let ty = &data.ty;
        let data = self.eval(data)?;
        let program = self.program;
        self.state.trace.add(|| EventKind::Digest { name: name.clone(), data: shown(program, ty, &data) });
        self.state.digest(Digest { name, data });
        Ok(())
    }

    /// Each `{}` stands for the next value; those that are missing stay as they are.
    pub(super) fn log_msg(&mut self, message: &Expr, data: Option<&Expr>) -> Result<(), Stop> {
        let Value::Str(message) = self.eval(message)? else {
            return Err(Stop::Broken("a message that is no string"));
        };
        let values = match data {
            Some(data) => match self.eval(data)? {
                Value::Struct(values) => values,
                value => vec![value],
            },
            None => vec![],
        };
        let mut values = values.iter().map(log_text);
        let mut parts = message.split("{}");
        let mut line = parts.next().unwrap_or_default().to_string();
        for part in parts {
            line.push_str(&values.next().unwrap_or_else(|| "{}".to_string()));
            line.push_str(part);
        }
        self.spend(line.len() as u64)?;
        self.state.trace.add(|| EventKind::Log { line: line.clone() });
        self.state.log(line);
        Ok(())
    }

    pub(super) fn register_read(&mut self, id: InstanceId, result: &Expr, index: &Expr) -> Result<(), Stop> {
        let place = self.place(result)?;
        let index = self.eval_number(index)?;
        self.accessed(id, AccessKind::Read);
        let Some(Object::Register(register)) = self.state.objects.get(id.index()) else {
            return Err(Stop::Broken("a register that is none"));
        };
        match register.read(index).cloned() {
            Some(value) => self.write(&place, value),
            None => Ok(()),
        }
    }

    pub(super) fn register_write(&mut self, id: InstanceId, index: &Expr, value: &Expr) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        let value = self.eval(value)?;
        self.accessed(id, AccessKind::Write);
        match self.state.objects.get_mut(id.index()) {
            Some(Object::Register(register)) => {
                register.write(index, value);
                Ok(())
            }
            _ => Err(Stop::Broken("a register that is none")),
        }
    }

    pub(super) fn count(&mut self, id: InstanceId, index: &Expr) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        let bytes = self.arch.ingress_length;
        self.accessed(id, AccessKind::Update);
        match self.state.objects.get_mut(id.index()) {
            Some(Object::Counter(counter)) => {
                counter.count(index, bytes);
                Ok(())
            }
            _ => Err(Stop::Broken("a counter that is none")),
        }
    }

    /// Out of range the result is left alone.
    pub(super) fn execute_meter(&mut self, id: InstanceId, index: &Expr, result: &Expr) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        let bytes = self.arch.ingress_length;
        self.accessed(id, AccessKind::Update);
        let now = self.meter_now(id);
        let colour = match self.state.objects.get_mut(id.index()) {
            Some(Object::Meter(meters)) => meters.execute(index, bytes, now),
            _ => return Err(Stop::Broken("a meter that is none")),
        };
        match colour {
            Some(colour) => self.give(result, u128::from(colour)),
            None => Ok(()),
        }
    }

    /// What the meter answered when the table was hit; after a miss the result is left alone.
    pub(super) fn direct_meter_read(&mut self, id: InstanceId, result: &Expr) -> Result<(), Stop> {
        match self.arch.colours.iter().find(|(instance, _)| *instance == id) {
            Some((_, colour)) => self.give(result, u128::from(*colour)),
            None => Ok(()),
        }
    }

    /// The clock as a meter sees it, in microseconds.
    pub(super) fn meter_now(&mut self, id: InstanceId) -> u64 {
        let name = self.program.instance(id).control_plane_name.to_string();
        self.state.read_environment(&Source::MeterNow(name), self.arch.now.as_us())
    }

    pub(super) fn entry_mut(
        &mut self,
        control: ControlId,
        table: TableId,
        entry: usize,
    ) -> Option<&mut Entry> {
        let table = self.state.tables.get_mut(control, table)?;
        table.entries.get_index_mut(entry).map(|(_, entry)| entry)
    }

    /// Notes the call of a frame extern; what comes of it is done when the control has been left.
    pub(super) fn frame_call(
        &mut self,
        instance: InstanceId,
        method: &str,
        args: &[Option<Expr>],
    ) -> Result<Stop, Stop> {
        let mut bits = vec![];
        for arg in args.iter().flatten() {
            bits.push(self.eval(arg)?.to_key().ok_or(Stop::Broken("an argument without bits"))?);
        }
        self.accessed(instance, AccessKind::Update);
        self.arch.frame_call =
            Some(FrameCall { instance, method: method.to_string(), args: bits, vars: vec![] });
        Ok(Stop::FrameCall(instance))
    }
}

/// A value in the log: plain decimal numbers.
fn log_text(value: &Value) -> String {
    match value {
        Value::Bits(bits) | Value::Varbit(bits) => bits.to_decimal(),
        Value::Str(text) => text.clone(),
        value => value_text(value),
    }
}
