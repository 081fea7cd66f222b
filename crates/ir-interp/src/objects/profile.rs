//! `action_profile` and `action_selector`: action data that entries share, and groups of it.

use crate::hash::Algorithm;
use crate::names::refused;
use crate::value::Value;
use dataplane_api::EntryError;
use ir::Name;
use std::collections::BTreeMap;

/// Members and groups.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    size: u64,
    /// Of a selector.
    pub(crate) algorithm: Algorithm,
    /// `action_selector`: it may have groups.
    selects: bool,
    members: BTreeMap<u32, Member>,
    groups: BTreeMap<u32, Vec<u32>>,
}

/// An action with its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// Its control-plane name.
    pub(crate) action: Name,
    pub(crate) data: Vec<Value>,
}

impl Profile {
    /// Empty; `size` is the number of members.
    pub(crate) fn new(size: u64, selector: Option<Algorithm>) -> Profile {
        Profile {
            size,
            algorithm: selector.unwrap_or(Algorithm::Crc32),
            selects: selector.is_some(),
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    /// A member.
    pub(crate) fn member(&self, id: u32) -> Option<&Member> {
        self.members.get(&id)
    }

    /// The member of a group that `hash` chooses: they are sorted by their number.
    pub(crate) fn choose(&self, group: u32, hash: u64) -> Option<&Member> {
        let members = self.groups.get(&group)?;
        let position = hash.checked_rem(members.len() as u64)?;
        self.member(*members.get(position as usize)?)
    }

    /// Adds a member and gives its number, the smallest that is free.
    pub(crate) fn add_member(&mut self, member: Member) -> Result<u32, EntryError> {
        if self.members.len() as u64 >= self.size {
            return Err(refused(format!("the profile is full: it has {} members", self.size)));
        }
        let id = smallest_free(&self.members);
        self.members.insert(id, member);
        Ok(id)
    }

    /// Adds a group of members and gives its number, the smallest that is free.
    pub(crate) fn add_group(&mut self, members: &[u32]) -> Result<u32, EntryError> {
        if !self.selects {
            return Err(refused("an action profile has no groups; an action selector has"));
        }
        if let Some(missing) = members.iter().find(|m| !self.members.contains_key(m)) {
            return Err(refused(format!("there is no member {missing}")));
        }
        let mut members = members.to_vec();
        members.sort_unstable();
        members.dedup();
        let id = smallest_free(&self.groups);
        self.groups.insert(id, members);
        Ok(id)
    }

    /// True if there is such a group.
    pub(crate) fn has_group(&self, id: u32) -> bool {
        self.groups.contains_key(&id)
    }
}

fn smallest_free<T>(used: &BTreeMap<u32, T>) -> u32 {
    (0..).zip(used.keys()).find(|(free, used)| free != *used).map_or(used.len() as u32, |(free, _)| free)
}
