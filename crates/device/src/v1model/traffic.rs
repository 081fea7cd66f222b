//! The traffic manager: effects at the end of ingress, in `simple_switch`'s order.

use super::half::Work;
use super::packet::Packet;
use super::switch::V1Switch;
use crate::replication::Session;
use crate::stage::CloneEffect;
use crate::trace::Cause;
use base_time::Time;
use dataplane_api::{DropReason, Port, Queued, Replica};
use ir_value::Value;
use p4_arch::v1model::instance_type;

impl V1Switch<'_> {
    /// Carries out the effects requested in ingress: clone, then resubmit, multicast, drop or unicast. Returns packets
    /// that restart.
    pub(super) fn manage(&mut self, mut packet: Packet, now: Time, queued: &mut Vec<Queued>) -> Option<Work> {
        if let Some(effect) = packet.effects.clone.take() {
            queued.extend(self.clone_ingress(&packet, effect, now));
        }
        if let Some(list) = packet.effects.resubmit.take() {
            return self.resubmit(packet, list);
        }
        let group = self.layout.get(&packet.standard, "mcast_grp");
        if group != 0 {
            self.core.effect("multicast", group);
            self.layout.set(&mut packet.standard, "instance_type", u128::from(instance_type::REPLICATED));
            packet.effects.forget_orders();
            queued.extend(self.replicate(packet, group, true));
            return None;
        }
        let port = self.layout.get(&packet.standard, "egress_spec");
        if port == self.layout.drop_port {
            self.core.dropped(DropReason::Ingress);
            return None;
        }
        self.core.effect("unicast", port);
        self.layout.set(&mut packet.standard, "instance_type", u128::from(instance_type::NORMAL));
        queued.push(self.enqueue(packet, port));
        None
    }

    /// The packet as it entered this pass, parsed again; of the metadata only the field list.
    fn clone_ingress(&mut self, packet: &Packet, effect: CloneEffect, now: Time) -> Vec<Queued> {
        let Some(session) = self.core.replication.sessions.get(&effect.session).copied() else {
            return vec![];
        };
        self.core.effect("clone", effect.session);
        let (frame, port) = match session.max_length {
            Some(most) => self.truncated(packet, most, now),
            None => (packet.frame.clone(), packet.ingress_port),
        };
        let mut copy = self.clone_of(packet, frame, port);
        let cause = Cause::IngressClone { session: effect.session };
        self.begin(&mut copy, packet.trace, cause, session.port);
        self.core.state.trace.turn_to(copy.trace);
        let _ = self.parse(&mut copy, now);
        self.core.state.trace.turn_to(packet.trace);
        copy.metadata = Value::zero(&self.core.program, &self.layout.metadata);
        self.layout.keep(effect.field_list, &packet.metadata, &mut copy.metadata);
        if let Some(most) = session.max_length {
            self.layout.limit_counted_length(&mut copy.metadata, most);
        }
        copy.standard = Value::zero(&self.core.program, &self.layout.standard);
        self.layout.set(&mut copy.standard, "instance_type", u128::from(instance_type::INGRESS_CLONE));
        copy.effects.length = copy.effects.counted as i64;
        copy.effects.forget_orders();
        self.send_clone(copy, session)
    }

    /// The packet with `frame` for its bytes, to be parsed as if it came by `port`.
    fn clone_of(&mut self, packet: &Packet, frame: Vec<u8>, port: Port) -> Packet {
        let mut copy = self.restarted(packet.clone(), frame, instance_type::INGRESS_CLONE, None);
        self.layout.set(&mut copy.standard, "ingress_port", u128::from(port));
        copy
    }

    /// The first `most` bytes of the frame as it entered this pass, or, of a hand-over, of the frame that it carries; and the port
    /// to parse them for.
    fn truncated(&mut self, packet: &Packet, most: u32, now: Time) -> (Vec<u8>, Port) {
        let (mut frame, mut port) = (packet.frame.clone(), packet.ingress_port);
        if self.layout.carries_frames() {
            let mut copy = self.clone_of(packet, packet.frame.clone(), packet.ingress_port);
            let traced = self.core.state.trace.on();
            self.core.state.trace.switch(false);
            let _ = self.parse(&mut copy, now);
            self.core.state.trace.switch(traced);
            if let Some(carried) = self.layout.carried_frame(&copy.headers, &copy.payload) {
                // The carried frame is no hand-over, whatever its first bytes are: this number is no link's.
                (frame, port) = (carried, self.layout.drop_port);
            }
        }
        frame.truncate(most as usize);
        (frame, port)
    }

    /// To the group and to the port of a session. The copy for the port has the last replica id of the group.
    pub(super) fn send_clone(&mut self, mut copy: Packet, session: Session) -> Vec<Queued> {
        self.layout.set(&mut copy.standard, "priority", session.class_of_service.into());
        let mut queued = vec![];
        if let Some(group) = session.group {
            if let Some((_, rid)) = self.core.replication.members(group).last() {
                self.layout.set(&mut copy.standard, "egress_rid", u128::from(*rid));
            }
            queued.extend(self.replicate(copy.clone(), group, false));
        }
        if let Some(port) = session.port
            && self.core.created(&copy.budget)
        {
            queued.push(self.enqueue(copy, port));
        }
        queued
    }

    fn resubmit(&mut self, packet: Packet, list: u32) -> Option<Work> {
        self.core.effect("resubmit", list);
        if !packet.budget.take() {
            self.core.dropped(DropReason::PassLimit);
            return None;
        }
        let frame = packet.frame.clone();
        let from = packet.trace;
        let mut packet = self.restarted(packet, frame, instance_type::RESUBMITTED, Some(list));
        self.begin(&mut packet, from, Cause::Resubmitted, None);
        Some(Work::Again(Box::new(packet)))
    }

    /// A copy for each member of a group. `is_packet` says that the packet itself ends here: then one of the
    /// copies is not new, and without a member it is dropped.
    fn replicate(&mut self, packet: Packet, group: u32, is_packet: bool) -> Vec<Queued> {
        let members = self.core.replication.members(group);
        if members.is_empty() && is_packet {
            self.core.dropped(DropReason::NoReplica);
        }
        let mut queued = vec![];
        for (position, (port, rid)) in members.into_iter().enumerate() {
            if (position > 0 || !is_packet) && !self.core.created(&packet.budget) {
                continue;
            }
            let mut copy = packet.clone();
            if is_packet {
                copy.effects.truncate = None;
            }
            self.begin(&mut copy, packet.trace, Cause::Replica { rid }, Some(port));
            self.layout.set(&mut copy.standard, "egress_rid", u128::from(rid));
            queued.push(self.enqueue(copy, port));
        }
        queued
    }

    pub(super) fn enqueue(&mut self, mut packet: Packet, port: Port) -> Queued {
        packet.egress_port = port;
        let priority = self.layout.get(&packet.standard, "priority") as u8;
        let bytes = u32::try_from(packet.effects.length.max(0)).unwrap_or(u32::MAX);
        Queued { replica: Replica { port, priority }, bytes, packet: Box::new(packet) }
    }
}
