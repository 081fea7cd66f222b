//! Registers of a rollout that several devices have, to be merged, and their cells in P4Runtime's entities.

use crate::copies::cells_of;
use crate::part::Rollout;
use flow_control::merge::Kind;
use p4runtime_proto::p4::v1::{Entity, entity::Entity as Kinds, p4_data::Data as Bytes};
use p4runtime_store::Catalog;
use std::collections::{BTreeMap, BTreeSet};

/// Values of merged registers, by register and cell.
pub(crate) type Totals = BTreeMap<(u32, u64), u128>;

impl Rollout {
    /// Names of the registers whose copies are merged.
    pub fn merged_names(&self) -> impl Iterator<Item = &str> {
        let ids: BTreeSet<u32> = self.merged().map(|(id, ..)| id).collect();
        let registers = self.plain.registers.iter().filter_map(|register| register.preamble.as_ref());
        registers.filter(move |named| ids.contains(&named.id)).map(|named| named.name.as_str())
    }

    /// The registers whose copies are merged: those that several devices have.
    pub(crate) fn merged(&self) -> impl Iterator<Item = (u32, Kind, Vec<usize>)> {
        let catalog = Catalog::new(self.plain.clone());
        self.modes.iter().filter_map(move |(id, mode)| {
            let (width, _) = cells_of(&catalog, *id)?;
            let holders = self.having(*id);
            let kind = Kind { operator: mode.merge()?, width };
            (holders.len() > 1).then_some((*id, kind, holders))
        })
    }

    /// The merged registers that queries are about.
    pub(crate) fn merged_in(&self, queries: &[Entity]) -> Vec<u32> {
        let asked = |query: &Entity| match &query.entity {
            Some(Kinds::RegisterEntry(e)) => Some(e.register_id),
            _ => None,
        };
        let asked: BTreeSet<u32> = queries.iter().filter_map(asked).collect();
        if asked.is_empty() {
            return vec![];
        }
        let is_asked = |id: &u32| asked.contains(id) || asked.contains(&0);
        self.merged().map(|(id, ..)| id).filter(is_asked).collect()
    }

    /// True of a cell, or all cells, of a register whose copies are merged.
    pub(crate) fn is_merged(&self, entity: &Entity) -> bool {
        let Some(Kinds::RegisterEntry(e)) = &entity.entity else { return false };
        self.merge_of(e.register_id).is_some() && self.having(e.register_id).len() > 1
    }

    /// Devices that have the thing with this id.
    fn having(&self, id: u32) -> Vec<usize> {
        self.parts().filter(|(_, part)| part.has(id)).map(|(device, _)| device).collect()
    }
}

/// Cell and value of an entity of a merged register.
pub(crate) fn cell_of(rollout: &Rollout, entity: &Entity) -> Option<((u32, u64), u128)> {
    let Some(Kinds::RegisterEntry(e)) = entity.entity.as_ref().filter(|_| rollout.is_merged(entity)) else {
        return None;
    };
    let Some(Bytes::Bitstring(bytes)) = &e.data.as_ref()?.data else { return None };
    let value = bytes.iter().fold(0, |value: u128, byte| value << 8 | u128::from(*byte));
    Some(((e.register_id, u64::try_from(e.index?.index).ok()?), value))
}

/// Notes the value that a cell has had, for a rollout that begins with it.
pub(crate) fn note_total(rollout: &Rollout, entity: &Entity, totals: &mut Totals) {
    totals.extend(cell_of(rollout, entity).filter(|(_, value)| *value != 0));
}
