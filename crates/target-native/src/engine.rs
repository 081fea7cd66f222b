//! The engine: a program compiled, and a switch that runs it.

use crate::access::Access;
use crate::code::half::told;
use crate::compiled::{Build, Compiled, Made};
use crate::halves::HalvesAtWork;
use crate::machine::{Machine, Part};
use crate::memory::Memory;
use crate::packet::{Fate, Packet};
use crate::parked::Parked;
use crate::runtime::{Context, Job, Leaving, REASONS, To};
use crate::tables::Mirrors;
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket};
use device::embed::{Accelerator, PacketParts, Stay};
use device::stage::BlockName;
use device::{Host, Life};
use device::{Options, Switch};
use ir::Program;
use ir_value::Value;
use std::sync::Arc;

/// A program as machine code, with its state.
///
/// ```text
/// let mut engine = Engine::compile(&program, Options::default())?;
/// engine.switch().table_add(...)?;                      // the control plane is the interpreter's
/// let mut packets = vec![Packet::new(1, &frame)?, ...];
/// let outputs = engine.process(&mut packets, now);      // what came of copies, or grew too large
/// for packet in &packets { match packet.fate() { Fate::Sent(port) => packet.frame(), ... } }
/// ```
pub struct Engine {
    switch: Switch,
    work: Work,
    compiled: Compiled,
}

/// What runs packets.
enum Work {
    Interpreter,
    Whole(Box<Native>),
    Halves(Box<HalvesAtWork>),
}

/// What was compiled, and how well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// False if the interpreter runs everything: the program is too large, or calls functions on frames and either copies packets in
    /// ingress, or has headers or stacks in its metadata.
    pub compiled: bool,
    /// What is left to the interpreter: the kind of a statement, or `"block"`, with the block it stands in. Of PSA the interpreter
    /// then runs the half.
    pub fallbacks: Vec<(BlockName, String)>,
    /// Bytes of a packet's frame.
    pub frame_bytes: usize,
}

/// The code of a program with what it works on.
pub(crate) struct Native {
    pub(crate) build: Arc<Build>,
    /// Stands for this engine.
    itself: Arc<()>,
    pub(crate) memory: Memory,
    pub(crate) values: Vec<Value>,
    /// Frames that were too long for their packets' buffers in the last run.
    pub(crate) outputs: Vec<Output>,
    /// Of the last batch: for each output the position of the packet that it came of.
    pub(crate) came_of: Vec<usize>,
    pub(crate) mirrors: Mirrors,
    /// Room for packets that are yet to come; in boxes, as queues take them.
    #[allow(clippy::vec_box)]
    pub(crate) free: Vec<Box<Parked>>,
    pub(crate) interpreted: u64,
}

impl Engine {
    /// Lowers and compiles a program. No program that the interpreter runs is refused.
    pub fn compile(program: &Program, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        let (switch, compiled) = Compiled::with_switch(program, options, false)?;
        Ok(Engine::with(switch, compiled))
    }

    /// An engine with a state of its own for a program that is compiled already.
    pub fn of(compiled: &Compiled, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        let drop_port = options.drop_port;
        let switch = ir_interp::switch(Arc::clone(&compiled.program), options)?;
        let compiled = match (drop_port == compiled.drop_port, &compiled.code) {
            (true, _) | (_, Made::Nothing) => compiled.clone(),
            (false, _) => Compiled::new(Arc::clone(&compiled.program), drop_port, false),
        };
        Ok(Engine::with(switch, compiled))
    }

    fn with(mut switch: Switch, compiled: Compiled) -> Engine {
        let work = Work::new(&mut switch.host(), &compiled.code).unwrap_or(Work::Interpreter);
        Engine { switch, work, compiled }
    }

    /// The code, for more engines of the same program.
    pub fn compiled(&self) -> Compiled {
        self.compiled.clone()
    }

    /// The switch, to be filled, asked and driven. Its tables, objects and counters are the engine's.
    pub fn switch(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// Its [`process`](Switch::process) is the compiled code's.
    pub fn into_switch(self) -> Switch {
        let mut switch = self.switch;
        match self.work {
            Work::Interpreter => {}
            Work::Whole(native) => switch.accelerate(native),
            Work::Halves(halves) => switch.accelerate(halves),
        }
        switch
    }

    /// How the program was compiled.
    pub fn report(&self) -> Report {
        self.compiled.report()
    }

    /// How often compiled code has called the interpreter.
    pub fn interpreted(&self) -> u64 {
        match &self.work {
            Work::Interpreter => 0,
            Work::Whole(native) => native.interpreted,
            Work::Halves(halves) => halves.interpreted(),
        }
    }

    /// Runs a batch of packets, one after the other, at one moment; queues are empty. [`Packet::fate`] says what became of each;
    /// frames of packets that were copied, sent around or became too long for their buffers are returned, in order.
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        let host = self.switch.host();
        match &mut self.work {
            Work::Whole(native) if host.is_unwatched() => native.batch(&mut Access::Own(host), packets, now),
            Work::Halves(halves) if host.is_unwatched() => halves.batch(&mut Access::Own(host), packets, now),
            _ => {
                let mut outputs = vec![];
                for packet in packets {
                    outputs.extend(self.switch.process(packet.in_port, packet.frame(), now));
                    packet.leave();
                }
                outputs
            }
        }
    }
}

impl Work {
    /// The code on the tables and cells of a device; `None` if that runs another program.
    fn new(host: &mut Host, code: &Made) -> Option<Work> {
        Some(match code {
            Made::Nothing => Work::Interpreter,
            Made::Whole(build) => Work::Whole(Box::new(Native::new(Arc::clone(build), build.mirrors(host)?))),
            Made::Halves(builds) => {
                let mirrors = builds.mirrors(host)?;
                Work::Halves(Box::new(builds.on(mirrors, host.new_life())))
            }
        })
    }
}

pub(crate) fn kind_of(stmt: &ir::Stmt) -> &'static str {
    use ir::StmtKind;
    match &stmt.kind {
        StmtKind::Declare(..) => "declaration",
        StmtKind::Assign(_, value) => match &value.kind {
            ir::ExprKind::Call(_) => "value of a call",
            ir::ExprKind::Lookahead(_) => "lookahead",
            ir::ExprKind::ApplyHit(_) | ir::ExprKind::ApplyMiss(_) => "table",
            _ => "assignment",
        },
        StmtKind::Call(_) => "call",
        StmtKind::Apply(_) | StmtKind::Switch(..) => "table",
        StmtKind::SetValid(..) => "validity",
        StmtKind::PushFront(..) | StmtKind::PopFront(..) => "stack",
        StmtKind::Extract { .. } => "extraction",
        StmtKind::If(..) => "condition",
        StmtKind::For { .. } => "loop",
        _ => "statement",
    }
}

impl Native {
    pub(crate) fn new(build: Arc<Build>, mirrors: Mirrors) -> Native {
        let memory = Memory::new(build.layout.bytes);
        let values = build.zeros.clone();
        Native {
            build,
            itself: Arc::default(),
            memory,
            values,
            outputs: vec![],
            came_of: vec![],
            mirrors,
            free: vec![],
            interpreted: 0,
        }
    }

    /// Packets and all that comes of them, one after the other.
    pub(crate) fn batch(&mut self, host: &mut Access, mut packets: &mut [Packet], now: Time) -> Vec<Output> {
        let (mut outputs, received, mut sent) = (vec![], packets.len() as u64, 0);
        self.came_of.clear();
        let mut first = 0;
        while !packets.is_empty() {
            let ran = self.run(host, Part::Whole, packets, Start::Fresh, now);
            sent += ran.sent;
            if !self.outputs.is_empty() {
                // Each is all that came of one packet.
                let elsewhere = packets.iter().enumerate().filter(|(_, p)| p.fate() == Fate::Elsewhere);
                self.came_of.extend(elsewhere.map(|(at, _)| first + at).take(self.outputs.len()));
                outputs.append(&mut self.outputs);
            }
            let Some(left) = ran.left else { break };
            let Leaving { to, packet } = *left;
            let at = (packet - packets.as_ptr().addr()) / size_of::<Packet>();
            let behind = at + 1;
            match to {
                To::Copies(parts, left) => self.finish(host, parts, left, now, &mut outputs),
                To::FrameExtern(call) => {
                    let works = self.call(host, &mut packets[at], call, now);
                    let queued = self.run_works(host, works, now);
                    self.drain(host, queued.into(), &mut outputs, now);
                }
            }
            self.came_of.resize(outputs.len(), first + at);
            first += behind;
            packets = &mut packets[behind..];
        }
        host.count(received, sent);
        host.hand_over();
        outputs
    }

    /// Runs packets by the code of a part, up to one that leaves it. In line, for what goes in and comes out is as long as a hop's copies.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        host: &mut Access,
        part: Part,
        packets: &mut [Packet],
        start: Start,
        now: Time,
    ) -> Ran {
        self.mirrors.follow(host);
        let seen = if part == Part::Ingress { host.host().ingress_time(now) } else { now.as_us() };
        let mut context = Context {
            frame: self.memory.address(),
            tables: self.mirrors.refs(),
            cells: self.mirrors.cells(),
            job: std::ptr::null_mut(),
            now: seen,
            ahead: u64::from(packets.len() > 1 && self.mirrors.are_far()),
            asked: self.mirrors.asked(),
            told: [0; told::COUNT],
            stay: Stay::default(),
            sent: 0,
            dropped: [0; REASONS.len()],
        };
        self.outputs.clear();
        let (machine, mut job) = self.job(host, part, now);
        match start {
            Start::Fresh => {}
            Start::Frame(stay, life) => {
                context.stay = stay;
                job.life = life;
            }
            Start::Half(numbers, life) => {
                context.told = numbers;
                job.life = Some(life);
            }
            Start::Values(parts, stay) => {
                context.stay = stay;
                if let Some(packet) = packets.first() {
                    job.set_parts(*parts, packet);
                }
            }
        }
        machine.run(&mut context, &mut job, packets);
        job.spend();
        let ran = Ran { sent: context.sent + job.outputs.len() as u64, left: job.left.take() };
        let interpreted = job.interpreted;
        self.interpreted += interpreted;
        if context.dropped.iter().any(|packets| *packets > 0) {
            let dropped = REASONS.into_iter().zip(context.dropped).filter(|(_, packets)| *packets > 0);
            dropped.for_each(|(reason, packets)| host.dropped(reason, packets));
        }
        ran
    }

    /// What code works on beside its context, and the code.
    #[inline(always)]
    pub(crate) fn job<'j, 'h>(
        &'j mut self,
        host: &'j mut Access<'h>,
        part: Part,
        now: Time,
    ) -> (&'j Machine, Job<'j, 'h>) {
        let build = &*self.build;
        let coded = build.coded(part);
        let job = Job {
            host,
            layout: &build.layout,
            memory: &mut self.memory,
            values: &mut self.values,
            zeros: &build.zeros,
            notes: &coded.notes,
            mirrors: &self.mirrors,
            now,
            outputs: &mut self.outputs,
            interpreted: 0,
            colours: (None, vec![]),
            chosen: vec![],
            left: None,
            life: None,
        };
        (&coded.machine, job)
    }

    /// Room for a packet.
    pub(crate) fn room(&mut self) -> Box<Parked> {
        self.free.pop().unwrap_or_else(|| Box::new(Parked::new(&self.itself, &self.build)))
    }

    /// A packet that waits is back, with its frame; if it is none of ours, it is given back.
    pub(crate) fn fetch(&mut self, packet: QueuedPacket) -> Result<Box<Parked>, QueuedPacket> {
        let mut parked = packet.downcast::<Parked>()?;
        if !parked.is_of(&self.itself) {
            return Err(parked);
        }
        parked.exchange(&mut self.memory, &mut self.values);
        Ok(parked)
    }
}

/// What a run gave.
pub(crate) struct Ran {
    /// Frames that went out, with those in [`Native::outputs`].
    pub(crate) sent: u64,
    pub(crate) left: Option<Box<Leaving>>,
}

/// With what a packet begins.
pub(crate) enum Start {
    /// It came in.
    Fresh,
    /// It is in the frame, and has left its queue.
    Frame(Stay, Option<Life>),
    /// Half of PSA is told these numbers.
    Half([u64; told::COUNT], Life),
    /// It is values, and has left its queue if it was in one.
    Values(Box<PacketParts>, Stay),
}

impl Accelerator for Native {
    fn process(&mut self, host: Host<'_>, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        let mut host = Access::Own(host);
        let mut room = self.room();
        let packet = &mut room.packet;
        let mut outputs = vec![];
        if packet.receive(port, frame) {
            outputs = self.batch(&mut host, std::slice::from_mut(packet), now);
            if let Fate::Sent(port) = packet.fate() {
                outputs.push(Output { port, frame: packet.frame().to_vec() });
            }
        } else {
            outputs.extend(host.host().interpret(port, frame, now));
        }
        self.free.push(room);
        outputs
    }

    fn ingress(
        &mut self,
        host: Host<'_>,
        port: Port,
        frame: Vec<u8>,
        now: Time,
    ) -> Result<Vec<Queued>, Vec<u8>> {
        let mut host = Access::Own(host);
        let mut room = self.room();
        if !self.build.has_all([Part::Ingress, Part::Egress], host.host().program())
            || !room.packet.receive(port, &frame)
        {
            self.free.push(room);
            return Err(frame);
        }
        room.came = frame;
        let only = std::slice::from_mut(&mut room.packet);
        let left = self.run(&mut host, Part::Ingress, only, Start::Fresh, now).left;
        if left.is_none() {
            let mut queued = Vec::with_capacity(1);
            self.wait(room, &mut queued);
            return Ok(queued);
        }
        let mut queued = vec![];
        let works = self.end_ingress(&mut host, room, left, &mut queued, now);
        queued.extend(self.run_works(&mut host, works, now));
        Ok(queued)
    }

    fn egress(
        &mut self,
        host: Host<'_>,
        queued: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> Result<EgressResult, Queued> {
        let mut host = Access::Own(host);
        Ok(self.leave_queue(&mut host, queued, queue, now))
    }

    fn resume(
        &mut self,
        host: Host<'_>,
        packet: QueuedPacket,
        now: Time,
    ) -> Result<Vec<Queued>, QueuedPacket> {
        let mut host = Access::Own(host);
        Ok(self.start_again(&mut host, packet, now))
    }

    fn tick(&mut self, host: Host<'_>, now: Time) -> Option<Vec<Queued>> {
        Some(self.tick_all(&mut Access::Own(host), now))
    }

    fn hand_back(&mut self, host: Host<'_>, packet: QueuedPacket) -> QueuedPacket {
        let mut host = Access::Own(host);
        match self.fetch(packet) {
            Err(packet) => packet,
            Ok(mut parked) => {
                let (_, mut job) = self.job(&mut host, Part::Whole, Time::ZERO);
                job.life = parked.life.take();
                let parts = job.parts(BlockName::Ingress);
                self.free.push(parked);
                host.host().waiting(parts)
            }
        }
    }
}
