//! A MapReduce job as processes: a master, which reduces, and a worker for each mapper.
//!
//! ```text
//! master ── TCP, lines of JSON ── worker     the job's text, counts of pairs, names of keys, failures
//!    │                               │
//!    └── UDP: AGG through switches ──┘       pairs
//! ```
//!
//! The protocol of pairs is `aggregate`'s; here are its clock, its sockets and its data.

// Sockets, files, threads and the clock come from here.
#![allow(clippy::disallowed_methods)]

mod children;
mod control;
mod data;
mod group;
mod interface;
mod local;
mod master;
mod wire;
mod worker;

pub use children::Children;
pub use control::{Attachment, MOST_LINE};
pub use data::packed;
pub use group::{
    Group, GroupError, GroupPlan, Joining, Keys, Pulse, Reduced, ReducedKeys, Report, Values, version,
};
pub use local::{Local, SwitchEvent};
pub use master::{Event, Finished, Link, Master, Row, Seat, Settings};
pub use wire::{Loss, Wire};
pub use worker::{MOST_WAIT, work};
