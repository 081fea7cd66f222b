//! Programs as machine code: the native engine.
//!
//! ```text
//! ir::Program ── ir_lower::lower ──> lowered ──> layout, facts ──> code ──> machine code
//!                                       │                                     │ what is rare
//!                                       └──────────> device::Switch <──────┘
//! ```
//!
//! [`Engine`] runs batches of packets; as a [`Switch`](device::Switch), from [`Engine::into_switch`], it has the
//! interpreter's results, only faster. Entries, objects, groups and counters are the device's; compiled code shares the
//! cells of registers and counters, and keeps copies of tables in fast structures. [`Shared`] does so in several
//! threads.
//!
//! **Invariant**: no program is refused and none means something else. Statements or stages that code cannot do are run
//! by the interpreter, on the same packet and state. [`Report`] and [`Engine::interpreted`] count them. Copies are made
//! by the device's traffic manager, and run as machine code like any packet.
//!
//! PSA's halves are compiled one by one: see `halves`.
//!
//! **Invariant**: a packet takes a bounded number of steps, and none is allocated for while nothing rare happens.

mod access;
mod arrivals;
mod batch;
mod calls;
mod code;
mod compiled;
mod context;
mod early;
mod engine;
mod exchange;
mod facts;
mod flow;
mod halves;
mod layout;
mod machine;
mod memory;
mod native;
mod notes;
mod outbox;
mod packet;
mod parked;
mod rare;
mod runner;
mod runs;
mod runtime;
mod tables;
mod text;
mod timeless;
mod tna_runtime;
mod turns;
mod workers;

pub use compiled::{Compiled, Report};
pub use context::REQUESTED;
pub use engine::Engine;
pub use flow::flow;
pub use machine::CodeText;
pub use packet::{Fate, FrameBuffer, HEADROOM, MOST_BYTES, Packet};
pub use tables::SEED;
pub use text::code_text;
pub use turns::Turns;
pub use workers::{Shared, Worker};
