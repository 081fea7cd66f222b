//! Notes of changed entities with their values after the change, for saving the state of a switch.
//!
//! Entries, groups and settings are noted as the store has them; cells of counters and registers, memories of externs and
//! counts of entries as a controller has written them, since packets change them without asking.

use crate::change::Change;
use crate::fault::{Result, not_supported};
use crate::read::{Live, counter_data, is_unwritten, key_message};
use crate::store::Store;
use crate::{data, object};
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, Entity, ExternEntry, Index, MeterEntry, MulticastGroupEntry,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, ValueSetEntry, entity::Entity as Kind,
    packet_replication_engine_entry as pre,
};
use state_journal::Notes;

impl Store {
    /// From now on, notes what changes, for [`take_notes`](Store::take_notes).
    pub fn keep_notes(&mut self) {
        self.notes.get_or_insert_default();
    }

    /// Changes since the last call.
    pub fn take_notes(&mut self) -> Notes {
        self.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// True if something has changed since the last call of [`take_notes`](Store::take_notes).
    pub fn has_notes(&self) -> bool {
        self.notes.as_ref().is_some_and(|notes| !notes.is_empty())
    }

    /// Puts removed notes back. They are older than changes noted since.
    pub fn give_back_notes(&mut self, mut taken: Notes) {
        if let Some(notes) = &mut self.notes {
            taken.follow(std::mem::take(notes));
            *notes = taken;
        }
    }

    /// Notes the present value of what a change is of, done or not.
    pub fn note(&mut self, change: &Change) {
        let Some(mut notes) = self.notes.take() else { return };
        self.note_in(change, &mut notes);
        self.notes = Some(notes);
    }

    fn note_in(&self, change: &Change, notes: &mut Notes) {
        let mut note = |query: Kind, now: Option<Kind>| {
            let entity = |kind| Entity { entity: Some(kind) };
            notes.note(entity(query), now.map(entity).filter(|now| !is_unwritten(now)));
        };
        let replication =
            |kind| Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) });
        let index = |cell: &u64| Some(Index { index: i64::try_from(*cell).unwrap_or(i64::MAX) });
        match change {
            Change::Entry { table, key, count, .. } => {
                let Some(query) = self.key_of(*table, key) else { return };
                let now = self.entry_now(*table, key);
                let is_gone = now.is_none();
                note(Kind::TableEntry(query.clone()), now.map(Kind::TableEntry));
                // An entry that goes takes its counts along, and one that comes begins with its own.
                if self.catalog.direct_counter(*table).is_some() && (is_gone || count.is_some()) {
                    note(
                        direct_counter(&query, None),
                        count.map(|count| direct_counter(&query, Some(count))),
                    );
                }
            }
            Change::Default { table, count, .. } => {
                let query = TableEntry { table_id: *table, is_default_action: true, ..TableEntry::default() };
                let state = self.default_entry(*table);
                let is_written = state.call.is_some() || !state.metadata.is_empty();
                let now = self.catalog.table(*table).ok().filter(|_| is_written);
                let now = now.map(|table| Kind::TableEntry(self.default_message(table)));
                note(Kind::TableEntry(query.clone()), now);
                let meter = |config| {
                    let table_entry = Some(query.clone());
                    Kind::DirectMeterEntry(DirectMeterEntry { table_entry, config, counter_data: None })
                };
                note(meter(None), Some(meter(state.meter.as_ref().map(object::config))));
                if count.is_some() {
                    note(direct_counter(&query, None), Some(direct_counter(&query, *count)));
                }
            }
            Change::DirectCounter { table, key, to } => {
                let Some(query) = self.key_of(*table, key) else { return };
                note(direct_counter(&query, None), Some(direct_counter(&query, Some(*to))));
            }
            Change::Counter { counter, index: cell, to } => {
                let query = CounterEntry { counter_id: *counter, index: index(cell), data: None };
                let now = CounterEntry { data: Some(counter_data(*to)), ..query };
                note(Kind::CounterEntry(query), Some(Kind::CounterEntry(now)));
            }
            Change::Register { register, index: cell, to } => {
                let query = RegisterEntry { register_id: *register, index: index(cell), data: None };
                let spec = self.catalog.register(*register).ok().and_then(|info| info.type_spec.as_ref());
                let data = data::encode(&self.catalog, spec, to).ok();
                let now = RegisterEntry { data, ..query.clone() };
                note(Kind::RegisterEntry(query), Some(Kind::RegisterEntry(now)));
            }
            Change::Memory { object, to } => {
                let Ok(now) = self.memory_message(*object, to) else { return };
                let query = ExternEntry { entry: None, ..now.clone() };
                note(Kind::ExternEntry(query), Some(Kind::ExternEntry(now)));
            }
            Change::Member { profile, member, .. } => {
                let query =
                    ActionProfileMember { action_profile_id: *profile, member_id: *member, action: None };
                self.note_read(Kind::ActionProfileMember(query), &mut note);
            }
            Change::Group { profile, group, .. } => {
                let query = ActionProfileGroup {
                    action_profile_id: *profile,
                    group_id: *group,
                    ..ActionProfileGroup::default()
                };
                self.note_read(Kind::ActionProfileGroup(query), &mut note);
            }
            Change::Multicast { group, .. } => {
                let query =
                    MulticastGroupEntry { multicast_group_id: *group, ..MulticastGroupEntry::default() };
                self.note_read(replication(pre::Type::MulticastGroupEntry(query)), &mut note);
            }
            Change::CloneSession { session, .. } => {
                let query = CloneSessionEntry { session_id: *session, ..CloneSessionEntry::default() };
                self.note_read(replication(pre::Type::CloneSessionEntry(query)), &mut note);
            }
            Change::ValueSet { set, .. } => {
                let query = ValueSetEntry { value_set_id: *set, members: vec![] };
                self.note_read(Kind::ValueSetEntry(query), &mut note);
            }
            Change::Digest { digest, .. } => {
                let query = DigestEntry { digest_id: *digest, config: None };
                self.note_read(Kind::DigestEntry(query), &mut note);
            }
            Change::Meter { meter, index: cell, .. } => {
                let query = MeterEntry { meter_id: *meter, index: index(cell), ..MeterEntry::default() };
                self.note_read(Kind::MeterEntry(query), &mut note);
            }
            // No message asks for them.
            Change::MeterArray { .. }
            | Change::CounterReset { .. }
            | Change::RegisterReset { .. }
            | Change::CustomCrc { .. } => {}
        }
    }

    /// Notes the entity that a query finds; a query whose entity is gone finds nothing.
    fn note_read(&self, query: Kind, note: &mut impl FnMut(Kind, Option<Kind>)) {
        let mut now = None;
        let asked = Entity { entity: Some(query.clone()) };
        let _ = self.read(&asked, &Nothing, &mut |found| now = found.entity);
        note(query, now);
    }

    /// The key of an entry of a table as a message.
    fn key_of(&self, table: u32, key: &EntryKey) -> Option<TableEntry> {
        Some(key_message(self.catalog.table(table).ok()?, key))
    }

    /// The entry with its rates, if there is one.
    fn entry_now(&self, table: u32, key: &EntryKey) -> Option<TableEntry> {
        let entry = self.entry(table, key)?;
        let message = self.plain_entry(self.catalog.table(table).ok()?, key, entry);
        Some(TableEntry { meter_config: entry.meter.as_ref().map(object::config), ..message })
    }
}

fn direct_counter(entry: &TableEntry, count: Option<Count>) -> Kind {
    let (table_entry, data) = (Some(entry.clone()), count.map(counter_data));
    Kind::DirectCounterEntry(DirectCounterEntry { table_entry, data })
}

/// No data plane: the store is asked only for its own entities.
struct Nothing;

impl Live for Nothing {
    fn counter(&self, _: u32, _: u64) -> Result<Count> {
        not_supported("counters without a data plane")
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        not_supported("counters without a data plane")
    }

    fn register(&self, _: u32, _: u64) -> Result<Data> {
        not_supported("registers without a data plane")
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        not_supported("hits without a data plane")
    }
}
