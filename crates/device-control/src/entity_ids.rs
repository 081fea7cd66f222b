//! The ids and numbers in entities, and the counters that entities are about.

use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime_proto::p4::v1::table_action::Type as Action;
use p4runtime_proto::p4::v1::{CounterData, CounterEntry, DirectCounterEntry, Entity, TableEntry};
use p4runtime_proto::to_binary;
use p4runtime_store::Described;
use std::collections::BTreeMap;

/// An entry's place in its table.
pub(super) fn key_of(entry: &TableEntry) -> TableEntry {
    TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match.clone(),
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        ..TableEntry::default()
    }
}

/// Stands for the counter that an entity has the value of.
pub(super) fn counter_of(entity: &Entity) -> Option<Vec<u8>> {
    let kind = match entity.entity.as_ref()? {
        Kind::CounterEntry(entry) => Kind::CounterEntry(CounterEntry { data: None, ..*entry }),
        Kind::TableEntry(entry) => Kind::TableEntry(key_of(entry)),
        Kind::DirectCounterEntry(entry) => Kind::DirectCounterEntry(DirectCounterEntry {
            table_entry: entry.table_entry.as_ref().map(key_of),
            data: None,
        }),
        _ => return None,
    };
    Some(to_binary(&Entity { entity: Some(kind) }))
}

/// The count that an entity has.
pub(super) fn count_mut(entity: &mut Entity) -> Option<&mut CounterData> {
    match entity.entity.as_mut()? {
        Kind::CounterEntry(entry) => entry.data.as_mut(),
        Kind::TableEntry(entry) => entry.counter_data.as_mut(),
        Kind::DirectCounterEntry(entry) => entry.data.as_mut(),
        _ => None,
    }
}

/// Bits of an id below its kind.
const KIND_SHIFT: u32 = 24;

/// Ids by kind and name.
pub(super) fn names(info: &P4Info) -> BTreeMap<(u32, String), u32> {
    fn of<D: Described>(all: &[D]) -> impl Iterator<Item = ((u32, String), u32)> {
        all.iter().map(|one| ((one.id() >> KIND_SHIFT, one.name().to_string()), one.id()))
    }
    let externs = info.externs.iter().flat_map(|ty| of(&ty.instances));
    of(&info.tables)
        .chain(of(&info.actions))
        .chain(of(&info.action_profiles))
        .chain(of(&info.counters))
        .chain(of(&info.meters))
        .chain(of(&info.registers))
        .chain(of(&info.value_sets))
        .chain(of(&info.digests))
        .chain(externs)
        .collect()
}

/// True if an object has `@p4runtime_role`.
pub(super) fn names_roles(info: &P4Info) -> bool {
    fn any<D: Described>(all: &[D]) -> bool {
        let annotations = |one: &D| one.preamble().map_or(vec![], |preamble| preamble.annotations.clone());
        all.iter().flat_map(annotations).any(|text| text.starts_with("@p4runtime_role"))
    }
    let some = [any(&info.tables), any(&info.action_profiles), any(&info.counters), any(&info.meters)];
    some.contains(&true) || any(&info.registers) || any(&info.value_sets) || any(&info.digests)
}

/// Replaces all ids and numbers of an entity.
pub(super) fn each_number<E>(
    entity: &mut Entity,
    id: &mut dyn FnMut(u32) -> Result<u32, E>,
    group: &dyn Fn(u32) -> Result<u32, E>,
    session: &dyn Fn(u32) -> Result<u32, E>,
) -> Result<(), E> {
    match &mut entity.entity {
        Some(Kind::TableEntry(entry)) => table_entry(entry, id)?,
        Some(Kind::DirectCounterEntry(entry)) => {
            entry.table_entry.as_mut().map_or(Ok(()), |e| table_entry(e, id))?
        }
        Some(Kind::DirectMeterEntry(entry)) => {
            entry.table_entry.as_mut().map_or(Ok(()), |e| table_entry(e, id))?
        }
        Some(Kind::ActionProfileMember(entry)) => {
            entry.action_profile_id = id(entry.action_profile_id)?;
            if let Some(action) = &mut entry.action {
                action.action_id = id(action.action_id)?;
            }
        }
        Some(Kind::ActionProfileGroup(entry)) => entry.action_profile_id = id(entry.action_profile_id)?,
        Some(Kind::CounterEntry(entry)) => entry.counter_id = id(entry.counter_id)?,
        Some(Kind::MeterEntry(entry)) => entry.meter_id = id(entry.meter_id)?,
        Some(Kind::RegisterEntry(entry)) => entry.register_id = id(entry.register_id)?,
        Some(Kind::ValueSetEntry(entry)) => entry.value_set_id = id(entry.value_set_id)?,
        Some(Kind::DigestEntry(entry)) => entry.digest_id = id(entry.digest_id)?,
        Some(Kind::ExternEntry(entry)) => entry.extern_id = id(entry.extern_id)?,
        Some(Kind::PacketReplicationEngineEntry(entry)) => match &mut entry.r#type {
            Some(Replication::MulticastGroupEntry(of)) => {
                of.multicast_group_id = group(of.multicast_group_id)?
            }
            Some(Replication::CloneSessionEntry(of)) => of.session_id = session(of.session_id)?,
            None => {}
        },
        None => {}
    }
    Ok(())
}

fn table_entry<E>(entry: &mut TableEntry, id: &mut dyn FnMut(u32) -> Result<u32, E>) -> Result<(), E> {
    entry.table_id = id(entry.table_id)?;
    match entry.action.as_mut().and_then(|action| action.r#type.as_mut()) {
        Some(Action::Action(action)) => action.action_id = id(action.action_id)?,
        Some(Action::ActionProfileActionSet(set)) => {
            let actions = set.action_profile_actions.iter_mut().filter_map(|one| one.action.as_mut());
            for action in actions {
                action.action_id = id(action.action_id)?;
            }
        }
        Some(Action::ActionProfileMemberId(_) | Action::ActionProfileGroupId(_)) | None => {}
    }
    Ok(())
}
