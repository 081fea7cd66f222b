//! A device's state as machine code sees and shares it: its tables, entry by entry and write by write, and the cells of
//! its objects.
//!
//! The device keeps lasting state. Code has a packet in a form of its own, and copies of the tables; entries, cells and
//! counters are the device's, so that nothing has two meanings.

use crate::core::Core;
use crate::data_plane::Application;
use crate::objects::Object;
use crate::reports::Reports;
use crate::stage::Effects;
use crate::table::{Change, Entry, Run, Table};
use base_bits::Bits;
use base_time::Time;
use control_writes::EntryKey;
use dataplane_api::DropReason;
use ir::{ControlId, InstanceId, ParserId, TableId, Type, ValueSetId};
use ir_value::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use crate::objects::counter::SharedCells;
pub use crate::objects::direct_counter::{CountSlot, CountSlots};
pub use crate::table::IdleTimer;
pub use crate::value_set::MOST_WIDTH as MOST_VALUE_SET_BITS;

/// An entry of a table as compiled code sees it.
#[derive(Clone, Debug)]
pub struct EntryView {
    /// Key and priority.
    pub key: EntryKey,
    /// Counter slot, if the table has a direct counter and the entry exists.
    pub count: Option<Arc<CountSlot>>,
    /// Timer to restart at each hit, if entries of the table can time out and the entry exists.
    pub timer: Option<Arc<IdleTimer>>,
    /// Action and data; `None` if the entry refers to a member or group of a profile.
    pub run: Option<ActionView>,
}

/// An action with its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionView {
    /// Position in the table's list of actions.
    pub action: u32,
    /// For its parameters without direction.
    pub data: Vec<Bits>,
}

/// A write to a table.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// A new entry.
    Added(EntryView),
    /// An entry was removed; its action is not reported.
    Removed(EntryView),
    /// The action or data of an entry has changed.
    Modified(EntryView),
    /// The default action is this now.
    Default(ActionView),
}

/// Changes of a table.
pub enum News {
    /// These writes, the oldest first.
    Changes(Vec<TableChange>),
    /// Everything: all entries, the oldest first, and the default action.
    All(Vec<EntryView>, ActionView),
}

/// Facts about a table for a compiler.
#[derive(Clone, Debug)]
pub struct TableFacts {
    /// Keys that are matched, in order.
    pub keys: Vec<crate::KeySpec>,
    /// Maximum number of entries.
    pub size: u64,
    /// Entries refer to members of a profile or groups of a selector: [`Core::chosen`] gives the action.
    pub has_profile: bool,
    /// True if hits are counted: see [`EntryView::count`].
    pub counts: bool,
    /// Constant entries of the source, and the default action if it is constant.
    pub constant: Option<Constant>,
    /// True if hits are metered, or recorded for a timeout: then code must call [`Core::looked_up`].
    pub notes_hits: bool,
    /// True if all that a hit changes beside counts is [`EntryView::timer`]: then code must call [`Core::looked_up`] only at the timer's limit.
    pub only_restarts: bool,
    /// The entries have cells of a meter.
    pub has_meters: bool,
}

/// Facts about an object with cells that code can share.
#[derive(Clone, Debug)]
pub struct CellsFacts {
    /// Number of cells.
    pub size: u64,
    /// Bytes of one: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Type of a cell; `None` for counters, which code does not read.
    pub ty: Option<Type>,
}

/// Constant part of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant {
    /// Match and action of each entry; the first that matches is hit.
    pub entries: Vec<(Box<[control_writes::Match]>, ActionView)>,
    /// Default action, if that is constant, too.
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
            has_meters: self.meters.is_some(),
            notes_hits: self.meters.is_some() || self.registers.is_some() || self.idle_timeouts,
            only_restarts: self.meters.is_none() && self.registers.is_none() && self.idle_timeouts,
        }
    }

    /// Slot that counts misses, if they are counted.
    pub(crate) fn misses(&self) -> Option<Arc<CountSlot>> {
        self.counters.and(self.of_default.as_ref()).map(|cells| cells.count.share(&self.count_slots))
    }

    /// Writes since the last call.
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
            Change::Added(key) => TableChange::Added(self.view(key, self.entries.get(key).map(Box::as_ref))),
            Change::Removed(key) => TableChange::Removed(self.view(key, None)),
            Change::Modified(key) => {
                TableChange::Modified(self.view(key, self.entries.get(key).map(Box::as_ref)))
            }
            Change::Default => TableChange::Default(self.default_view()),
        }
    }

    fn view(&self, key: &EntryKey, entry: Option<&Entry>) -> EntryView {
        let run = match entry.map(|entry| &entry.run) {
            Some(Run::Action(action, data)) => Some(action_view(*action, data)),
            _ => None,
        };
        let count = self.counters.and(entry).map(|entry| entry.direct.count.share(&self.count_slots));
        let timer = entry.and_then(|entry| entry.idle.clone());
        EntryView { key: key.clone(), count, timer, run }
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

impl Core {
    /// Writes to a table since the last call; `None` if there were none.
    pub fn table_news(&mut self, (control, table): TableAt) -> Option<News> {
        self.state.tables.get_mut(control, table)?.news()
    }

    /// Number of writes to tables; equal numbers mean that nothing has changed.
    #[inline]
    pub fn table_writes(&self) -> u64 {
        self.state.tables.writes()
    }

    /// The entries that a table has room for.
    pub fn table_size(&self, (control, table): TableAt) -> Option<u64> {
        Some(self.state.tables.get(control, table)?.size())
    }

    /// Slot that counts the misses of a table, if they are counted.
    pub fn misses(&self, (control, table): TableAt) -> Option<Arc<CountSlot>> {
        self.state.tables.get(control, table)?.misses()
    }

    /// Not 0 once hits of a table's entries have to be reported: an entry has an idle timer, or a cell of a meter or register.
    pub fn notes_hits(&self, (control, table): TableAt) -> Option<Arc<AtomicU64>> {
        Some(Arc::clone(&self.state.tables.get(control, table)?.notes_hits))
    }

    /// Slots of a table's direct counter.
    pub fn count_slots(&self, (control, table): TableAt) -> Option<CountSlots> {
        Some(self.state.tables.get(control, table)?.count_slots.clone())
    }

    /// Cells of a register, shared by all workers, or one worker's cells of a counter, two words each: packets and
    /// bytes. Only for objects listed by [`Blocks::cells`](crate::Blocks::cells).
    pub fn cells(&mut self, id: InstanceId, worker: usize) -> Option<SharedCells> {
        match self.state.objects.get_mut(id.index())? {
            Object::Register(register) => register.flatten(u64::MAX),
            Object::Counter(counter) => Some(counter.share(worker)),
            _ => None,
        }
    }

    /// A bit for each value of a value set's key, in words: those that are in it. Its key has few bits.
    pub fn value_set_bits(&self, parser: ParserId, set: ValueSetId) -> Option<Vec<u64>> {
        self.state.value_sets.get(parser, set)?.bits()
    }

    /// Number of writes to value sets; equal numbers mean that nothing has changed.
    pub fn value_set_writes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.state.value_sets.writes)
    }

    /// Frames were received, and frames were sent.
    pub fn count(&mut self, received: u64, sent: u64) {
        self.counters.received += received;
        self.counters.sent += sent;
    }

    /// Packets were dropped.
    pub fn count_dropped(&mut self, reason: DropReason, packets: u64) {
        if packets > 0 {
            *self.counters.dropped.entry(reason).or_default() += packets;
        }
    }

    /// A packet hit an entry, which is the one with these matches and this priority. Whoever calls has counted it.
    pub fn looked_up(&mut self, table: TableAt, key: &EntryKey, effects: &mut Effects, now: Time) {
        let found = self.state.tables.get(table.0, table.1).and_then(|t| t.entries.get_index_of(key));
        let colour = self.state.note_hit(&self.program, (table.0, table.1, found), effects.counted, now);
        effects.coloured(colour);
    }

    /// A packet was matched on TNA: an idle timer restarts. Returns what finds the direct cells of the entry, which is the
    /// one with these matches and this priority, or of the default action.
    pub fn applied(&mut self, table: TableAt, key: Option<EntryKey>, now: Time) -> Application {
        let found = self
            .state
            .tables
            .get(table.0, table.1)
            .zip(key)
            .and_then(|(t, key)| t.entries.get_index_of(&key));
        let applied = (table.0, table.1, found);
        self.state.restart_idle(applied, now);
        applied
    }

    /// Action to run after a hit in a table with a profile; `chosen_by` are the selector's keys.
    pub fn chosen(&self, table: TableAt, key: EntryKey, chosen_by: &[Bits]) -> Option<ActionView> {
        self.state.chosen(table, &key, chosen_by)
    }

    /// Takes the reports since the last call.
    pub fn take_reports(&mut self) -> Reports {
        self.state.take_reports()
    }
}
