//! `action_profile` and `action_selector`: action data that entries share, and groups of it.

use crate::hash::Algorithm;
use crate::names::refused;
use control_writes::GroupMember;
use dataplane_api::{EntryError, Port};
use ir::Name;
use ir_value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Members and groups.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    size: u64,
    /// Hash algorithm of a selector.
    pub(crate) algorithm: Algorithm,
    /// `action_selector`: it may have groups.
    selects: bool,
    members: BTreeMap<u32, Member>,
    groups: BTreeMap<u32, Group>,
    /// Ports that are down: members that watch them are not chosen.
    down: BTreeSet<Port>,
}

#[derive(Clone, Default, Debug)]
struct Group {
    members: Vec<GroupMember>,
    /// The members to choose from, by their numbers, each as often as its weight says.
    choice: Vec<u32>,
}

/// The largest sum of weights in a group.
const MOST_CHOICES: u64 = 1 << 16;

/// An action with its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// Control-plane name.
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
            down: BTreeSet::new(),
        }
    }

    /// A member.
    pub(crate) fn member(&self, id: u32) -> Option<&Member> {
        self.members.get(&id)
    }

    /// The member of a group that `hash` chooses: they are sorted by their number.
    pub(crate) fn choose(&self, group: u32, hash: u64) -> Option<&Member> {
        let choice = &self.groups.get(&group)?.choice;
        let position = hash.checked_rem(choice.len() as u64)?;
        self.member(*choice.get(position as usize)?)
    }

    /// Adds a member and gives its number, the smallest that is free.
    pub(crate) fn add_member(&mut self, member: Member) -> Result<u32, EntryError> {
        let id = smallest_free(&self.members);
        self.set_member(id, Some(member))?;
        Ok(id)
    }

    /// Makes, replaces or removes a member.
    pub(crate) fn set_member(&mut self, id: u32, to: Option<Member>) -> Result<(), EntryError> {
        match to {
            Some(_) if self.members.len() as u64 >= self.size && !self.members.contains_key(&id) => {
                return Err(refused(format!("the profile is full: it has {} members", self.size)));
            }
            Some(member) => drop(self.members.insert(id, member)),
            None => drop(self.members.remove(&id)),
        }
        Ok(())
    }

    /// Adds a group of members and gives its number, the smallest that is free.
    pub(crate) fn add_group(&mut self, members: &[u32]) -> Result<u32, EntryError> {
        let mut members = members.to_vec();
        members.sort_unstable();
        members.dedup();
        let members = members.into_iter().map(GroupMember::new);
        let id = smallest_free(&self.groups);
        self.set_group(id, Some(members.collect()))?;
        Ok(id)
    }

    /// Makes, replaces or removes a group.
    pub(crate) fn set_group(&mut self, id: u32, to: Option<Vec<GroupMember>>) -> Result<(), EntryError> {
        if !self.selects {
            return Err(refused("an action profile has no groups; an action selector has"));
        }
        let Some(mut members) = to else {
            self.groups.remove(&id);
            return Ok(());
        };
        if let Some(missing) = members.iter().find(|m| !self.members.contains_key(&m.member)) {
            return Err(refused(format!("there is no member {}", missing.member)));
        }
        let sum: u64 = members.iter().map(often).sum();
        if sum > MOST_CHOICES {
            return Err(refused(format!(
                "the weights of a group sum up to at most {MOST_CHOICES}, not {sum}"
            )));
        }
        members.sort_unstable();
        let choice = self.choice(&members);
        self.groups.insert(id, Group { members, choice });
        Ok(())
    }

    /// A port goes up or down.
    pub(crate) fn set_port(&mut self, port: Port, up: bool) {
        let changed = if up { self.down.remove(&port) } else { self.down.insert(port) };
        if changed {
            let mut groups = std::mem::take(&mut self.groups);
            for group in groups.values_mut() {
                group.choice = self.choice(&group.members);
            }
            self.groups = groups;
        }
    }

    fn choice(&self, members: &[GroupMember]) -> Vec<u32> {
        let up = |member: &&GroupMember| member.watch.port().is_none_or(|port| !self.down.contains(&port));
        let each = |member: &GroupMember| std::iter::repeat_n(member.member, often(member) as usize);
        members.iter().filter(up).flat_map(each).collect()
    }

    /// True if there is such a group.
    pub(crate) fn has_group(&self, id: u32) -> bool {
        self.groups.contains_key(&id)
    }
}

/// Weight of a member in its group's choice. Where weights are not allowed all are 0, and equal.
fn often(member: &GroupMember) -> u64 {
    u64::try_from(member.weight).unwrap_or(0).max(1)
}

fn smallest_free<T>(used: &BTreeMap<u32, T>) -> u32 {
    (0..).zip(used.keys()).find(|(free, used)| free != *used).map_or(used.len() as u32, |(free, _)| free)
}
