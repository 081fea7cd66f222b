//! Objects of a rollout that several devices have, to be merged, and their cells in P4Runtime's entities.

use crate::cells::Cells;
use crate::part::Rollout;
use flow_control::merge::Kind;
use p4runtime_proto::p4::v1::{Entity, entity::Entity as Kinds};
use p4runtime_store::Catalog;
use std::collections::{BTreeMap, BTreeSet};

/// Values of merged objects, by object and cell.
pub(crate) type Totals = BTreeMap<(u32, u64), u128>;

impl Rollout {
    /// Names of the objects whose copies are merged.
    pub fn merged_names(&self) -> impl Iterator<Item = &str> {
        let ids: BTreeSet<u32> = self.merged().map(|(id, ..)| id).collect();
        ids.into_iter().map(|id| self.object_name(id))
    }

    /// The name of a register or counter.
    pub fn object_name(&self, id: u32) -> &str {
        let registers = self.info.registers.iter().filter_map(|register| register.preamble.as_ref());
        let counters = self.info.counters.iter().filter_map(|counter| counter.preamble.as_ref());
        registers.chain(counters).find(|named| named.id == id).map_or("?", |named| named.name.as_str())
    }

    /// The objects whose copies are merged: those that several devices have.
    pub(crate) fn merged(&self) -> impl Iterator<Item = (u32, Kind, Vec<usize>)> {
        let catalog = Catalog::new(self.plain.clone());
        self.modes.iter().filter_map(move |(id, mode)| {
            let is_added_at_reads = catalog.counter(*id).is_ok() && !self.merged_counters.contains(id);
            let cells = Cells::of(&catalog, *id).filter(|_| !is_added_at_reads)?;
            let holders = self.having(*id);
            let kind = Kind { operator: mode.merge()?, width: cells.width };
            (holders.len() > 1).then_some((*id, kind, holders))
        })
    }

    /// The merged objects that queries are about.
    pub(crate) fn merged_in(&self, queries: &[Entity]) -> Vec<u32> {
        let (mut asked, mut kinds) = (BTreeSet::new(), [false; 2]);
        for query in queries {
            match &query.entity {
                Some(Kinds::RegisterEntry(e)) if e.register_id == 0 => kinds[0] = true,
                Some(Kinds::CounterEntry(e)) if e.counter_id == 0 => kinds[1] = true,
                Some(Kinds::RegisterEntry(e)) => drop(asked.insert(e.register_id)),
                Some(Kinds::CounterEntry(e)) => drop(asked.insert(e.counter_id)),
                _ => {}
            }
        }
        if asked.is_empty() && kinds == [false; 2] {
            return vec![];
        }
        let is_of_kind = |id: &u32| kinds[usize::from(self.merged_counters.contains(id))];
        self.merged().map(|(id, ..)| id).filter(|id| asked.contains(id) || is_of_kind(id)).collect()
    }

    /// True of a cell, or all cells, of an object whose copies are merged.
    pub(crate) fn is_merged(&self, entity: &Entity) -> bool {
        merged_id(self, entity).is_some_and(|id| self.having(id).len() > 1)
    }

    /// A register of which several devices have cells of their own.
    pub(crate) fn divided(&self) -> Option<&str> {
        let ids = self.info.registers.iter().filter_map(|register| Some(register.preamble.as_ref()?.id));
        let mut apart = ids.filter(|id| self.merge_of(*id).is_none() && self.having(*id).len() > 1);
        apart.next().map(|id| self.object_name(id))
    }

    /// Devices that have the thing with this id.
    fn having(&self, id: u32) -> Vec<usize> {
        self.parts().filter(|(_, part)| part.has(id)).map(|(device, _)| device).collect()
    }
}

/// The object of an entity, if its copies are merged where several devices have it.
fn merged_id(rollout: &Rollout, entity: &Entity) -> Option<u32> {
    match &entity.entity {
        Some(Kinds::RegisterEntry(e)) => rollout.merge_of(e.register_id).map(|_| e.register_id),
        Some(Kinds::CounterEntry(e)) => Some(e.counter_id).filter(|id| rollout.merged_counters.contains(id)),
        _ => None,
    }
}

/// Cells and values of an entity of a merged object.
pub(crate) fn cells_of(rollout: &Rollout, entity: &Entity) -> Vec<((u32, u64), u128)> {
    let Some(id) = merged_id(rollout, entity).filter(|_| rollout.is_merged(entity)) else { return vec![] };
    let cells = Cells::of(&Catalog::new(rollout.plain.clone()), id);
    let written = cells.map(|cells| cells.written(entity)).unwrap_or_default();
    written.into_iter().map(|(cell, value)| ((id, cell), value)).collect()
}

/// Notes the value that a cell has had, for a rollout that begins with it.
pub(crate) fn note_total(rollout: &Rollout, entity: &Entity, totals: &mut Totals) {
    totals.extend(cells_of(rollout, entity).into_iter().filter(|(_, value)| *value != 0));
}

/// Entities that give cells these values.
pub(crate) fn entities_of(rollout: &Rollout, totals: &Totals) -> Vec<Entity> {
    let catalog = Catalog::new(rollout.plain.clone());
    let ids: BTreeSet<u32> = totals.keys().map(|(id, _)| *id).collect();
    let of_one = |id: u32| {
        let values = totals.range((id, 0)..=(id, u64::MAX)).map(|((_, cell), value)| (*cell, *value));
        Cells::of(&catalog, id).map(|cells| cells.seen(values).entities(id)).unwrap_or_default()
    };
    ids.into_iter().flat_map(of_one).collect()
}
