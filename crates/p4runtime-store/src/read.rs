//! Queries (P4Runtime 1.5, section 13): a message with holes to all entities that fit it, in canonical form.
//!
//! ```text
//! query ──find──> Cursor ──read_some──> some entities
//!                   ^          │
//!                   └──────────┘ until it is over
//! ```

mod before;
mod cells;
mod cursor;
mod entries;
mod written;

pub use before::Touched;
pub use cells::Wanted;
pub use cursor::Cursor;
pub(crate) use entries::key_message;
pub use written::{Written, is_unwritten};

use crate::catalog::Described;
use crate::fault::{Result, not_supported};
use crate::store::Store;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::v1::{self, CounterData, entity::Entity};
use std::ops::Range;

/// Values that the data plane writes; asked only about objects that exist.
pub trait Live {
    /// A cell of a counter.
    fn counter(&self, counter: u32, index: u64) -> Result<Count>;
    /// Cells of a counter, among these and in their order: at least those that are not zero.
    fn counters(&self, counter: u32, mut cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        cells.try_for_each(|cell| self.counter(counter, cell).map(|count| give(cell, count)))
    }
    /// The same of a register.
    fn registers(&self, register: u32, mut cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        cells.try_for_each(|cell| self.register(register, cell).map(|data| give(cell, data)))
    }
    /// The direct counter of an entry.
    fn direct_counter(&self, table: u32, key: &EntryKey) -> Result<Count>;
    /// A cell of a register.
    fn register(&self, register: u32, index: u64) -> Result<Data>;
    /// The whole memory of a frame extern or value extern.
    fn memory(&self, _object: u32) -> Result<Vec<u8>> {
        not_supported("memories of externs")
    }
    /// A number that has changed if the memory may have changed; `None` if that is not known.
    fn memory_version(&self, _object: u32) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Nanoseconds since an entry was hit or made.
    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64>;
}

impl Store {
    /// Gives `out` all entities that fit `query`.
    pub fn read(&self, query: &v1::Entity, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let mut cursor = self.find(query, Wanted::All)?;
        let mut room = u64::MAX;
        self.read_some(&mut cursor, &mut room, live, out)
    }

    /// Number of entities that a query searches if it looks none up by its key. Cells are not counted: no two queries search the same ones.
    pub fn searched(&self, query: &v1::Entity) -> u64 {
        let entries = |table: u32| match table {
            0 => self.tables.values().map(|state| state.entries.len()).sum(),
            table => self.entry_count(table),
        };
        let count = match &query.entity {
            Some(Entity::TableEntry(q)) => entries(q.table_id),
            Some(Entity::DirectCounterEntry(q)) => entries(q.table_entry.as_ref().map_or(0, |e| e.table_id)),
            Some(Entity::DirectMeterEntry(q)) => entries(q.table_entry.as_ref().map_or(0, |e| e.table_id)),
            Some(Entity::ActionProfileMember(_)) => self.members.len(),
            Some(Entity::ActionProfileGroup(_)) => self.groups.len(),
            Some(Entity::PacketReplicationEngineEntry(_)) => self.multicast.len().max(self.sessions.len()),
            _ => 0,
        };
        count as u64
    }

    /// Number of entities that queries may have to search.
    pub fn entities(&self) -> u64 {
        let entries: usize = self.tables.values().map(|state| state.entries.len()).sum();
        (entries + self.members.len() + self.groups.len() + self.multicast.len() + self.sessions.len()) as u64
    }

    /// Passes to `out` entities written by controllers that have match values or action data, without values of the
    /// data plane.
    pub(crate) fn read_kept(&self, out: &mut dyn FnMut(v1::Entity)) {
        let mut give = |entity: Entity| out(v1::Entity { entity: Some(entity) });
        for (key, shared) in &self.members {
            give(Entity::ActionProfileMember(self.member_message(*key, shared)));
        }
        for set in &self.catalog.info().value_sets {
            give(Entity::ValueSetEntry(self.value_set_message(set)));
        }
        for table in &self.catalog.info().tables {
            for (key, entry) in self.entries(table.id()) {
                give(Entity::TableEntry(self.plain_entry(table, key, entry)));
            }
            if self.default_entry(table.id()).call.is_some() {
                give(Entity::TableEntry(self.default_message(table)));
            }
        }
    }
}

pub(crate) fn counter_data(count: Count) -> CounterData {
    CounterData { packet_count: signed(count.packets), byte_count: signed(count.bytes) }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
