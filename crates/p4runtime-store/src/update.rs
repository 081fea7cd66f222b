//! An update, taken apart.

use crate::change::Change;
use crate::fault::{Result, Within, fault};
use crate::store::Store;
use crate::{extern_memory, object, profile, replication, table};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    self, PacketReplicationEngineEntry, Update, entity::Entity, packet_replication_engine_entry as pre,
    update::Type,
};

/// Type of the update that writes an entity: entities that always exist are modified.
pub fn making(entity: &v1::Entity) -> Type {
    match &entity.entity {
        Some(Entity::TableEntry(e)) if e.is_default_action => Type::Modify,
        Some(
            Entity::CounterEntry(_)
            | Entity::DirectCounterEntry(_)
            | Entity::MeterEntry(_)
            | Entity::DirectMeterEntry(_)
            | Entity::RegisterEntry(_)
            | Entity::ValueSetEntry(_)
            | Entity::ExternEntry(_),
        ) => Type::Modify,
        _ => Type::Insert,
    }
}

/// Limit on the bytes of one entity. A larger one could not be read again: gRPC's clients accept messages of 4 MiB.
const MOST_BYTES: usize = 2 << 20;

/// The most bytes of metadata and replicas of all entities. With more, the answer to a read of all could be larger than servers send.
const MOST_BULK: usize = 32 << 20;

impl Store {
    /// Changes of an update, in order; nothing is changed yet. Writes to all cells of an object give more than one change, and so do those
    /// to members that default entries name.
    pub fn plan(&self, change: &Update) -> Result<Vec<Change>> {
        plan(self, change)
    }

    /// Takes an entry that the program has from the start; the device has it already. Of entries with one key the
    /// first counts.
    pub fn load_initial(&mut self, update: &Update) -> Result<()> {
        if let Some(change) = plan_initial(self, update)? {
            self.commit(change, None);
        }
        Ok(())
    }
}

fn plan(store: &Store, update: &Update) -> Result<Vec<Change>> {
    let changes = plan_unbounded(store, update)?;
    let bulk = changes.iter().map(|change| store.bulk_with(change)).max().unwrap_or(0);
    if bulk > MOST_BULK {
        let why =
            format!("all entities together would have {bulk} bytes of them, and the limit is {MOST_BULK}");
        return fault("too much metadata, or too many replicas", why)
            .code(Code::ResourceExhausted)
            .within("entity");
    }
    changes.iter().try_for_each(|change| store.check_memory(change)).within("entity")?;
    Ok(changes)
}

fn plan_unbounded(store: &Store, update: &Update) -> Result<Vec<Change>> {
    let how = match Type::try_from(update.r#type) {
        Ok(how) if how != Type::Unspecified => how,
        _ => {
            return fault("the update type is missing", "it must be INSERT, MODIFY or DELETE").within("type");
        }
    };
    let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.as_ref()) else {
        return fault("the update has no entity", "it must name one").within("entity");
    };
    let bytes = p4runtime_proto::binary_size(update);
    let most = match entity {
        Entity::ExternEntry(_) => extern_memory::MOST_MEMORY,
        _ => MOST_BYTES,
    };
    if bytes > most {
        return fault("the entity is too large", format!("it has {bytes} bytes, and the limit is {most}"))
            .code(Code::ResourceExhausted)
            .within("entity");
    }
    let one = |change: Result<Change>| change.map(|change| vec![change]);
    match entity {
        Entity::TableEntry(e) => one(table::plan(store, how, e)).within("table_entry"),
        Entity::ActionProfileMember(e) => profile::plan_member(store, how, e).within("action_profile_member"),
        Entity::ActionProfileGroup(e) => {
            one(profile::plan_group(store, how, e)).within("action_profile_group")
        }
        Entity::CounterEntry(e) => object::plan_counter(store, how, e).within("counter_entry"),
        Entity::DirectCounterEntry(e) => {
            object::plan_direct_counter(store, how, e).within("direct_counter_entry")
        }
        Entity::MeterEntry(e) => object::plan_meter(store, how, e).within("meter_entry"),
        Entity::DirectMeterEntry(e) => {
            one(object::plan_direct_meter(store, how, e)).within("direct_meter_entry")
        }
        Entity::RegisterEntry(e) => object::plan_register(store, how, e).within("register_entry"),
        Entity::ValueSetEntry(e) => one(object::plan_value_set(store, how, e)).within("value_set_entry"),
        Entity::DigestEntry(e) => one(object::plan_digest(store, how, e)).within("digest_entry"),
        Entity::PacketReplicationEngineEntry(e) => {
            one(plan_replication(store, how, e)).within("packet_replication_engine_entry")
        }
        Entity::ExternEntry(e) => one(extern_memory::plan(&store.catalog, how, e)).within("extern_entry"),
    }
    .within("entity")
}

/// An entry of the program's own.
fn plan_initial(store: &Store, update: &Update) -> Result<Option<Change>> {
    match update.entity.as_ref().and_then(|e| e.entity.as_ref()) {
        Some(Entity::TableEntry(e)) => table::plan_initial(store, e).within("table_entry").within("entity"),
        _ => fault("this is not an entry of a table", "a program has no other entities of its own"),
    }
}

fn plan_replication(store: &Store, how: Type, entry: &PacketReplicationEngineEntry) -> Result<Change> {
    match &entry.r#type {
        Some(pre::Type::MulticastGroupEntry(e)) => {
            replication::plan_multicast(store, how, e).within("multicast_group_entry")
        }
        Some(pre::Type::CloneSessionEntry(e)) => {
            replication::plan_session(store, how, e).within("clone_session_entry")
        }
        None => fault("the update has no entity", "it must be a multicast group or a clone session"),
    }
}
