//! One state, and several threads that run packets on it while others write to it.
//!
//! ```text
//! Shared::write ──> switch (locked) ──> copies of the tables ── publish ──> Worker   reads one copy for a batch
//!                     ^                                                     Worker   counts in cells of its own
//!                     └── what is rare: meters, copies, ...  ───────────────┘  │
//! Shared::take_reports <── digests, lines of the log: a queue for each worker <───┘
//! ```
//!
//! **Invariant**: a batch sees all of a write or nothing, and neither waits for the other: tables are there twice
//! ([`dataplane_tables::Shared`]), and a write locks the switch only while it changes the originals. Threads get the
//! switch in turn: a worker with batch after batch delays no write, and its reports wait for none.
//!
//! Atomicity as the language has it (P4-16 §18.4.1): each call of an extern is atomic. A read of a register and the write after it are
//! not, unless they stand in an `@atomic` block; of programs with such blocks, or with cells that a processor does not write
//! at once, one batch runs at a time. (Counters are two words, but each worker has its own: the control plane may read packets and bytes of different moments.)
//!
//! Packets of a worker stay in order. Those of a flow do if whoever receives them gives each flow to one worker:
//! [`flow`](crate::flow()) says which packets belong together.

use crate::access::{Access, SharedCall};
use crate::arrivals::Arrivals;
use crate::batch::BatchRunner;
use crate::compiled::{Compiled, Made};
use crate::halves::HalvesAtWork;
use crate::native::Native;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::tables::TableReplicas;
use crate::turns::{Turns, lock};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{Device as _, Output, Port};
use dataplane_tables::{Control, Shared as Tables};
use device::psa::Half;
use device::{AtWork, Core, Options, Reports, Switch};
use ir::{Block, Program, visit};
use ir_interp::Interpreter;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard};

/// A program as machine code with a state that threads share. A clone is the same.
///
/// ```text
/// let shared = Shared::compile(&program, Options::default())?.expect("machine code");
/// let mut worker = shared.worker();                                    // one for each thread
/// shared.write(|switch| switch.table_add(...))?;                       // at any time, from any thread
/// let outputs = worker.process(&mut packets, now);                     // as Engine::process
/// ```
#[derive(Clone)]
pub struct Shared(Arc<State>);

struct State {
    compiled: Compiled,
    switch: Turns<Switch>,
    writer: Mutex<(TableReplicas, Control)>,
    tables: Tables,
    /// Outboxes by worker number, as many as there were workers at one time. A new worker takes over the outbox of one that has ended.
    outboxes: Mutex<Vec<Arc<Outbox>>>,
    /// One batch at a time.
    is_serial: bool,
    /// The program has timers.
    is_timed: bool,
    /// Calls of value externs that take them from several threads.
    calls: Vec<SharedCall>,
}

/// Runs packets on one thread.
pub struct Worker {
    shared: Shared,
    outbox: Arc<Outbox>,
    runner: Box<dyn BatchRunner>,
    /// Set if another core writes the frames.
    arrivals: Option<Arrivals>,
    /// See [`Worker::came_of`].
    came_of: Vec<usize>,
}

impl Shared {
    /// Lowers and compiles a program. One that only the interpreter runs is run by it, one packet at a time.
    pub fn new(program: &Program, options: Options) -> Result<Shared, Vec<Diagnostic>> {
        Shared::of(&Compiled::new(program, options.drop_port, true)?, options)
    }

    /// Like [`new`](Shared::new); `None` if only the interpreter runs the program.
    pub fn compile(program: &Program, options: Options) -> Result<Option<Shared>, Vec<Diagnostic>> {
        let shared = Shared::new(program, options)?;
        Ok(Some(shared).filter(|shared| !matches!(shared.0.compiled.code, Made::Nothing)))
    }

    /// A new state for a program that is already [compiled](Shared::compiled).
    pub fn of(compiled: &Compiled, options: Options) -> Result<Shared, Vec<Diagnostic>> {
        let compiled = compiled.fit(options.drop_port, true)?;
        let mut switch = ir_interp::switch(Arc::clone(&compiled.program), options)?;
        switch.set_calculations(Arc::clone(&compiled.calculations));
        Ok(Shared::with(switch, compiled))
    }

    fn with(mut switch: Switch, mut compiled: Compiled) -> Shared {
        let mut table_replicas = compiled.code.shared_replicas(switch.parts().0).unwrap_or_else(|| {
            compiled.code = Made::Nothing;
            TableReplicas::default()
        });
        let code = &compiled.code;
        let control = table_replicas.control();
        let tables = Tables::new(&control);
        let program = switch.program();
        let is_serial = has_atomic_blocks(program) || has_register_actions(program) || code.has_wide_cells();
        let is_timed = code.builds().any(|build| !build.facts.frame_externs.is_empty())
            || has_value_objects(switch.program())
            || switch.has_ticks()
            || matches!(code, Made::Nothing);
        let calls = switch.parts().0.state.shared_calls();
        let writer = Mutex::new((table_replicas, control));
        let switch = Turns::new(switch);
        let outboxes = Mutex::default();
        let state = State { compiled, switch, writer, tables, outboxes, is_serial, is_timed, calls };
        let shared = Shared(Arc::new(state));
        shared.publish();
        shared
    }

    /// True if it is the same state.
    pub fn is(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The code, for more devices of the same program.
    pub fn compiled(&self) -> Compiled {
        self.0.compiled.clone()
    }

    /// Locks the switch. Batches see writes to its tables when these are [published](Shared::publish): a thread that
    /// holds the switch cannot do that.
    pub fn lock(&self) -> MutexGuard<'_, Switch> {
        let mut switch = self.0.switch.lock();
        lock(&self.0.outboxes).iter().for_each(|outbox| outbox.settle(switch.parts().0));
        switch
    }

    /// Publishes writes to the switch's tables to the batches that begin after this, all at once.
    pub fn publish(&self) {
        let State { switch, writer, tables, .. } = &*self.0;
        let mut writer = lock(writer);
        let (table_replicas, control) = &mut *writer;
        let Some(news) = table_replicas.news_if_written(switch.lock().parts().0) else { return };
        // The switch is free again: a batch that is waited for may want it.
        table_replicas.write(control, news);
        tables.publish(control);
        table_replicas.published();
    }

    /// Runs an operation of the control plane on the switch. Batches that begin after this see its writes; running ones
    /// may still record hits of an entry for its successor. Traces are not reported; for the reports of workers see
    /// [`take_reports`](Shared::take_reports).
    pub fn write<R>(&self, work: impl FnOnce(&mut Switch) -> R) -> R {
        let result = work(&mut self.lock());
        self.publish();
        result
    }

    /// Takes the reports of packets since the last call, each worker's in order. Call it often enough that there is
    /// room for new ones; the call never blocks.
    pub fn take_reports(&self) -> Reports {
        let mut all = Reports::default();
        for outbox in lock(&self.0.outboxes).iter() {
            let Reports { digests, log, lost } = outbox.take_reports();
            all.digests.extend(digests);
            all.log.extend(log);
            all.lost += lost;
        }
        all
    }

    /// For one more thread.
    pub fn worker(&self) -> Worker {
        let (number, outbox) = self.outbox();
        let reader = || {
            let writer = lock(&self.0.writer);
            writer.0.reader(self.0.switch.lock().parts().0, number)
        };
        let runner: Box<dyn BatchRunner> = match &self.0.compiled.code {
            Made::Nothing => Box::new(Interpreter::new(&self.0.compiled.program)),
            Made::Whole(build) => {
                let depths = Arc::clone(&self.0.switch.lock().parts().0.queue_depths);
                Box::new(Native::new(Arc::clone(build), reader(), depths))
            }
            Made::Halves(builds) => {
                let budget = self.0.switch.lock().parts().0.new_budget();
                Box::new(HalvesAtWork::new(builds, [reader(), reader()], budget))
            }
        };
        Worker { shared: self.clone(), outbox, runner, arrivals: None, came_of: vec![] }
    }

    /// A free outbox with its number, which becomes that of the worker. The counts of its former owner stay in it.
    fn outbox(&self) -> (usize, Arc<Outbox>) {
        let mut outboxes = lock(&self.0.outboxes);
        let left = outboxes.iter().position(|outbox| Arc::strong_count(outbox) == 1);
        // The former owner's work is complete.
        fence(Ordering::Acquire);
        let number = left.unwrap_or_else(|| {
            outboxes.push(Arc::default());
            outboxes.len() - 1
        });
        (number, Arc::clone(&outboxes[number]))
    }
}

impl Worker {
    /// Runs a batch of packets: see [`Engine::process`](crate::Engine::process).
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        let mut access = access(&self.shared.0, &self.outbox);
        let tables = self.shared.0.tables.pin();
        self.runner.read(&tables);
        self.came_of.clear();
        let mut arrivals = self.arrivals.as_mut();
        if let Some(arrivals) = &mut arrivals {
            arrivals.begin(packets.len());
        }
        self.runner.batch(&mut access, packets, &mut self.came_of, arrivals, now)
    }

    /// From now on the frames of a batch were written by another core. The caller has requested those of the first [`REQUESTED`](crate::REQUESTED)
    /// packets ([`Packet::prefetch`]); the worker requests the others while it runs, which hides the time in which they arrive. When they have arrived and
    /// before they run, it looks for frames with the EtherType `noted`.
    pub fn request_frames(&mut self, noted: [u8; 2]) {
        self.arrivals = Some(Arrivals::new(noted));
    }

    /// For each frame of the last batch with the EtherType that is noted, the port by which it came.
    pub fn noted(&self) -> &[Port] {
        self.arrivals.as_ref().map_or(&[], |arrivals| &arrivals.ports)
    }

    /// For each output of the last batch, the position of the packet from which it was made, in order.
    pub fn came_of(&self) -> &[usize] {
        &self.came_of
    }

    /// Runs a frame that is too long for a [`Packet`] to its end: see [`Switch::process`].
    pub fn frame(&mut self, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        let mut access = access(&self.shared.0, &self.outbox);
        let outputs = access.shared().map_or(vec![], |switch| switch.process(port, frame, now));
        access.hand_over();
        outputs
    }

    /// When a timer of the program runs out next. Packets of any worker may set one.
    pub fn deadline(&self) -> Option<Time> {
        if self.shared.0.is_timed { self.shared.0.switch.lock().deadline() } else { None }
    }

    /// Runs the timers that are due, and the resulting packets to their ends.
    pub fn tick(&mut self, now: Time) -> Vec<Output> {
        let mut access = access(&self.shared.0, &self.outbox);
        let tables = self.shared.0.tables.pin();
        self.runner.read(&tables);
        let (core, blocks) = access.parts();
        let outputs = AtWork { core, blocks, runner: self.runner.as_mut() }.tick(now);
        access.hand_over();
        outputs
    }

    /// See [`Engine::interpreted`](crate::Engine::interpreted).
    pub fn interpreted(&self) -> u64 {
        self.runner.interpreted()
    }
}

/// The switch for a batch; it is locked when it is first wanted, or at once if only one batch may run at a time.
fn access<'s>(state: &'s State, outbox: &'s Outbox) -> Access<'s> {
    let State { switch, is_serial, calls, .. } = state;
    let guard = is_serial.then(|| switch.lock());
    Access::Shared { switch, guard, calls, outbox, half: Half::Ingress }
}

impl Made {
    /// True if workers share cells that a processor does not write at once.
    fn has_wide_cells(&self) -> bool {
        let mut cells = self.builds().flat_map(|build| build.facts.cells.values());
        cells.any(|cells| cells.is_shared && cells.bytes > 8)
    }

    /// The tables and cells of a device, for threads that share it; `None` if that runs another program.
    fn shared_replicas(&self, core: &mut Core) -> Option<TableReplicas> {
        match self {
            Made::Nothing => Some(TableReplicas::default()),
            Made::Whole(build) => build.table_replicas(core),
            // The numbers of egress continue after those of ingress.
            Made::Halves(builds) => builds.egress.table_replicas(core),
        }
    }
}

/// True if the program has value externs with memory, which may have timers.
fn has_value_objects(program: &Program) -> bool {
    program.instances.iter().any(|instance| program.value_extern(instance).is_some())
}

/// True if the program has actions of TNA's registers, which are atomic.
fn has_register_actions(program: &Program) -> bool {
    let object = |instance: &ir::Instance| program.extern_object(instance.object);
    program.instances.iter().any(|instance| object(instance).name.contains("RegisterAction"))
}

/// True if the program has `@atomic` blocks, which make more than one call atomic.
fn has_atomic_blocks(program: &Program) -> bool {
    let of_controls =
        program.controls.iter().flat_map(|c| c.actions.iter().map(|a| &a.body).chain([&c.body]));
    let mut bodies = of_controls.chain(program.functions.iter().map(|function| &function.body));
    bodies.any(|body| {
        let mut found = is_atomic(body);
        visit::stmts(body, &mut |stmt| visit::blocks(stmt, &mut |block| found |= is_atomic(block)));
        found
    })
}

fn is_atomic(block: &Block) -> bool {
    block.annotations.iter().any(|annotation| annotation.name == "atomic")
}
