//! What an engine needs that runs blocks by code of its own and leaves the rest to the interpreter.
//!
//! The interpreter keeps what lasts: entries, objects, replication, counters. Compiled code keeps a packet in a form of its own
//! and runs the stages; what it cannot do it leaves to a [`Host`]:
//!
//! ```text
//! a statement   Host::statement     variables as values in, values out
//! a stage       Host::stage         a packet as values in, values out
//! a packet      Host::manage, ...   that is cloned, replicated, resubmitted, recirculated: the copies
//! ```
//!
//! Of PSA it runs [`halves`](Accelerator::half), and the device does what is around them.
//!
//! So nothing has two meanings: what is rare is done here, in the order of the reference, on the same state.

use crate::host::Host;
use crate::table::{Change, Entry, Run, Table};
use base_bits::Bits;
use base_time::Time;
use control_writes::EntryKey;
use dataplane_api::{EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket};
use ir::{ControlId, TableId, Type};
use ir_value::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use crate::objects::direct_counter::{CountSlot, CountSlots};
pub use crate::psa::{Half, HalfDone, HalfEnd, HalfStart};
pub use crate::v1model::{Halt, Left, PacketParts, RunsOn, Stay};

/// Runs packets by code of its own, as long as nobody watches how: see [`Switch::accelerate`](crate::Switch::accelerate). What it
/// gives back untouched goes through the architecture's pipeline, stage by stage.
pub trait Accelerator: Send {
    /// A frame and all that comes of it, at one moment.
    fn process(&mut self, host: Host<'_>, port: Port, frame: &[u8], now: Time) -> Vec<Output>;

    /// Parser, control and deparser of half of PSA.
    fn half(&mut self, _host: Host<'_>, _start: HalfStart<'_>, _now: Time) -> HalfEnd {
        HalfEnd::NotMine
    }

    /// See [`Device::ingress`](dataplane_api::Device::ingress); the frame is counted already.
    fn ingress(
        &mut self,
        _host: Host<'_>,
        _port: Port,
        frame: Vec<u8>,
        _now: Time,
    ) -> Result<Vec<Queued>, Vec<u8>> {
        Err(frame)
    }

    /// See [`Device::egress`](dataplane_api::Device::egress).
    fn egress(
        &mut self,
        _host: Host<'_>,
        packet: Queued,
        _queue: QueueRecord,
        _now: Time,
    ) -> Result<EgressResult, Queued> {
        Err(packet)
    }

    /// See [`Device::resume`](dataplane_api::Device::resume).
    fn resume(
        &mut self,
        _host: Host<'_>,
        packet: QueuedPacket,
        _now: Time,
    ) -> Result<Vec<Queued>, QueuedPacket> {
        Err(packet)
    }

    /// See [`Device::tick`](dataplane_api::Device::tick).
    fn tick(&mut self, _host: Host<'_>, _now: Time) -> Option<Vec<Queued>> {
        None
    }

    /// A packet that waits for egress as the pipeline lets it wait, in whose hands it is from now on.
    fn hand_back(&mut self, _host: Host<'_>, packet: QueuedPacket) -> QueuedPacket {
        packet
    }
}

/// Cells in memory that compiled code shares.
pub type SharedCells = Arc<[AtomicU64]>;

/// An entry of a table as compiled code sees it.
#[derive(Clone, Debug)]
pub struct EntryView {
    /// What names it.
    pub key: EntryKey,
    /// Where it is counted, if the table has a direct counter and the entry is there.
    pub count: Option<Arc<CountSlot>>,
    /// What it runs; `None` if it names a member or group of a profile.
    pub run: Option<ActionView>,
}

/// An action with its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionView {
    /// Its position in the table's list.
    pub action: u32,
    /// For its parameters without direction.
    pub data: Vec<Bits>,
}

/// A write to a table.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// A new entry.
    Added(EntryView),
    /// It is no longer there; what it ran is not told.
    Removed(EntryView),
    /// It runs something else.
    Modified(EntryView),
    /// The default action is this now.
    Default(ActionView),
}

/// What is new in a table.
pub enum News {
    /// These writes, the oldest first.
    Changes(Vec<TableChange>),
    /// Everything: all entries, the oldest first, and the default action.
    All(Vec<EntryView>, ActionView),
}

/// What is to be known of a table before it is compiled.
#[derive(Clone, Debug)]
pub struct TableFacts {
    /// Keys that are matched, in order.
    pub keys: Vec<crate::KeySpec>,
    /// How many entries it takes.
    pub size: u64,
    /// Entries name members of a profile or groups of a selector: [`Host::chosen`] says what runs.
    pub has_profile: bool,
    /// Hits are to be counted: see [`EntryView::count`].
    pub counts: bool,
    /// The entries, if nobody can change them.
    pub constant: Option<Constant>,
    /// A hit is metered, or remembered for a timeout: [`Host::looked_up`] is to be called.
    pub notes_hits: bool,
}

/// What is to be known of an object whose cells code can share.
#[derive(Clone, Debug)]
pub struct CellsFacts {
    /// How many there are.
    pub size: u64,
    /// Bytes of one: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// What one holds; of counters nothing that code asks for.
    pub ty: Option<Type>,
}

/// What nobody can change of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant {
    /// What each matches and runs; the first that fits is hit.
    pub entries: Vec<(Box<[control_writes::Match]>, ActionView)>,
    /// What runs if none fits, if that is constant, too.
    pub default: Option<ActionView>,
}

impl Constant {
    /// True if there is one key, and it is exact.
    pub fn is_exact(&self) -> bool {
        !self.entries.is_empty()
            && self.entries.iter().all(|(keys, _)| matches!(&**keys, [control_writes::Match::Exact(_)]))
    }
}

impl Table {
    fn constant(&self) -> Option<Constant> {
        let default = self.default_is_const().then(|| self.default_view());
        let entries = match self.constant_entries() {
            Some(entries) => entries,
            None if self.keys.is_empty() && default.is_some() => vec![],
            None => return None,
        };
        let action = |(key, entry): (&EntryKey, &Entry)| match &entry.run {
            Run::Action(action, data) => Some((key.matches.clone(), action_view(*action, data))),
            Run::Member(_) | Run::Group(_) => None,
        };
        Some(Constant { entries: entries.into_iter().map(action).collect::<Option<_>>()?, default })
    }

    pub(crate) fn facts(&self) -> TableFacts {
        TableFacts {
            keys: self.keys.clone(),
            size: self.size(),
            has_profile: self.implementation.is_some(),
            counts: self.counters.is_some(),
            constant: self.constant(),
            notes_hits: self.meters.is_some() || self.idle_timeouts,
        }
    }

    /// What misses are counted in, if they are too.
    pub(crate) fn misses(&self) -> Option<Arc<CountSlot>> {
        self.counters.and(self.of_default.as_ref()).map(|cells| cells.count.share(&self.count_slots))
    }

    /// What was written since the last time.
    pub(crate) fn news(&mut self) -> Option<News> {
        if self.journal.is_empty() {
            return None;
        }
        Some(match self.journal.take() {
            None => {
                let entries = self.oldest_first().into_iter().map(|(key, entry)| self.view(key, Some(entry)));
                News::All(entries.collect(), self.default_view())
            }
            Some(changes) => News::Changes(changes.iter().map(|change| self.change(change)).collect()),
        })
    }

    fn change(&self, change: &Change) -> TableChange {
        match change {
            Change::Added(key) => TableChange::Added(self.view(key, self.entries.get(key))),
            Change::Removed(key) => TableChange::Removed(self.view(key, None)),
            Change::Modified(key) => TableChange::Modified(self.view(key, self.entries.get(key))),
            Change::Default => TableChange::Default(self.default_view()),
        }
    }

    fn view(&self, key: &EntryKey, entry: Option<&Entry>) -> EntryView {
        let run = match entry.map(|entry| &entry.run) {
            Some(Run::Action(action, data)) => Some(action_view(*action, data)),
            _ => None,
        };
        let count = self.counters.and(entry).map(|entry| entry.direct.count.share(&self.count_slots));
        EntryView { key: key.clone(), count, run }
    }

    fn default_view(&self) -> ActionView {
        action_view(self.default.0, &self.default.1)
    }
}

pub(crate) fn action_view(action: u32, data: &[Value]) -> ActionView {
    ActionView { action, data: data.iter().map(|v| v.to_key().unwrap_or_else(|| Bits::zero(0))).collect() }
}

/// A table of a control.
pub type TableAt = (ControlId, TableId);
