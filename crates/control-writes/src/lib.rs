//! Writes of a control plane to a device, as data.
//!
//! ```text
//! TOML, commands, STF ──(names of the program)──┐
//!                                               ├──> Write ──> a device, a store, another language
//! P4Runtime messages ──(ids of its P4Info)──────┘
//! ```
//!
//! A [`Write`] gives the new state of something, not the way there: writes are idempotent, and the inverse of a write
//! is a write. Nothing that P4Runtime 1.5, STF or `simple_switch_CLI` can express is lost in it.
//!
//! `R` is a reference to a table, action or object: its control-plane name on devices, its id in P4Runtime.
//! [`Write::refer`] converts references.

mod counts;
mod data;
mod entry;
mod matches;
mod refer;
mod settled;
mod write;

pub use counts::{Count, PortCount};
pub use data::Data;
pub use entry::{
    ActionCall, DefaultEntry, Entry, EntryKey, OneShot, OneShotAction, Rate, Rates, Run, SelectionMode,
    SizeSemantics, Watch,
};
pub use matches::Match;
pub use refer::Kind;
pub use settled::settled;
pub use write::{
    CloneSession, Crc, DigestConfig, Group, GroupMember, MulticastGroup, Replica, SESSION_GROUPS, Target,
    Write, backups, members,
};
