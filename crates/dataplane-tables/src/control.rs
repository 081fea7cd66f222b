//! The control plane's side of all tables of a pipeline.

use crate::key::EntryKey;
use crate::layout::{KeyLayout, Order};
use crate::profile::{Profile, ProfileSpec, ProfileStore, Weighted};
use crate::records::stride;
use crate::store::Store;
use crate::table::{Index, Table};
use crate::write_error::WriteError;

/// A table, by its position in the list that [`Control::new`] was given.
pub type TableId = usize;

/// A profile, by its position in the list that [`Control::new`] was given.
pub type ProfileId = usize;

/// Shape and size of a table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Fields of the key.
    pub layout: KeyLayout,
    /// Maximum number of entries.
    pub size: u32,
    /// Words of the longest action data.
    pub data_words: usize,
    /// The profile that its entries may name members and groups of.
    pub profile: Option<ProfileId>,
    /// No entries but those of [`Control::insert_const`].
    pub const_entries: bool,
}

impl TableSpec {
    /// True if the data plane's copies have [arrays](Table::direct) of entry numbers.
    pub fn is_direct(&self) -> bool {
        Index::is_array(&self.layout, self.size)
    }

    /// Words from one [record](crate::Records) to the next.
    pub fn stride(&self) -> usize {
        let has_keys = self.layout.order() == Order::Only && !self.is_direct();
        stride(if has_keys { self.layout.words() } else { 0 }, self.data_words)
    }
}

/// Action, member or group that an entry runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Run {
    /// An action of the table, with its data in words.
    Action(u32, Vec<u64>),
    /// A member of the table's profile.
    Member(u32),
    /// A group of the table's profile.
    Group(u32),
}

/// The first word of an entry's action: the kind. The number is in the low 32 bits.
pub mod action_word {
    /// An action of the table; its data follow.
    pub const ACTION: u64 = 0;
    /// A member of the table's profile.
    pub const MEMBER: u64 = 1 << 32;
    /// A group of the table's profile.
    pub const GROUP: u64 = 2 << 32;
}

impl Run {
    fn words(&self) -> Vec<u64> {
        match self {
            Run::Action(action, data) => {
                [&[action_word::ACTION | u64::from(*action)], data.as_slice()].concat()
            }
            Run::Member(member) => vec![action_word::MEMBER | u64::from(*member)],
            Run::Group(group) => vec![action_word::GROUP | u64::from(*group)],
        }
    }

    fn of(words: &[u64]) -> Run {
        let number = words[0] as u32;
        match words[0] - u64::from(number) {
            action_word::MEMBER => Run::Member(number),
            action_word::GROUP => Run::Group(number),
            _ => Run::Action(number, words[1..].to_vec()),
        }
    }
}

/// An entry as the control plane sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Number, fixed for the entry's life.
    pub number: u32,
    /// Match fields.
    pub key: EntryKey,
    /// Action, member or group; data is padded with zeros to the table's number of words.
    pub run: Run,
    /// The entry can be neither changed nor removed.
    pub is_const: bool,
}

/// The control plane's side of all tables of a pipeline: checks writes, answers reads, and keeps writes until they are
/// published.
///
/// Deterministic: the same calls give the same entry numbers, errors and structures.
#[derive(Debug)]
pub struct Control {
    pub(crate) tables: Vec<Store>,
    specs: Vec<(Option<ProfileId>, bool)>,
    pub(crate) profiles: Vec<ProfileStore>,
    seed: u64,
}

impl Control {
    /// Empty tables and profiles. `seed` makes the hashes unpredictable; it must be secret if attackers choose
    /// packets or entries.
    pub fn new(tables: Vec<TableSpec>, profiles: &[ProfileSpec], seed: u64) -> Control {
        let specs = tables.iter().map(|t| (t.profile, t.const_entries)).collect();
        let store = |(i, spec): (usize, TableSpec)| {
            Store::new(spec.layout, spec.size, spec.data_words, seed ^ (i as u64).rotate_left(32))
        };
        Control {
            tables: tables.into_iter().enumerate().map(store).collect(),
            specs,
            profiles: profiles.iter().map(|spec| ProfileStore::new(*spec)).collect(),
            seed,
        }
    }

    /// A copy for a data plane, to be made before the first write.
    pub(crate) fn data_plane(&self) -> (Vec<Table>, Vec<Profile>) {
        debug_assert!(
            self.tables.iter().all(|t| t.len() == 0),
            "made too late: its tables would lack entries"
        );
        let tables = self
            .tables
            .iter()
            .enumerate()
            .map(|(i, store)| Table::new(store, self.seed.wrapping_add(i as u64)));
        (tables.collect(), self.profiles.iter().map(Profile::new).collect())
    }

    /// Layout of a table's key in words.
    pub fn layout(&self, table: TableId) -> &KeyLayout {
        &self.tables[table].layout
    }

    /// Adds an entry and returns its number. Numbers of removed entries are reused after the next publication.
    pub fn insert(&mut self, table: TableId, key: &EntryKey, run: &Run) -> Result<u32, WriteError> {
        if self.specs[table].1 {
            return Err(WriteError::Constant);
        }
        self.insert_any(table, key, run, false)
    }

    /// Adds an entry that the program has declared: it can neither be changed nor removed.
    pub fn insert_const(&mut self, table: TableId, key: &EntryKey, run: &Run) -> Result<u32, WriteError> {
        self.insert_any(table, key, run, true)
    }

    fn insert_any(
        &mut self,
        table: TableId,
        key: &EntryKey,
        run: &Run,
        is_const: bool,
    ) -> Result<u32, WriteError> {
        if self.layout(table).fields().is_empty() {
            return Err(WriteError::NoKeys);
        }
        self.acquire(table, run)?;
        let inserted = self.tables[table].insert(key, &run.words(), is_const);
        if inserted.is_err() {
            self.release(table, run);
        }
        inserted
    }

    /// Makes room for `more` entries that are about to be inserted.
    pub fn reserve(&mut self, table: TableId, more: usize) {
        self.tables[table].reserve(more);
    }

    /// Replaces the action of the entry with this key.
    pub fn modify(&mut self, table: TableId, key: &EntryKey, run: &Run) -> Result<(), WriteError> {
        let entry = self.tables[table].find(key);
        let old = Run::of(self.tables[table].action(entry));
        self.acquire(table, run)?;
        let done = self.tables[table].modify(entry, &run.words());
        self.release(table, if done.is_ok() { &old } else { run });
        done
    }

    /// Removes the entry with this key.
    pub fn delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), WriteError> {
        let entry = self.tables[table].find(key);
        let old = Run::of(self.tables[table].action(entry));
        self.tables[table].delete(entry)?;
        self.release(table, &old);
        Ok(())
    }

    /// Removes all entries that are not constant.
    pub fn clear(&mut self, table: TableId) {
        for entry in self.tables[table].entries() {
            let old = Run::of(self.tables[table].action(entry));
            if self.tables[table].delete(entry).is_ok() {
                self.release(table, &old);
            }
        }
    }

    /// Replaces the default action.
    pub fn set_default(&mut self, table: TableId, run: &Run) -> Result<(), WriteError> {
        let old = Run::of(self.tables[table].action(0));
        if !matches!(run, Run::Action(..)) {
            self.acquire(table, run)?;
        }
        self.tables[table].set_default(&run.words())?;
        if !matches!(old, Run::Action(..)) {
            self.release(table, &old);
        }
        Ok(())
    }

    /// Default action.
    pub fn default_run(&self, table: TableId) -> Run {
        Run::of(self.tables[table].action(0))
    }

    /// The number of the entry with this key.
    pub fn find(&self, table: TableId, key: &EntryKey) -> Option<u32> {
        Some(self.tables[table].find(key)).filter(|entry| *entry != crate::records::MISS)
    }

    /// One entry, by its number.
    pub fn entry(&self, table: TableId, number: u32) -> Option<Entry> {
        let store = &self.tables[table];
        store.has(number).then(|| Entry {
            number,
            key: store.key(number),
            run: Run::of(store.action(number)),
            is_const: store.is_const(number),
        })
    }

    /// All entries of a table, the oldest first.
    pub fn entries(&self, table: TableId) -> impl Iterator<Item = Entry> + '_ {
        self.tables[table].entries().into_iter().filter_map(move |number| self.entry(table, number))
    }

    /// Number of entries of a table.
    pub fn len(&self, table: TableId) -> usize {
        self.tables[table].len()
    }

    /// True if a table has no entries.
    pub fn is_empty(&self, table: TableId) -> bool {
        self.len(table) == 0
    }

    /// The greatest number that an entry of a table can have: arrays by entry number need one more.
    pub fn greatest_number(&self, table: TableId) -> u32 {
        self.tables[table].size * 2
    }

    /// The numbers that got new owners, table by table, since the last publication: direct counters and meters of theirs
    /// must be as new before it. No reader uses them yet, and none uses them for their last owner.
    pub fn fresh(&self) -> impl Iterator<Item = (TableId, u32)> + '_ {
        self.tables.iter().enumerate().flat_map(|(id, store)| store.fresh().map(move |entry| (id, entry)))
    }

    /// Adds a member to a profile and gives its number, the smallest that is free.
    pub fn add_member(&mut self, profile: ProfileId, action: u32, data: &[u64]) -> Result<u32, WriteError> {
        self.profiles[profile].add_member(&Run::Action(action, data.to_vec()).words())
    }

    /// Replaces the action of a member.
    pub fn modify_member(
        &mut self,
        profile: ProfileId,
        member: u32,
        action: u32,
        data: &[u64],
    ) -> Result<(), WriteError> {
        self.profiles[profile].modify_member(member, &Run::Action(action, data.to_vec()).words())
    }

    /// Removes a member that no entry and no group names.
    pub fn delete_member(&mut self, profile: ProfileId, member: u32) -> Result<(), WriteError> {
        self.profiles[profile].delete_member(member)
    }

    /// Action and data of a member.
    pub fn member(&self, profile: ProfileId, member: u32) -> Option<Run> {
        self.profiles[profile].member(member).map(Run::of)
    }

    /// Adds a group and gives its number, the smallest that is free.
    pub fn add_group(&mut self, profile: ProfileId, members: &[Weighted]) -> Result<u32, WriteError> {
        self.profiles[profile].add_group(members)
    }

    /// Replaces the members of a group.
    pub fn modify_group(
        &mut self,
        profile: ProfileId,
        group: u32,
        members: &[Weighted],
    ) -> Result<(), WriteError> {
        self.profiles[profile].modify_group(group, members)
    }

    /// Removes a group that no entry names.
    pub fn delete_group(&mut self, profile: ProfileId, group: u32) -> Result<(), WriteError> {
        self.profiles[profile].delete_group(group)
    }

    /// The members of a group, by number.
    pub fn group(&self, profile: ProfileId, group: u32) -> Option<&[Weighted]> {
        self.profiles[profile].group(group)
    }

    /// The numbers of all members and of all groups of a profile.
    pub fn members_and_groups(&self, profile: ProfileId) -> (Vec<u32>, Vec<u32>) {
        self.profiles[profile].numbers()
    }

    /// Adds a one-shot action set (P4Runtime §9.2.3): actions as their words, with weight and watched port. It is a group
    /// whose members are its own, and goes when the last entry that names it does, or when a write that names it is refused
    /// and none other does.
    pub fn add_one_shot(
        &mut self,
        profile: ProfileId,
        actions: &[(u32, &[u64], u32, Option<u32>)],
    ) -> Result<u32, WriteError> {
        let words: Vec<_> =
            actions.iter().map(|(a, data, ..)| Run::Action(*a, data.to_vec()).words()).collect();
        let set =
            words.iter().zip(actions).map(|(words, (_, _, weight, port))| (words.as_slice(), *weight, *port));
        self.profiles[profile].add_one_shot(&set.collect::<Vec<_>>())
    }

    /// Members that watch a port get no packets while it is down.
    pub fn set_port(&mut self, port: u32, is_up: bool) {
        self.profiles.iter_mut().for_each(|profile| profile.set_port(port, is_up));
    }

    /// Memory in bytes, without that of the data plane's copies.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(Store::bytes).sum()
    }

    pub(crate) fn seal(&mut self) {
        self.tables.iter_mut().for_each(Store::seal);
        self.profiles.iter_mut().for_each(ProfileStore::seal);
    }

    pub(crate) fn settle(&mut self) {
        self.tables.iter_mut().for_each(Store::settle);
    }

    /// Counts the reference of an entry to the member or group of `run`.
    fn acquire(&mut self, table: TableId, run: &Run) -> Result<(), WriteError> {
        let profile = self.specs[table].0;
        match (profile, run) {
            (None, Run::Action(..)) => Ok(()),
            (Some(profile), Run::Member(member)) => self.profiles[profile].use_member(*member, true),
            (Some(profile), Run::Group(group)) => self.profiles[profile].use_group(*group, true),
            _ => Err(WriteError::Profile),
        }
    }

    /// Undoes [`acquire`](Control::acquire).
    fn release(&mut self, table: TableId, run: &Run) {
        let released = match (self.specs[table].0, run) {
            (Some(profile), Run::Member(member)) => self.profiles[profile].use_member(*member, false),
            (Some(profile), Run::Group(group)) => self.profiles[profile].use_group(*group, false),
            _ => Ok(()),
        };
        debug_assert_eq!(released, Ok(()));
    }
}
