//! An update, taken apart.

use crate::catalog::Catalog;
use crate::desired::Desired;
use crate::fault::{Result, Within, fault, not_supported};
use crate::{object, profile, replication, table};
use base_diag::Span;
use p4runtime_proto::p4::v1::{
    self, PacketReplicationEngineEntry, Update, entity::Entity, packet_replication_engine_entry as pre,
    update::Type,
};

/// How an update makes what an entity says: what is always there is modified.
pub(crate) fn making(entity: &v1::Entity) -> Type {
    match &entity.entity {
        Some(Entity::TableEntry(e)) if e.is_default_action => Type::Modify,
        Some(
            Entity::CounterEntry(_)
            | Entity::MeterEntry(_)
            | Entity::RegisterEntry(_)
            | Entity::ValueSetEntry(_),
        ) => Type::Modify,
        _ => Type::Insert,
    }
}

/// Does one update.
pub(crate) fn perform(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    update: &Update,
    span: Span,
) -> Result<()> {
    let how = match Type::try_from(update.r#type) {
        Ok(how) if how != Type::Unspecified => how,
        _ => return fault("an update without a type", "it is INSERT, MODIFY or DELETE").within("type"),
    };
    let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.as_ref()) else {
        return fault("an update of nothing", "it names no entity").within("entity");
    };
    match entity {
        Entity::TableEntry(e) => table::table_entry(catalog, desired, how, e, span).within("table_entry"),
        Entity::ActionProfileMember(e) => {
            profile::member(catalog, desired, how, e, span).within("action_profile_member")
        }
        Entity::ActionProfileGroup(e) => {
            profile::group(catalog, desired, how, e, span).within("action_profile_group")
        }
        Entity::CounterEntry(e) => object::counter(catalog, desired, how, e, span).within("counter_entry"),
        Entity::MeterEntry(e) => object::meter(catalog, desired, how, e, span).within("meter_entry"),
        Entity::RegisterEntry(e) => object::register(catalog, desired, how, e, span).within("register_entry"),
        Entity::ValueSetEntry(e) => {
            object::value_set(catalog, desired, how, e, span).within("value_set_entry")
        }
        Entity::PacketReplicationEngineEntry(e) => {
            replication(desired, how, e, span).within("packet_replication_engine_entry")
        }
        Entity::DirectCounterEntry(_) => {
            not_supported("values of direct counters").within("direct_counter_entry")
        }
        Entity::DirectMeterEntry(_) => not_supported("rates of direct meters").within("direct_meter_entry"),
        Entity::DigestEntry(_) => not_supported("settings of digests").within("digest_entry"),
        Entity::ExternEntry(_) => not_supported("entries of other externs").within("extern_entry"),
    }
    .within("entity")
}

fn replication(
    desired: &mut Desired,
    how: Type,
    entry: &PacketReplicationEngineEntry,
    span: Span,
) -> Result<()> {
    match &entry.r#type {
        Some(pre::Type::MulticastGroupEntry(e)) => {
            replication::multicast(desired, how, e, span).within("multicast_group_entry")
        }
        Some(pre::Type::CloneSessionEntry(e)) => {
            replication::clone_session(desired, how, e, span).within("clone_session_entry")
        }
        None => fault("an update of nothing", "it is neither a multicast group nor a clone session"),
    }
}
