//! Queries (P4Runtime 1.5, section 13): a message with holes to all entities that fit it, in canonical form.
//!
//! ```text
//! query ──find──> Cursor ──read_some──> some entities
//!                   ^          │
//!                   └──────────┘ until it is over
//! ```

mod cells;
mod cursor;
mod entries;

pub use cells::Wanted;
pub use cursor::Cursor;

use crate::catalog::Described;
use crate::fault::Result;
use crate::store::Store;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::v1::{
    self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, MeterConfig, MeterEntry, MulticastGroupEntry, P4Data,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, ValueSetEntry, entity::Entity, p4_data,
    packet_replication_engine_entry as pre,
};
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
    /// Nanoseconds since an entry was hit or made.
    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64>;
}

impl Store {
    /// Gives `out` all entities that fit `query`.
    pub fn read(&self, query: &v1::Entity, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        self.read_all(query, Wanted::All, live, out)
    }

    fn read_all(
        &self,
        query: &v1::Entity,
        wanted: Wanted,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let mut cursor = self.find(query, wanted)?;
        let mut room = u64::MAX;
        self.read_some(&mut cursor, &mut room, live, out)
    }

    /// The answer to several queries, without unwritten entities and cells of counters and registers that are zero.
    fn read_all_written(
        &self,
        queries: impl IntoIterator<Item = Entity>,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let mut give = |entity: v1::Entity| {
            if !is_unwritten(&entity) {
                out(entity);
            }
        };
        queries.into_iter().try_for_each(|query| {
            let query = v1::Entity { entity: Some(query) };
            self.read_all(&query, Wanted::Written, live, &mut give)
        })
    }

    /// Passes to `out` all entities that controllers have written, in an order in which they can be written again:
    /// referenced ones first. Cells of counters and registers that are zero are left out.
    pub fn read_written(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let asked = TableEntry {
            meter_config: Some(MeterConfig::default()),
            counter_data: Some(CounterData::default()),
            ..TableEntry::default()
        };
        let named = [
            Entity::ActionProfileMember(ActionProfileMember::default()),
            Entity::ActionProfileGroup(ActionProfileGroup::default()),
            Entity::TableEntry(asked),
        ];
        self.read_all_written(named, live, out)?;
        for (table, _) in self.tables.iter().filter(|(_, state)| state.default.call.is_some()) {
            let default = self.default_message(self.catalog.table(*table)?);
            out(v1::Entity { entity: Some(Entity::TableEntry(default)) });
        }
        let replication =
            |kind| Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) });
        let others = [
            // A default action may be the program's, and constant, while its direct objects are the controller's.
            Entity::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(defaults()),
                ..DirectMeterEntry::default()
            }),
            Entity::DirectCounterEntry(DirectCounterEntry { table_entry: Some(defaults()), data: None }),
            replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry::default())),
            replication(pre::Type::CloneSessionEntry(CloneSessionEntry::default())),
            Entity::ValueSetEntry(ValueSetEntry::default()),
            Entity::DigestEntry(DigestEntry::default()),
            Entity::MeterEntry(MeterEntry::default()),
            Entity::CounterEntry(CounterEntry::default()),
            Entity::RegisterEntry(RegisterEntry::default()),
        ];
        self.read_all_written(others, live, out)
    }

    /// Passes to `out` values of the data plane that controllers can write too, if they are not zero.
    pub fn read_counted(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let counted = [
            Entity::DirectCounterEntry(DirectCounterEntry::default()),
            Entity::DirectCounterEntry(DirectCounterEntry { table_entry: Some(defaults()), data: None }),
            Entity::CounterEntry(CounterEntry::default()),
            Entity::RegisterEntry(RegisterEntry::default()),
        ];
        self.read_all_written(counted, live, out)
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

/// The query for the default entries of all tables.
fn defaults() -> TableEntry {
    TableEntry { is_default_action: true, ..TableEntry::default() }
}

/// True for entities in the state of a device that was just built, except for default entries.
pub fn is_unwritten(entity: &v1::Entity) -> bool {
    entity.entity.as_ref().is_none_or(is_kind_unwritten)
}

fn is_kind_unwritten(entity: &Entity) -> bool {
    match entity {
        Entity::TableEntry(e) => e.is_const,
        Entity::ValueSetEntry(e) => e.members.is_empty(),
        Entity::MeterEntry(e) => e.config.is_none(),
        Entity::DirectMeterEntry(e) => e.config.is_none(),
        Entity::CounterEntry(e) => e.data.unwrap_or_default() == CounterData::default(),
        Entity::DirectCounterEntry(e) => e.data.unwrap_or_default() == CounterData::default(),
        Entity::RegisterEntry(e) => e.data.as_ref().is_none_or(is_zero),
        _ => false,
    }
}

/// Zero in all its parts. Enums and errors have no zero that is known here.
fn is_zero(data: &P4Data) -> bool {
    let zero = |bytes: &Vec<u8>| bytes.iter().all(|byte| *byte == 0);
    match &data.data {
        Some(p4_data::Data::Bitstring(bytes) | p4_data::Data::EnumValue(bytes)) => zero(bytes),
        Some(p4_data::Data::Bool(value)) => !value,
        Some(p4_data::Data::Tuple(parts) | p4_data::Data::Struct(parts)) => parts.members.iter().all(is_zero),
        Some(p4_data::Data::Header(header)) => !header.is_valid && header.bitstrings.iter().all(zero),
        _ => false,
    }
}

fn counter_data(count: Count) -> CounterData {
    CounterData { packet_count: signed(count.packets), byte_count: signed(count.bytes) }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
