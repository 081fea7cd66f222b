//! Ingress, the traffic manager, and egress.

use super::half::{HalfDone, HalfStart};
use super::layout::{EGRESS_DEPARSER, INGRESS_DEPARSER, Layout, TO_MANAGER, named};
use super::packet::Packet;
use super::stages::Stages;
use crate::blueprint::Blocks;
use crate::core::Core;
use crate::environment::Source;
use crate::half::Half;
use crate::replication::Session;
use crate::runner::StageRunner;
use crate::stage::MirrorEffect;
use crate::trace::{Cause, EventKind};
use base_bits::BitWriter;
use base_time::Time;
use dataplane_api::{DropReason, EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket, Replica};
use ir::Program;
use ir_value::wire::encode;
use ir_value::{Value, fields};
use p4_arch::tna::{self, drop_ctl};

/// A device at work.
pub(crate) struct TofinoSwitch<'c> {
    core: &'c mut Core,
    blocks: Blocks<'c>,
    runner: &'c mut (dyn StageRunner + 'c),
    layout: &'c Layout,
}

impl Core {
    /// The clock as a half sees it, in nanoseconds.
    pub(super) fn timestamp(&mut self, half: Half, now: Time) -> u64 {
        let source = match half {
            Half::Ingress => Source::IngressTimestamp,
            Half::Egress => Source::EgressTimestamp,
        };
        self.state.read_environment(&source, now.as_ns())
    }
}

impl<'c> TofinoSwitch<'c> {
    /// Switch for a program with this layout.
    pub(crate) fn of(
        core: &'c mut Core,
        blocks: Blocks<'c>,
        runner: &'c mut (dyn StageRunner + 'c),
        layout: &'c Layout,
    ) -> TofinoSwitch<'c> {
        TofinoSwitch { core, blocks, runner, layout }
    }

    /// Runs a received frame through ingress.
    pub(crate) fn receive(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        let packet = Packet::received(self.core, port, frame);
        self.run_ingress(packet, now)
    }

    /// Runs a packet that leaves its queue. A packet of another device has no effect.
    pub(crate) fn egress(&mut self, packet: QueuedPacket, queue: QueueRecord, now: Time) -> EgressResult {
        match packet.downcast::<Packet>() {
            Ok(packet) if packet.bypasses_egress => {
                let (port, frame) = (packet.egress_port, packet.frame.clone());
                self.send(*packet, port, frame)
            }
            Ok(packet) => self.run_egress(*packet, queue, now),
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

    /// Passes of ingress, until the packet is not resubmitted.
    fn run_ingress(&mut self, packet: Packet, now: Time) -> Vec<Queued> {
        let (mut queued, mut next) = (vec![], Some(packet));
        while let Some(packet) = next {
            self.core.state.trace.turn_to(packet.trace);
            let metadata = self.before_ingress(&packet, now);
            let done = self.half(Half::Ingress, &packet, metadata, now);
            next = done.and_then(|done| self.after_ingress(packet, done, &mut queued));
        }
        queued
    }

    /// Runs a half; nothing if the packet came to its end in it.
    fn half(&mut self, half: Half, packet: &Packet, metadata: Vec<u8>, now: Time) -> Option<HalfDone> {
        let length = packet.frame.len() as u64;
        let input = [metadata.as_slice(), &packet.frame].concat();
        let start = HalfStart { half, input: &input, length, budget: &packet.budget };
        if let Ok(done) = self.runner.tna_half(self.core, self.blocks.of(half), start, now) {
            return done;
        }
        let layout = self.layout;
        let mut stages =
            Stages { core: self.core, runner: self.runner, layout, half, now, budget: &packet.budget };
        match stages.run(input, length) {
            Ok(None) => {
                self.core.dropped(DropReason::Ingress);
                None
            }
            Ok(done) => done,
            Err(stop) => {
                self.core.stopped(&stop);
                None
            }
        }
    }

    /// Metadata before a frame in ingress: the switch's, then that of the port or of the resubmission.
    fn before_ingress(&mut self, packet: &Packet, now: Time) -> Vec<u8> {
        let again = packet.resubmitted.is_some();
        let arrived = now.as_ns();
        let mut bytes = header(
            &self.core.program,
            "ingress_intrinsic_metadata_t",
            &[
                ("resubmit_flag", u128::from(again)),
                ("ingress_port", u128::from(packet.ingress_port)),
                ("ingress_mac_tstamp", u128::from(arrived)),
            ],
        );
        let room = self.layout.port_metadata_bits() as usize / 8;
        let mut data = match &packet.resubmitted {
            Some(data) => data.clone(),
            None => self.port_metadata(packet.ingress_port),
        };
        data.resize(room, 0);
        bytes.extend(data);
        bytes
    }

    /// The bits that the control plane has set for a port; none for a port without a cell.
    fn port_metadata(&mut self, port: Port) -> Vec<u8> {
        let Some(register) = self.layout.port_metadata else { return vec![] };
        let program = self.core.program.clone();
        let cell = self.core.state.register_cell(&program, register, port.into());
        let Ok(Some(mut cell)) = cell else { return vec![] };
        // A header in a cell is there whether or not the control plane has written it.
        if let Value::Header(header) = &mut cell {
            header.valid = true;
        }
        let mut out = BitWriter::new();
        encode(&cell, &mut out);
        out.pad();
        out.finish()
    }

    /// Metadata before a packet in egress.
    fn before_egress(&mut self, packet: &Packet, queue: QueueRecord, now: Time) -> Vec<u8> {
        let state = &mut self.core.state;
        let waited = now.as_ns().saturating_sub(queue.enqueued.as_ns());
        let enqueued = state.read_environment(&Source::EnqueueTimestamp, queue.enqueued.as_ns());
        let depth = state.read_environment(&Source::EnqueueDepth, queue.depth_at_enqueue.into());
        let waited = state.read_environment(&Source::DequeueTimedelta, waited);
        let left = state.read_environment(&Source::DequeueDepth, queue.depth_at_dequeue.into());
        let (rid, is_first) = packet.replica;
        header(
            &self.core.program,
            "egress_intrinsic_metadata_t",
            &[
                ("egress_port", u128::from(packet.egress_port)),
                ("enq_qdepth", u128::from(depth)),
                ("enq_tstamp", u128::from(enqueued)),
                ("deq_qdepth", u128::from(left)),
                ("deq_timedelta", u128::from(waited)),
                ("egress_rid", u128::from(rid)),
                ("egress_rid_first", u128::from(is_first)),
                ("egress_qid", u128::from(packet.queue)),
                ("egress_cos", u128::from(packet.class)),
                ("pkt_length", packet.frame.len() as u128),
            ],
        )
    }

    /// The traffic manager; gives the packet if it is resubmitted.
    fn after_ingress(&mut self, packet: Packet, done: HalfDone, queued: &mut Vec<Queued>) -> Option<Packet> {
        let program = self.core.program.clone();
        let asked = |name: &str| done.field(&program, TO_MANAGER, name);
        let dropped = done.field(&program, INGRESS_DEPARSER, "drop_ctl");
        if let Some(mirror) = done.mirror.clone()
            && dropped & drop_ctl::MIRROR == 0
        {
            let cause = Cause::IngressClone { session: mirror.session };
            // Tofino 2 can mirror the packet as it leaves ingress.
            let as_it_leaves = done.field(&program, INGRESS_DEPARSER, "mirror_io_select") != 0;
            let frame = if as_it_leaves { &done.frame } else { &packet.frame };
            queued.extend(self.mirror(&packet, &mirror, frame, cause));
        }
        let is_kept = dropped & drop_ctl::PACKET == 0;
        if is_kept && let Some(data) = done.resubmission.clone() {
            return self.resubmit(packet, data);
        }
        let next = Packet {
            frame: done.frame.clone(),
            bypasses_egress: asked("bypass_egress") != 0,
            queue: asked("qid"),
            class: asked("ingress_cos"),
            replica: (0, false),
            ..packet
        };
        // One copy is the packet itself, the others are new.
        let mut copies: Vec<(Packet, Option<Cause>, Port)> = vec![];
        if asked("copy_to_cpu") != 0 && dropped & drop_ctl::COPY_TO_CPU == 0 {
            self.core.effect("copy to CPU", "");
            let class = asked("icos_for_copy_to_cpu");
            copies.push((Packet { class, ..next.clone() }, None, tna::cpu_port(self.layout.generation)));
        }
        if is_kept {
            let port = asked("ucast_egress_port") as Port;
            if port != tna::NO_PORT {
                self.core.effect("unicast", port);
                copies.push((next.clone(), None, port));
            }
            for group in ["mcast_grp_a", "mcast_grp_b"].map(asked).into_iter().filter(|group| *group != 0) {
                self.core.effect("multicast", group);
                for (at, (port, rid)) in self.core.replication.members(group as u32).into_iter().enumerate() {
                    let copy = Packet { replica: (rid, at == 0), ..next.clone() };
                    copies.push((copy, Some(Cause::Replica { rid }), port));
                }
            }
        }
        if copies.is_empty() {
            let groups = ["mcast_grp_a", "mcast_grp_b"].map(asked);
            let lacks_members = is_kept && groups != [0, 0];
            self.core.dropped(if lacks_members { DropReason::NoReplica } else { DropReason::Ingress });
        }
        for (at, (mut copy, cause, port)) in copies.into_iter().enumerate() {
            if at > 0 && !self.core.created(&copy.budget) {
                continue;
            }
            if let Some(cause) = cause {
                copy.trace = self.core.begin(copy.trace, cause, Some(port), copy.frame.len() as u64);
            }
            queued.push(enqueue(copy, port));
        }
        None
    }

    fn resubmit(&mut self, packet: Packet, data: Vec<u8>) -> Option<Packet> {
        self.core.effect("resubmit", "");
        if !packet.budget.take() {
            self.core.dropped(DropReason::PassLimit);
            return None;
        }
        let bytes = packet.frame.len() as u64;
        let trace = self.core.begin(packet.trace, Cause::Resubmitted, None, bytes);
        Some(Packet { resubmitted: Some(data), trace, ..packet })
    }

    /// The copies that a session makes of `frame`, after the mirror's header; none if the session is not set up.
    fn mirror(&mut self, from: &Packet, mirror: &MirrorEffect, frame: &[u8], cause: Cause) -> Vec<Queued> {
        let Some(Session { port, group, class_of_service, max_length }) =
            self.core.replication.sessions.get(&mirror.session).copied()
        else {
            return vec![];
        };
        self.core.effect("mirror", mirror.session);
        let mut frame = [mirror.header.as_slice(), frame].concat();
        if let Some(length) = max_length {
            frame.truncate(length as usize);
        }
        let trace = self.core.begin(from.trace, cause, port, frame.len() as u64);
        let class = u64::from(class_of_service);
        let copy = Packet {
            frame,
            class,
            queue: 0,
            replica: (0, false),
            bypasses_egress: false,
            trace,
            ..from.clone()
        };
        let mut queued = vec![];
        let members = group.map(|group| self.core.replication.members(group)).unwrap_or_default();
        for (at, (port, rid)) in members.into_iter().enumerate() {
            if self.core.created(&copy.budget) {
                let cause = Cause::Replica { rid };
                let trace = self.core.begin(copy.trace, cause, Some(port), copy.frame.len() as u64);
                queued.push(enqueue(Packet { replica: (rid, at == 0), trace, ..copy.clone() }, port));
            }
        }
        if let Some(port) = port
            && self.core.created(&copy.budget)
        {
            queued.push(enqueue(copy, port));
        }
        queued
    }

    /// Egress, then: mirror, drop, send.
    fn run_egress(&mut self, packet: Packet, queue: QueueRecord, now: Time) -> EgressResult {
        self.core.state.trace.turn_to(packet.trace);
        let metadata = self.before_egress(&packet, queue, now);
        let Some(done) = self.half(Half::Egress, &packet, metadata, now) else {
            return EgressResult::default();
        };
        let program = self.core.program.clone();
        let dropped = done.field(&program, EGRESS_DEPARSER, "drop_ctl");
        let mut mirrored = vec![];
        if let Some(mirror) = &done.mirror
            && dropped & drop_ctl::MIRROR == 0
        {
            let cause = Cause::EgressClone { session: mirror.session };
            // Tofino 1 mirrors the packet as it leaves; Tofino 2 as the program selects.
            let as_it_leaves =
                self.layout.generation == 1 || done.field(&program, EGRESS_DEPARSER, "mirror_io_select") != 0;
            let frame = if as_it_leaves { &done.frame } else { &packet.frame };
            mirrored = self.mirror(&packet, mirror, frame, cause);
        }
        let mut result = if dropped & drop_ctl::PACKET != 0 {
            self.core.dropped(DropReason::Egress);
            EgressResult::default()
        } else {
            let port = packet.egress_port;
            self.send(packet, port, done.frame)
        };
        result.requeued.extend(mirrored);
        result
    }

    /// Out by a port, or in again by one that leads back.
    fn send(&mut self, packet: Packet, port: Port, frame: Vec<u8>) -> EgressResult {
        let mut result = EgressResult::default();
        if tna::recirculates(self.layout.generation, port) {
            self.core.effect("recirculate", "");
            if !packet.budget.take() {
                self.core.dropped(DropReason::PassLimit);
                return result;
            }
            let trace = self.core.begin(packet.trace, Cause::Recirculated, None, frame.len() as u64);
            result.again.push(Box::new(Packet {
                frame,
                ingress_port: port,
                resubmitted: None,
                trace,
                ..packet
            }));
            return result;
        }
        self.core.state.trace.turn_to(packet.trace);
        self.core.state.trace.add(|| EventKind::Transmit { port, frame: frame.clone() });
        self.core.counters.sent += 1;
        result.output = Some(Output { port, frame });
        result
    }
}

/// The bytes of the header of this type: these fields, all others zero.
fn header(program: &Program, name: &str, set: &[(&str, u128)]) -> Vec<u8> {
    let Some(ty) = named(program, name) else { return vec![] };
    let Value::Header(mut header) = Value::zero(program, &ty) else { return vec![] };
    header.valid = true;
    let mut value = Value::Header(header);
    for (field, number) in set {
        fields::set(program, &ty, &mut value, field, *number);
    }
    let mut out = BitWriter::new();
    encode(&value, &mut out);
    out.finish()
}

fn enqueue(mut packet: Packet, port: Port) -> Queued {
    packet.egress_port = port;
    let priority = packet.class.min(7) as u8;
    let bytes = u32::try_from(packet.frame.len()).unwrap_or(u32::MAX);
    Queued { replica: Replica { port, priority }, bytes, packet: Box::new(packet) }
}
