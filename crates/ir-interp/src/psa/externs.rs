//! PSA's extern functions and methods (PSA 1.2 §7).

use crate::externs::{arg, number_of};
use crate::machine::{Arch, Machine};
use crate::stage_arch::{Begin, StageArch};
use base_bits::{BitWriter, Bits};
use base_time::Time;
use device::data_plane::Application;
use device::data_plane::{GREEN, RED, YELLOW};
use device::stage::Stop;
use device::stage::{Effects, FrameCall};
use device::trace::EventKind;
use ir::{Call, Expr, ExternFunctionId, ExternMethod, InstanceId, Type, TypeKind};
use ir_value::Value;
use ir_value::fields;
use p4_arch::psa::PORT_RECIRCULATE;
use std::collections::BTreeMap;

/// PSA's state of a packet while a stage runs.
pub(crate) struct PsaArch {
    now: Time,
    effects: Effects,
    payload: Vec<u8>,
    /// The table applied last, for its direct objects, and the entry that it gave; none if it gave none.
    applied: Option<Application>,
    checksums: BTreeMap<InstanceId, Sum>,
}

/// Content of a checksum object. It starts empty in each stage.
enum Sum {
    /// `Checksum`: all that was given.
    Data(BitWriter),
    /// `InternetChecksum`: the ones' complement sum.
    Internet(u16),
}

impl StageArch for PsaArch {
    fn begin(at: Begin) -> PsaArch {
        let Begin { effects, payload, now, .. } = at;
        PsaArch { now, effects, payload, applied: None, checksums: BTreeMap::new() }
    }

    fn end(self) -> (Effects, Vec<u8>, Option<FrameCall>) {
        (self.effects, self.payload, None)
    }
}

/// Members of `PSA_MeterColor_t` for the results of meters.
const COLOURS: [(u8, &str); 3] = [(GREEN, "GREEN"), (YELLOW, "YELLOW"), (RED, "RED")];

type Psa<'a> = Machine<'a, PsaArch>;

impl Arch for PsaArch {
    fn function(m: &mut Psa<'_>, function: ExternFunctionId, call: &Call) -> Result<Value, Stop> {
        let function =
            m.program.extern_functions.get(function.index()).ok_or(Stop::Broken("an unknown function"))?;
        let args = &call.args;
        Ok(Value::Bool(match function.name.as_str() {
            "psa_clone_i2e" | "psa_clone_e2e" => m.field(arg(args, 0)?, "clone")? != 0,
            "psa_resubmit" => {
                let asked = arg(args, 0)?;
                m.field(asked, "drop")? == 0 && m.field(asked, "resubmit")? != 0
            }
            "psa_normal" => {
                let asked = arg(args, 0)?;
                m.field(asked, "drop")? == 0 && m.field(asked, "resubmit")? == 0
            }
            "psa_recirculate" => {
                let stays = m.field(arg(args, 0)?, "drop")? == 0;
                stays && m.field(arg(args, 1)?, "egress_port")? == u64::from(PORT_RECIRCULATE)
            }
            "assert" | "assume" => {
                let passed = m.eval_bool(arg(args, 0)?)?;
                m.state.trace.add(|| EventKind::Assert { passed });
                return if passed { Ok(Value::Void) } else { Err(Stop::AssertFailed) };
            }
            "static_assert" => true,
            _ => return Err(Stop::Broken("an extern function that is not supported")),
        }))
    }

    fn method(m: &mut Psa<'_>, instance: InstanceId, method: u32, call: &Call) -> Result<Value, Stop> {
        let program = m.program;
        let declared = program.instances.get(instance.index()).ok_or(Stop::Broken("an unknown instance"))?;
        let object = program.extern_object(declared.object);
        let method = object.methods.get(method as usize).ok_or(Stop::Broken("an unknown method"))?;
        let args = &call.args;
        let nothing = |done: Result<(), Stop>| done.map(|()| Value::Void);
        match (object.name.as_str(), method.name.as_str()) {
            ("Hash", "get_hash") => m.get_hash(instance, args),
            ("Checksum" | "InternetChecksum", "clear") => {
                m.arch.checksums.remove(&instance);
                Ok(Value::Void)
            }
            ("Checksum", "update") => nothing(m.update(instance, arg(args, 0)?)),
            ("Checksum", "get") => m.checksum(instance),
            ("InternetChecksum", "add") => nothing(m.add(instance, arg(args, 0)?, 0)),
            ("InternetChecksum", "subtract") => nothing(m.add(instance, arg(args, 0)?, u16::MAX)),
            ("InternetChecksum", "get") => Ok(word(!m.sum(instance))),
            ("InternetChecksum", "get_state") => Ok(word(m.sum(instance))),
            ("InternetChecksum", "set_state") => {
                let state = m.eval_number(arg(args, 0)?)? as u16;
                m.arch.checksums.insert(instance, Sum::Internet(state));
                Ok(Value::Void)
            }
            ("Counter", "count") => {
                let bytes = m.bytes(args.get(1))?;
                nothing(m.count(instance, arg(args, 0)?, bytes))
            }
            ("DirectCounter", "count") => nothing(m.count_entry(instance, args.first())),
            ("Meter", "execute" | "dpdk_execute") => {
                m.execute(instance, Some(arg(args, 0)?), args.get(1..).unwrap_or_default(), method)
            }
            ("DirectMeter", "execute" | "dpdk_execute") => m.execute(instance, None, args, method),
            ("Register", "read") => m.read_register(instance, arg(args, 0)?),
            ("Register", "write") => nothing(m.register_write(instance, arg(args, 0)?, arg(args, 1)?)),
            ("Random", "read") => m.read_random(instance),
            ("Digest", "pack") => nothing(m.pack_digest(instance, arg(args, 0)?)),
            _ => Err(Stop::Broken("an extern method that is not supported")),
        }
    }

    fn looked_up(m: &mut Psa<'_>, applied: Application) {
        m.arch.applied = Some(applied);
    }

    fn now(&self) -> Time {
        self.now
    }

    fn resized(&mut self, _: i64) {}
}

fn word(number: u16) -> Value {
    Value::Bits(Bits::new(16, u128::from(number)))
}

impl Psa<'_> {
    /// A field of a metadata struct.
    fn field(&mut self, metadata: &Expr, name: &str) -> Result<u64, Stop> {
        let value = self.eval(metadata)?;
        Ok(fields::get(self.program, &metadata.ty, &value, name))
    }

    /// `H(data)`, or `base + H(data) mod max`; `max` 0 counts as 1.
    fn get_hash(&mut self, id: InstanceId, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let algorithm = self.state.algorithm(id).ok_or(Stop::Broken("an object that is not a hash"))?;
        let number = match args {
            [data] => {
                let data = self.filled(data.as_ref().ok_or(Stop::Broken("a missing argument"))?)?;
                self.state.hash(algorithm, &data)
            }
            args => {
                let base = self.eval_number(arg(args, 0)?)?;
                let data = self.filled(arg(args, 1)?)?;
                let max = self.eval_number(arg(args, 2)?)?.max(1);
                (self.state.hash(algorithm, &data) % max).wrapping_add(base)
            }
        };
        number_of(self.type_arg(id, 0)?, u128::from(number))
    }

    fn update(&mut self, id: InstanceId, data: &Expr) -> Result<(), Stop> {
        let mut out = match self.arch.checksums.remove(&id) {
            Some(Sum::Data(out)) => out,
            _ => BitWriter::new(),
        };
        self.pack(data, &mut out)?;
        self.arch.checksums.insert(id, Sum::Data(out));
        Ok(())
    }

    fn checksum(&mut self, id: InstanceId) -> Result<Value, Stop> {
        let algorithm = self.state.algorithm(id).ok_or(Stop::Broken("an object that is not a checksum"))?;
        let data = match self.arch.checksums.get(&id) {
            Some(Sum::Data(out)) => out.clone().finish(),
            _ => vec![],
        };
        self.spend(data.len() as u64)?;
        number_of(self.type_arg(id, 0)?, u128::from(self.state.hash(algorithm, &data)))
    }

    fn sum(&self, id: InstanceId) -> u16 {
        match self.arch.checksums.get(&id) {
            Some(Sum::Internet(sum)) => *sum,
            _ => 0,
        }
    }

    /// Adds the 16-bit words of `data` to the ones' complement sum, each turned over by `turn`.
    fn add(&mut self, id: InstanceId, data: &Expr, turn: u16) -> Result<(), Stop> {
        let data = self.packed(data)?;
        let words = data.chunks(2).map(|c| u16::from_be_bytes([c[0], c.get(1).copied().unwrap_or(0)]));
        let sum = words.fold(self.sum(id), |sum, word| {
            let (sum, carry) = sum.overflowing_add(word ^ turn);
            sum.wrapping_add(u16::from(carry))
        });
        self.arch.checksums.insert(id, Sum::Internet(sum));
        Ok(())
    }

    /// Bytes that a call counts: an argument in DPDK's calls, else the packet's length.
    fn bytes(&mut self, said: Option<&Option<Expr>>) -> Result<u64, Stop> {
        match said {
            Some(Some(bytes)) => self.eval_number(bytes),
            _ => Ok(self.arch.effects.counted),
        }
    }

    /// Counts for the entry that was hit, or for the default action.
    fn count_entry(&mut self, id: InstanceId, said: Option<&Option<Expr>>) -> Result<(), Stop> {
        let bytes = self.bytes(said)?;
        self.state.count_direct(self.program, id, self.arch.applied, bytes);
        Ok(())
    }

    /// A meter's answer. `rest` are the arguments after the index: the packet's colour, and for DPDK's calls its
    /// length; without a colour it is green.
    fn execute(
        &mut self,
        id: InstanceId,
        index: Option<&Expr>,
        rest: &[Option<Expr>],
        method: &ExternMethod,
    ) -> Result<Value, Stop> {
        let Type::Named(colours) = &method.signature.returns else {
            return Err(Stop::Broken("a meter without colours"));
        };
        let TypeKind::Enum(members) = &self.program.type_decl(*colours).kind else {
            return Err(Stop::Broken("a meter without colours"));
        };
        let (said, length) = match (method.name == "dpdk_execute", rest) {
            (true, [said, length]) => (said.as_ref(), Some(length)),
            (true, [length]) => (None, Some(length)),
            (_, rest) => (rest.first().and_then(Option::as_ref), None),
        };
        let index = index.map(|index| self.eval_number(index)).transpose()?;
        let before = match said.map(|said| self.eval(said)).transpose()? {
            Some(Value::Enum(member)) => {
                let name = members.get(member as usize).map(|m| m.as_str());
                COLOURS.iter().find(|(_, colour)| name == Some(colour)).map_or(GREEN, |(number, _)| *number)
            }
            _ => GREEN,
        };
        let bytes = self.bytes(length)?;
        let now = self.arch.now;
        let after = match (index, self.arch.applied) {
            (Some(index), _) => self.state.meter(self.program, id, index, bytes, before, now)?,
            (None, Some(applied)) => self.state.direct_meter(self.program, id, applied, bytes, before, now),
            (None, None) => None,
        };
        let after = after.unwrap_or(before);
        let name = COLOURS.iter().find(|(number, _)| *number == after).map_or("", |(_, name)| name);
        let member =
            members.iter().position(|m| m == name).ok_or(Stop::Broken("a value that is not a colour"))?;
        Ok(Value::Enum(member as u32))
    }

    /// Uniform between the constructor's two numbers.
    fn read_random(&mut self, id: InstanceId) -> Result<Value, Stop> {
        let args = self.program.instances.get(id.index()).map_or(&[][..], |i| &i.args);
        let bound = |at: usize| match args.get(at).map(|arg| &arg.kind) {
            Some(ir::ExprKind::Const(ir::Const::Bits(bits))) => bits.low_u128(),
            _ => 0,
        };
        let (lo, hi) = (bound(0), bound(1));
        let drawn = if lo > hi { lo } else { self.state.draw(lo, hi) };
        number_of(self.type_arg(id, 0)?, drawn)
    }
}
