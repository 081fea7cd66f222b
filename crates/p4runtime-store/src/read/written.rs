//! Everything that somebody has written, in an order in which it can be written again to a device that was just built: members come before
//! the groups and entries that name them.

use super::{Cursor, Live, Wanted};
use crate::fault::Result;
use crate::store::Store;
use p4runtime_proto::p4::v1::{
    self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, ExternEntry, MeterConfig, MeterEntry, MulticastGroupEntry, P4Data,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, ValueSetEntry, entity::Entity, p4_data,
    packet_replication_engine_entry as pre,
};
use std::collections::VecDeque;

/// The entities that have not been read yet. Cells of counters and registers that are zero are left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    cursor: Option<Cursor>,
    left: VecDeque<Step>,
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    /// All that fits a query and is not as it was built.
    Query(Box<Entity>),
    /// The default action of a table, if a controller has written one.
    Default(u32),
}

impl Step {
    fn query(query: Entity) -> Step {
        Step::Query(Box::new(query))
    }
}

impl Written {
    /// True if all has been read.
    pub fn is_over(&self) -> bool {
        self.cursor.is_none() && self.left.is_empty()
    }
}

impl Store {
    /// The position before everything that controllers and data planes have written.
    pub fn written(&self) -> Written {
        let asked = TableEntry { counter_data: Some(CounterData::default()), ..entries() };
        self.named_first(asked, counted())
    }

    /// The position before everything that controllers alone write.
    pub fn written_by_controllers(&self) -> Written {
        self.named_first(entries(), [])
    }

    fn named_first(&self, asked: TableEntry, last: impl IntoIterator<Item = Entity>) -> Written {
        let named = [
            Entity::ActionProfileMember(ActionProfileMember::default()),
            Entity::ActionProfileGroup(ActionProfileGroup::default()),
            Entity::TableEntry(asked),
        ];
        let replication =
            |kind| Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) });
        let others = [
            // The default action may be the program's and constant; the controller may still have written its rates.
            Entity::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(defaults()),
                ..DirectMeterEntry::default()
            }),
            replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry::default())),
            replication(pre::Type::CloneSessionEntry(CloneSessionEntry::default())),
            Entity::ValueSetEntry(ValueSetEntry::default()),
            Entity::DigestEntry(DigestEntry::default()),
            Entity::MeterEntry(MeterEntry::default()),
        ];
        let named = named.into_iter().map(Step::query);
        let defaults = self.tables.keys().copied().map(Step::Default);
        let others = others.into_iter().chain(last).map(Step::query);
        Written { cursor: None, left: named.chain(defaults).chain(others).collect() }
    }

    /// Gives `out` the next of it. As much is read as there is `room` for, in cells.
    pub fn read_written_some(
        &self,
        written: &mut Written,
        room: &mut u64,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let mut give = |entity: v1::Entity| {
            if !is_unwritten(&entity) {
                out(entity);
            }
        };
        while *room > 0 {
            if let Some(cursor) = &mut written.cursor {
                self.read_some(cursor, room, live, &mut give)?;
                if cursor.is_over() {
                    written.cursor = None;
                }
                continue;
            }
            *room -= 1;
            match written.left.pop_front() {
                Some(Step::Query(query)) => {
                    let query = v1::Entity { entity: Some(*query) };
                    written.cursor = Some(self.find(&query, Wanted::Written)?);
                }
                Some(Step::Default(table)) if self.default_entry(table).call.is_some() => {
                    let default = self.default_message(self.catalog.table(table)?);
                    give(v1::Entity { entity: Some(Entity::TableEntry(default)) });
                }
                Some(Step::Default(_)) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Gives `out` all of it.
    pub fn read_written(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let mut room = u64::MAX;
        self.read_written_some(&mut self.written(), &mut room, live, out)
    }

    /// Gives `out` what the data plane has written and controllers can write too, but for what is zero.
    pub fn read_counted(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let direct = Entity::DirectCounterEntry(DirectCounterEntry::default());
        let left = std::iter::once(direct).chain(counted()).map(Step::query).collect();
        let mut counted = Written { cursor: None, left };
        let mut room = u64::MAX;
        self.read_written_some(&mut counted, &mut room, live, out)
    }
}

/// The query for all entries of all tables, with their rates.
fn entries() -> TableEntry {
    TableEntry { meter_config: Some(MeterConfig::default()), ..TableEntry::default() }
}

/// The queries for what data planes write and controllers can write too, but for the counters of entries.
fn counted() -> [Entity; 4] {
    [
        Entity::DirectCounterEntry(DirectCounterEntry { table_entry: Some(defaults()), data: None }),
        Entity::CounterEntry(CounterEntry::default()),
        Entity::RegisterEntry(RegisterEntry::default()),
        Entity::ExternEntry(ExternEntry::default()),
    ]
}

/// The query for the default entries of all tables.
fn defaults() -> TableEntry {
    TableEntry { is_default_action: true, ..TableEntry::default() }
}

/// True for what is as it is on a device that was just built, default entries left aside.
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
        // An empty memory has no bytes.
        Entity::ExternEntry(e) => e.entry.as_ref().is_none_or(|memory| memory.value.is_empty()),
        _ => false,
    }
}

/// Zero in all its parts. Enums and errors have no zero that is known here.
pub(super) fn is_zero(data: &P4Data) -> bool {
    let zero = |bytes: &Vec<u8>| bytes.iter().all(|byte| *byte == 0);
    match &data.data {
        Some(p4_data::Data::Bitstring(bytes) | p4_data::Data::EnumValue(bytes)) => zero(bytes),
        Some(p4_data::Data::Bool(value)) => !value,
        Some(p4_data::Data::Tuple(parts) | p4_data::Data::Struct(parts)) => parts.members.iter().all(is_zero),
        Some(p4_data::Data::Header(header)) => !header.is_valid && header.bitstrings.iter().all(zero),
        _ => false,
    }
}
