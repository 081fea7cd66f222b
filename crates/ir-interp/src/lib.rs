//! The reference interpreter: the meaning of an elaborated program.
//!
//! Engines and splits are compared with it, so it is simple before it is fast. It runs the tree of
//! [`ir::Program`] as it stands. [`Switch`] is a device: make it, fill its tables, give it frames.
//!
//! **Invariant**: no packet, entry or program makes it panic, hang or take unbounded memory. Every pass has a
//! budget of steps, every received frame a budget of passes and copies; what runs out is a counted drop.
//!
//! **Invariant**: deterministic. Clock, randomness and queues come in through an [`Environment`].

mod access;
mod apply;
mod build;
mod by_key;
mod call;
mod check;
mod control_plane;
mod crc;
mod driver;
mod environment;
mod expr;
mod externs;
mod fields;
mod hash;
mod inspect;
mod life;
mod machine;
mod names;
mod objects;
mod operate;
mod packet_in;
mod parser;
mod place;
mod plan;
mod ports;
mod psa;

pub mod embed;
mod region;
mod replication;
mod snapshot;
mod spec;
mod state;
mod stmt;
mod switch;
mod table;
mod told;
mod trace;
mod v1model;
mod value;
mod value_set;
mod wire;
mod write;

pub use access::{Access, AccessKind};
pub use base_diag::codes::run as codes;
pub use by_key::EntryOf;
pub use control_plane::TableEntry;
pub use driver::Driver;
pub use environment::{Environment, Observation, PassThrough, Recorder, Replayer, Source};
pub use inspect::{Cells, MeterView, ObjectView};
pub use names::unknown;
pub use objects::meter::BucketView;
pub use ports::PortNumbers;
pub use replication::Session;
pub use snapshot::add_counts;
pub use spec::{ActionSpec, ObjectKind, ObjectSpec, Specs, TableSpec, ValueSetSpec};
pub use switch::{Options, Switch, check_architecture};
pub use table::{IdleEntry, KeySpec, fit};
pub use told::{Digest, Told};
pub use trace::{
    Cause, Event, EventKind, Hit, KeyRead, PacketId, Shown, hex_text, shown as show, value_text,
};
pub use value::{Header, Stack, Value};
