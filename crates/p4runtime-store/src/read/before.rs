//! Writes between two pieces of an answer. The answer is nevertheless that of the moment at which it began: an entity that is about to be
//! written is read before, and passed over when its turn comes.

use super::Live;
use super::Wanted;
use super::cells::Indexed;
use super::cursor::{Cursor, Keys, Part, field};
use crate::fault::{Result, Within};
use crate::object;
use crate::store::Store;
use control_writes::EntryKey;
use p4runtime_proto::p4::v1::{
    self, Index, TableEntry, entity::Entity, packet_replication_engine_entry as pre,
};
use std::collections::BTreeSet;

/// The entity that an update is about, or the cells.
#[derive(Clone, Debug)]
pub struct Touched(Part);

impl Touched {
    /// Number of entities or cells.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Part::Cells(_, cells, ..) => cells.end - cells.start,
            _ => 1,
        }
    }

    pub(super) fn is_default_of(&self, table: u32) -> bool {
        matches!(&self.0, Part::Default(of) if *of == table)
    }
}

impl Cursor {
    /// True if something of it is still to be read.
    pub fn wants(&self, touched: &Touched) -> bool {
        self.left.iter().any(|part| part.wants(&touched.0))
    }
}

impl Part {
    /// True if [`take`](Part::take) takes something. Of cells it may be less.
    fn wants(&self, touched: &Part) -> bool {
        match (self, touched) {
            (Part::Entries(of, keys), Part::Entries(table, one)) => of == table && keys.want(one),
            (Part::Members(keys), Part::Members(one)) | (Part::Groups(keys), Part::Groups(one)) => {
                keys.want(one)
            }
            (Part::Digests(keys), Part::Digests(one))
            | (Part::Multicast(keys), Part::Multicast(one))
            | (Part::Sessions(keys), Part::Sessions(one)) => keys.want(one),
            (Part::Default(of), Part::Default(one))
            | (Part::ValueSet(of), Part::ValueSet(one))
            | (Part::Memory(of), Part::Memory(one)) => of == one,
            (Part::Cells(of, left, ..), Part::Cells(object, cells, ..)) => {
                of == object && left.start.max(cells.start) < left.end.min(cells.end)
            }
            _ => false,
        }
    }

    /// Takes out of this part what `touched` names and is still to be read, as a part of its own: the rest of the read passes it over.
    fn take(&mut self, touched: &Part) -> Option<Part> {
        match (&mut *self, touched) {
            (Part::Entries(of, keys), Part::Entries(table, one)) if of == table => {
                keys.take(one).map(|one| Part::Entries(*table, one))
            }
            (Part::Members(keys), Part::Members(one)) => keys.take(one).map(Part::Members),
            (Part::Groups(keys), Part::Groups(one)) => keys.take(one).map(Part::Groups),
            (Part::Digests(keys), Part::Digests(one)) => keys.take(one).map(Part::Digests),
            (Part::Multicast(keys), Part::Multicast(one)) => keys.take(one).map(Part::Multicast),
            (Part::Sessions(keys), Part::Sessions(one)) => keys.take(one).map(Part::Sessions),
            (Part::Default(of), Part::Default(table)) if of == table => {
                Some(std::mem::replace(self, Part::Over))
            }
            (Part::ValueSet(of), Part::ValueSet(one)) | (Part::Memory(of), Part::Memory(one))
                if of == one =>
            {
                Some(std::mem::replace(self, Part::Over))
            }
            (Part::Cells(of, left, wanted, before), Part::Cells(object, cells, ..)) if of == object => {
                let both = left.start.max(cells.start)..left.end.min(cells.end);
                if both.is_empty() {
                    return None;
                }
                // Cells that were read before an earlier write are not given again.
                let known: BTreeSet<u64> = before.range(both.clone()).copied().collect();
                before.extend(both.clone());
                Some(Part::Cells(*object, both, *wanted, known))
            }
            _ => None,
        }
    }
}

impl Store {
    /// The entity that an update can change. `None` if no update can: a key is wrong, or an object does not exist.
    pub fn touched(&self, entity: &v1::Entity) -> Option<Touched> {
        let of_entry = |entry: &TableEntry| match entry.is_default_action {
            true => Some(Part::Default(entry.table_id)),
            false => {
                let key: EntryKey = self.catalog.entry_key(entry).ok()?;
                Some(Part::Entries(entry.table_id, Keys::one(key)))
            }
        };
        let cells = |of, index: Option<&Index>, size: i64| {
            let cells = object::cells(index, size).ok()?;
            Some(Part::Cells(of, cells, Wanted::All, BTreeSet::new()))
        };
        let part = match entity.entity.as_ref()? {
            Entity::TableEntry(e) => of_entry(e),
            Entity::DirectCounterEntry(v1::DirectCounterEntry { table_entry, .. })
            | Entity::DirectMeterEntry(v1::DirectMeterEntry { table_entry, .. }) => {
                table_entry.as_ref().and_then(of_entry)
            }
            Entity::CounterEntry(e) => {
                let size = self.catalog.counter(e.counter_id).ok()?.size;
                cells(Indexed::Counter(e.counter_id), e.index.as_ref(), size)
            }
            Entity::MeterEntry(e) => {
                let size = self.catalog.meter(e.meter_id).ok()?.size;
                cells(Indexed::Meter(e.meter_id), e.index.as_ref(), size)
            }
            Entity::RegisterEntry(e) => {
                let size = self.catalog.register(e.register_id).ok()?.size;
                cells(Indexed::Register(e.register_id), e.index.as_ref(), size.into())
            }
            Entity::ActionProfileMember(e) => {
                Some(Part::Members(Keys::one((e.action_profile_id, e.member_id))))
            }
            Entity::ActionProfileGroup(e) => Some(Part::Groups(Keys::one((e.action_profile_id, e.group_id)))),
            Entity::ValueSetEntry(e) => Some(Part::ValueSet(e.value_set_id)),
            Entity::DigestEntry(e) => Some(Part::Digests(Keys::one(e.digest_id))),
            Entity::PacketReplicationEngineEntry(e) => match e.r#type.as_ref()? {
                pre::Type::MulticastGroupEntry(e) => Some(Part::Multicast(Keys::one(e.multicast_group_id))),
                pre::Type::CloneSessionEntry(e) => Some(Part::Sessions(Keys::one(e.session_id))),
            },
            Entity::ExternEntry(e) => Some(Part::Memory(e.extern_id)),
        };
        part.map(Touched)
    }

    /// Passes to `out` the result of the query for an entity that is about to be written, if the cursor has not reached it. True if there was something to
    /// read.
    pub fn read_before(
        &self,
        cursor: &mut Cursor,
        touched: &Touched,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<bool> {
        let mut is_taken = false;
        let Cursor { query, left } = cursor;
        let mut give = |entity: Entity| out(v1::Entity { entity: Some(entity) });
        for part in left {
            if let Some(mut part) = part.take(&touched.0) {
                is_taken = true;
                while !self
                    .read_part(query, &mut part, &mut { u64::MAX }, live, &mut give)
                    .within(field(query))?
                {}
            }
        }
        Ok(is_taken)
    }
}
