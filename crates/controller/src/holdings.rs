//! Programs and entities of devices, as reported by their agents: for a controller that starts, and for audits.

use crate::ask::{Holdings, Kinds};
use crate::part::{Part, Rollout};
use p4runtime_proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, Entity, ExternEntry, MeterConfig, MeterEntry, MulticastGroupEntry,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, Update, ValueSetEntry, entity::Entity as Kind,
    packet_replication_engine_entry as pre,
};
use p4runtime_proto::to_binary;
use p4runtime_store::{Catalog, Store, is_unwritten};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Queries for all entities of a device, with or without values of its data plane.
pub fn everything_held(of: Kinds) -> Vec<Entity> {
    let asked = TableEntry {
        meter_config: Some(MeterConfig::default()),
        counter_data: Some(CounterData::default()),
        ..TableEntry::default()
    };
    let defaults = || Some(TableEntry { is_default_action: true, ..TableEntry::default() });
    let replication =
        |kind| Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) });
    let kinds = [
        Kind::ActionProfileMember(ActionProfileMember::default()),
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
        Kind::TableEntry(asked),
        Kind::TableEntry(defaults().unwrap_or_default()),
        Kind::DirectMeterEntry(DirectMeterEntry { table_entry: defaults(), ..DirectMeterEntry::default() }),
        Kind::DirectCounterEntry(DirectCounterEntry { table_entry: defaults(), data: None }),
        replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry::default())),
        replication(pre::Type::CloneSessionEntry(CloneSessionEntry::default())),
        Kind::ValueSetEntry(ValueSetEntry::default()),
        Kind::DigestEntry(DigestEntry::default()),
        Kind::MeterEntry(MeterEntry::default()),
        Kind::CounterEntry(CounterEntry::default()),
        Kind::RegisterEntry(RegisterEntry::default()),
        Kind::ExternEntry(ExternEntry::default()),
    ];
    let all = kinds.into_iter().map(|kind| Entity { entity: Some(kind) });
    all.filter(|entity| of == Kinds::All || !is_counted(entity)).collect()
}

/// Rank of an entity in the order of writing: referenced entities come first.
fn rank(entity: &Entity) -> usize {
    let kind = entity.entity.as_ref().map(std::mem::discriminant);
    let all = everything_held(Kinds::All);
    let same = |known: &Entity| known.entity.as_ref().map(std::mem::discriminant) == kind;
    all.iter().position(same).unwrap_or(all.len())
}

/// True if the whole program has the entity's object; tables of the runtime exist only in parts.
fn is_known(catalog: &Catalog, entity: &Entity) -> bool {
    let table = |entry: Option<&TableEntry>| entry.is_some_and(|entry| catalog.table(entry.table_id).is_ok());
    match &entity.entity {
        None => false,
        Some(Kind::ExternEntry(e)) => catalog.extern_object(e.extern_id).is_ok(),
        Some(Kind::TableEntry(e)) => table(Some(e)),
        Some(Kind::ActionProfileMember(e)) => catalog.profile(e.action_profile_id).is_ok(),
        Some(Kind::ActionProfileGroup(e)) => catalog.profile(e.action_profile_id).is_ok(),
        Some(Kind::CounterEntry(e)) => catalog.counter(e.counter_id).is_ok(),
        Some(Kind::DirectCounterEntry(e)) => table(e.table_entry.as_ref()),
        Some(Kind::MeterEntry(e)) => catalog.meter(e.meter_id).is_ok(),
        Some(Kind::DirectMeterEntry(e)) => table(e.table_entry.as_ref()),
        Some(Kind::RegisterEntry(e)) => catalog.register(e.register_id).is_ok(),
        Some(Kind::ValueSetEntry(e)) => catalog.value_set(e.value_set_id).is_ok(),
        Some(Kind::DigestEntry(e)) => catalog.digest(e.digest_id).is_ok(),
        Some(Kind::PacketReplicationEngineEntry(_)) => true,
    }
}

/// True if an entity has the state of a newly built device, so no client has written it.
fn is_as_built(store: &Store, entity: &Entity) -> bool {
    is_unwritten(entity)
        || matches!(&entity.entity, Some(Kind::TableEntry(e)) if e.is_default_action && store.is_initial_default(e))
}

/// Entities of all devices in terms of the whole program, each once, referenced ones first, so that they can be written
/// again. Counts are joined by their objects' operators, but for merged ones, which every device shows whole. Where devices differ, the first that has an entity counts;
/// `store` is empty.
pub(crate) fn merge(store: &Store, rollout: &Rollout, held: &BTreeMap<usize, Holdings>) -> Vec<Entity> {
    let mut all: BTreeMap<(usize, Vec<u8>), Entity> = BTreeMap::new();
    for entity in held.values().flat_map(|held| &held.entities) {
        if !is_known(store.catalog(), entity) || is_as_built(store, entity) {
            continue;
        }
        let update = Update { entity: Some(entity.clone()), ..Update::default() };
        let Some(query) = store.query(&update) else { continue };
        let key = (rank(entity), to_binary(&query));
        match all.get_mut(&key) {
            Some(_) if rollout.is_merged(entity) || numbered(rollout, entity).is_some() => {}
            Some(known) => join_counts(known, entity, rollout),
            None => drop(all.insert(key, numbered(rollout, entity).unwrap_or_else(|| entity.clone()))),
        }
    }
    all.into_values().collect()
}

/// An entry whose direct counter is merged, without its number.
fn numbered(rollout: &Rollout, entity: &Entity) -> Option<Entity> {
    let Some(Kind::TableEntry(e)) = &entity.entity else { return None };
    let mut entry = rollout.is_numbered(e.table_id).then(|| e.clone())?;
    #[allow(deprecated)]
    {
        entry.controller_metadata = 0;
    }
    Some(Entity { entity: Some(Kind::TableEntry(entry)) })
}

fn join_counts(known: &mut Entity, other: &Entity, rollout: &Rollout) {
    let join = |id: u32, known: &mut Option<CounterData>, other: &Option<CounterData>| {
        if let (Some(known), Some(other), Some(merge)) = (known, other, rollout.merge_of(id)) {
            let both = |one: i64, other: i64| {
                let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
                // P4Runtime's counts are signed: a sum that does not fit stays at the largest.
                i64::try_from(merge.join(unsigned(one), unsigned(other))).unwrap_or(i64::MAX)
            };
            known.packet_count = both(known.packet_count, other.packet_count);
            known.byte_count = both(known.byte_count, other.byte_count);
        }
    };
    match (&mut known.entity, &other.entity) {
        (Some(Kind::TableEntry(known)), Some(Kind::TableEntry(other))) => {
            join(known.table_id, &mut known.counter_data, &other.counter_data);
        }
        (Some(Kind::CounterEntry(known)), Some(Kind::CounterEntry(other))) => {
            join(known.counter_id, &mut known.data, &other.data);
        }
        (Some(Kind::DirectCounterEntry(known)), Some(Kind::DirectCounterEntry(other))) => {
            let table = known.table_entry.as_ref().map_or(0, |entry| entry.table_id);
            join(table, &mut known.data, &other.data);
        }
        _ => {}
    }
}

/// Number of entities of a device that were written: those lost with another program.
pub(crate) fn written(held: &Holdings) -> usize {
    let counts = |entity: &&Entity| !is_counted(entity) && !is_unwritten(entity);
    let is_default =
        |entity: &&Entity| matches!(&entity.entity, Some(Kind::TableEntry(e)) if e.is_default_action);
    held.entities.iter().filter(counts).filter(|entity| !is_default(entity)).count()
}

/// True for values that data planes write.
pub(crate) fn is_counted(entity: &Entity) -> bool {
    matches!(
        entity.entity,
        Some(
            Kind::CounterEntry(_)
                | Kind::DirectCounterEntry(_)
                | Kind::RegisterEntry(_)
                | Kind::ExternEntry(_)
        )
    )
}

/// The counts of a data plane in an entity, without values that only controllers write.
pub(crate) fn counts(entity: Entity) -> Option<Entity> {
    match entity.entity {
        Some(Kind::TableEntry(e)) => e.counter_data.map(|data| {
            let key = TableEntry {
                table_id: e.table_id,
                r#match: e.r#match,
                priority: e.priority,
                is_default_action: e.is_default_action,
                ..TableEntry::default()
            };
            let kind = DirectCounterEntry { table_entry: Some(key), data: Some(data) };
            Entity { entity: Some(Kind::DirectCounterEntry(kind)) }
        }),
        _ => Some(entity).filter(is_counted),
    }
}

/// First difference between a device's entities and the desired ones, without values of its data plane; `None` if there
/// is none.
pub(crate) fn difference(part: &Part, wanted: Vec<Entity>, held: &Holdings) -> Option<String> {
    if held.config.as_ref().is_none_or(|config| config.p4_device_config != part.config.p4_device_config) {
        return Some("it runs another program".to_string());
    }
    let store = Store::new(Arc::new(part.config.p4info.clone().unwrap_or_default()));
    let bare = |entities: &[Entity]| -> BTreeSet<Vec<u8>> {
        let bare = |entity: &Entity| bare(&store, entity).map(|entity| to_binary(&entity));
        entities.iter().filter_map(bare).collect()
    };
    let (wanted, held) = (bare(&wanted), bare(&held.entities));
    let (missing, more) = (wanted.difference(&held).count(), held.difference(&wanted).count());
    (missing + more > 0)
        .then(|| format!("{missing} of its {} entities are missing, {more} are superfluous", wanted.len()))
}

/// An entity without values of the data plane; `None` if nothing is left, or if it was never written.
fn bare(store: &Store, entity: &Entity) -> Option<Entity> {
    if is_counted(entity) || is_as_built(store, entity) {
        return None;
    }
    let mut entity = entity.clone();
    if let Some(Kind::TableEntry(e)) = &mut entity.entity {
        e.counter_data = None;
        e.time_since_last_hit = None;
        if e.is_default_action {
            // Rates are a separate entity.
            e.meter_config = None;
        }
    }
    Some(entity)
}
