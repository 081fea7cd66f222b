//! All written entities, in an order in which they can be written to a newly built device: members come before
//! the groups and entries that name them.

use super::{Cursor, Live, Touched, Wanted};
use crate::catalog::Described;
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
    left: VecDeque<Step>,
}

#[derive(Clone, PartialEq, Debug)]
struct Step {
    what: What,
    /// Entities that were [read before](Store::read_written_before) their turn: they come at the end of the step.
    early: Vec<v1::Entity>,
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    /// All that fits a query and is not as it was built.
    Query(Box<Entity>),
    /// The rest of that.
    Cursor(Box<Cursor>),
    /// The default action of a table, if a controller has written one.
    Default(u32),
    Over,
}

impl Step {
    fn new(what: What) -> Step {
        Step { what, early: vec![] }
    }

    fn query(query: Entity) -> Step {
        Step::new(What::Query(Box::new(query)))
    }
}

impl Written {
    fn of(steps: impl Iterator<Item = Step>) -> Written {
        Written { left: steps.collect() }
    }

    /// True if all has been read.
    pub fn is_over(&self) -> bool {
        self.left.is_empty()
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
        let defaults = self.catalog.info().tables.iter().map(|table| Step::new(What::Default(table.id())));
        let others = others.into_iter().chain(last).map(Step::query);
        Written::of(named.chain(defaults).chain(others))
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
        while *room > 0
            && let Some(step) = written.left.front_mut()
        {
            match &mut step.what {
                What::Query(_) => {
                    *room -= 1;
                    self.begin(&mut step.what)?;
                }
                What::Cursor(cursor) if !cursor.is_over() => self.read_some(cursor, room, live, &mut give)?,
                What::Default(table) => {
                    *room -= 1;
                    self.written_default(*table).into_iter().for_each(&mut give);
                    step.what = What::Over;
                }
                What::Cursor(_) | What::Over => match step.early.pop() {
                    Some(entity) => {
                        *room = room.saturating_sub(super::cursor::ENTITY);
                        give(entity);
                    }
                    None => drop(written.left.pop_front()),
                },
            }
        }
        Ok(())
    }

    fn begin(&self, what: &mut What) -> Result<()> {
        if let What::Query(query) = what {
            let query = v1::Entity { entity: Some(query.as_ref().clone()) };
            *what = What::Cursor(Box::new(self.find(&query, Wanted::Written)?));
        }
        Ok(())
    }

    /// The default entry of a table, if a controller has written its action.
    fn written_default(&self, table: u32) -> Option<v1::Entity> {
        self.default_entry(table).call.as_ref()?;
        let default = self.default_message(self.catalog.table(table).ok()?);
        Some(v1::Entity { entity: Some(Entity::TableEntry(default)) })
    }

    /// Reads an entity that is about to be written, if its turn has not come: it is given later, as it is now. True if there was something
    /// to read.
    pub fn read_written_before(
        &self,
        written: &mut Written,
        touched: &Touched,
        live: &dyn Live,
    ) -> Result<bool> {
        let mut is_taken = false;
        for Step { what, early } in &mut written.left {
            self.begin(what)?;
            match what {
                What::Cursor(cursor) => {
                    let mut give = |entity: v1::Entity| {
                        if !is_unwritten(&entity) {
                            early.push(entity);
                        }
                    };
                    is_taken |= self.read_before(cursor, touched, live, &mut give)?;
                }
                What::Default(table) if touched.is_default_of(*table) => {
                    early.extend(self.written_default(*table));
                    *what = What::Over;
                    is_taken = true;
                }
                _ => {}
            }
        }
        Ok(is_taken)
    }

    /// Gives `out` all of it.
    pub fn read_written(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let mut room = u64::MAX;
        self.read_written_some(&mut self.written(), &mut room, live, out)
    }

    /// A cursor over the values that both the data plane and controllers can write.
    pub fn counted(&self) -> Written {
        Written::of(std::iter::once(direct_counters()).chain(counted()).map(Step::query))
    }

    /// Passes these values to `out`, except for zeros and for the memories of externs that are `known`: these are not read.
    pub fn read_counted(
        &self,
        live: &dyn Live,
        known: &dyn Fn(u32) -> bool,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let cells = counted().into_iter().filter(|query| !matches!(query, Entity::ExternEntry(_)));
        let unknown = self.catalog.extern_objects().map(|(_, object)| object.id()).filter(|id| !known(*id));
        let memories =
            unknown.map(|extern_id| Entity::ExternEntry(ExternEntry { extern_id, ..ExternEntry::default() }));
        let all = std::iter::once(direct_counters()).chain(cells).chain(memories);
        self.read_written_some(&mut Written::of(all.map(Step::query)), &mut { u64::MAX }, live, out)
    }
}

/// The query for all entries of all tables, with their rates.
fn entries() -> TableEntry {
    TableEntry { meter_config: Some(MeterConfig::default()), ..TableEntry::default() }
}

/// The query for the counters of entries.
fn direct_counters() -> Entity {
    Entity::DirectCounterEntry(DirectCounterEntry::default())
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

/// True for entities that have the state of a newly built device, apart from default entries.
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
