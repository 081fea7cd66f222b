//! Canonical queries: two queries with the same canonical form find the same entities.

use p4runtime_proto::p4::v1::{
    self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, MeterConfig, MeterCounterData, MeterEntry, MulticastGroupEntry,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, ValueSetEntry, entity::Entity,
    packet_replication_engine_entry as pre, table_entry::IdleTimeout,
};

/// The query without the fields that [`Store::read`](crate::Store::read) ignores.
pub fn canonical(query: &v1::Entity) -> v1::Entity {
    let entity = query.entity.as_ref().map(|entity| match entity {
        Entity::TableEntry(q) => Entity::TableEntry(of_entry(q)),
        Entity::ActionProfileMember(q) => {
            Entity::ActionProfileMember(ActionProfileMember { action: None, ..q.clone() })
        }
        Entity::ActionProfileGroup(q) => Entity::ActionProfileGroup(ActionProfileGroup {
            action_profile_id: q.action_profile_id,
            group_id: q.group_id,
            ..ActionProfileGroup::default()
        }),
        Entity::CounterEntry(q) => Entity::CounterEntry(CounterEntry {
            data: None,
            // A read of all counters ignores the index.
            index: q.index.filter(|_| q.counter_id != 0),
            ..*q
        }),
        Entity::DirectCounterEntry(q) => Entity::DirectCounterEntry(DirectCounterEntry {
            table_entry: q.table_entry.as_ref().map(of_direct),
            data: None,
        }),
        Entity::MeterEntry(q) => Entity::MeterEntry(MeterEntry {
            config: None,
            index: q.index.filter(|_| q.meter_id != 0),
            counter_data: q.counter_data.as_ref().map(|_| MeterCounterData::default()),
            ..*q
        }),
        Entity::DirectMeterEntry(q) => Entity::DirectMeterEntry(DirectMeterEntry {
            table_entry: q.table_entry.as_ref().map(of_direct),
            config: None,
            counter_data: q.counter_data.as_ref().map(|_| MeterCounterData::default()),
        }),
        Entity::RegisterEntry(q) => Entity::RegisterEntry(RegisterEntry {
            data: None,
            index: q.index.filter(|_| q.register_id != 0),
            ..*q
        }),
        Entity::ValueSetEntry(q) => {
            Entity::ValueSetEntry(ValueSetEntry { value_set_id: q.value_set_id, members: vec![] })
        }
        Entity::DigestEntry(q) => Entity::DigestEntry(DigestEntry { digest_id: q.digest_id, config: None }),
        Entity::PacketReplicationEngineEntry(q) => {
            let kind = q.r#type.as_ref().map(|kind| match kind {
                pre::Type::MulticastGroupEntry(q) => pre::Type::MulticastGroupEntry(MulticastGroupEntry {
                    multicast_group_id: q.multicast_group_id,
                    ..MulticastGroupEntry::default()
                }),
                pre::Type::CloneSessionEntry(q) => pre::Type::CloneSessionEntry(CloneSessionEntry {
                    session_id: q.session_id,
                    ..CloneSessionEntry::default()
                }),
            });
            Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: kind })
        }
        Entity::ExternEntry(q) => Entity::ExternEntry(v1::ExternEntry {
            extern_type_id: q.extern_type_id,
            extern_id: q.extern_id,
            ..v1::ExternEntry::default()
        }),
    });
    v1::Entity { entity }
}

fn of_entry(q: &TableEntry) -> TableEntry {
    let counter_data = q.counter_data.map(|_| CounterData::default());
    let meter_config = q.meter_config.map(|_| MeterConfig::default());
    let meter_counter_data = q.meter_counter_data.map(|_| MeterCounterData::default());
    let time_since_last_hit = q.time_since_last_hit.map(|_| IdleTimeout::default());
    let asked = TableEntry {
        table_id: q.table_id,
        is_default_action: q.is_default_action,
        counter_data,
        meter_config,
        meter_counter_data,
        time_since_last_hit,
        ..TableEntry::default()
    };
    if q.table_id == 0 || q.is_default_action {
        return asked;
    }
    #[allow(deprecated)]
    TableEntry {
        r#match: q.r#match.clone(),
        priority: q.priority,
        action: q.action.clone(),
        controller_metadata: q.controller_metadata,
        metadata: q.metadata.clone(),
        ..asked
    }
}

fn of_direct(q: &TableEntry) -> TableEntry {
    TableEntry {
        table_id: q.table_id,
        is_default_action: q.is_default_action,
        priority: q.priority,
        r#match: if q.table_id == 0 { vec![] } else { q.r#match.clone() },
        ..TableEntry::default()
    }
}

/// True if a query searches all entities of a kind, rather than looking one up.
pub fn looks_through(query: &v1::Entity) -> bool {
    let through =
        |entry: &TableEntry| entry.table_id == 0 || (!entry.is_default_action && entry.r#match.is_empty());
    match &query.entity {
        Some(Entity::TableEntry(q)) => through(q),
        Some(Entity::DirectCounterEntry(q)) => q.table_entry.as_ref().is_none_or(through),
        Some(Entity::DirectMeterEntry(q)) => q.table_entry.as_ref().is_none_or(through),
        Some(Entity::CounterEntry(q)) => q.counter_id == 0 || q.index.is_none(),
        Some(Entity::MeterEntry(q)) => q.meter_id == 0 || q.index.is_none(),
        Some(Entity::RegisterEntry(q)) => q.register_id == 0 || q.index.is_none(),
        Some(Entity::ActionProfileMember(q)) => q.action_profile_id == 0 || q.member_id == 0,
        Some(Entity::ActionProfileGroup(q)) => q.action_profile_id == 0 || q.group_id == 0,
        Some(Entity::PacketReplicationEngineEntry(q)) => match &q.r#type {
            Some(pre::Type::MulticastGroupEntry(q)) => q.multicast_group_id == 0,
            Some(pre::Type::CloneSessionEntry(q)) => q.session_id == 0,
            None => false,
        },
        // There are few of these.
        Some(Entity::ValueSetEntry(_) | Entity::DigestEntry(_) | Entity::ExternEntry(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::{from_text, to_text};

    #[test]
    fn what_is_not_looked_at_makes_no_difference() {
        let shown = |text: &str| to_text(&canonical(&from_text(text).unwrap())).unwrap().replace('\n', " ");
        let all = [
            "table_entry { priority: 1 }",
            "table_entry { metadata: \"a\" idle_timeout_ns: 9 }",
            "table_entry { controller_metadata: 7 action { action { action_id: 4 } } }",
        ];
        assert_eq!(all.map(shown), [(); 3].map(|()| shown("table_entry {}")));
        let counted = shown("table_entry { table_id: 5 counter_data { packet_count: 3 } }");
        assert_eq!(counted, shown("table_entry { table_id: 5 counter_data {} }"));
        assert_ne!(counted, shown("table_entry { table_id: 5 }"));
        assert_ne!(shown("table_entry { table_id: 5 priority: 1 }"), shown("table_entry { table_id: 5 }"));
        let cell = shown("register_entry { index { index: 3 } data { bool: true } }");
        assert_eq!(cell, shown("register_entry {}"));
    }
}
