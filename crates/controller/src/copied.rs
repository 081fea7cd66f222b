//! Objects of a rollout that several devices have, to be merged, and their cells in P4Runtime's entities.

use crate::cells::Cells;
use crate::desired::Desired;
use crate::part::Rollout;
use flow_control::merge::Kind;
use p4runtime_proto::p4::v1::{CounterData, Entity, TableEntry, entity::Entity as Kinds};
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

    /// The name of a register or counter; of a table's direct counter by the table's id.
    pub fn object_name(&self, id: u32) -> &str {
        let registers = self.info.registers.iter().filter_map(|register| register.preamble.as_ref());
        let counters = self.info.counters.iter().filter_map(|counter| counter.preamble.as_ref());
        let direct = self.info.direct_counters.iter().find(|counter| counter.direct_table_id == id);
        let direct = || direct.and_then(|counter| counter.preamble.as_ref());
        let named = registers.chain(counters).find(|named| named.id == id).or_else(direct);
        named.map_or("?", |named| named.name.as_str())
    }

    /// The objects whose copies are merged: those that several devices have.
    pub(crate) fn merged(&self) -> impl Iterator<Item = (u32, Kind, Vec<usize>)> {
        let catalog = Catalog::new(self.plain.clone());
        self.modes.iter().filter_map(move |(id, mode)| {
            let counts = catalog.counter(*id).is_ok() || catalog.direct_counter(*id).is_some();
            let is_added_at_reads = counts && !self.merged_counters.contains(id);
            let cells = Cells::of(&catalog, *id).filter(|_| !is_added_at_reads)?;
            let holders = self.having(*id);
            let kind = Kind { operator: mode.merge()?, width: cells.width };
            (holders.len() > 1).then_some((*id, kind, holders))
        })
    }

    /// The tables whose entries have numbers: several devices have them, and their direct counters are merged.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = u32> {
        self.info
            .direct_counters
            .iter()
            .map(|counter| counter.direct_table_id)
            .filter(|id| self.is_numbered(*id))
    }

    /// True of such a table.
    pub(crate) fn is_numbered(&self, table: u32) -> bool {
        let is_direct = || self.info.direct_counters.iter().any(|counter| counter.direct_table_id == table);
        self.merged_counters.contains(&table) && is_direct() && self.having(table).len() > 1
    }

    /// The merged objects that queries are about.
    pub(crate) fn merged_in(&self, queries: &[Entity]) -> Vec<u32> {
        let (mut asked, mut kinds) = (BTreeSet::new(), [false; 3]);
        let table_of = |entry: &Option<TableEntry>| entry.as_ref().map_or(0, |entry| entry.table_id);
        for query in queries {
            match &query.entity {
                Some(Kinds::TableEntry(e)) if e.table_id == 0 => kinds[2] = true,
                Some(Kinds::DirectCounterEntry(e)) if table_of(&e.table_entry) == 0 => kinds[2] = true,
                Some(Kinds::TableEntry(e)) => drop(asked.insert(e.table_id)),
                Some(Kinds::DirectCounterEntry(e)) => drop(asked.insert(table_of(&e.table_entry))),
                Some(Kinds::RegisterEntry(e)) if e.register_id == 0 => kinds[0] = true,
                Some(Kinds::CounterEntry(e)) if e.counter_id == 0 => kinds[1] = true,
                Some(Kinds::RegisterEntry(e)) => drop(asked.insert(e.register_id)),
                Some(Kinds::CounterEntry(e)) => drop(asked.insert(e.counter_id)),
                _ => {}
            }
        }
        if asked.is_empty() && kinds == [false; 3] {
            return vec![];
        }
        let is_of_kind = |id: &u32| match (self.is_numbered(*id), self.merged_counters.contains(id)) {
            (true, _) => kinds[2],
            (_, is_counter) => kinds[usize::from(is_counter)],
        };
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
        Some(Kinds::DirectCounterEntry(e)) => {
            e.table_entry.as_ref().map(|entry| entry.table_id).filter(|id| rollout.is_numbered(*id))
        }
        _ => None,
    }
}

/// Cells and values of an entity of a merged object, or of an entry with a count. `desired` has the rollout's entries.
pub(crate) fn cells_of(rollout: &Rollout, desired: &Desired, entity: &Entity) -> Vec<((u32, u64), u128)> {
    let direct = |entry: &TableEntry, data: Option<CounterData>| {
        let Some((number, data)) = desired.number(entry).zip(data) else { return vec![] };
        let [packets, bytes] = [data.packet_count, data.byte_count].map(|n| u128::from(n as u64));
        vec![((entry.table_id, 2 * number), packets), ((entry.table_id, 2 * number + 1), bytes)]
    };
    match &entity.entity {
        Some(Kinds::TableEntry(e)) => return direct(e, e.counter_data),
        Some(Kinds::DirectCounterEntry(e)) => {
            return e.table_entry.as_ref().map_or(vec![], |entry| direct(entry, e.data));
        }
        _ => {}
    }
    let Some(id) = merged_id(rollout, entity).filter(|_| rollout.is_merged(entity)) else { return vec![] };
    let cells = Cells::of(&Catalog::new(rollout.plain.clone()), id);
    let written = cells.map(|cells| cells.written(entity)).unwrap_or_default();
    written.into_iter().map(|(cell, value)| ((id, cell), value)).collect()
}

/// Notes the value that a cell has had, for a rollout that begins with it.
pub(crate) fn note_total(rollout: &Rollout, desired: &Desired, entity: &Entity, totals: &mut Totals) {
    totals.extend(cells_of(rollout, desired, entity).into_iter().filter(|(_, value)| *value != 0));
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
