//! Contents of a table: entries and their actions.

use crate::objects::direct_counter::EntryCounter;
use crate::objects::filter::Average;
use crate::objects::meter::Meter;
use crate::table::idle::IdleTimer;
use ir::{Name, Type};
use ir_value::Value;
use std::sync::Arc;

/// An entry.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Handle for writers; counts up from 0 in each table.
    pub(crate) handle: u64,
    pub(crate) run: Run,
    /// From the source, and not to be changed.
    pub(crate) is_const: bool,
    pub(crate) direct: DirectCells,
    /// Idle timer, in tables whose entries can time out.
    pub(crate) idle: Option<Arc<IdleTimer>>,
}

/// Cells of an entry in the table's direct objects; unused cells take no memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct DirectCells {
    /// Cell of the direct counter.
    pub(crate) count: EntryCounter,
    /// Cell of the direct meter.
    pub(crate) meter: Meter,
    /// Cell of the direct register, once it was written.
    pub(crate) register: Option<Box<Value>>,
    /// Cell of the direct filter, once a packet has updated it.
    pub(crate) filter: Option<Box<Average>>,
}

/// Action, member or group that an entry runs.
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
    /// Parameters without direction.
    pub(crate) data: Vec<(Name, Type)>,
    /// `@defaultonly`: not for entries.
    pub(crate) default_only: bool,
    /// `@tableonly`: not as default.
    pub(crate) table_only: bool,
}
