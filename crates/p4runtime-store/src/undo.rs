//! Updates that undo an update on another device that keeps the same entities.
//!
//! ```text
//! INSERT x           DELETE x
//! DELETE x           INSERT x as it was, with its counts
//! MODIFY x to y      MODIFY x to its former state
//! ```

use crate::fault::Result;
use crate::read::Live;
use crate::store::Store;
use p4runtime_proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, Entity, ExternEntry, MeterConfig, MeterEntry, MulticastGroupEntry,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, Update, ValueSetEntry, entity::Entity as Kind,
    packet_replication_engine_entry as pre, update::Type,
};

impl Store {
    /// The query for exactly the entity of an update, with all fields that an update can write. `None` for an empty
    /// update.
    pub fn query(&self, update: &Update) -> Option<Entity> {
        let query = match update.entity.as_ref()?.entity.as_ref()? {
            Kind::TableEntry(e) => Kind::TableEntry(TableEntry {
                table_id: e.table_id,
                r#match: e.r#match.clone(),
                priority: e.priority,
                is_default_action: e.is_default_action,
                meter_config: Some(MeterConfig::default()),
                counter_data: self
                    .catalog
                    .direct_counter(e.table_id)
                    .filter(|_| !e.is_default_action || self.catalog.counts_misses())
                    .map(|_| CounterData::default()),
                ..TableEntry::default()
            }),
            Kind::ActionProfileMember(e) => Kind::ActionProfileMember(ActionProfileMember {
                action_profile_id: e.action_profile_id,
                member_id: e.member_id,
                action: None,
            }),
            Kind::ActionProfileGroup(e) => Kind::ActionProfileGroup(ActionProfileGroup {
                action_profile_id: e.action_profile_id,
                group_id: e.group_id,
                ..ActionProfileGroup::default()
            }),
            Kind::CounterEntry(e) => {
                Kind::CounterEntry(CounterEntry { counter_id: e.counter_id, index: e.index, data: None })
            }
            Kind::DirectCounterEntry(e) => Kind::DirectCounterEntry(DirectCounterEntry {
                table_entry: e.table_entry.clone(),
                data: None,
            }),
            Kind::MeterEntry(e) => {
                Kind::MeterEntry(MeterEntry { meter_id: e.meter_id, index: e.index, ..MeterEntry::default() })
            }
            Kind::DirectMeterEntry(e) => Kind::DirectMeterEntry(DirectMeterEntry {
                table_entry: e.table_entry.clone(),
                ..DirectMeterEntry::default()
            }),
            Kind::RegisterEntry(e) => {
                Kind::RegisterEntry(RegisterEntry { register_id: e.register_id, index: e.index, data: None })
            }
            Kind::ValueSetEntry(e) => {
                Kind::ValueSetEntry(ValueSetEntry { value_set_id: e.value_set_id, members: vec![] })
            }
            Kind::DigestEntry(e) => Kind::DigestEntry(DigestEntry { digest_id: e.digest_id, config: None }),
            Kind::PacketReplicationEngineEntry(e) => {
                Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                    r#type: Some(match e.r#type.as_ref()? {
                        pre::Type::MulticastGroupEntry(e) => {
                            pre::Type::MulticastGroupEntry(MulticastGroupEntry {
                                multicast_group_id: e.multicast_group_id,
                                ..MulticastGroupEntry::default()
                            })
                        }
                        pre::Type::CloneSessionEntry(e) => pre::Type::CloneSessionEntry(CloneSessionEntry {
                            session_id: e.session_id,
                            ..CloneSessionEntry::default()
                        }),
                    }),
                })
            }
            Kind::ExternEntry(e) => Kind::ExternEntry(ExternEntry { entry: None, ..e.clone() }),
        };
        Some(Entity { entity: Some(query) })
    }

    /// The updates that roll an update back. The update must be applicable and not be applied yet; none if it changes nothing.
    pub fn undoing(&self, update: &Update, live: &dyn Live) -> Result<Vec<Update>> {
        let Some(query) = self.query(update) else { return Ok(vec![]) };
        if update.r#type() == Type::Insert {
            return Ok(vec![Update { r#type: Type::Delete as i32, entity: Some(query) }]);
        }
        let how = match update.r#type() {
            Type::Delete => Type::Insert,
            _ => Type::Modify,
        };
        let back =
            |entity: Kind| Update { r#type: how as i32, entity: Some(Entity { entity: Some(entity) }) };
        if let Some(Kind::TableEntry(query)) = &query.entity {
            return Ok(self
                .written_entry(query, live)?
                .map(|e| back(Kind::TableEntry(e)))
                .into_iter()
                .collect());
        }
        let mut old = vec![];
        self.read(&query, live, &mut |entity| old.extend(entity.entity.map(back)))?;
        Ok(old)
    }

    /// The entry that a message is about, as an update that makes it would say it. As a query it could mean several.
    fn written_entry(&self, query: &TableEntry, live: &dyn Live) -> Result<Option<TableEntry>> {
        let table = self.catalog.table(query.table_id)?;
        if query.is_default_action {
            let known = self.default_entry_message(table, query, live)?;
            let action = known.action.filter(|_| self.default_entry(query.table_id).call.is_some());
            return Ok(Some(TableEntry { action, is_const: false, ..known }));
        }
        let key = self.catalog.entry_key(query)?;
        let Some(entry) = self.entry(query.table_id, &key) else { return Ok(None) };
        let known = self.entry_message(table, &key, entry, query, live)?;
        Ok(Some(TableEntry { is_const: false, ..known }))
    }

    /// True if a query's answer has values of the data plane.
    pub fn reads_live(&self, query: &Entity) -> bool {
        match &query.entity {
            Some(
                Kind::CounterEntry(_)
                | Kind::DirectCounterEntry(_)
                | Kind::RegisterEntry(_)
                | Kind::ExternEntry(_),
            ) => true,
            Some(Kind::TableEntry(e)) => e.counter_data.is_some() || e.time_since_last_hit.is_some(),
            _ => false,
        }
    }
}
