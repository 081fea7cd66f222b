//! From a queue to the wire.

use super::half::Egress;
use super::packet::{Packet, QueueMetadata};
use super::switch::V1Switch;
use crate::stage::{BlockName, CloneEffect, Start};
use crate::trace::{Cause, EventKind};
use base_time::Time;
use dataplane_api::{Departed, DropReason, EgressResult, Output, QueueRecord, Queued, QueuedPacket};
use ir_value::Value;
use p4_arch::v1model::instance_type;

impl V1Switch<'_> {
    /// Egress, then: clone, drop, checksums and deparser, recirculate, send. A packet of another device has no effect.
    pub(crate) fn egress(
        &mut self,
        packet: QueuedPacket,
        queue: QueueRecord,
        leaves: Time,
        now: Time,
    ) -> Departed {
        let queueing = QueueMetadata::read(&mut self.core.state, queue, leaves);
        match self.runner.v1model_egress(self.core, self.blocks, packet, queueing, now) {
            Ok(Egress::Sent(output)) => Departed::Sent(output),
            Ok(Egress::Ended(packet)) => self.end_egress(*packet, now).into(),
            Err(packet) => self.not_taken(packet, queueing, now).into(),
        }
    }

    /// Egress of a packet that the runner does not take.
    #[inline(never)]
    fn not_taken(&mut self, packet: QueuedPacket, queueing: QueueMetadata, now: Time) -> EgressResult {
        match packet.downcast::<Packet>() {
            Ok(packet) => self.egress_by_stages(*packet, queueing, now),
            Err(_) => EgressResult::default(),
        }
    }

    fn egress_by_stages(&mut self, mut packet: Packet, queueing: QueueMetadata, now: Time) -> EgressResult {
        self.core.state.trace.turn_to(packet.trace);
        self.set_queue_metadata(&mut packet, queueing);
        if let Err(stop) = self.control(BlockName::Egress, &mut packet, Start::Begin, now) {
            self.core.stopped(&stop);
            return EgressResult::default();
        }
        self.end_egress(packet, now)
    }

    /// Continues after the program's egress.
    pub(crate) fn end_egress(&mut self, mut packet: Packet, now: Time) -> EgressResult {
        let mut result = EgressResult::default();
        // Before the drop: as in BMv2, a packet that egress drops is cloned all the same.
        if let Some(effect) = packet.effects.clone.take() {
            result.requeued = self.clone_egress(&packet, effect);
        }
        if self.layout.get(&packet.standard, "egress_spec") == self.layout.drop_port {
            self.core.dropped(DropReason::Egress);
            return result;
        }
        let Some(mut frame) = self.out(&mut packet, now) else { return result };
        match packet.effects.recirculate.take() {
            Some(list) => self.recirculate(packet, frame, list, &mut result),
            None => {
                frame.truncate(packet.effects.truncate.map_or(usize::MAX, |length| length as usize));
                self.core
                    .state
                    .trace
                    .add(|| EventKind::Transmit { port: packet.egress_port, frame: frame.clone() });
                self.core.counters.sent += 1;
                result.output = Some(Output { port: packet.egress_port, frame });
            }
        }
        result
    }

    /// The packet's bytes, with its checksums.
    fn out(&mut self, packet: &mut Packet, now: Time) -> Option<Vec<u8>> {
        if let Ok(frame) = self.runner.v1model_out(self.core, self.blocks, packet, now) {
            return frame;
        }
        let compute = self.control(BlockName::Compute, packet, Start::Begin, now);
        let frame = compute.and_then(|_| self.deparse(packet, now));
        frame.map_err(|stop| self.core.stopped(&stop)).ok()
    }

    /// Sets egress's metadata about a packet's time in its queue.
    pub(super) fn set_queue_metadata(&mut self, packet: &mut Packet, queueing: QueueMetadata) {
        let fields = [
            ("egress_global_timestamp", queueing.left.into()),
            ("enq_timestamp", queueing.entered.into()),
            ("enq_qdepth", queueing.depth_entered.into()),
            ("deq_timedelta", queueing.waited.into()),
            ("deq_qdepth", queueing.depth_left.into()),
            ("egress_port", packet.egress_port.into()),
            ("egress_spec", u128::from(self.layout.drop_port) + 1),
            ("packet_length", packet.effects.length.max(0) as u128),
        ];
        for (name, value) in fields {
            self.layout.set(&mut packet.standard, name, value);
        }
    }

    /// Clones the packet at the end of egress; of the metadata, only the field list is copied.
    pub(super) fn clone_egress(&mut self, packet: &Packet, effect: CloneEffect) -> Vec<Queued> {
        let Some(session) = self.core.replication.sessions.get(&effect.session).copied() else {
            return vec![];
        };
        self.core.effect("clone", effect.session);
        let mut copy = packet.clone();
        copy.metadata = Value::zero(&self.core.program, &self.layout.metadata);
        self.layout.keep(effect.field_list, &packet.metadata, &mut copy.metadata);
        copy.standard = Value::zero(&self.core.program, &self.layout.standard);
        self.layout.set(&mut copy.standard, "instance_type", u128::from(instance_type::EGRESS_CLONE));
        copy.effects.forget();
        if let Some(most) = session.max_length {
            copy.cut(most);
        }
        let cause = Cause::EgressClone { session: effect.session };
        self.begin(&mut copy, packet.trace, cause, session.port);
        self.send_clone(copy, session)
    }

    pub(super) fn recirculate(
        &mut self,
        packet: Packet,
        frame: Vec<u8>,
        list: u32,
        result: &mut EgressResult,
    ) {
        self.core.effect("recirculate", list);
        let from = packet.trace;
        if !packet.budget.take() {
            self.core.dropped(DropReason::PassLimit);
            return;
        }
        let mut packet = self.restarted(packet, frame, instance_type::RECIRCULATED, Some(list));
        self.begin(&mut packet, from, Cause::Recirculated, None);
        result.again.push(Box::new(packet));
    }
}
