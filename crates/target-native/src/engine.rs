//! The engine: a program compiled, and a switch that runs it.

use crate::facts::{Facts, Fallback};
use crate::layout::Layout;
use crate::machine::Machine;
use crate::memory::Memory;
use crate::mutant::Mutant;
use crate::packet::{Fate, Packet};
use crate::runtime::{Context, Job, REASONS};
use crate::tables::Mirrors;
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{Output, Port};
use ir::Program;
use ir_interp::embed::{Accelerator, BlockName, Host};
use ir_interp::{Options, Switch, Value};
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
    native: Option<Box<Native>>,
}

/// What was compiled, and how well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// False if the interpreter runs everything: the program calls functions on frames, is not for v1model, or is too large.
    pub compiled: bool,
    /// Statements that are left to the interpreter, with the block they stand in.
    pub fallbacks: Vec<(BlockName, String)>,
    /// Bytes of a packet's frame.
    pub frame_bytes: usize,
}

/// The code of a program with what it works on.
pub(crate) struct Native {
    machine: Machine,
    layout: Layout,
    memory: Memory,
    values: Vec<Value>,
    zeros: Vec<Value>,
    fallbacks: Vec<Fallback>,
    mirrors: Mirrors,
    scratch: Vec<Packet>,
    interpreted: u64,
}

impl Engine {
    /// Lowers and compiles a program. No program that the interpreter runs is refused.
    pub fn compile(program: &Program, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        Engine::compile_wrong(program, options, None)
    }

    /// The same with a mistake, for tests of tests.
    pub fn compile_wrong(
        program: &Program,
        options: Options,
        mutant: Option<Mutant>,
    ) -> Result<Engine, Vec<Diagnostic>> {
        let lowered = match ir_lower::lower(program) {
            Ok(lowered) => Arc::new(lowered),
            // Too large when everything is inlined: the interpreter runs it as it stands.
            Err(_) => {
                return Ok(Engine { switch: Switch::new(Arc::new(program.clone()), options)?, native: None });
            }
        };
        let mut switch = Switch::new(lowered, options)?;
        let native = switch.host().and_then(|mut host| Native::compile(&mut host, mutant)).map(Box::new);
        Ok(Engine { switch, native })
    }

    /// The switch, to be filled, asked and driven. Its tables, objects and counters are the engine's.
    pub fn switch(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// Its [`process`](Switch::process) is the compiled code's.
    pub fn into_switch(self) -> Switch {
        let mut switch = self.switch;
        if let Some(native) = self.native {
            switch.accelerate(native);
        }
        switch
    }

    /// How the program was compiled.
    pub fn report(&self) -> Report {
        let Some(native) = &self.native else {
            return Report { compiled: false, fallbacks: vec![], frame_bytes: 0 };
        };
        let of = |fallback: &Fallback| (fallback.block, format!("{:?}", kind_of(&fallback.stmt)));
        Report {
            compiled: true,
            fallbacks: native.fallbacks.iter().map(of).collect(),
            frame_bytes: native.layout.bytes,
        }
    }

    /// How often compiled code has called the interpreter.
    pub fn interpreted(&self) -> u64 {
        self.native.as_ref().map_or(0, |native| native.interpreted)
    }

    /// Runs a batch of packets, one after the other, at one moment; queues are empty. [`Packet::fate`] says what became of each;
    /// frames of packets that were copied, sent around or became too long for their buffers are returned, in order.
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        match (&mut self.native, self.switch.host()) {
            (Some(native), Some(mut host)) if host.is_unwatched() => native.batch(&mut host, packets, now),
            _ => {
                let mut outputs = vec![];
                for packet in packets {
                    outputs.extend(self.switch.process(packet.in_port, packet.frame(), now));
                    packet.fate = crate::packet::ELSEWHERE;
                }
                outputs
            }
        }
    }
}

fn kind_of(stmt: &ir::Stmt) -> &'static str {
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
    /// `None` if the program is for the interpreter alone.
    fn compile(host: &mut Host, mutant: Option<Mutant>) -> Option<Native> {
        if host.has_frame_externs() {
            return None;
        }
        let layout = Layout::new(host)?;
        let mut mirrors = Mirrors::default();
        let mut facts = Facts::new(host, &layout, &mut mirrors);
        facts.mutant = mutant;
        let program = Arc::clone(host.program());
        let mut fallbacks = vec![];
        let machine = Machine::compile(&program, &layout, &facts, &mut fallbacks)?;
        let memory = Memory::new(layout.bytes);
        let zeros: Vec<Value> = layout.values.iter().map(|ty| Value::zero(&program, ty)).collect();
        Some(Native {
            machine,
            layout,
            memory,
            values: zeros.clone(),
            zeros,
            fallbacks,
            mirrors,
            scratch: vec![],
            interpreted: 0,
        })
    }

    fn batch(&mut self, host: &mut Host, packets: &mut [Packet], now: Time) -> Vec<Output> {
        self.mirrors.follow(host);
        host.received(packets.len() as u64);
        let frame = self.memory.address();
        let mut context = Context {
            frame,
            tables: self.mirrors.refs(),
            cells: self.mirrors.cells(),
            job: std::ptr::null_mut(),
            now: now.as_us(),
            sent: 0,
            dropped: [0; REASONS.len()],
        };
        let mut job = Job {
            host,
            layout: &self.layout,
            memory: &mut self.memory,
            values: &mut self.values,
            zeros: &self.zeros,
            fallbacks: &self.fallbacks,
            mirrors: &self.mirrors,
            now,
            outputs: vec![],
            interpreted: 0,
            colours: (None, vec![]),
        };
        self.machine.run(&mut context, &mut job, packets);
        let (outputs, interpreted) = (std::mem::take(&mut job.outputs), job.interpreted);
        self.interpreted += interpreted;
        host.sent(context.sent);
        for (reason, packets) in REASONS.into_iter().zip(context.dropped) {
            host.dropped(reason, packets);
        }
        outputs
    }
}

impl Accelerator for Native {
    fn process(&mut self, mut host: Host<'_>, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        let mut packet = self.scratch.pop().unwrap_or_default();
        if !packet.receive(port, frame) {
            self.scratch.push(packet);
            return host.interpret(port, frame, now);
        }
        let mut outputs = self.batch(&mut host, std::slice::from_mut(&mut packet), now);
        if let Fate::Sent(port) = packet.fate() {
            outputs.push(Output { port, frame: packet.frame().to_vec() });
        }
        self.scratch.push(packet);
        outputs
    }
}
