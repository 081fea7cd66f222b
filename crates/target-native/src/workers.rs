//! One state, and several threads that run packets on it while others write to it.
//!
//! ```text
//! Shared::write ──> switch (locked) ──> copies of the tables ── publish ──> Worker   reads one copy for a batch
//!                     ^                                                     Worker   counts in the same cells
//!                     └── what is rare: meters, copies, ...  ───────────────┘  │
//! Shared::take_told <── digests, lines of the log: a queue for each worker <───┘
//! ```
//!
//! **Invariant**: a batch sees all of a write or nothing, and neither waits for the other: tables are there twice
//! ([`dataplane_tables::Shared`]), and a write locks the switch only while it changes the originals. Who wants the switch gets it
//! in turn: a worker with batch after batch keeps no write out, and what it tells waits for none.
//!
//! Atomicity as the language has it (P4-16 §18.4.1): each call of an extern is atomic. A read of a register and the write behind it are
//! not, unless they stand in an `@atomic` block; of programs with such blocks, or with cells that a processor does not write
//! at once, one batch runs at a time.
//!
//! Packets of a worker stay in order. Those of a flow do if whoever receives them gives each flow to one worker:
//! [`flow`](crate::flow()) says which packets belong together.

use crate::access::Access;
use crate::compiled::Build;
use crate::engine::Native;
use crate::machine::Part;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::tables::Mirrors;
use crate::turns::{Turns, lock};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Output;
use dataplane_tables::{Control, Shared as Tables};
use ir::{Block, Program, visit};
use ir_interp::{Options, Switch, Told};
use std::sync::{Arc, Mutex};

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
    build: Arc<Build>,
    switch: Turns<Switch>,
    writer: Mutex<(Mirrors, Control)>,
    tables: Tables,
    /// As many as there were workers at one time: the next one takes over that of one who is gone.
    outboxes: Mutex<Vec<Arc<Outbox>>>,
    /// One batch at a time.
    is_serial: bool,
}

/// What a thread runs packets with.
pub struct Worker {
    shared: Shared,
    outbox: Arc<Outbox>,
    native: Native,
}

impl Shared {
    /// Lowers and compiles a program; `None` if only the interpreter runs it, which is for one thread.
    pub fn compile(program: &Program, options: Options) -> Result<Option<Shared>, Vec<Diagnostic>> {
        let Ok(lowered) = ir_lower::lower(program) else { return Ok(None) };
        let mut switch = Switch::new(Arc::new(lowered), options)?;
        let built = switch.host().and_then(|mut host| Build::new(&mut host, Part::Whole, None, true));
        let Some((build, mut mirrors)) = built else { return Ok(None) };
        let control = mirrors.control();
        let tables = Tables::new(&control);
        let is_serial = has_atomic_blocks(program) || build.facts.cells.values().any(|cells| cells.bytes > 8);
        let writer = Mutex::new((mirrors, control));
        let (build, switch) = (Arc::new(build), Turns::new(switch));
        let state = State { build, switch, writer, tables, outboxes: Mutex::default(), is_serial };
        let shared = Shared(Arc::new(state));
        shared.write(|_| ());
        Ok(Some(shared))
    }

    /// Does something with the switch, as its control plane does. Batches that begin behind this see what was written; those that run
    /// may still note hits of an entry for the one that takes its place. Traces are not told; what workers tell is
    /// [`take_told`](Shared::take_told)'s.
    pub fn write<R>(&self, work: impl FnOnce(&mut Switch) -> R) -> R {
        let State { switch, writer, tables, outboxes, .. } = &*self.0;
        let mut writer = lock(writer);
        let (mirrors, control) = &mut *writer;
        let (result, news) = {
            let mut switch = switch.lock();
            if let Some(mut host) = switch.host() {
                lock(outboxes).iter().for_each(|outbox| outbox.settle(&mut host));
            }
            let result = work(&mut switch);
            (result, switch.host().map(|mut host| mirrors.news(&mut host)))
        };
        // The switch is free again: a batch that is waited for may want it.
        mirrors.write(control, news.unwrap_or_default());
        tables.publish(control);
        mirrors.published();
        result
    }

    /// What packets told since the last time, those of each worker in their order. To be called often enough that there is room for
    /// what comes; who calls waits for nobody, and nobody for who calls.
    pub fn take_told(&self) -> Told {
        let mut all = Told::default();
        for outbox in lock(&self.0.outboxes).iter() {
            let Told { digests, log, lost } = outbox.take_told();
            all.digests.extend(digests);
            all.log.extend(log);
            all.lost += lost;
        }
        all
    }

    /// For one more thread.
    pub fn worker(&self) -> Worker {
        let native = Native::new(Arc::clone(&self.0.build), lock(&self.0.writer).0.reader());
        let mut outboxes = lock(&self.0.outboxes);
        let left = outboxes.iter().find(|outbox| Arc::strong_count(outbox) == 1).cloned();
        let outbox = left.unwrap_or_else(|| {
            outboxes.push(Arc::default());
            Arc::clone(&outboxes[outboxes.len() - 1])
        });
        Worker { shared: self.clone(), outbox, native }
    }
}

impl Worker {
    /// Runs a batch of packets: see [`Engine::process`](crate::Engine::process).
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        let State { switch, tables, is_serial, .. } = &*self.shared.0;
        let guard = is_serial.then(|| switch.lock());
        let mut access = Access::Shared { switch, guard, outbox: &self.outbox };
        let tables = tables.pin();
        self.native.mirrors.read(&tables);
        self.native.batch(&mut access, packets, now)
    }

    /// See [`Engine::interpreted`](crate::Engine::interpreted).
    pub fn interpreted(&self) -> u64 {
        self.native.interpreted
    }
}

/// True if the program says that more than a call is to be atomic.
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
