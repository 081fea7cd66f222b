//! v1model's halves, and whole packets, as machine code: [`StageRunner`] for a device.
//!
//! ```text
//! Work ──receive──> buffer, frame ──> ingress ─┬─ waits: Parked, in a queue ──fetch──> egress ──> sent
//!                                              ├─ asks for copies: as values ──> the device's traffic manager
//!                                              └─ calls a frame extern: Parked ──fetch──> continues
//! ```
//!
//! Everything else is done by the device's architecture, which offers each resulting packet here. A packet that does
//! not fit into a buffer, or that is traced, is returned and runs stage by stage, in the interpreter.

use crate::access::Access;
use crate::batch::BatchRunner;
use crate::code::Part;
use crate::layout::Node;
use crate::native::{Native, Ran, Start};
use crate::packet::{Fate, Packet};
use crate::parked::Parked;
use crate::runtime::{FrameCall, To};
use base_time::Time;
use dataplane_api::{Output, Port, Queued, QueuedPacket};
use device::stage::{Amid, Block, BlockName, Stage, Stop, Visit};
use device::v1model::{self, Called, Carried, Egress, Ingress, Kept, QueueMetadata, Received, Work};
use device::{Blocks, Core, NotTaken, StageRunner};
use ir::{Program, Stmt};
use ir_value::Value;

impl StageRunner for Native {
    fn whole(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        port: Port,
        frame: &[u8],
        now: Time,
    ) -> Option<Vec<Output>> {
        let mut room = self.room();
        let packet = &mut room.packet;
        let outputs = packet.receive(port, frame).then(|| {
            let mut access = Access::Own(core, blocks);
            let mut outputs = self.batch(&mut access, std::slice::from_mut(packet), &mut vec![], None, now);
            if let Fate::Sent(port) = packet.fate() {
                outputs.push(Output { port, frame: packet.frame().to_vec() });
            }
            outputs
        });
        self.free.push(room);
        outputs
    }

    fn v1model_ingress(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        work: Work,
        now: Time,
    ) -> Result<Ingress, Work> {
        let part = part_of(&work);
        let mut room = self.room();
        let is_ours = core.is_unobserved() && self.has_ingress(part, &core.program);
        if !is_ours || !receive(&work, &mut room) {
            self.free.push(room);
            return Err(self.with_values(core, blocks, work));
        }
        let values;
        let start = match work {
            Work::Received(Received { frame, timestamp, .. }) => {
                room.came = frame;
                Start::Fresh { timestamp, arrivals: None }
            }
            Work::Again(packet) | Work::Fresh(packet, _) => {
                values = packet;
                room.budget = Some(values.budget.clone());
                Start::Values(&values, QueueMetadata::default())
            }
            Work::Carried(carried) => {
                room.budget = self.restore(carried.kept, &room.packet);
                Start::Frame(QueueMetadata::default(), room.budget.clone())
            }
        };
        let mut access = Access::Own(core, blocks);
        let left = self.run(&mut access, part, std::slice::from_mut(&mut room.packet), start, now).left;
        Ok(match left.map(|left| left.to) {
            None => self.wait(room).map_or(Ingress::Gone, Ingress::Waits),
            Some(To::Copies(packet, _)) => {
                self.free.push(room);
                Ingress::Ended(Box::new(packet))
            }
            Some(To::FrameExtern(call)) => {
                let called = self.called(&mut access, &mut room.packet, call, now);
                self.free.push(room);
                called.map_or(Ingress::Gone, |called| Ingress::Called(Box::new(called)))
            }
        })
    }

    fn v1model_egress(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        packet: QueuedPacket,
        queueing: QueueMetadata,
        now: Time,
    ) -> Result<Egress, QueuedPacket> {
        let (mut room, values);
        let start = match self.fetch(packet) {
            Ok(parked) => {
                room = parked;
                room.packet.drop();
                if !core.is_unobserved() {
                    let packet = self.values(core, blocks, &mut room);
                    self.free.push(room);
                    return Err(Box::new(packet));
                }
                Start::Frame(queueing, room.budget.take())
            }
            Err(packet) => {
                values = packet.downcast::<v1model::Packet>()?;
                room = self.room();
                let is_ours = core.is_unobserved() && self.build.has_all([Part::Egress], &core.program);
                if !is_ours || !room.receive(&values) {
                    self.free.push(room);
                    return Err(values);
                }
                Start::Values(&values, queueing)
            }
        };
        let mut access = Access::Own(core, blocks);
        let packets = std::slice::from_mut(&mut room.packet);
        let Ran { sent, left, .. } = self.run(&mut access, Part::Egress, packets, start, now);
        access.count(0, sent);
        let ended = match left.map(|left| left.to) {
            Some(To::Copies(packet, _)) => Egress::Ended(Box::new(packet)),
            _ => Egress::Sent(room.output(&mut self.outputs)),
        };
        self.free.push(room);
        Ok(ended)
    }

    fn v1model_out(
        &mut self,
        core: &mut Core,
        blocks: Blocks<'_>,
        packet: &mut v1model::Packet,
        now: Time,
    ) -> Result<Option<Vec<u8>>, NotTaken> {
        let mut room = self.room();
        let is_ours = core.is_unobserved() && self.build.has_all([Part::Out], &core.program);
        if !is_ours || !room.receive(packet) {
            self.free.push(room);
            return Err(NotTaken);
        }
        // Recirculated packets are not truncated.
        let (again, truncate) = (packet.effects.recirculate.take(), packet.effects.truncate);
        if again.is_some() {
            packet.effects.truncate = None;
        }
        let start = Start::Values(packet, QueueMetadata::default());
        let only = std::slice::from_mut(&mut room.packet);
        self.run(&mut Access::Own(core, blocks), Part::Out, only, start, now);
        (packet.effects.recirculate, packet.effects.truncate) = (again, truncate);
        let exchange = self.exchange();
        packet.metadata = exchange.read(&exchange.layout.roles[1]);
        let output = room.output(&mut self.outputs);
        self.free.push(room);
        Ok(output.map(|output| output.frame))
    }

    fn stage(&mut self, core: &mut Core, stage: &Stage, visits: &mut [Visit], now: Time) {
        self.rest.stage(core, stage, visits, now);
    }

    fn statement(
        &mut self,
        core: &mut Core,
        block: Block,
        stmt: &Stmt,
        at: &mut Amid,
        now: Time,
    ) -> Result<(), Stop> {
        self.rest.statement(core, block, stmt, at, now)
    }
}

fn part_of(work: &Work) -> Part {
    match work {
        Work::Received(_) => Part::Ingress,
        Work::Again(_) => Part::Again,
        Work::Fresh(_, at) => Part::Resume(*at, true),
        Work::Carried(carried) => Part::Resume(carried.at, false),
    }
}

/// Puts its bytes into a buffer; false if they do not fit, or if it is no packet of the engine's.
fn receive(work: &Work, room: &mut Parked) -> bool {
    match work {
        Work::Received(Received { port, frame, .. }) => room.packet.receive(*port, frame),
        Work::Again(packet) => room.receive(packet),
        Work::Fresh(packet, _) => room.packet.receive(packet.ingress_port, &packet.frame),
        Work::Carried(carried) => {
            matches!(carried.kept, Kept::Own(_)) && room.packet.receive(0, &carried.frame)
        }
    }
}

impl Native {
    /// True if there is code for a part that begins ingress, and for egress.
    #[inline(always)]
    fn has_ingress(&mut self, part: Part, program: &Program) -> bool {
        if part != Part::Ingress {
            return self.build.has_all([part, Part::Egress], program);
        }
        self.takes_frames = self.takes_frames || self.build.has_all([part, Part::Egress], program);
        self.takes_frames
    }

    /// The packet in the stack frame, if it will wait for egress.
    #[inline(always)]
    fn wait(&mut self, mut room: Box<Parked>) -> Option<Queued> {
        let Some(replica) = room.packet.waits() else {
            self.free.push(room);
            return None;
        };
        // The future `packet_length` in egress.
        let length = self.build.layout.registers.length;
        let length = self.exchange().scalar(length) as i64;
        room.exchange(&mut self.memory, &mut self.values);
        let bytes = u32::try_from(length.max(0)).unwrap_or(u32::MAX);
        Some(Queued { replica, bytes, packet: room })
    }

    /// The packet in the frame as values.
    fn values(&mut self, core: &mut Core, blocks: Blocks<'_>, parked: &mut Parked) -> v1model::Packet {
        let mut access = Access::Own(core, blocks);
        let (_, mut job) = self.job(&mut access, Part::Whole, Time::ZERO);
        job.budget = parked.budget.take();
        job.parts(BlockName::Ingress)
    }

    /// A packet that left the code to call a frame extern: its own deparser builds the frame, and the rest is stored as it was at the call.
    pub(crate) fn called(
        &mut self,
        access: &mut Access,
        packet: &mut Packet,
        call: FrameCall,
        now: Time,
    ) -> Option<Called> {
        let FrameCall { instance, method, args, budget } = call;
        let budget = budget.unwrap_or_else(|| access.core().new_budget());
        let registers = self.build.layout.registers;
        budget.set_steps(self.exchange().scalar(registers.fuel) as u64);
        let kept =
            (self.memory.bytes(0, self.build.layout.homes.keys as usize).to_vec(), self.values.clone());
        // A frame extern gets all of the frame.
        self.exchange().set_scalar(registers.truncate, u128::from(u64::MAX));
        let able = self.build.has_all([Part::Deparse], &access.core().program);
        debug_assert!(able, "a deparser that was made once already");
        let start = Start::Frame(QueueMetadata::default(), Some(budget.clone()));
        self.run(access, Part::Deparse, std::slice::from_mut(packet), start, now);
        let frame = packet.output(vec![], &mut self.outputs);
        packet.leave();
        let frame = frame?.frame;
        self.memory.bytes_mut(0, kept.0.len()).copy_from_slice(&kept.0);
        self.values = kept.1;
        let mut room = self.room();
        room.exchange(&mut self.memory, &mut self.values);
        room.budget = Some(budget.clone());
        Some(Called { instance, method, args, frame, kept: Kept::Own(room), budget })
    }

    /// Restores the packet in the frame as it was at the call, with its new bytes. Returns its remaining budget.
    fn restore(&mut self, kept: Kept, packet: &Packet) -> Option<device::PacketBudget> {
        let Kept::Own(kept) = kept else { return None };
        let mut parked = self.fetch(kept).ok()?;
        let budget = parked.budget.take();
        self.free.push(parked);
        let registers = self.build.layout.registers;
        let first = packet.frame().as_ptr() as u64;
        let length = packet.frame().len() as u64;
        let mut exchange = self.exchange();
        for (register, value) in [
            (registers.start, first),
            (registers.cursor, first),
            (registers.end, first + length),
            (registers.length, length),
        ] {
            exchange.set_scalar(register, u128::from(value));
        }
        budget
    }

    /// The state of the packet as values for the interpreter, without headers, because the packet is parsed again.
    fn with_values(&mut self, core: &mut Core, blocks: Blocks<'_>, work: Work) -> Work {
        let Work::Carried(carried) = work else { return work };
        let Carried { kept, frame, at } = *carried;
        let kept = match kept {
            Kept::Own(_) => kept,
            Kept::Values(..) => return Work::Carried(Box::new(Carried { kept, frame, at })),
        };
        let budget = self.restore(kept, &Packet::default());
        let headers = Value::zero(&core.program, &blocks.types()[0]);
        let control = blocks.control(BlockName::Ingress).map(|id| core.program.control(id));
        let params = control.map(|control| control.params.clone()).unwrap_or_default();
        let mut access = Access::Own(core, blocks);
        let (_, mut job) = self.job(&mut access, Part::Whole, Time::ZERO);
        job.budget = budget;
        let packet = job.parts_with(BlockName::Ingress, headers);
        let exchange = self.exchange();
        let nodes = exchange.layout.block(BlockName::Ingress).iter().enumerate();
        let is_param = |at: usize| params.iter().any(|param| param.index() == at);
        let var = |(at, node): (usize, &Node)| if is_param(at) { Value::Void } else { exchange.read(node) };
        let vars = nodes.map(var).collect();
        Work::Carried(Box::new(Carried { kept: Kept::Values(Box::new(packet), vars), frame, at }))
    }
}
