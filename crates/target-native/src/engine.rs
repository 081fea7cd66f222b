//! The engine: a program compiled, and a switch that runs it.

use crate::access::Access;
use crate::compiled::{Compiled, Made, Report};
use crate::halves::HalvesAtWork;
use crate::native::Native;
use crate::packet::Packet;
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Output;
use device::{Core, Options, Switch};
use ir::Program;
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

impl Engine {
    /// Lowers and compiles a program. No program that the interpreter runs is refused.
    pub fn compile(program: &Program, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        Engine::of(&Compiled::new(program, options.drop_port, false)?, options)
    }

    /// An engine with a state of its own for a program that is compiled already.
    pub fn of(compiled: &Compiled, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        // For one thread and for several is as good here.
        let compiled = compiled.fit(options.drop_port, compiled.shares)?;
        let mut switch = ir_interp::switch(Arc::clone(&compiled.program), options)?;
        let work = Work::new(switch.parts().0, &compiled.code).unwrap_or(Work::Interpreter);
        Ok(Engine { switch, work, compiled })
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
            Work::Whole(native) => switch.run_by(native),
            Work::Halves(halves) => switch.run_by(halves),
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
        let (core, blocks) = self.switch.parts();
        let is_unwatched = core.is_unwatched();
        match &mut self.work {
            Work::Whole(native) if is_unwatched => native.batch(&mut Access::Own(core, blocks), packets, now),
            Work::Halves(halves) if is_unwatched => {
                halves.batch(&mut Access::Own(core, blocks), packets, now)
            }
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
    fn new(core: &mut Core, code: &Made) -> Option<Work> {
        Some(match code {
            Made::Nothing => Work::Interpreter,
            Made::Whole(build) => Work::Whole(Box::new(Native::new(Arc::clone(build), build.mirrors(core)?))),
            Made::Halves(builds) => {
                let mirrors = builds.mirrors(core)?;
                Work::Halves(Box::new(HalvesAtWork::new(builds, mirrors, core.new_life())))
            }
        })
    }
}
