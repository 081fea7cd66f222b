//! Translates an update of the whole program to updates of each device.

use crate::part::Rollout;
use p4runtime_proto::p4::v1::{CounterData, Entity, Update, digest_entry, entity::Entity as Kind};
use std::collections::BTreeMap;

/// Updates by device, in order.
pub(crate) type Spread = BTreeMap<usize, Vec<Update>>;

/// Adds the devices' updates for one update: control-plane state is the same on all devices; a count, the sum of its
/// copies, is written to the first device that has it, and zero to the others. Merged objects begin with zeros: see [`crate::merged`].
pub(crate) fn spread(rollout: &Rollout, update: &Update, out: &mut Spread) {
    let Some(entity) = update.entity.as_ref().filter(|entity| !rollout.is_merged(entity)) else { return };
    for (place, device) in rollout.holders(entity).into_iter().enumerate() {
        let mut update = update.clone();
        if let Some(entity) = &mut update.entity {
            adapt(rollout, entity, place == 0);
        }
        out.entry(device).or_default().push(update);
    }
}

/// Update for one device, if it alone has the entity.
pub(crate) fn to_one(rollout: &Rollout, device: usize, update: &Update) -> Option<Update> {
    let part = rollout.parts.get(device)?.as_ref()?;
    let mut update = update.clone();
    let is_here =
        |entity: &Entity| part.holds(entity, device == rollout.origin) && !rollout.is_merged(entity);
    let entity = update.entity.as_mut().filter(|entity| is_here(entity))?;
    adapt(rollout, entity, true);
    Some(update)
}

fn adapt(rollout: &Rollout, entity: &mut Entity, is_first: bool) {
    let zero = |id: u32, data: &mut Option<CounterData>| {
        let is_part = rollout.merge_of(id).is_some_and(|merge| !merge.is_idempotent());
        if is_part && !is_first {
            *data = data.map(|_| CounterData::default());
        }
    };
    match &mut entity.entity {
        Some(Kind::TableEntry(e)) if rollout.is_numbered(e.table_id) => e.counter_data = None,
        Some(Kind::TableEntry(e)) => zero(e.table_id, &mut e.counter_data),
        Some(Kind::CounterEntry(e)) => zero(e.counter_id, &mut e.data),
        Some(Kind::DirectCounterEntry(e)) => {
            zero(e.table_entry.as_ref().map_or(0, |entry| entry.table_id), &mut e.data);
        }
        // Devices send each digest at once; the northbound server batches them.
        Some(Kind::DigestEntry(e)) => e.config = e.config.map(|_| digest_entry::Config::default()),
        _ => {}
    }
}
