//! v1model's extern functions and methods.

use crate::externs::arg;
use crate::machine::{Arch, Machine};
use crate::stage_arch::{Begin, StageArch};
use base_time::Time;
use device::data_plane::Application;
use device::stage::Stop;
use device::stage::{Block, Effects, FrameCall};
use device::trace::EventKind;
use ir::{Call, ExternFunctionId, InstanceId, VarId};
use ir_value::Value;

/// v1model's state of a packet while a stage runs.
pub(crate) struct V1 {
    pub(super) now: Time,
    pub(super) drop_port: u32,
    pub(super) effects: Effects,
    pub(super) payload: Vec<u8>,
    /// The block, its parameter with the user's metadata, and the field with `@counted_length`.
    pub(super) counted_length: Option<(Block, VarId, u32)>,
    pub(super) frame_call: Option<FrameCall>,
}

impl StageArch for V1 {
    fn begin(at: Begin) -> V1 {
        let Begin { effects, payload, now, drop_port, counted_length } = at;
        V1 { now, drop_port, effects, payload, counted_length, frame_call: None }
    }

    fn end(self) -> (Effects, Vec<u8>, Option<FrameCall>) {
        (self.effects, self.payload, self.frame_call)
    }
}

impl Arch for V1 {
    fn function(m: &mut Machine<'_, Self>, function: ExternFunctionId, call: &Call) -> Result<Value, Stop> {
        let function =
            m.program.extern_functions.get(function.index()).ok_or(Stop::Broken("an unknown function"))?;
        let args = &call.args;
        match function.name.as_str() {
            "mark_to_drop" => m.mark_to_drop(arg(args, 0)?),
            "random" => m.random(arg(args, 0)?, arg(args, 1)?, arg(args, 2)?),
            "hash" => m.hash(call),
            "verify_checksum" => m.verify_checksum(call, false),
            "verify_checksum_with_payload" => m.verify_checksum(call, true),
            "update_checksum" => m.update_checksum(call, false),
            "update_checksum_with_payload" => m.update_checksum(call, true),
            "clone" => m.clone_packet(arg(args, 1)?, None),
            "clone_preserving_field_list" => m.clone_packet(arg(args, 1)?, Some(arg(args, 2)?)),
            "resubmit_preserving_field_list" => {
                m.arch.effects.resubmit = Some(m.eval_number(arg(args, 0)?)? as u32);
                Ok(())
            }
            "recirculate_preserving_field_list" => {
                m.arch.effects.recirculate = Some(m.eval_number(arg(args, 0)?)? as u32);
                Ok(())
            }
            "truncate" => {
                let length = m.eval_number(arg(args, 0)?)? as u32;
                m.arch.effects.truncate =
                    Some(m.arch.effects.truncate.map_or(length, |before| before.min(length)));
                Ok(())
            }
            "digest" => m.digest(arg(args, 0)?, arg(args, 1)?),
            "assert" | "assume" => {
                let passed = m.eval_bool(arg(args, 0)?)?;
                m.state.trace.add(|| EventKind::Assert { passed });
                if passed { Ok(()) } else { Err(Stop::AssertFailed) }
            }
            "log_msg" => m.log_msg(arg(args, 0)?, args.get(1).and_then(Option::as_ref)),
            "static_assert" => Ok(()),
            _ => Err(Stop::Broken("an extern function that is not supported")),
        }?;
        Ok(if function.name == "static_assert" { Value::Bool(true) } else { Value::Void })
    }

    fn method(
        m: &mut Machine<'_, Self>,
        instance: InstanceId,
        method: u32,
        call: &Call,
    ) -> Result<Value, Stop> {
        let program = m.program;
        let declared = program.instances.get(instance.index()).ok_or(Stop::Broken("an unknown instance"))?;
        let object = program.extern_object(declared.object);
        let method = object.methods.get(method as usize).ok_or(Stop::Broken("an unknown method"))?;
        let args = &call.args;
        if m.state.is_frame_extern(instance) {
            return Err(m.frame_call(instance, &method.name, args)?);
        }
        match (object.name.as_str(), method.name.as_str()) {
            ("register", "read") => m.register_read(instance, arg(args, 0)?, arg(args, 1)?),
            ("register", "write") => m.register_write(instance, arg(args, 0)?, arg(args, 1)?),
            ("counter", "count") => m.count(instance, arg(args, 0)?, m.counted_length()),
            ("direct_counter", "count") => Ok(()),
            ("meter", "execute_meter") => m.execute_meter(instance, arg(args, 0)?, arg(args, 1)?),
            ("direct_meter", "read") => m.direct_meter_read(instance, arg(args, 0)?),
            ("Checksum16", "get") => return m.checksum16(arg(args, 0)?),
            _ => Err(Stop::Broken("an extern method that is not supported")),
        }?;
        Ok(Value::Void)
    }

    /// Direct counters count and direct meters answer on every hit, called or not.
    fn looked_up(m: &mut Machine<'_, Self>, applied: Application) {
        let (bytes, now) = (m.counted_length(), m.arch.now);
        m.state.count_hit(m.program, applied, bytes);
        let colour = m.state.note_hit(m.program, applied, bytes, now);
        m.arch.effects.coloured(colour);
    }

    fn now(&self) -> Time {
        self.now
    }

    fn resized(&mut self, bytes: i64) {
        self.effects.length = self.effects.length.saturating_add(bytes);
    }
}
