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
use crate::halves::{HalfBuilds, HalvesAtWork};
use crate::machine::Part;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::tables::{Mirrors, Wanted};
use crate::turns::{Turns, lock};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Output;
use dataplane_tables::{Control, Shared as Tables};
use device::embed::Half;
use device::{Blocks, Blueprint, Host, Life, Options, Switch, Told};
use ir::{Block, Program, visit};
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
    code: Code,
    switch: Turns<Switch>,
    writer: Mutex<(Mirrors, Control)>,
    tables: Tables,
    /// As many as there were workers at one time: the next one takes over that of one who is gone.
    outboxes: Mutex<Vec<Arc<Outbox>>>,
    /// One batch at a time.
    is_serial: bool,
}

enum Code {
    Whole(Arc<Build>),
    /// Of PSA, with what a packet may take.
    Halves(HalfBuilds, Life),
}

/// What a thread runs packets with.
pub struct Worker {
    shared: Shared,
    outbox: Arc<Outbox>,
    runner: Runner,
}

enum Runner {
    Whole(Box<Native>),
    Halves(Box<HalvesAtWork>),
}

impl Shared {
    /// Lowers and compiles a program; `None` if only the interpreter runs it, which is for one thread.
    pub fn compile(program: &Program, options: Options) -> Result<Option<Shared>, Vec<Diagnostic>> {
        let Ok(lowered) = ir_lower::lower(program) else { return Ok(None) };
        let (lowered, drop_port) = (Arc::new(lowered), options.drop_port);
        let mut switch = ir_interp::switch(Arc::clone(&lowered), options)?;
        let blueprint = Blueprint::new(lowered, drop_port)?;
        let Some(made) = Code::new(blueprint.blocks(), &mut switch.host()) else { return Ok(None) };
        let (code, mut mirrors) = made;
        let control = mirrors.control();
        let tables = Tables::new(&control);
        let is_serial = has_atomic_blocks(program) || code.has_wide_cells();
        let writer = Mutex::new((mirrors, control));
        let switch = Turns::new(switch);
        let state = State { code, switch, writer, tables, outboxes: Mutex::default(), is_serial };
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
            lock(outboxes).iter().for_each(|outbox| outbox.settle(&mut switch.host()));
            let result = work(&mut switch);
            (result, mirrors.news(&mut switch.host()))
        };
        // The switch is free again: a batch that is waited for may want it.
        mirrors.write(control, news);
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
        let reader = || lock(&self.0.writer).0.reader();
        let runner = match &self.0.code {
            Code::Whole(build) => Runner::Whole(Box::new(Native::new(Arc::clone(build), reader()))),
            Code::Halves(builds, life) => {
                Runner::Halves(Box::new(builds.on([reader(), reader()], life.another())))
            }
        };
        let mut outboxes = lock(&self.0.outboxes);
        let left = outboxes.iter().find(|outbox| Arc::strong_count(outbox) == 1).cloned();
        let outbox = left.unwrap_or_else(|| {
            outboxes.push(Arc::default());
            Arc::clone(&outboxes[outboxes.len() - 1])
        });
        Worker { shared: self.clone(), outbox, runner }
    }
}

impl Worker {
    /// Runs a batch of packets: see [`Engine::process`](crate::Engine::process).
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        let State { switch, tables, is_serial, .. } = &*self.shared.0;
        let guard = is_serial.then(|| switch.lock());
        let mut access = Access::Shared { switch, guard, outbox: &self.outbox, half: Half::Ingress };
        let tables = tables.pin();
        match &mut self.runner {
            Runner::Whole(native) => {
                native.mirrors.read(&tables);
                native.batch(&mut access, packets, now)
            }
            Runner::Halves(halves) => {
                halves.ingress.mirrors.read(&tables);
                halves.egress.mirrors.read(&tables);
                halves.batch(&mut access, packets, now)
            }
        }
    }

    /// See [`Engine::interpreted`](crate::Engine::interpreted).
    pub fn interpreted(&self) -> u64 {
        match &self.runner {
            Runner::Whole(native) => native.interpreted,
            Runner::Halves(halves) => halves.interpreted(),
        }
    }
}

impl Code {
    /// The code of a program, with the tables and cells of a device; `None` if only the interpreter runs it.
    fn new(blocks: Blocks<'_>, host: &mut Host) -> Option<(Code, Mirrors)> {
        if blocks.half().is_some() {
            let builds = HalfBuilds::new(blocks, true)?;
            let mirrors = builds.egress.mirrors(host)?;
            return Some((Code::Halves(builds, host.new_life()), mirrors));
        }
        let build = Build::new(blocks, Part::Whole, true, Wanted::default())?;
        let mirrors = build.mirrors(host)?;
        Some((Code::Whole(Arc::new(build)), mirrors))
    }

    /// True if it has cells that a processor does not write at once.
    fn has_wide_cells(&self) -> bool {
        let builds = match self {
            Code::Whole(build) => vec![build],
            Code::Halves(builds, _) => vec![&builds.ingress, &builds.egress],
        };
        builds.into_iter().flat_map(|build| build.facts.cells.values()).any(|cells| cells.bytes > 8)
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
