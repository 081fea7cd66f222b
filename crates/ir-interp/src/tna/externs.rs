//! TNA's extern functions and methods.

use super::parser::Parsed;
use crate::externs::{arg, number_of};
use crate::machine::{Arch, Machine};
use crate::stage_arch::{Begin, StageArch};
use base_bits::{BitWriter, Bits};
use base_time::Time;
use device::data_plane::Application;
use device::stage::{Effects, FrameCall, MirrorEffect, Stop};
use ir::{BinaryOp, Call, Expr, ExternFunctionId, ExternObject, InstanceId, ParserId};
use ir_value::Value;
use ir_value::wire::encode;

/// TNA's state of a packet while a stage runs.
pub(crate) struct TnaArch {
    pub(super) now: Time,
    pub(super) effects: Effects,
    payload: Vec<u8>,
    /// The table applied last, for its direct objects, and the entry that it gave; none if it gave none.
    pub(super) applied: Option<Application>,
    /// Checksums and counters of the parser, which start anew in each stage.
    pub(super) parsed: Parsed,
}

impl StageArch for TnaArch {
    fn begin(at: Begin) -> TnaArch {
        let Begin { effects, payload, now, .. } = at;
        TnaArch { now, effects, payload, applied: None, parsed: Parsed::default() }
    }

    fn end(self) -> (Effects, Vec<u8>, Option<FrameCall>) {
        (self.effects, self.payload, None)
    }
}

pub(super) type Tna<'a> = Machine<'a, TnaArch>;

impl Arch for TnaArch {
    /// Headers with `@flexible` fields may have any number of bits; the compiler fills them up.
    const WHOLE_BYTES: bool = true;

    fn function(m: &mut Tna<'_>, function: ExternFunctionId, call: &Call) -> Result<Value, Stop> {
        let function =
            m.program.extern_functions.get(function.index()).ok_or(Stop::Broken("an unknown function"))?;
        let args = &call.args;
        match function.name.as_str() {
            "port_metadata_unpack" => {
                let ty = call.type_args.first().ok_or(Stop::Broken("a missing type argument"))?;
                m.port_metadata(ty)
            }
            "max" => m.extreme(BinaryOp::Ge, args),
            "min" => m.extreme(BinaryOp::Le, args),
            "funnel_shift_right" => m.funnel_shift_right(args),
            "invalidate" => m.invalidate(arg(args, 0)?),
            "is_validated" => {
                let field = arg(args, 0)?;
                if m.program.is_header(&field.ty) {
                    return Ok(Value::Bool(m.eval(field)?.is_valid()));
                }
                Ok(Value::Bool(!m.in_invalid_header(field)?))
            }
            "sizeInBits" => Ok(word(32, m.program.bits(&arg(args, 0)?.ty).unwrap_or(0))),
            "sizeInBytes" => Ok(word(32, m.program.bits(&arg(args, 0)?.ty).unwrap_or(0).div_ceil(8))),
            "static_assert" => Ok(Value::Bool(true)),
            _ => Err(Stop::Broken("an extern function that is not supported")),
        }
    }

    fn method(m: &mut Tna<'_>, instance: InstanceId, method: u32, call: &Call) -> Result<Value, Stop> {
        let program = m.program;
        let declared = program.instances.get(instance.index()).ok_or(Stop::Broken("an unknown instance"))?;
        let object = program.extern_object(declared.object);
        let method = object.methods.get(method as usize).ok_or(Stop::Broken("an unknown method"))?;
        let args = &call.args;
        let nothing = |done: Result<(), Stop>| done.map(|()| Value::Void);
        match (object.name.as_str(), method.name.as_str()) {
            ("Checksum", "add") => nothing(m.sum_data(instance, arg(args, 0)?, 0)),
            ("Checksum", "subtract") => nothing(m.sum_data(instance, arg(args, 0)?, u16::MAX)),
            ("Checksum", "get") => Ok(word(16, m.arch.parsed.sum(instance).into())),
            ("Checksum", "verify") => Ok(Value::Bool(m.arch.parsed.sum(instance) != u16::MAX)),
            ("Checksum", "subtract_all_and_deposit") => nothing(m.deposit(instance, arg(args, 0)?)),
            ("Checksum", "update") => m.update_checksum(args),
            ("ParserCounter", name) => m.parser_counter(instance, name, args),
            // The priority matters where packets wait for ingress, which no packet does here.
            ("ParserPriority", "set") => m.eval(arg(args, 0)?).map(|_| Value::Void),
            ("Mirror", "emit") => {
                let session = m.eval_number(arg(args, 0)?)? as u32;
                let header = m.emitted_with(args.get(1))?;
                m.arch.effects.mirror = Some(MirrorEffect { session, header });
                Ok(Value::Void)
            }
            ("Resubmit", "emit") => {
                m.arch.effects.resubmission = Some(m.emitted_with(args.first())?);
                Ok(Value::Void)
            }
            ("Digest", "pack") => nothing(m.pack_digest(instance, arg(args, 0)?)),
            ("Hash", "get") => {
                let unit = m.state.hash_unit(instance).ok_or(Stop::Broken("an object that is not a hash"))?;
                let data = m.filled(arg(args, 0)?)?;
                number_of(m.type_arg(instance, 0)?, u128::from(unit.compute(&data)))
            }
            ("Lpf" | "Wred", "execute") => {
                let x = m.eval_bits(arg(args, 0)?)?.low_u64();
                let index = m.eval_number(arg(args, 1)?)?;
                let result = m.state.filter(program, instance, index, x, m.arch.now)?;
                m.filtered(instance, object, result)
            }
            ("DirectLpf" | "DirectWred", "execute") => {
                let x = m.eval_bits(arg(args, 0)?)?.low_u64();
                let result = m.state.direct_filter(program, instance, m.arch.applied, x, m.arch.now)?;
                m.filtered(instance, object, result)
            }
            ("MathUnit", "execute") => {
                let unit =
                    m.state.math_unit(instance).ok_or(Stop::Broken("an object that is not a math unit"))?;
                let x = m.eval_bits(arg(args, 0)?)?.low_u128() as u64;
                number_of(m.type_arg(instance, 0)?, unit.compute(x))
            }
            ("Random", "get") => {
                let ty = m.type_arg(instance, 0)?;
                let width = m.program.bits(ty).unwrap_or(0).clamp(1, 128) as u32;
                let drawn = m.state.draw(0, u128::MAX >> (128 - width));
                number_of(ty, drawn)
            }
            ("Counter", "count") => {
                let bytes = m.bytes(args.get(1))?;
                nothing(m.count(instance, arg(args, 0)?, bytes))
            }
            ("DirectCounter", "count") => {
                let bytes = m.bytes(args.first())?;
                m.state.count_direct(program, instance, m.arch.applied, bytes);
                Ok(Value::Void)
            }
            ("Meter" | "DirectMeter", "execute") => m.execute_meter(instance, method, args),
            ("Register", "read") => m.read_register(instance, arg(args, 0)?),
            ("Register", "write") => nothing(m.register_write(instance, arg(args, 0)?, arg(args, 1)?)),
            ("RegisterParam", "read") => {
                m.register_cell(instance, 0)?.ok_or(Stop::Broken("a parameter without a cell"))
            }
            ("DirectRegister", "read") => m.read_direct(instance),
            ("DirectRegister", "write") => {
                let value = m.eval(arg(args, 0)?)?;
                m.state.direct_register_write(program, instance, m.arch.applied, value);
                Ok(Value::Void)
            }
            (_, "execute" | "execute_log") => m.execute_register(instance, method, args),
            (_, "predicate") => m.predicate(instance, object, method, call),
            _ => Err(Stop::Broken("an extern method that is not supported")),
        }
    }

    fn looked_up(m: &mut Tna<'_>, applied: Application) {
        m.state.restart_idle(applied, m.arch.now);
        m.arch.applied = Some(applied);
    }

    fn parsed(m: &mut Tna<'_>, parser: ParserId) -> Result<(), Stop> {
        m.end_of_parser(parser)
    }

    fn now(&self) -> Time {
        self.now
    }

    fn resized(&mut self, _: i64) {}
}

pub(super) fn word(width: u32, number: u64) -> Value {
    Value::Bits(Bits::new(width, u128::from(number)))
}

impl Tna<'_> {
    /// The result of a filter: of an `Lpf` of the type of its values, of a `Wred` 8 bits.
    fn filtered(&self, id: InstanceId, object: &ExternObject, result: u128) -> Result<Value, Stop> {
        match object.name.ends_with("Lpf") {
            true => number_of(self.type_arg(id, 0)?, result),
            false => Ok(Value::Bits(Bits::new(8, result))),
        }
    }

    /// Bytes that a call counts: the packet's length, less an argument.
    pub(super) fn bytes(&mut self, less: Option<&Option<Expr>>) -> Result<u64, Stop> {
        let less = match less {
            Some(Some(bytes)) => self.eval_number(bytes)?,
            _ => 0,
        };
        Ok(self.arch.effects.counted.saturating_sub(less))
    }

    /// The bytes of a header that goes before a packet; none without one.
    fn emitted_with(&mut self, header: Option<&Option<Expr>>) -> Result<Vec<u8>, Stop> {
        let Some(Some(header)) = header else { return Ok(vec![]) };
        let value = self.eval(header)?;
        let mut out = BitWriter::new();
        encode(&value, &mut out);
        out.pad();
        let bytes = out.finish();
        self.spend(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// The one of two numbers for which `op` holds.
    fn extreme(&mut self, op: BinaryOp, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let (left, right) = (arg(args, 0)?, arg(args, 1)?);
        let (a, b) = (self.eval(left)?, self.eval(right)?);
        let first = self.operate(op, &left.ty, &a, &b)? == Value::Bool(true);
        Ok(if first { a } else { b })
    }

    /// The low half of two numbers side by side, shifted to the right.
    fn funnel_shift_right(&mut self, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let (to, high, low) = (arg(args, 0)?, arg(args, 1)?, arg(args, 2)?);
        let (high, low) = (self.eval_bits(high)?, self.eval_bits(low)?);
        let by = self.eval_number(arg(args, 3)?)?;
        let width = low.width();
        let both = high.concat(&low);
        let place = self.place(to)?;
        let by = u32::try_from(by).unwrap_or(u32::MAX).min(both.width());
        self.write(&place, Value::Bits(both.shr(&Bits::new(32, by.into())).resize(width)))?;
        Ok(Value::Void)
    }

    /// A field counts as never written: a unicast port is no port again, every other field is zero.
    fn invalidate(&mut self, field: &Expr) -> Result<Value, Stop> {
        let place = self.place(field)?;
        let is_port = match &field.kind {
            ir::ExprKind::Field(base, at) => {
                let fields = self.program.fields(&base.ty);
                fields.get(*at as usize).is_some_and(|field| field.name == "ucast_egress_port")
            }
            _ => false,
        };
        let value = match self.program.representation(&field.ty) {
            ir::Type::Bit(width) if is_port => word(*width, p4_arch::tna::NO_PORT.into()),
            _ => Value::zero(self.program, &field.ty),
        };
        self.write(&place, value)?;
        Ok(Value::Void)
    }
}
