//! What a table holds: entries and the action each one runs.

use crate::objects::direct_counter::EntryCounter;
use crate::objects::meter::Meter;
use crate::table::idle::IdleTimer;
use ir::{Name, Type};
use ir_value::Value;

/// An entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// Counts up from 0 in each table; what writers name it by.
    pub(crate) handle: u64,
    pub(crate) run: Run,
    /// From the source, and not to be changed.
    pub(crate) is_const: bool,
    pub(crate) direct: DirectCells,
    /// Where the control plane wants to know when it is idle.
    pub(crate) idle: Option<Box<IdleTimer>>,
}

/// What an entry has of the direct objects of its table; cells that nothing uses take no room.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct DirectCells {
    /// Of the direct counter.
    pub(crate) count: EntryCounter,
    /// Of the direct meter.
    pub(crate) meter: Meter,
}

/// What an entry runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Run {
    /// An action of the table's list with the data for its parameters without direction.
    Action(u32, Vec<Value>),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
}

/// An action as the control plane sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ActionSpec {
    pub(crate) control_plane_name: Name,
    /// Its parameters without direction.
    pub(crate) data: Vec<(Name, Type)>,
    /// `@defaultonly`: not for entries.
    pub(crate) default_only: bool,
    /// `@tableonly`: not as default.
    pub(crate) table_only: bool,
}
