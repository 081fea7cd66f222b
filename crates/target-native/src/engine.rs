//! The engine: a program compiled, and a switch that runs it.

use crate::access::Access;
use crate::batch::BatchRunner;
use crate::compiled::{Compiled, Made, Report};
use crate::halves::HalvesAtWork;
use crate::native::Native;
use crate::packet::Packet;
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Output;
use device::{Core, Options, Switch};
use ir::Program;
use ir_interp::Interpreter;
use std::sync::Arc;

/// A program as machine code, with its state.
///
/// ```text
/// let mut engine = Engine::compile(&program, Options::default())?;
/// engine.switch().table_add(...)?;                      // the control plane is the interpreter's
/// let mut packets = vec![Packet::new(1, &frame)?, ...];
/// let outputs = engine.process(&mut packets, now);      // copies, and frames that became too long
/// for packet in &packets { match packet.fate() { Fate::Sent(port) => packet.frame(), ... } }
/// ```
pub struct Engine {
    switch: Switch,
    runner: Box<dyn BatchRunner>,
    compiled: Compiled,
    /// See [`Engine::came_of`].
    came_of: Vec<usize>,
}

impl Engine {
    /// Lowers and compiles a program. No program that the interpreter runs is refused.
    pub fn compile(program: &Program, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        Engine::of(&Compiled::new(program, options.drop_port, false)?, options)
    }

    /// An engine with its own state for a program that is already compiled.
    pub fn of(compiled: &Compiled, options: Options) -> Result<Engine, Vec<Diagnostic>> {
        // For one thread and for several is as good here.
        let compiled = compiled.fit(options.drop_port, compiled.shares)?;
        let mut switch = ir_interp::switch(Arc::clone(&compiled.program), options)?;
        switch.set_calculations(Arc::clone(&compiled.calculations));
        let runner = runner(&compiled, switch.parts().0);
        Ok(Engine { switch, runner, compiled, came_of: vec![] })
    }

    /// The code, for more engines of the same program.
    pub fn compiled(&self) -> Compiled {
        self.compiled.clone()
    }

    /// The switch, to be filled, asked and driven. Its tables, objects and counters are the engine's.
    pub fn switch(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// The switch; its [`process`](Switch::process) runs the compiled code.
    pub fn into_switch(self) -> Switch {
        let mut switch = self.switch;
        switch.run_by(self.runner);
        switch
    }

    /// How the program was compiled.
    pub fn report(&self) -> Report {
        self.compiled.report()
    }

    /// Number of calls of the interpreter by compiled code.
    pub fn interpreted(&self) -> u64 {
        self.runner.interpreted()
    }

    /// True if packets of a batch may have come at different moments, since the program does not see the time: it reads
    /// no timestamps, meters or random numbers, reports nothing, and no entry becomes idle. False if that is not known.
    pub fn is_timeless(&self) -> bool {
        self.compiled.is_timeless
    }

    /// For each output of the last batch, in order, the position of its packet.
    pub fn came_of(&self) -> &[usize] {
        &self.came_of
    }

    /// Runs a batch of packets, one after the other, at one time; queues are empty. [`Packet::fate`] returns the fate of each
    /// packet's fate; frames of packets that were copied, recirculated or became too long for their buffers are
    /// returned, in order.
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        self.came_of.clear();
        let (core, blocks) = self.switch.parts();
        if core.is_unwatched() {
            return self.runner.batch(&mut Access::Own(core, blocks), packets, &mut self.came_of, None, now);
        }
        let mut outputs = vec![];
        for (at, packet) in packets.iter_mut().enumerate() {
            outputs.extend(self.switch.process(packet.in_port, packet.frame(), now));
            self.came_of.resize(outputs.len(), at);
            packet.leave();
        }
        outputs
    }
}

/// Runner of a program on a device: code, unless the code is of another program.
fn runner(compiled: &Compiled, core: &mut Core) -> Box<dyn BatchRunner> {
    let code: Option<Box<dyn BatchRunner>> = match &compiled.code {
        Made::Nothing => None,
        Made::Whole(build) => {
            let table_replicas = build.table_replicas(core);
            let depths = Arc::clone(&core.queue_depths);
            table_replicas
                .map(|table_replicas| Box::new(Native::new(Arc::clone(build), table_replicas, depths)) as _)
        }
        Made::Halves(builds) => {
            let table_replicas = builds.table_replicas(core);
            table_replicas.map(|table_replicas| {
                Box::new(HalvesAtWork::new(builds, table_replicas, core.new_budget())) as _
            })
        }
    };
    code.unwrap_or_else(|| Box::new(Interpreter::new(&compiled.program)))
}
