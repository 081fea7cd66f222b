//! The entities of P4Runtime 1.5: read from messages and checked against P4Info, kept, and written back in canonical form.
//!
//! ```text
//! Update ──plan──> [Change] ──(the device does it)──> commit ──> its inverse
//! query  ──find──> Cursor ──read_some──> [Entity], with the data plane's values from `Live`
//! Update ──undoing──> the updates that roll it back
//! ```
//!
//! A [`Change`] is data: a device (one, or many that share a program) needs nothing else to carry it out. The store
//! records it only when the device has done it; the inverses of changes, in reverse order, restore the former state.
//!
//! Modules: [`update`] decomposes an update; `table`, `profile`, `object` and `replication` handle the entities, with
//! `matches`, `action`, `data`, `number` and `restriction`; [`store`] keeps them, [`read`] answers.

mod action;
mod catalog;
mod change;
mod data;
mod extern_memory;
mod fault;
mod key;
mod matches;
mod memory;
mod metadata;
mod names;
mod noted;
mod number;
mod object;
mod places;
mod port;
mod presence;
mod profile;
mod query;
mod read;
mod replication;
mod restriction;
mod said;
mod selector;
mod store;
mod table;
mod undo;
mod update;

pub use catalog::{Catalog, Described, Numbers};
pub use change::{ActionCall, Change, DefaultEntry, Entry, OneShot, OneShotAction, Run};
pub use fault::{Fault, Result, Within, fault, not_supported};
pub use memory::Needs;
pub use names::Names;
pub use query::{canonical, looks_through};
pub use read::{Cursor, Live, Touched, Wanted, Written, is_unwritten};
pub use store::{Before, Store};
pub use update::making;
