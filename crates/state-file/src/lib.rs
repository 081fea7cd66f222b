//! A [`StateFile`] keeps what controllers have written to a switch, and a [`Keeper`] is the thread that writes to it.
//!
//! The file is a database of `redb`: a commit is written beside what is there, flushed to the disk, and only then takes its
//! place, so that a process or a machine that stops at any moment leaves the last whole commit. While one commit is being
//! flushed, batches gather for the next: writers that come at one time share it.
//!
//! ```text
//! table "state"   "format" -> "p4rack state 1"     "program" -> p4.v1.ForwardingPipelineConfig
//! table "rows"    rank, query -> p4.v1.Entity
//! ```

#![allow(clippy::disallowed_methods)]

mod file;
mod keeper;

pub use file::{StateFile, StateFileError};
pub use keeper::Keeper;
