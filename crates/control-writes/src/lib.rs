//! What a control plane writes to a device, as data.
//!
//! ```text
//! TOML, commands, STF ──(names of the program)──┐
//!                                               ├──> Write ──> a device, a store, another language
//! P4Runtime messages ──(ids of its P4Info)──────┘
//! ```
//!
//! A [`Write`] says what something becomes, not how it is to get there: doing it twice is doing it once, and the write that
//! undoes it is one of the same form. Nothing that P4Runtime 1.5, STF or `simple_switch_CLI` can say is lost in it.
//!
//! `R` is how tables, actions and objects are referred to: by control-plane names on devices, by ids in P4Runtime.
//! [`Write::refer`] goes from one to the other.

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
