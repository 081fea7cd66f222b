//! One state, and several threads that run packets on it while others write to it.
//!
//! ```text
//! Shared::write ──> switch (locked) ──> copies of the tables ── publish ──> Worker   reads one copy for a batch
//!                     ^                                                     Worker   counts in the same cells
//!                     └── what is rare: meters, digests, copies, ...  ──────┘
//! ```
//!
//! **Invariant**: a batch sees all of a write or nothing, and neither waits for the other: tables are there twice
//! ([`dataplane_tables::Shared`]), and a write locks the switch only while it changes the originals.
//!
//! Atomicity as the language has it (P4-16 §18.4.1): each call of an extern is atomic. A read of a register and the write behind it are
//! not, unless they stand in an `@atomic` block; of programs with such blocks, or with cells that a processor does not write
//! at once, one batch runs at a time.
//!
//! Packets of a worker stay in order: give each flow to one of them.

use crate::access::{Access, lock};
use crate::compiled::Build;
use crate::engine::Native;
use crate::machine::Part;
use crate::packet::Packet;
use crate::tables::Mirrors;
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::Output;
use dataplane_tables::{Control, Shared as Tables};
use ir::{Block, Program, visit};
use ir_interp::{Options, Switch};
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
    switch: Mutex<Switch>,
    writer: Mutex<(Mirrors, Control)>,
    tables: Tables,
    /// One batch at a time.
    is_serial: bool,
}

/// What a thread runs packets with.
pub struct Worker {
    shared: Shared,
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
        let state = State { build: Arc::new(build), switch: Mutex::new(switch), writer, tables, is_serial };
        let shared = Shared(Arc::new(state));
        shared.write(|_| ());
        Ok(Some(shared))
    }

    /// Does something with the switch, as its control plane does. Batches that begin behind this see what was written; those that run
    /// may still note hits of an entry for the one that takes its place. Traces are not told.
    pub fn write<R>(&self, work: impl FnOnce(&mut Switch) -> R) -> R {
        let State { switch, writer, tables, .. } = &*self.0;
        let mut writer = lock(writer);
        let (mirrors, control) = &mut *writer;
        let (result, news) = {
            let mut switch = lock(switch);
            let result = work(&mut switch);
            (result, switch.host().map(|mut host| mirrors.news(&mut host)))
        };
        // The switch is free again: a batch that is waited for may want it.
        mirrors.write(control, news.unwrap_or_default());
        tables.publish(control);
        mirrors.published();
        result
    }

    /// For one more thread.
    pub fn worker(&self) -> Worker {
        let native = Native::new(Arc::clone(&self.0.build), lock(&self.0.writer).0.reader());
        Worker { shared: self.clone(), native }
    }
}

impl Worker {
    /// Runs a batch of packets: see [`Engine::process`](crate::Engine::process).
    pub fn process(&mut self, packets: &mut [Packet], now: Time) -> Vec<Output> {
        let State { switch, tables, is_serial, .. } = &*self.shared.0;
        let mut access = Access::Shared(switch, is_serial.then(|| lock(switch)));
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
