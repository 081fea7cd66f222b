//! A change as the update that makes it: the inverse of planning.

use crate::catalog::Catalog;
use crate::change::{Change, DefaultEntry};
use crate::fault::{Result, not_supported};
use crate::profile;
use crate::store::Store;
use crate::{action, data, matches, object, replication};
use p4runtime_proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, Entity, Index, MeterEntry, MulticastGroupEntry, PacketReplicationEngineEntry,
    RegisterEntry, TableAction, TableEntry, Update, ValueSetEntry, ValueSetMember, action_profile_group,
    entity::Entity as Kind, packet_replication_engine_entry as pre, table_action, update::Type,
};

impl Store {
    /// The update that makes a change where nothing has been written before. Changes that P4Runtime cannot express are
    /// refused.
    pub fn update_of(&self, change: &Change) -> Result<Update> {
        let catalog = self.catalog();
        let how = |is_deleted: bool| if is_deleted { Type::Delete } else { Type::Insert };
        let counted = |count: control_writes::Count| CounterData {
            byte_count: signed(count.bytes),
            packet_count: signed(count.packets),
        };
        let (how, kind) = match change {
            Change::Entry { table, key, to, count } => {
                let known = catalog.table(*table)?;
                let message = match to {
                    Some(entry) => TableEntry {
                        meter_config: entry.meter.as_ref().map(object::config),
                        counter_data: count.map(counted),
                        is_const: false,
                        ..self.plain_entry(known, key, entry)
                    },
                    None => TableEntry {
                        table_id: *table,
                        r#match: matches::encode(&known.match_fields, &key.matches),
                        priority: i32::try_from(key.priority).unwrap_or(i32::MAX),
                        ..TableEntry::default()
                    },
                };
                (how(to.is_none()), Kind::TableEntry(message))
            }
            Change::Default { table, to, count } => {
                #[allow(deprecated)]
                let message = TableEntry {
                    table_id: *table,
                    action: default_action(catalog, to),
                    is_default_action: true,
                    metadata: to.metadata.clone(),
                    controller_metadata: to.controller_metadata,
                    meter_config: to.meter.as_ref().map(object::config),
                    counter_data: count.map(counted),
                    ..TableEntry::default()
                };
                (Type::Modify, Kind::TableEntry(message))
            }
            Change::Member { profile, member, to } => {
                let message = ActionProfileMember {
                    action_profile_id: *profile,
                    member_id: *member,
                    action: to.as_ref().map(|call| action::encode(catalog, call)),
                };
                (how(to.is_none()), Kind::ActionProfileMember(message))
            }
            Change::Group { profile, group, to } => {
                let members = to.iter().flat_map(|group| &group.members);
                let members = members.map(|member| action_profile_group::Member {
                    member_id: member.member,
                    weight: member.weight,
                    watch_kind: profile::member_watch(member.watch),
                });
                let message = ActionProfileGroup {
                    action_profile_id: *profile,
                    group_id: *group,
                    members: members.collect(),
                    max_size: to.as_ref().map_or(0, |group| group.max_size),
                };
                (how(to.is_none()), Kind::ActionProfileGroup(message))
            }
            Change::Multicast { group, to } => {
                let message = pre::Type::MulticastGroupEntry(MulticastGroupEntry {
                    multicast_group_id: *group,
                    replicas: to.as_ref().map_or(vec![], |to| replication::encode(&to.replicas)),
                    metadata: to.as_ref().map_or(vec![], |to| to.metadata.clone()),
                });
                (how(to.is_none()), replicated(message))
            }
            Change::CloneSession { session, to } => {
                if to.as_ref().is_some_and(|to| to.group.is_some()) {
                    return not_supported("clone sessions that go to multicast groups");
                }
                let length = to.as_ref().map_or(0, |to| to.packet_length_bytes);
                let message = pre::Type::CloneSessionEntry(CloneSessionEntry {
                    session_id: *session,
                    replicas: to.as_ref().map_or(vec![], |to| replication::encode(&to.replicas)),
                    class_of_service: to.as_ref().map_or(0, |to| to.class_of_service.into()),
                    packet_length_bytes: i32::try_from(length).unwrap_or(i32::MAX),
                });
                (how(to.is_none()), replicated(message))
            }
            Change::ValueSet { set, members } => {
                let fields = &catalog.value_set(*set)?.r#match;
                let member = |member: &Vec<_>| ValueSetMember { r#match: matches::encode(fields, member) };
                let members = members.iter().map(member).collect();
                (Type::Modify, Kind::ValueSetEntry(ValueSetEntry { value_set_id: *set, members }))
            }
            Change::Digest { digest, to } => {
                let config = to.map(|to| object::digest_config(&to));
                (how(to.is_none()), Kind::DigestEntry(DigestEntry { digest_id: *digest, config }))
            }
            Change::Meter { meter, index, to } => {
                let (index, config) = (at(*index), to.as_ref().map(object::config));
                let message = MeterEntry { meter_id: *meter, index, config, counter_data: None };
                (Type::Modify, Kind::MeterEntry(message))
            }
            Change::MeterArray { meter, to } => {
                let config = to.as_ref().map(object::config);
                let message = MeterEntry { meter_id: *meter, index: None, config, counter_data: None };
                (Type::Modify, Kind::MeterEntry(message))
            }
            Change::Counter { counter, index, to } => {
                let (index, data) = (at(*index), Some(counted(*to)));
                (Type::Modify, Kind::CounterEntry(CounterEntry { counter_id: *counter, index, data }))
            }
            Change::CounterReset { counter } => {
                let data = Some(CounterData::default());
                (Type::Modify, Kind::CounterEntry(CounterEntry { counter_id: *counter, index: None, data }))
            }
            Change::Register { register, index, to } => {
                let spec = catalog.register(*register)?.type_spec.as_ref();
                let (index, data) = (at(*index), Some(data::encode(catalog, spec, to)?));
                (Type::Modify, Kind::RegisterEntry(RegisterEntry { register_id: *register, index, data }))
            }
            Change::RegisterReset { register } => {
                let spec = catalog.register(*register)?.type_spec.as_ref();
                let data = Some(data::encode(catalog, spec, &catalog.register_zero(*register)?)?);
                let message = RegisterEntry { register_id: *register, index: None, data };
                (Type::Modify, Kind::RegisterEntry(message))
            }
            Change::DirectCounter { table, key, to } => {
                let known = catalog.table(*table)?;
                let message = DirectCounterEntry {
                    table_entry: Some(TableEntry {
                        table_id: *table,
                        r#match: matches::encode(&known.match_fields, &key.matches),
                        priority: i32::try_from(key.priority).unwrap_or(i32::MAX),
                        is_default_action: key.is_of_default(),
                        ..TableEntry::default()
                    }),
                    data: Some(counted(*to)),
                };
                (Type::Modify, Kind::DirectCounterEntry(message))
            }
            Change::Memory { object, to } => {
                (Type::Modify, Kind::ExternEntry(self.memory_message(*object, to)?))
            }
            Change::CustomCrc { .. } => return not_supported("parameters of hash functions"),
        };
        Ok(Update { r#type: how as i32, entity: Some(Entity { entity: Some(kind) }) })
    }
}

/// Action of a default entry that was written, or the member that it names.
pub(crate) fn default_action(catalog: &Catalog, of: &DefaultEntry) -> Option<TableAction> {
    let call = of.call.as_ref()?;
    let run = match of.member {
        Some(member) => table_action::Type::ActionProfileMemberId(member),
        None => table_action::Type::Action(action::encode(catalog, call)),
    };
    Some(TableAction { r#type: Some(run) })
}

fn replicated(kind: pre::Type) -> Kind {
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}

fn at(index: u64) -> Option<Index> {
    Some(Index { index: signed(index) })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
