//! v1model's extern functions and methods.

use super::layout::Layout;
use super::packet::{Orders, Packet};
use crate::access::AccessKind;
use crate::externs::arg;
use crate::machine::{Arch, Machine, Stop};
use crate::objects::Object;
use crate::objects::meter::GREEN;
use crate::trace::EventKind;
use crate::value::Value;
use base_bits::Bits;
use base_time::Time;
use ir::{Call, ControlId, ExternFunctionId, InstanceId, TableId, VarId};

/// What v1model keeps of a packet while a stage runs.
pub(super) struct V1<'a> {
    pub(super) layout: &'a Layout,
    pub(super) now: Time,
    pub(super) drop_port: u32,
    pub(super) orders: Orders,
    pub(super) truncate: Option<u32>,
    pub(super) length: i64,
    pub(super) payload: Vec<u8>,
    pub(super) ingress_length: u64,
    /// The stage's control and its parameter with the user's metadata.
    pub(super) metadata: Option<(ControlId, VarId)>,
    pub(super) checksum_error: bool,
    /// What each direct meter answered for this packet in this stage.
    pub(super) colours: Vec<(InstanceId, u8)>,
    pub(super) frame_call: Option<FrameCall>,
}

/// The call of a frame extern.
pub(super) struct FrameCall {
    pub(super) instance: InstanceId,
    pub(super) method: String,
    pub(super) args: Vec<Bits>,
    /// The control's variables at the call.
    pub(super) vars: Vec<Value>,
}

impl<'a> V1<'a> {
    pub(super) fn new(layout: &'a Layout, packet: &mut Packet, now: Time, drop_port: u32) -> V1<'a> {
        V1 {
            layout,
            now,
            drop_port,
            orders: packet.orders,
            truncate: packet.truncate,
            length: packet.length,
            payload: std::mem::take(&mut packet.payload),
            ingress_length: packet.ingress_length,
            metadata: None,
            checksum_error: false,
            colours: vec![],
            frame_call: None,
        }
    }
}

impl Arch for V1<'_> {
    fn function(m: &mut Machine<'_, Self>, function: ExternFunctionId, call: &Call) -> Result<Value, Stop> {
        let function =
            m.program.extern_functions.get(function.index()).ok_or(Stop::Broken("an unknown function"))?;
        let args = &call.args;
        match function.name.as_str() {
            "mark_to_drop" => m.mark_to_drop(arg(args, 0)?),
            "random" => m.random(arg(args, 0)?, arg(args, 1)?, arg(args, 2)?),
            "hash" => m.hash(args),
            "verify_checksum" => m.verify_checksum(args, false),
            "verify_checksum_with_payload" => m.verify_checksum(args, true),
            "update_checksum" => m.update_checksum(args, false),
            "update_checksum_with_payload" => m.update_checksum(args, true),
            "clone" => m.clone_packet(arg(args, 1)?, None),
            "clone_preserving_field_list" => m.clone_packet(arg(args, 1)?, Some(arg(args, 2)?)),
            "resubmit_preserving_field_list" => {
                m.arch.orders.resubmit = Some(m.eval_number(arg(args, 0)?)? as u32);
                Ok(())
            }
            "recirculate_preserving_field_list" => {
                m.arch.orders.recirculate = Some(m.eval_number(arg(args, 0)?)? as u32);
                Ok(())
            }
            "truncate" => {
                let length = m.eval_number(arg(args, 0)?)? as u32;
                m.arch.truncate = Some(m.arch.truncate.map_or(length, |before| before.min(length)));
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
        if matches!(m.state.objects.get(instance.index()), Some(Object::Frame(_))) {
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
    fn looked_up(m: &mut Machine<'_, Self>, control: ControlId, id: TableId, entry: Option<usize>) {
        let bytes = m.counted_length();
        if let (Some(at), Some(table)) = (entry, m.state.tables.get(control, id))
            && let (Some(counter), Some((_, entry))) = (table.counters, table.entries.get_index(at))
        {
            let handle = entry.handle;
            entry.direct.count.count(bytes);
            m.accessed(counter, AccessKind::Update);
            m.counted(counter, handle, bytes);
        }
        m.noted(control, id, entry);
    }

    fn resized(&mut self, bytes: i64) {
        self.length = self.length.saturating_add(bytes);
    }
}

impl Machine<'_, V1<'_>> {
    /// What a hit does beside counting: timeouts begin anew, direct meters answer.
    pub(super) fn noted(&mut self, control: ControlId, id: TableId, entry: Option<usize>) {
        let (now, bytes) = (self.arch.now, self.counted_length());
        let (Some(entry), Some(table)) = (entry, self.state.tables.get_mut(control, id)) else { return };
        table.hit(entry, now);
        let Some(meter) = table.meters else { return };
        if let Some(colour) = self.direct_meter(meter, (control, id, Some(entry)), bytes, GREEN, now) {
            self.arch.colours.retain(|(instance, _)| *instance != meter);
            self.arch.colours.push((meter, colour));
        }
    }
}
