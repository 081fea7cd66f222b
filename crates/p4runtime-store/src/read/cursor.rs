//! A query that is answered piece by piece: objects have millions of cells, and tables millions of entries.

use super::cells::Indexed;
use super::{Live, Wanted};
use crate::catalog::Described;
use crate::change::ActionCall;
use crate::fault::{Result, Within, fault, not_supported};
use crate::store::{Shared, Store};
use crate::{action, matches, object, profile, replication};
use control_writes::EntryKey;
use p4runtime_proto::p4::config::v1::ValueSet;
use p4runtime_proto::p4::v1::{
    self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, DigestEntry, MulticastGroupEntry,
    PacketReplicationEngineEntry, ValueSetEntry, ValueSetMember, action_profile_group, entity::Entity,
    packet_replication_engine_entry as pre,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Bound, Range, RangeBounds};

/// Number of cells that take as long as another entity.
pub(super) const ENTITY: u64 = 8;

/// Bytes of metadata, or of an extern's memory, that take as long as a cell.
const BYTES: u64 = 256;

/// A query, and the position in its answer.
///
/// It refers to the next entity by its key: an entity written between two pieces is found if it comes later, unless it was
/// [read before](Store::read_before).
#[derive(Clone, PartialEq, Debug)]
pub struct Cursor {
    pub(super) query: Entity,
    pub(super) left: VecDeque<Part>,
}

/// Entities of one kind that are next to one another.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Part {
    /// Cells of an object, and those of them that were read before their turn.
    Cells(Indexed, Range<u64>, Wanted, BTreeSet<u64>),
    Entries(u32, Keys<EntryKey>),
    /// The default entry of a table.
    Default(u32),
    /// Members by (profile, id).
    Members(Keys<(u32, u32)>),
    Groups(Keys<(u32, u32)>),
    ValueSet(u32),
    Digests(Keys<u32>),
    Multicast(Keys<u32>),
    Sessions(Keys<u32>),
    /// The memory of a frame extern or value extern.
    Memory(u32),
    /// Nothing is left.
    Over,
}

/// The keys that are left of a map, and those of them that were read before their turn.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Keys<K>(Bound<K>, Bound<K>, BTreeSet<K>);

impl<K: Ord + Clone> Keys<K> {
    pub(super) fn all() -> Keys<K> {
        Keys(Bound::Unbounded, Bound::Unbounded, BTreeSet::new())
    }

    pub(super) fn between(first: K, last: K) -> Keys<K> {
        Keys(Bound::Included(first), Bound::Included(last), BTreeSet::new())
    }

    pub(super) fn one(key: K) -> Keys<K> {
        Keys::between(key.clone(), key)
    }

    /// True if the one key of `one` is still to be read.
    pub(super) fn want(&self, one: &Keys<K>) -> bool {
        let Bound::Included(key) = &one.0 else { return false };
        (self.0.as_ref(), self.1.as_ref()).contains(key) && !self.2.contains(key)
    }

    /// The one key of `one`, if it is still to be read: it is passed over when its turn comes.
    pub(super) fn take(&mut self, one: &Keys<K>) -> Option<Keys<K>> {
        let Bound::Included(key) = &one.0 else { return None };
        let is_left = (self.0.as_ref(), self.1.as_ref()).contains(key) && self.2.insert(key.clone());
        is_left.then(|| Keys::one(key.clone()))
    }

    /// Reads the entries of these keys, as far as there is room. True if all were read. `bytes` says how much metadata an entry has.
    fn read<V>(
        &mut self,
        map: &BTreeMap<K, V>,
        room: &mut u64,
        bytes: impl Fn(&V) -> usize,
        mut read: impl FnMut(&K, &V) -> Result<()>,
    ) -> Result<bool> {
        let mut last = None;
        let mut all = map.range::<K, _>((self.0.as_ref(), self.1.as_ref()));
        while *room > 0 {
            let Some((key, value)) = all.next() else { return Ok(true) };
            *room = room.saturating_sub(ENTITY + bytes(value) as u64 / BYTES);
            last = Some(key);
            if self.2.is_empty() || !self.2.remove(key) {
                read(key, value)?;
            }
        }
        if let Some(last) = last {
            self.0 = Bound::Excluded(last.clone());
        }
        Ok(false)
    }
}

impl Keys<u32> {
    /// A zero asks for all.
    fn of(wanted: u32) -> Keys<u32> {
        if wanted == 0 { Keys::all() } else { Keys::between(wanted, wanted) }
    }
}

impl Keys<(u32, u32)> {
    /// The same of two numbers. Seconds without a first are not next to one another: all are looked through.
    fn of_both(first: u32, second: u32) -> Keys<(u32, u32)> {
        match (first, second) {
            (0, _) => Keys::all(),
            (_, 0) => Keys::between((first, 0), (first, u32::MAX)),
            (first, second) => Keys::between((first, second), (first, second)),
        }
    }
}

impl Cursor {
    /// True if all has been read.
    pub fn is_over(&self) -> bool {
        self.left.is_empty()
    }

    /// Number of remaining tables and objects.
    pub fn parts(&self) -> usize {
        self.left.len()
    }
}

impl Store {
    /// The position before the first entity that matches `query`. Nothing is read yet; queries that cannot be answered
    /// are refused.
    pub fn find(&self, query: &v1::Entity, wanted: Wanted) -> Result<Cursor> {
        let Some(query) = &query.entity else {
            return fault("the query is empty", "it must name a kind of entity");
        };
        let left = self.parts(query, wanted).within(field(query))?;
        Ok(Cursor { query: query.clone(), left })
    }

    /// Gives `out` the next entities. As many are read, whether they fit or not, as there is `room` for, in cells.
    pub fn read_some(
        &self,
        cursor: &mut Cursor,
        room: &mut u64,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let Cursor { query, left } = cursor;
        let mut give = |entity: Entity| out(v1::Entity { entity: Some(entity) });
        while *room > 0
            && let Some(part) = left.front_mut()
        {
            if self.read_part(query, part, room, live, &mut give).within(field(query))? {
                left.pop_front();
            }
        }
        Ok(())
    }

    fn parts(&self, query: &Entity, wanted: Wanted) -> Result<VecDeque<Part>> {
        let one = |part: Part| Ok([part].into());
        match query {
            Entity::TableEntry(q) => self.entry_parts(q),
            Entity::DirectCounterEntry(q) => {
                let has = |table| self.catalog.direct_counter(table).is_some();
                self.direct_parts(q.table_entry.as_ref(), has)
            }
            Entity::MeterEntry(v1::MeterEntry { counter_data: Some(_), .. })
            | Entity::DirectMeterEntry(v1::DirectMeterEntry { counter_data: Some(_), .. }) => {
                not_supported("meter counters").within("counter_data")
            }
            Entity::DirectMeterEntry(q) => {
                let has = |table| self.catalog.direct_meter(table).is_some();
                self.direct_parts(q.table_entry.as_ref(), has)
            }
            Entity::CounterEntry(q) => self.counter_parts(q, wanted),
            Entity::MeterEntry(q) => self.meter_parts(q, wanted),
            Entity::RegisterEntry(q) => self.register_parts(q, wanted),
            Entity::ActionProfileMember(q) => {
                self.check(q.action_profile_id, |id| self.catalog.profile(id))?;
                one(Part::Members(Keys::of_both(q.action_profile_id, q.member_id)))
            }
            Entity::ActionProfileGroup(q) => {
                self.check(q.action_profile_id, |id| self.catalog.profile(id))?;
                one(Part::Groups(Keys::of_both(q.action_profile_id, q.group_id)))
            }
            Entity::ValueSetEntry(q) => {
                self.check(q.value_set_id, |id| self.catalog.value_set(id))?;
                let sets = self.catalog.info().value_sets.iter().map(Described::id);
                Ok(sets.filter(|id| is(q.value_set_id, *id)).map(Part::ValueSet).collect())
            }
            Entity::DigestEntry(q) => {
                self.check(q.digest_id, |id| self.catalog.digest(id))?;
                one(Part::Digests(Keys::of(q.digest_id)))
            }
            Entity::PacketReplicationEngineEntry(q) => match &q.r#type {
                Some(pre::Type::MulticastGroupEntry(q)) => {
                    one(Part::Multicast(Keys::of(q.multicast_group_id)))
                }
                Some(pre::Type::CloneSessionEntry(q)) => one(Part::Sessions(Keys::of(q.session_id))),
                None => fault("the query is empty", "it must ask for multicast groups or clone sessions"),
            },
            Entity::ExternEntry(q) => Ok(self.memories(q)?.into_iter().map(Part::Memory).collect()),
        }
    }

    /// Refuses an id that nothing has. A zero asks for all.
    fn check<T>(&self, id: u32, find: impl Fn(u32) -> Result<T>) -> Result<()> {
        if id == 0 { Ok(()) } else { find(id).map(drop) }
    }

    /// Reads as much of a part as there is room for. True if nothing is left of it.
    pub(super) fn read_part(
        &self,
        query: &Entity,
        part: &mut Part,
        room: &mut u64,
        live: &dyn Live,
        give: &mut dyn FnMut(Entity),
    ) -> Result<bool> {
        match part {
            Part::Cells(of, cells, wanted, before) => {
                // Cells in `before` were read ahead of a write that changed them: they are skipped.
                let next_before = before.first().copied().unwrap_or(u64::MAX);
                let some = cells.start..cells.end.min(cells.start.saturating_add(*room)).min(next_before);
                *room -= some.end - some.start;
                cells.start = some.end;
                if *room > 0 && before.remove(&cells.start) {
                    *room -= 1;
                    cells.start += 1;
                }
                self.read_cells(*of, some, *wanted, live, give)?;
                Ok(cells.is_empty())
            }
            Part::Entries(table, keys) => {
                let Some(state) = self.tables.get(table) else { return Ok(true) };
                let table = self.catalog.table(*table)?;
                keys.read(
                    &state.entries,
                    room,
                    |entry| entry.metadata.len(),
                    |key, entry| {
                        self.found_of_entry(query, table, (key, entry), live)?
                            .into_iter()
                            .for_each(&mut *give);
                        Ok(())
                    },
                )
            }
            Part::Default(table) => {
                *room = room.saturating_sub(ENTITY);
                let table = self.catalog.table(*table)?;
                self.found_of_default(query, table, live)?.into_iter().for_each(give);
                Ok(true)
            }
            Part::Members(keys) => keys.read(
                &self.members,
                room,
                |_| 0,
                |key, shared| {
                    if matches!(query, Entity::ActionProfileMember(q) if is(q.member_id, key.1)) {
                        give(Entity::ActionProfileMember(self.member_message(*key, shared)));
                    }
                    Ok(())
                },
            ),
            Part::Groups(keys) => keys.read(
                &self.groups,
                room,
                |_| 0,
                |(profile, group), shared| {
                    if matches!(query, Entity::ActionProfileGroup(q) if is(q.group_id, *group)) {
                        let members = shared.what.members.iter().map(|member| action_profile_group::Member {
                            member_id: member.member,
                            weight: member.weight,
                            watch_kind: profile::member_watch(member.watch),
                        });
                        give(Entity::ActionProfileGroup(ActionProfileGroup {
                            action_profile_id: *profile,
                            group_id: *group,
                            members: members.collect(),
                            max_size: shared.what.max_size,
                        }));
                    }
                    Ok(())
                },
            ),
            Part::Over => Ok(true),
            Part::ValueSet(set) => {
                *room = room.saturating_sub(ENTITY);
                give(Entity::ValueSetEntry(self.value_set_message(self.catalog.value_set(*set)?)));
                Ok(true)
            }
            Part::Digests(keys) => keys.read(
                &self.digests,
                room,
                |_| 0,
                |digest, config| {
                    let config = Some(object::digest_config(config));
                    give(Entity::DigestEntry(DigestEntry { digest_id: *digest, config }));
                    Ok(())
                },
            ),
            Part::Multicast(keys) => keys.read(
                &self.multicast,
                room,
                |group| group.metadata.len(),
                |group, to| {
                    give(replicated(pre::Type::MulticastGroupEntry(MulticastGroupEntry {
                        multicast_group_id: *group,
                        replicas: replication::encode(&to.replicas),
                        metadata: to.metadata.clone(),
                    })));
                    Ok(())
                },
            ),
            Part::Sessions(keys) => keys.read(
                &self.sessions,
                room,
                |_| 0,
                |session, to| {
                    give(replicated(pre::Type::CloneSessionEntry(CloneSessionEntry {
                        session_id: *session,
                        replicas: replication::encode(&to.replicas),
                        class_of_service: to.class_of_service.into(),
                        packet_length_bytes: i32::try_from(to.packet_length_bytes).unwrap_or(i32::MAX),
                    })));
                    Ok(())
                },
            ),
            Part::Memory(object) => {
                let memory = self.memory_entry(*object, live)?;
                let bytes = memory.entry.as_ref().map_or(0, |entry| entry.value.len());
                *room = room.saturating_sub(ENTITY + bytes as u64 / BYTES);
                give(Entity::ExternEntry(memory));
                Ok(true)
            }
        }
    }

    pub(super) fn member_message(
        &self,
        (profile, member): (u32, u32),
        shared: &Shared<ActionCall>,
    ) -> ActionProfileMember {
        ActionProfileMember {
            action_profile_id: profile,
            member_id: member,
            action: Some(action::encode(&self.catalog, &shared.what)),
        }
    }

    pub(super) fn value_set_message(&self, set: &ValueSet) -> ValueSetEntry {
        let members = self.value_sets.get(&set.id()).into_iter().flatten();
        let members = members.map(|member| ValueSetMember { r#match: matches::encode(&set.r#match, member) });
        ValueSetEntry { value_set_id: set.id(), members: members.collect() }
    }
}

fn replicated(kind: pre::Type) -> Entity {
    Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}

/// A zero asks for all.
fn is(wanted: u32, id: u32) -> bool {
    wanted == 0 || wanted == id
}

/// The field of an entity that a query is in.
pub(super) fn field(query: &Entity) -> &'static str {
    match query {
        Entity::TableEntry(_) => "table_entry",
        Entity::ActionProfileMember(_) => "action_profile_member",
        Entity::ActionProfileGroup(_) => "action_profile_group",
        Entity::CounterEntry(_) => "counter_entry",
        Entity::DirectCounterEntry(_) => "direct_counter_entry",
        Entity::MeterEntry(_) => "meter_entry",
        Entity::DirectMeterEntry(_) => "direct_meter_entry",
        Entity::RegisterEntry(_) => "register_entry",
        Entity::ValueSetEntry(_) => "value_set_entry",
        Entity::DigestEntry(_) => "digest_entry",
        Entity::PacketReplicationEngineEntry(_) => "packet_replication_engine_entry",
        Entity::ExternEntry(_) => "extern_entry",
    }
}
