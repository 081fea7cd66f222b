//! Ingress, the packet replication engine, and egress (PSA 1.2 §6).

use super::half::{HalfDone, HalfStart};
use super::layout::Layout;
use super::packet::Packet;
use super::stages::Stages;
use crate::blueprint::Blocks;
use crate::core::Core;
use crate::environment::Source;
use crate::half::Half;
use crate::replication::Session;
use crate::runner::StageRunner;
use crate::trace::{Cause, EventKind};
use base_time::Time;
use dataplane_api::{DropReason, EgressResult, Output, Port, Queued, QueuedPacket, Replica};
use ir::{Carried, Role};
use ir_value::fields;
use p4_arch::psa::{PORT_RECIRCULATE, packet_path};

/// Priority of the highest of a port's eight queues.
const HIGHEST_PRIORITY: u64 = 7;

/// A device at work.
pub(crate) struct PsaSwitch<'c> {
    core: &'c mut Core,
    blocks: Blocks<'c>,
    runner: &'c mut (dyn StageRunner + 'c),
    layout: &'c Layout,
}

impl<'c> PsaSwitch<'c> {
    /// Switch for a program with this layout.
    pub(crate) fn of(
        core: &'c mut Core,
        blocks: Blocks<'c>,
        runner: &'c mut (dyn StageRunner + 'c),
        layout: &'c Layout,
    ) -> PsaSwitch<'c> {
        PsaSwitch { core, blocks, runner, layout }
    }

    /// Runs a received frame through ingress.
    pub(crate) fn receive(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        let packet = Packet::received(self.core, port, frame);
        self.run_ingress(packet, now)
    }

    /// Runs a packet that leaves its queue. A packet of another device has no effect.
    pub(crate) fn egress(&mut self, packet: QueuedPacket, now: Time) -> EgressResult {
        match packet.downcast::<Packet>() {
            Ok(packet) => self.run_egress(*packet, now),
            Err(_) => EgressResult::default(),
        }
    }

    /// A packet that was recirculated starts again.
    pub(crate) fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        match packet.downcast::<Packet>() {
            Ok(packet) => self.run_ingress(*packet, now),
            Err(_) => vec![],
        }
    }

    /// Continues with a packet after a half that a runner of whole packets has run.
    pub(crate) fn after_half(
        &mut self,
        start: HalfStart<'_>,
        done: HalfDone,
        now: Time,
    ) -> (EgressResult, Vec<Queued>) {
        let (half, packet) = (start.half, Packet::at(start));
        match half {
            Half::Ingress => {
                let mut queued = vec![];
                let again = self.after_ingress(packet, done, &mut queued);
                self.passes_of_ingress(again, &mut queued, now);
                (EgressResult::default(), queued)
            }
            Half::Egress => (self.after_egress(packet, done), vec![]),
        }
    }

    /// Runs a packet through ingress, repeatedly if it is resubmitted, and through the replication engine.
    fn run_ingress(&mut self, packet: Packet, now: Time) -> Vec<Queued> {
        let mut queued = vec![];
        self.passes_of_ingress(Some(packet), &mut queued, now);
        queued
    }

    /// See [`run_ingress`](PsaSwitch::run_ingress).
    fn passes_of_ingress(&mut self, mut next: Option<Packet>, queued: &mut Vec<Queued>, now: Time) {
        while let Some(packet) = next {
            next = self.pass_ingress(packet, queued, now);
        }
    }

    /// One pass; gives the packet if it is resubmitted.
    fn pass_ingress(&mut self, packet: Packet, queued: &mut Vec<Queued>, now: Time) -> Option<Packet> {
        self.core.state.trace.turn_to(packet.trace);
        let timestamp = self.core.state.read_environment(&Source::IngressTimestamp, now.as_us());
        let pass = self.half(Half::Ingress, &packet, timestamp, now)?;
        self.after_ingress(packet, pass, queued)
    }

    /// The replication engine; gives the packet if it is resubmitted.
    fn after_ingress(&mut self, packet: Packet, pass: HalfDone, queued: &mut Vec<Queued>) -> Option<Packet> {
        let asked = |name: &str| self.asked(Half::Ingress, &pass, name);
        let [clone, drop, resubmit, group] = ["clone", "drop", "resubmit", "multicast_group"].map(asked);
        let [session, port, class] = ["clone_session_id", "egress_port", "class_of_service"].map(asked);
        // In the order of PSA §6.2: also a packet that is dropped leaves its clone.
        if clone != 0 {
            let cause = Cause::IngressClone { session: session as u32 };
            let carried = pass.carried(Carried::CloneI2e);
            let copy = Packet { path: packet_path::CLONE_I2E, carried, ..packet.clone() };
            queued.extend(self.clone(copy, cause, session as u32));
        }
        if drop != 0 {
            self.core.dropped(DropReason::Ingress);
            return None;
        }
        if resubmit != 0 {
            return self.resubmit(packet, &pass);
        }
        let carried = pass.carried(Carried::Normal);
        let packet = Packet { frame: pass.frame, carried, class_of_service: class, instance: 0, ..packet };
        if group != 0 {
            self.core.effect("multicast", group);
            let copy = Packet { path: packet_path::NORMAL_MULTICAST, ..packet };
            queued.extend(self.replicate(copy, group as u32, true));
        } else {
            self.core.effect("unicast", port);
            let packet = Packet { path: packet_path::NORMAL_UNICAST, ..packet };
            queued.push(enqueue(packet, port as Port));
        }
        None
    }

    /// Runs a half; nothing if the packet came to its end in it.
    fn half(&mut self, half: Half, packet: &Packet, timestamp: u64, now: Time) -> Option<HalfDone> {
        let start = HalfStart {
            half,
            frame: &packet.frame,
            path: packet.path,
            ingress_port: packet.ingress_port,
            egress_port: packet.egress_port,
            class_of_service: packet.class_of_service,
            instance: packet.instance,
            timestamp,
            carried: packet.carried.as_ref(),
            budget: &packet.budget,
        };
        if let Ok(done) = self.runner.psa_half(self.core, self.blocks.of(half), start, now) {
            return done;
        }
        let path = ("packet_path", u128::from(packet.path));
        let (facts, initial) = match half {
            Half::Ingress => (
                vec![
                    ("ingress_port", u128::from(packet.ingress_port)),
                    path,
                    ("ingress_timestamp", u128::from(timestamp)),
                ],
                &[("drop", 1)][..],
            ),
            Half::Egress => (
                vec![
                    ("egress_port", u128::from(packet.egress_port)),
                    path,
                    ("class_of_service", u128::from(packet.class_of_service)),
                    ("instance", u128::from(packet.instance)),
                    ("egress_timestamp", u128::from(timestamp)),
                ],
                &[][..],
            ),
        };
        let half = self.layout.halves.half(half);
        let mut stages = Stages { core: self.core, runner: self.runner, half, now, budget: &packet.budget };
        stages.run(packet, facts, initial).map_err(|stop| self.core.stopped(&stop)).ok()
    }

    /// A field of a half's output metadata.
    fn asked(&self, half: Half, pass: &HalfDone, name: &str) -> u64 {
        fields::get(
            &self.core.program,
            &self.layout.halves.half(half).control.ty(Role::Output),
            &pass.output,
            name,
        )
    }

    fn resubmit(&mut self, packet: Packet, pass: &HalfDone) -> Option<Packet> {
        self.core.effect("resubmit", "");
        if !packet.budget.take() {
            self.core.dropped(DropReason::PassLimit);
            return None;
        }
        let bytes = packet.frame.len() as u64;
        let trace = self.core.begin(packet.trace, Cause::Resubmitted, None, bytes);
        let carried = pass.carried(Carried::Resubmit);
        Some(Packet { path: packet_path::RESUBMIT, carried, trace, ..packet })
    }

    /// The copies that a session says; none if it is not set up.
    fn clone(&mut self, mut copy: Packet, cause: Cause, session: u32) -> Vec<Queued> {
        let Some(Session { port, group, class_of_service, max_length }) =
            self.core.replication.sessions.get(&session).copied()
        else {
            return vec![];
        };
        self.core.effect("clone", session);
        if let Some(length) = max_length {
            copy.frame.truncate(length as usize);
        }
        copy.class_of_service = u64::from(class_of_service);
        copy.instance = 0;
        copy.trace = self.core.begin(copy.trace, cause, port, copy.frame.len() as u64);
        let mut queued = vec![];
        if let Some(group) = group {
            queued.extend(self.replicate(copy.clone(), group, false));
        }
        if let Some(port) = port
            && self.core.created(&copy.budget)
        {
            queued.push(enqueue(copy, port));
        }
        queued
    }

    /// A copy for each member of a group. `is_packet` says that the packet itself ends here: then one of the
    /// copies is not new, and without a member it is dropped.
    fn replicate(&mut self, packet: Packet, group: u32, is_packet: bool) -> Vec<Queued> {
        let members = self.core.replication.members(group);
        if members.is_empty() && is_packet {
            self.core.dropped(DropReason::NoReplica);
        }
        let mut queued = vec![];
        for (position, (port, instance)) in members.into_iter().enumerate() {
            if (position > 0 || !is_packet) && !self.core.created(&packet.budget) {
                continue;
            }
            let cause = Cause::Replica { rid: instance };
            let trace = self.core.begin(packet.trace, cause, Some(port), packet.frame.len() as u64);
            queued.push(enqueue(Packet { instance, trace, ..packet.clone() }, port));
        }
        queued
    }

    /// Egress, then: clone, drop, recirculate, send.
    fn run_egress(&mut self, packet: Packet, now: Time) -> EgressResult {
        self.core.state.trace.turn_to(packet.trace);
        let timestamp = self.core.state.read_environment(&Source::EgressTimestamp, now.as_us());
        match self.half(Half::Egress, &packet, timestamp, now) {
            Some(pass) => self.after_egress(packet, pass),
            None => EgressResult::default(),
        }
    }

    /// Clone, drop, recirculate, send.
    fn after_egress(&mut self, packet: Packet, pass: HalfDone) -> EgressResult {
        let mut result = EgressResult::default();
        let asked = |name: &str| self.asked(Half::Egress, &pass, name);
        let [clone, session, drop] = ["clone", "clone_session_id", "drop"].map(asked);
        if clone != 0 {
            let cause = Cause::EgressClone { session: session as u32 };
            let carried = pass.carried(Carried::CloneE2e);
            let frame = pass.frame.clone();
            let copy = Packet { path: packet_path::CLONE_E2E, carried, frame, ..packet.clone() };
            result.requeued = self.clone(copy, cause, session as u32);
        }
        if drop != 0 {
            self.core.dropped(DropReason::Egress);
        } else if packet.egress_port == PORT_RECIRCULATE {
            self.recirculate(packet, pass, &mut result);
        } else {
            let (port, frame) = (packet.egress_port, pass.frame);
            self.core.state.trace.add(|| EventKind::Transmit { port, frame: frame.clone() });
            self.core.counters.sent += 1;
            result.output = Some(Output { port, frame });
        }
        result
    }

    fn recirculate(&mut self, packet: Packet, pass: HalfDone, result: &mut EgressResult) {
        self.core.effect("recirculate", "");
        if !packet.budget.take() {
            self.core.dropped(DropReason::PassLimit);
            return;
        }
        let trace = self.core.begin(packet.trace, Cause::Recirculated, None, pass.frame.len() as u64);
        let carried = pass.carried(Carried::Recirculate);
        let packet = Packet {
            frame: pass.frame,
            path: packet_path::RECIRCULATE,
            ingress_port: PORT_RECIRCULATE,
            carried,
            trace,
            ..packet
        };
        result.again.push(Box::new(packet));
    }
}

fn enqueue(mut packet: Packet, port: Port) -> Queued {
    packet.egress_port = port;
    let priority = packet.class_of_service.min(HIGHEST_PRIORITY) as u8;
    let bytes = u32::try_from(packet.frame.len()).unwrap_or(u32::MAX);
    Queued { replica: Replica { port, priority }, bytes, packet: Box::new(packet) }
}
