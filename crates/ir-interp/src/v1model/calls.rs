//! v1model's extern functions and methods.

use super::externs::V1;
use crate::externs::arg;
use crate::machine::Machine;
use base_bits::Bits;
use device::AccessKind;
use device::Digest;
use device::data_plane::GREEN;
use device::hash::Algorithm;
use device::reports::{digest_name, log_line};
use device::stage::Stop;
use device::stage::{Block, CloneEffect, FrameCall};
use device::trace::{EventKind, shown};
use ir::{Call, Expr, InstanceId, Type, TypeKind};
use ir_value::{Value, fields};

/// BMv2 keeps one bit of a session's 16 for itself.
const SESSION_MASK: u64 = 0x7fff;

impl Machine<'_, V1> {
    pub(super) fn mark_to_drop(&mut self, standard: &Expr) -> Result<(), Stop> {
        let place = self.place(standard)?;
        let mut value = self.read(&place, &standard.ty)?;
        fields::set(self.program, &standard.ty, &mut value, "egress_spec", self.arch.drop_port.into());
        fields::set(self.program, &standard.ty, &mut value, "mcast_grp", 0);
        self.write(&place, value)
    }

    /// Uniform in `lo..=hi`; the result is left alone if the range is empty.
    pub(super) fn random(&mut self, result: &Expr, lo: &Expr, hi: &Expr) -> Result<(), Stop> {
        let (lo, hi) = (self.eval_bits(lo)?.low_u128(), self.eval_bits(hi)?.low_u128());
        if lo > hi {
            return Ok(());
        }
        let drawn = self.state.draw(lo, hi);
        self.give(result, drawn)
    }

    /// `result = base + H(data) mod max`, in 64 bits; `max` 0 counts as 1.
    pub(super) fn hash(&mut self, call: &Call) -> Result<(), Stop> {
        let args = &call.args;
        let algorithm = self.algorithm(arg(args, 1)?)?;
        let base = self.eval_number(arg(args, 2)?)?;
        let data = self.packed(arg(args, 3)?)?;
        let max = self.eval_number(arg(args, 4)?)?.max(1);
        let value = (self.state.hash_of_call(algorithm, &data, call.span) % max).wrapping_add(base);
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
    pub(super) fn verify_checksum(&mut self, call: &Call, payload: bool) -> Result<(), Stop> {
        let args = &call.args;
        let (condition, data, checksum) = (arg(args, 0)?, arg(args, 1)?, arg(args, 2)?);
        let algorithm = self.algorithm(arg(args, 3)?)?;
        if !self.eval_bool(condition)? || self.in_invalid_header(checksum)? {
            return Ok(());
        }
        let data = self.with_payload(data, payload)?;
        let want = self.eval_number(checksum)?;
        if self.state.hash_of_call(algorithm, &data, call.span) != want {
            self.arch.effects.checksum_error = true;
        }
        Ok(())
    }

    /// The bytes of `data`, and then the payload if `payload`.
    fn with_payload(&mut self, data: &Expr, payload: bool) -> Result<Vec<u8>, Stop> {
        let mut bytes = self.packed(data)?;
        if payload {
            self.spend(self.arch.payload.len() as u64)?;
            bytes.extend(&self.arch.payload);
        }
        Ok(bytes)
    }

    pub(super) fn update_checksum(&mut self, call: &Call, payload: bool) -> Result<(), Stop> {
        let args = &call.args;
        let (condition, data, checksum) = (arg(args, 0)?, arg(args, 1)?, arg(args, 2)?);
        let algorithm = self.algorithm(arg(args, 3)?)?;
        if !self.eval_bool(condition)? {
            return Ok(());
        }
        let data = self.with_payload(data, payload)?;
        self.give(checksum, u128::from(self.state.hash_of_call(algorithm, &data, call.span)))
    }

    /// `Checksum16.get`: the Internet checksum of the data.
    pub(super) fn checksum16(&mut self, data: &Expr) -> Result<Value, Stop> {
        let data = self.packed(data)?;
        Ok(Value::Bits(Bits::new(16, u128::from(self.state.hash(Algorithm::Csum16, &data)))))
    }

    pub(super) fn clone_packet(&mut self, session: &Expr, field_list: Option<&Expr>) -> Result<(), Stop> {
        let session = (self.eval_number(session)? & SESSION_MASK) as u32;
        let field_list = match field_list {
            Some(list) => Some(self.eval_number(list)? as u32),
            None => None,
        };
        self.arch.effects.clone = Some(CloneEffect { session, field_list });
        Ok(())
    }

    pub(super) fn digest(&mut self, receiver: &Expr, data: &Expr) -> Result<(), Stop> {
        self.eval(receiver)?;
        let ty = &data.ty;
        let name = digest_name(self.program, ty);
        let data = self.eval(data)?;
        let program = self.program;
        self.state.trace.add(|| EventKind::Digest { name: name.clone(), data: shown(program, ty, &data) });
        self.state.digest(Digest { name, data });
        Ok(())
    }

    /// See [`log_line`].
    pub(super) fn log_msg(&mut self, message: &Expr, data: Option<&Expr>) -> Result<(), Stop> {
        let Value::Str(message) = self.eval(message)? else {
            return Err(Stop::Broken("a message that is no string"));
        };
        let data = data.map(|data| self.eval(data)).transpose()?;
        let line = log_line(&message, data);
        self.spend(line.len() as u64)?;
        self.state.trace.add(|| EventKind::Log { line: line.clone() });
        self.state.log(line);
        Ok(())
    }

    /// Out of range the result is left alone.
    pub(super) fn register_read(&mut self, id: InstanceId, result: &Expr, index: &Expr) -> Result<(), Stop> {
        let place = self.place(result)?;
        let index = self.eval_number(index)?;
        match self.register_cell(id, index)? {
            Some(value) => self.write(&place, value),
            None => Ok(()),
        }
    }

    /// Length for counters and meters of bytes: in ingress and egress the metadata field with `@counted_length`, else
    /// the length of the frame on arrival.
    pub(super) fn counted_length(&self) -> u64 {
        let said = || {
            let (block, var, field) = self.arch.counted_length?;
            let (running, _) = self.control().ok()?;
            let metadata = self.frame.vars.get(var.index()).filter(|_| block == Block::Control(running))?;
            metadata.part(field)?.to_key()?.to_u64()
        };
        said().unwrap_or(self.arch.effects.counted)
    }

    /// Out of range the result is left alone.
    pub(super) fn execute_meter(&mut self, id: InstanceId, index: &Expr, result: &Expr) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        let (bytes, now) = (self.counted_length(), self.arch.now);
        let colour = self.state.meter(self.program, id, index, bytes, GREEN, now)?;
        match colour {
            Some(colour) => self.give(result, u128::from(colour)),
            None => Ok(()),
        }
    }

    /// Result of the meter from the hit of its table; after a miss the result argument is unchanged.
    pub(super) fn direct_meter_read(&mut self, id: InstanceId, result: &Expr) -> Result<(), Stop> {
        match self.arch.effects.colours.iter().find(|(instance, _)| *instance == id) {
            Some((_, colour)) => self.give(result, u128::from(*colour)),
            None => Ok(()),
        }
    }

    /// Records the call of a frame extern; it is carried out when the control has been left.
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
        self.state.accessed(self.program, instance, AccessKind::Update);
        self.arch.frame_call =
            Some(FrameCall { instance, method: method.to_string(), args: bits, vars: vec![] });
        Ok(Stop::FrameCall(instance))
    }
}
