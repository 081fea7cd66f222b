//! Packets in ingress, from wherever they begin to the queues, and the frame externs that they call.
//!
//! ```text
//! start again ─┐                       ┌─> copies, resubmitted   the interpreter's traffic manager
//! fresh ───────┼─> ingress ────────────┼─> waits                 a queue
//! carried on ──┘     ^                 └─> called ── deparsed ──> frame extern ──┐
//!                    └───────────────────────────────────────────────────────────┘
//! ```
//!
//! **Invariant**: what a packet gives rise to runs before the packets behind it, as in the interpreter.

use crate::access::Access;
use crate::engine::{Native, Start};
use crate::exchange::Exchange;
use crate::layout::Node;
use crate::machine::Part;
use crate::memory::Memory;
use crate::packet::Packet;
use crate::parked::Parked;
use crate::runtime::{FrameCall, Leaving, To};
use base_time::Time;
use dataplane_api::Queued;
use device::Life;
use device::embed::{PacketParts, RunsOn, Stay};
use device::stage::BlockName;
use ir_value::Value;
use std::sync::Arc;

/// A packet that is to run in ingress.
pub(crate) enum Work {
    /// From the parser on.
    Again(Box<PacketParts>),
    /// Out of a frame extern, from one of the places where frames run on.
    Fresh(Box<PacketParts>, usize),
    /// The same for the packet that called.
    Carried(Box<Carried>),
}

/// A packet that called a frame extern, and what came back.
pub(crate) struct Carried {
    /// Its frame, as it was at the call.
    memory: Memory,
    values: Vec<Value>,
    /// Its bytes now.
    frame: Vec<u8>,
    /// Where it runs on.
    at: usize,
    life: Life,
}

impl Work {
    fn part(&self) -> Part {
        match self {
            Work::Again(_) => Part::Again,
            Work::Fresh(_, at) => Part::Resume(*at, true),
            Work::Carried(carried) => Part::Resume(carried.at, false),
        }
    }

    /// Puts its bytes into a buffer; false if they do not fit.
    fn receive(&self, room: &mut Parked) -> bool {
        match self {
            Work::Again(parts) => room.receive(parts),
            Work::Fresh(parts, _) => room.packet.receive(parts.ingress_port, &parts.frame),
            Work::Carried(carried) => room.packet.receive(0, &carried.frame),
        }
    }
}

impl Native {
    /// Runs packets up to the queues.
    pub(crate) fn run_works(&mut self, host: &mut Access, works: Vec<Work>, now: Time) -> Vec<Queued> {
        let mut waiting = works;
        waiting.reverse();
        let mut queued = vec![];
        while let Some(work) = waiting.pop() {
            let more = self.run_work(host, work, &mut queued, now);
            waiting.extend(more.into_iter().rev());
        }
        queued
    }

    fn run_work(&mut self, host: &mut Access, work: Work, queued: &mut Vec<Queued>, now: Time) -> Vec<Work> {
        let mut room = self.room();
        let part = work.part();
        if !self.build.has_all([part, Part::Egress], host.host().program()) || !work.receive(&mut room) {
            self.free.push(room);
            queued.extend(self.interpret(host, work, now));
            return vec![];
        }
        let start = match work {
            Work::Again(parts) | Work::Fresh(parts, _) => {
                room.life = parts.life.clone();
                Start::Values(parts, Stay::default())
            }
            Work::Carried(mut carried) => {
                self.restore(&mut carried, &room.packet);
                room.life = Some(carried.life.clone());
                Start::Frame(Stay::default(), Some(carried.life))
            }
        };
        let left = self.run(host, part, std::slice::from_mut(&mut room.packet), start, now).left;
        self.end_ingress(host, room, left, queued, now)
    }

    /// What follows ingress for a packet in its buffer: gives what runs in ingress next.
    pub(crate) fn end_ingress(
        &mut self,
        host: &mut Access,
        mut room: Box<Parked>,
        left: Option<Box<Leaving>>,
        queued: &mut Vec<Queued>,
        now: Time,
    ) -> Vec<Work> {
        match left.map(|left| left.to) {
            None => {
                self.wait(room, queued);
                vec![]
            }
            Some(To::Copies(parts, _)) => {
                self.free.push(room);
                let (more, again) = host.host().manage(parts, now);
                queued.extend(more);
                again.into_iter().map(|parts| Work::Again(Box::new(parts))).collect()
            }
            Some(To::FrameExtern(call)) => {
                let more = self.call(host, &mut room.packet, call, now);
                self.free.push(room);
                more
            }
        }
    }

    /// Hands a packet, which is in the frame, to a frame extern, and gives what runs on.
    pub(crate) fn call(
        &mut self,
        host: &mut Access,
        packet: &mut Packet,
        call: FrameCall,
        now: Time,
    ) -> Vec<Work> {
        let registers = self.build.layout.registers;
        let life = call.life.unwrap_or_else(|| host.host().new_life());
        let build = Arc::clone(&self.build);
        let mut exchange =
            Exchange { layout: &build.layout, memory: &mut self.memory, values: &mut self.values };
        life.set_steps(exchange.scalar(registers.fuel) as u64);
        let (bytes, values) =
            (self.memory.bytes(0, build.layout.homes.keys as usize).to_vec(), self.values.clone());
        exchange = Exchange { layout: &build.layout, memory: &mut self.memory, values: &mut self.values };
        // A frame extern gets all of the frame.
        exchange.set_scalar(registers.truncate, u128::from(u64::MAX));
        let able = build.has_all([Part::Deparse], host.host().program());
        debug_assert!(able, "a deparser that was made once already");
        let start = Start::Frame(Stay::default(), Some(life.clone()));
        self.run(host, Part::Deparse, std::slice::from_mut(packet), start, now);
        let frame = packet.output(vec![], &mut self.outputs);
        packet.leave();
        let Some(frame) = frame else { return vec![] };
        let more =
            host.host().call_frame_extern(call.instance, &call.method, &call.args, &frame.frame, &life, now);
        let mut kept = Some((bytes, values));
        let work = |one| match one {
            RunsOn::Fresh { packet, at } => Some(Work::Fresh(packet, at)),
            RunsOn::Carried { frame, at } => kept.take().map(|(bytes, values)| {
                // In its own frame, for there are addresses of that in it.
                let mut memory = std::mem::replace(&mut self.memory, Memory::new(build.layout.bytes));
                memory.bytes_mut(0, bytes.len()).copy_from_slice(&bytes);
                Work::Carried(Box::new(Carried { memory, values, frame, at, life: life.clone() }))
            }),
        };
        more.into_iter().filter_map(work).collect()
    }

    /// Ticks all frame externs whose time has come: what waits for egress then.
    pub(crate) fn tick_all(&mut self, host: &mut Access, now: Time) -> Vec<Queued> {
        let work = |one| match one {
            RunsOn::Fresh { packet, at } => Some(Work::Fresh(packet, at)),
            RunsOn::Carried { .. } => None,
        };
        let works = host.host().tick_frame_externs(now).into_iter().filter_map(work).collect();
        self.run_works(host, works, now)
    }

    /// The packet is in the frame as it was at the call, with its new bytes.
    fn restore(&mut self, carried: &mut Carried, packet: &Packet) {
        let build = Arc::clone(&self.build);
        let registers = build.layout.registers;
        std::mem::swap(&mut self.memory, &mut carried.memory);
        std::mem::swap(&mut self.values, &mut carried.values);
        let mut exchange =
            Exchange { layout: &build.layout, memory: &mut self.memory, values: &mut self.values };
        let first = packet.frame().as_ptr() as u64;
        let length = packet.frame().len() as u64;
        for (register, value) in [
            (registers.start, first),
            (registers.cursor, first),
            (registers.end, first + length),
            (registers.length, length),
        ] {
            exchange.set_scalar(register, u128::from(value));
        }
    }

    /// The interpreter's way.
    fn interpret(&mut self, host: &mut Access, work: Work, now: Time) -> Vec<Queued> {
        match work {
            Work::Again(parts) => host.host().interpret_again(*parts, now),
            Work::Fresh(parts, at) => host.host().interpret_fresh(*parts, at, now),
            Work::Carried(mut carried) => {
                self.restore(&mut carried, &Packet::default());
                let program = Arc::clone(host.host().program());
                let headers = Value::zero(&program, &host.host().blocks().types()[0]);
                let params = host
                    .host()
                    .blocks()
                    .control(BlockName::Ingress)
                    .map(|id| program.control(id).params.clone());
                let (_, mut job) = self.job(host, Part::Whole, now);
                job.life = Some(carried.life.clone());
                let parts = job.parts_with(BlockName::Ingress, headers);
                let build = Arc::clone(&self.build);
                let exchange =
                    Exchange { layout: &build.layout, memory: &mut self.memory, values: &mut self.values };
                let is_param = |at: usize| params.iter().flatten().any(|param| param.index() == at);
                let nodes = build.layout.block(BlockName::Ingress).iter().enumerate();
                let var = |(at, node): (usize, &Node)| {
                    if is_param(at) { Value::Void } else { exchange.read(node) }
                };
                let vars = nodes.map(var).collect();
                let frame = std::mem::take(&mut carried.frame);
                host.host().interpret_carried(parts, frame, carried.at, vars, now)
            }
        }
    }
}

/// True if a packet keeps it while it is with a frame extern: nothing of it is in the packet's bytes, or in arrays.
pub(crate) fn is_kept(node: &Node) -> bool {
    match node {
        Node::Scalar(_) | Node::Nothing => true,
        Node::Struct(nodes) => nodes.iter().all(is_kept),
        Node::Header(_) | Node::Union(_) | Node::Stack(_) | Node::Value(_) => false,
    }
}
