//! All entities that the control plane has written, by their keys.

use crate::catalog::Catalog;
use crate::change::{ActionCall, Change, DefaultEntry, Entry, Run};
use crate::fault::{Result, Within, fault};
use crate::memory;
use crate::selector::{group_size, one_shot_size};
use control_writes::{
    CloneSession, Count, Data, DigestConfig, EntryKey, Group, Match, MulticastGroup, Rates, Replica,
};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use state_journal::Notes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entities that the control plane has written, without cells of counters and registers, which the data plane writes.
///
/// **Invariant**: every entity has been checked against the P4Info, and entities that it refers to exist.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) catalog: Catalog,
    pub(crate) tables: BTreeMap<u32, TableState>,
    pub(crate) members: BTreeMap<(u32, u32), Shared<ActionCall>>,
    /// Number of members of each profile.
    member_counts: BTreeMap<u32, usize>,
    pub(crate) groups: BTreeMap<(u32, u32), Shared<Group>>,
    pub(crate) multicast: BTreeMap<u32, MulticastGroup>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
    pub(crate) value_sets: BTreeMap<u32, Vec<Vec<Match>>>,
    pub(crate) digests: BTreeMap<u32, DigestConfig>,
    pub(crate) meters: BTreeMap<(u32, u64), Rates>,
    /// Number of entries with groups of their own, by selector.
    pub(crate) one_shots: BTreeMap<u32, usize>,
    /// Share of groups and one-shots in the selector's size, by selector.
    selected: BTreeMap<u32, i64>,
    /// Bytes of metadata and replicas of all entities, which no size of the program bounds: see [`bulk`].
    bulk: usize,
    /// Bytes of memory that the program's cells and all entities take, by [`memory`]'s estimates.
    taken: u64,
    /// Limit for these.
    limit: u64,
    /// Notes of changes; `None` if they are not saved.
    pub(crate) notes: Option<Notes>,
}

/// Entries and default entry of a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct TableState {
    pub(crate) entries: BTreeMap<EntryKey, Entry>,
    pub(crate) default: DefaultEntry,
}

/// An entity that others refer to, with the number of references.
#[derive(Clone, Debug)]
pub(crate) struct Shared<T> {
    pub(crate) what: T,
    /// Number of entries, default entries and groups that name the member or group.
    pub(crate) uses: usize,
}

impl Store {
    /// Empty.
    pub fn new(info: Arc<P4Info>) -> Store {
        Store::with(Catalog::new(info))
    }

    /// The same for a catalog.
    pub fn with(catalog: Catalog) -> Store {
        Store {
            taken: memory::of_cells(catalog.info()),
            limit: u64::MAX,
            catalog,
            tables: BTreeMap::new(),
            members: BTreeMap::new(),
            member_counts: BTreeMap::new(),
            groups: BTreeMap::new(),
            multicast: BTreeMap::new(),
            sessions: BTreeMap::new(),
            value_sets: BTreeMap::new(),
            digests: BTreeMap::new(),
            meters: BTreeMap::new(),
            one_shots: BTreeMap::new(),
            selected: BTreeMap::new(),
            bulk: 0,
            notes: None,
        }
    }

    /// Limit on the memory of the program's cells and all entities, in bytes. Existing entities stay.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Bytes of memory that the program's cells and all entities take, estimated.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The P4Info by ids.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// An entry of a table.
    pub fn entry(&self, table: u32, key: &EntryKey) -> Option<&Entry> {
        self.tables.get(&table)?.entries.get(key)
    }

    /// All entries of a table, in the order of their keys.
    pub fn entries(&self, table: u32) -> impl Iterator<Item = (&EntryKey, &Entry)> {
        self.tables.get(&table).into_iter().flat_map(|state| &state.entries)
    }

    /// Number of entries of a table.
    pub fn entry_count(&self, table: u32) -> usize {
        self.tables.get(&table).map_or(0, |state| state.entries.len())
    }

    /// Default entry of a table, as a controller has written it.
    pub fn default_entry(&self, table: u32) -> &DefaultEntry {
        static NOTHING: DefaultEntry =
            DefaultEntry { call: None, member: None, metadata: vec![], controller_metadata: 0, meter: None };
        self.tables.get(&table).map_or(&NOTHING, |state| &state.default)
    }

    /// A member of a profile.
    pub fn member(&self, profile: u32, member: u32) -> Option<&ActionCall> {
        self.members.get(&(profile, member)).map(|shared| &shared.what)
    }

    /// The tables whose default entry names a member.
    pub(crate) fn tables_with_default(
        &self,
        profile: u32,
        member: u32,
    ) -> impl Iterator<Item = (u32, &DefaultEntry)> {
        let of_profile =
            move |id: u32| self.catalog.table(id).is_ok_and(|table| table.implementation_id == profile);
        let named = self.tables.iter().filter(move |(_, state)| state.default.member == Some(member));
        named.filter(move |(id, _)| of_profile(**id)).map(|(id, state)| (*id, &state.default))
    }

    /// The number of members of a profile.
    pub(crate) fn member_count(&self, profile: u32) -> usize {
        self.member_counts.get(&profile).copied().unwrap_or_default()
    }

    /// A group of a selector.
    pub fn group(&self, profile: u32, group: u32) -> Option<&Group> {
        self.groups.get(&(profile, group)).map(|shared| &shared.what)
    }

    /// Share of the groups and one-shots of a selector in its size.
    pub(crate) fn selected(&self, profile: u32) -> i64 {
        self.selected.get(&profile).copied().unwrap_or_default()
    }

    /// The members of a value set.
    pub fn value_set(&self, set: u32) -> &[Vec<Match>] {
        self.value_sets.get(&set).map_or(&[], Vec::as_slice)
    }

    /// How digests are sent, if they are.
    pub fn digest(&self, digest: u32) -> Option<&DigestConfig> {
        self.digests.get(&digest)
    }

    /// Does a change of [`plan`](Store::plan), and returns its inverse. `before` is the old value of a counter or
    /// register; `None` leaves it out of the inverse.
    pub fn commit(&mut self, change: Change, before: Option<Before>) -> Option<Change> {
        let (more_bulk, more) = (bulk(&change), memory::of_change(&change));
        let noted = self.notes.is_some().then(|| change.clone());
        let inverse = self.replace(change, before);
        noted.iter().for_each(|change| self.note(change));
        let (less_bulk, less) =
            inverse.as_ref().map_or((0, 0), |inverse| (bulk(inverse), memory::of_change(inverse)));
        self.bulk = (self.bulk + more_bulk).saturating_sub(less_bulk);
        self.taken = (self.taken + more).saturating_sub(less);
        inverse
    }

    /// Refuses a change for which there is not enough memory. A change that needs no more memory than before is always
    /// accepted.
    pub(crate) fn check_memory(&self, change: &Change) -> Result<()> {
        let more = memory::of_change(change);
        // Only changes that would be refused are compared with the existing entity.
        if self.taken.saturating_add(more) <= self.limit {
            return Ok(());
        }
        let old = match change {
            Change::Entry { table, key, .. } => {
                self.entry(*table, key).map_or(0, |old| memory::of_entry(key, old))
            }
            _ => 0,
        };
        let then = (self.taken + more).saturating_sub(old);
        if then <= self.limit.max(self.taken) {
            return Ok(());
        }
        let why = format!("this needs {} bytes, and {} of {} are in use", more - old, self.taken, self.limit);
        fault("the limit on memory is reached", why)
            .code(Code::ResourceExhausted)
            .help(|| Some("delete entries, or restart the switch with a larger `--max-memory`".into()))
    }

    /// Bulk of all entities after a change.
    pub(crate) fn bulk_with(&self, change: &Change) -> usize {
        let old = match change {
            Change::Entry { table, key, .. } => self.entry(*table, key).map(|entry| entry.metadata.len()),
            Change::Default { table, .. } => Some(self.default_entry(*table).metadata.len()),
            Change::Multicast { group, .. } => self.multicast.get(group).map(bulk_of_group),
            Change::CloneSession { session, .. } => self.sessions.get(session).map(bulk_of_session),
            _ => None,
        };
        (self.bulk + bulk(change)).saturating_sub(old.unwrap_or(0))
    }

    fn replace(&mut self, change: Change, before: Option<Before>) -> Option<Change> {
        Some(match change {
            Change::Entry { table, key, to, count } => {
                let is_counted_anew = to.is_none() || count.is_some();
                let old = self.set_entry(table, key.clone(), to.map(|entry| *entry));
                let count = before.filter(|_| is_counted_anew).and_then(Before::count);
                Change::Entry { table, key, to: old.map(Box::new), count }
            }
            Change::Default { table, to, count } => {
                let profile = self.catalog.table(table).map_or(0, |table| table.implementation_id);
                if let Some(member) = to.member {
                    self.use_member(profile, member, true);
                }
                if let Some(member) = self.default_entry(table).member {
                    self.use_member(profile, member, false);
                }
                let state = self.tables.entry(table).or_default();
                let old = std::mem::replace(&mut state.default, *to);
                let count = count.and(before).and_then(Before::count);
                Change::Default { table, to: Box::new(old), count }
            }
            Change::Member { profile, member, to } => {
                let count = self.member_counts.entry(profile).or_default();
                *count += usize::from(to.is_some());
                let to = replace_shared(&mut self.members, (profile, member), to);
                *count -= usize::from(to.is_some());
                Change::Member { profile, member, to }
            }
            Change::Group { profile, group, to } => {
                for member in to.iter().flat_map(|group| &group.members) {
                    self.use_member(profile, member.member, true);
                }
                let new =
                    to.as_ref().map_or(0, |group| self.catalog.size_of(profile, |p| group_size(group, p)));
                let to = replace_shared(&mut self.groups, (profile, group), to);
                let old =
                    to.as_ref().map_or(0, |group| self.catalog.size_of(profile, |p| group_size(group, p)));
                *self.selected.entry(profile).or_default() += new - old;
                for member in to.iter().flat_map(|group: &Group| &group.members) {
                    self.use_member(profile, member.member, false);
                }
                Change::Group { profile, group, to }
            }
            Change::Multicast { group, to } => {
                Change::Multicast { group, to: replace(&mut self.multicast, group, to) }
            }
            Change::CloneSession { session, to } => {
                Change::CloneSession { session, to: replace(&mut self.sessions, session, to) }
            }
            Change::ValueSet { set, members } => {
                let to = (!members.is_empty()).then_some(members);
                let members = replace(&mut self.value_sets, set, to).unwrap_or_default();
                Change::ValueSet { set, members }
            }
            Change::Digest { digest, to } => {
                Change::Digest { digest, to: replace(&mut self.digests, digest, to) }
            }
            Change::Meter { meter, index, to } => {
                Change::Meter { meter, index, to: replace(&mut self.meters, (meter, index), to) }
            }
            Change::Counter { counter, index, .. } => {
                Change::Counter { counter, index, to: before.and_then(Before::count)? }
            }
            Change::DirectCounter { table, key, .. } => {
                Change::DirectCounter { table, key, to: before.and_then(Before::count)? }
            }
            Change::Register { register, index, .. } => match before? {
                Before::Register(to) => Change::Register { register, index, to },
                Before::Count(_) | Before::Memory(_) => return None,
            },
            Change::Memory { object, .. } => match before? {
                Before::Memory(to) => Change::Memory { object, to },
                Before::Count(_) | Before::Register(_) => return None,
            },
            // Plans have none of these: messages say the first three cell by cell, and the last not at all.
            Change::MeterArray { .. }
            | Change::CounterReset { .. }
            | Change::RegisterReset { .. }
            | Change::CustomCrc { .. } => return None,
        })
    }

    fn set_entry(&mut self, table: u32, key: EntryKey, to: Option<Entry>) -> Option<Entry> {
        if let Some(entry) = &to {
            self.use_run(table, &entry.run, true);
        }
        let entries = &mut self.tables.entry(table).or_default().entries;
        let old = replace(entries, key, to);
        if let Some(entry) = &old {
            self.use_run(table, &entry.run, false);
        }
        old
    }

    fn use_run(&mut self, table: u32, run: &Run, more: bool) {
        let profile = self.catalog.table(table).map_or(0, |table| table.implementation_id);
        match run {
            Run::Action(_) => {}
            Run::Member(member) => self.use_member(profile, *member, more),
            Run::Group(group) => step(self.groups.get_mut(&(profile, *group)).map(|g| &mut g.uses), more),
            Run::OneShot(set) => {
                step(Some(self.one_shots.entry(profile).or_default()), more);
                let size = self.catalog.size_of(profile, |p| one_shot_size(set, p));
                *self.selected.entry(profile).or_default() += if more { size } else { -size };
            }
        }
    }

    fn use_member(&mut self, profile: u32, member: u32, more: bool) {
        step(self.members.get_mut(&(profile, member)).map(|m| &mut m.uses), more);
    }
}

/// Bytes of metadata and replicas that an entity has after a change. All else is bounded by sizes that the program says.
fn bulk(change: &Change) -> usize {
    match change {
        Change::Entry { to: Some(to), .. } => to.metadata.len(),
        Change::Default { to, .. } => to.metadata.len(),
        Change::Multicast { to: Some(to), .. } => bulk_of_group(to),
        Change::CloneSession { to: Some(to), .. } => bulk_of_session(to),
        _ => 0,
    }
}

fn bulk_of_group(group: &MulticastGroup) -> usize {
    group.metadata.len() + bulk_of_replicas(&group.replicas)
}

fn bulk_of_session(session: &CloneSession) -> usize {
    bulk_of_replicas(&session.replicas)
}

fn bulk_of_replicas(replicas: &[Replica]) -> usize {
    let with_backups = replicas.iter().map(|replica| 1 + replica.backups.len());
    with_backups.sum::<usize>() * size_of::<Replica>()
}

/// Value in the data plane before a change.
#[derive(Clone, PartialEq, Debug)]
pub enum Before {
    /// Count of a counter.
    Count(Count),
    /// Value of a register's cell.
    Register(Data),
    /// Memory of a frame extern or value extern.
    Memory(Vec<u8>),
}

impl Before {
    fn count(self) -> Option<Count> {
        match self {
            Before::Count(count) => Some(count),
            Before::Register(_) | Before::Memory(_) => None,
        }
    }
}

fn step(uses: Option<&mut usize>, more: bool) {
    if let Some(uses) = uses {
        *uses = if more { *uses + 1 } else { uses.saturating_sub(1) };
    }
}

fn replace<K: Ord, V>(all: &mut BTreeMap<K, V>, key: K, to: Option<V>) -> Option<V> {
    match to {
        Some(to) => all.insert(key, to),
        None => all.remove(&key),
    }
}

/// Replaces an entity and keeps its references.
fn replace_shared<K: Ord, V>(all: &mut BTreeMap<K, Shared<V>>, key: K, to: Option<V>) -> Option<V> {
    match (to, all.get_mut(&key)) {
        (Some(to), Some(shared)) => Some(std::mem::replace(&mut shared.what, to)),
        (Some(what), None) => {
            all.insert(key, Shared { what, uses: 0 });
            None
        }
        (None, _) => all.remove(&key).map(|shared| shared.what),
    }
}
