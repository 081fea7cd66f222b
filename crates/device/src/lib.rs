//! A device: its state, its control-plane operations, and the architectures that send packets through the stages of a
//! program.
//!
//! ```text
//! control_plane, by_key, write, inspect, snapshot ──> Switch ──> v1model, psa, tna   pipelines, each a folder
//!                                                       │            │ stages: who runs the language
//!                                                     State <──── data_plane    what packets do
//! ```
//!
//! It names neither the interpreter nor machine code. Both run its program ([`StageRunner`]): the one stage by stage, the
//! other whole halves or packets, on the tables and cells of [`embed`].
//!
//! **Invariant**: deterministic. Clock, randomness and queues come in through an [`Environment`].
//!
//! **Invariant**: every received frame has a budget of passes, copies and steps; exceeding it is a counted drop.

mod access;
mod architecture;
mod at_work;
mod blueprint;
mod budget;
mod build;
mod by_key;
mod control_plane;
mod core;
mod crc;
mod crc_annotations;
pub mod data_plane;
mod driver;
pub mod embed;
mod environment;
mod half;
pub mod hash;
mod inspect;
mod names;
mod objects;
mod one_shots;
mod ports;
pub mod psa;
mod queue_depths;
pub mod region;
mod replication;
pub mod reports;
mod runner;
mod snapshot;
mod spec;
pub mod stage;
mod state;
mod switch;
mod table;
mod ticks;
pub mod tna;
pub mod trace;
pub mod v1model;
mod value_calls;
mod value_externs;
mod value_set;
mod write;

pub use access::{Access, AccessKind};
pub use architecture::check_architecture;
pub use at_work::AtWork;
pub use blueprint::{Blocks, Blueprint};

pub use budget::PacketBudget;
pub use control_plane::TableEntry;
pub use core::Core;
pub use crc_annotations::annotate_crc;
pub use driver::Driver;
pub use environment::{Environment, Observation, PassThrough, Recorder, Replayer, Source};
pub use inspect::{Cells, MeterView, ObjectView};
pub use names::unknown;
pub use objects::meter::BucketView;
pub use objects::value::ValueCallee;
pub use ports::PortNumbers;
pub use queue_depths::{PortQueue, QueueDepths};
pub use replication::Session;
pub use reports::{Digest, Reports};
pub use runner::{NotTaken, StageRunner};
pub use snapshot::{add_counts, merge_cells};
pub use spec::{ActionSpec, ObjectKind, ObjectSpec, Specs, TableSpec, ValueSetSpec};
pub use state::State;
pub use switch::{Options, Switch};
pub use table::{EntryOf, IdleEntry, KeySpec, fit};
pub use trace::{Cause, Event, EventKind, Hit, KeyRead, PacketId, Shown};
pub use value_externs::check_value_externs;
