//! Parser value sets: keys that the control plane fills, empty at the start.

use crate::names::refused;
use crate::table::{KeySpec, normal_of};
use base_bits::Bits;
use control_writes::Match;
use dataplane_api::EntryError;
use ir::{Name, ParserId, ValueSetId};

/// A value set.
#[derive(Clone, Debug)]
pub(crate) struct ValueSet {
    pub(crate) control_plane_name: Name,
    /// One for each position of a select case that it stands for.
    keys: Vec<KeySpec>,
    size: u64,
    members: Vec<Vec<Match>>,
}

impl ValueSet {
    /// Empty.
    pub(crate) fn new(control_plane_name: Name, keys: Vec<KeySpec>, size: u64) -> ValueSet {
        ValueSet { control_plane_name, keys, size, members: vec![] }
    }

    /// One for each position.
    pub(crate) fn keys(&self) -> &[KeySpec] {
        &self.keys
    }

    /// Number of positions of a select case.
    pub(crate) fn width(&self) -> usize {
        self.keys.len()
    }

    /// True if a member fits.
    pub(crate) fn has(&self, values: &[Bits]) -> bool {
        let fits = |member: &Vec<Match>| {
            self.keys.iter().zip(member).zip(values).all(|((spec, want), v)| spec.matches(want, v))
        };
        self.members.iter().any(fits)
    }

    /// Adds a member.
    pub(crate) fn add(&mut self, wanted: &[Match]) -> Result<(), EntryError> {
        let name = &self.control_plane_name;
        let member = normal_of(name, "fields", &self.keys, wanted)?;
        if self.members.contains(&member) {
            return Err(refused(format!("`{name}` has this member already")));
        }
        if self.members.len() as u64 >= self.size {
            return Err(refused(format!("`{name}` is full: it has {} members", self.size)));
        }
        self.members.push(member);
        Ok(())
    }

    /// Removes all members.
    pub(crate) fn clear(&mut self) {
        self.members.clear();
    }
}

/// All value sets of a program, by parser.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueSets {
    pub(crate) by_parser: Vec<Vec<ValueSet>>,
}

impl ValueSets {
    /// One value set.
    pub(crate) fn get(&self, parser: ParserId, set: ValueSetId) -> Option<&ValueSet> {
        self.by_parser.get(parser.index())?.get(set.index())
    }

    /// The value set that the user means.
    pub(crate) fn by_name_mut(&mut self, name: &str) -> Result<&mut ValueSet, EntryError> {
        let names: Vec<Name> =
            self.by_parser.iter().flatten().map(|s| s.control_plane_name.clone()).collect();
        let index = crate::names::resolve("value set", name, names.iter().map(Name::as_str))?;
        self.by_parser.iter_mut().flatten().nth(index).ok_or_else(|| refused("no such value set"))
    }
}
