//! Action profiles and selectors: action data that entries share, and groups of it (P4Runtime §9.2).
//!
//! ```text
//! entry ── member ─────────────────────────────┐
//! entry ── group ── hash of the packet ── slot ┴─> member ─> action, data
//! ```
//!
//! State: a record for each member, 4 bytes for each slot of a group. Cost: a remainder and two reads. How members come
//! to slots is the [`Spread`]; members of weight 0 and those whose port is down have none. A group without slots chooses nothing,
//! and the default action runs.

use crate::records::Records;
use crate::write_error::WriteError;
use std::collections::{BTreeMap, BTreeSet};

/// How the slots of a group are filled. A packet takes slot `hash % slots`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Members sorted by number, each repeated by its weight: BMv2's choice, so that programs behave as there. A change
    /// of the group moves most flows.
    InOrder,
    /// So many slots, however many members there are. When a member goes, only its flows move, to all others; when one comes, it
    /// takes its share from all.
    Stable(u32),
}

/// One member of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weighted {
    /// Number of the member.
    pub member: u32,
    /// Weight of the member: its part of the packets is `weight` divided by the sum over the group.
    pub weight: u32,
    /// While this port is down it gets none.
    pub watch_port: Option<u32>,
}

impl Weighted {
    /// One part, always.
    pub fn one(member: u32) -> Weighted {
        Weighted { member, weight: 1, watch_port: None }
    }
}

/// Sizes of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProfileSpec {
    /// Maximum number of members, including those of one-shot action sets.
    pub size: u32,
    /// The greatest sum of weights in a group.
    pub max_group_weight: u32,
    /// Words of the longest action data.
    pub data_words: usize,
    /// How groups choose; `None` for a profile without groups.
    pub spread: Option<Spread>,
}

/// One copy of a profile, as the data plane reads it.
#[derive(Clone, Debug)]
pub struct Profile {
    members: Records,
    groups: Vec<Vec<u32>>,
}

impl Profile {
    pub(crate) fn new(store: &ProfileStore) -> Profile {
        Profile { members: Records::new(0, store.spec.data_words), groups: vec![] }
    }

    /// The members' actions and data, by number.
    pub fn members(&self) -> &Records {
        &self.members
    }

    /// The member that a group chooses for a packet with this hash.
    #[inline]
    pub fn choose(&self, group: u32, hash: u64) -> Option<u32> {
        let slots = self.groups.get(group as usize)?;
        let slot = hash.checked_rem(slots.len() as u64)?;
        slots.get(slot as usize).copied()
    }

    pub(crate) fn apply(&mut self, store: &ProfileStore) {
        for member in &store.sealed_members {
            self.members.reach(*member);
            if let Some(member_of_store) = store.members.get(member) {
                self.members.set_action(*member, &member_of_store.action);
            }
        }
        for group in &store.sealed_groups {
            let at = *group as usize;
            if at >= self.groups.len() {
                self.groups.resize(at + 1, vec![]);
            }
            self.groups[at] = store.groups.get(group).map_or(vec![], |g| g.slots.clone());
        }
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let slots: usize = self.groups.iter().map(|g| g.capacity() * 4 + size_of::<Vec<u32>>()).sum();
        self.members.bytes() + slots
    }
}

/// Control-plane state of a profile.
#[derive(Debug)]
pub(crate) struct ProfileStore {
    spec: ProfileSpec,
    members: BTreeMap<u32, Member>,
    groups: BTreeMap<u32, Group>,
    down: BTreeSet<u32>,
    dirty_members: BTreeSet<u32>,
    dirty_groups: BTreeSet<u32>,
    sealed_members: BTreeSet<u32>,
    sealed_groups: BTreeSet<u32>,
}

#[derive(Debug)]
struct Member {
    action: Vec<u64>,
    /// Entries and groups that name it.
    uses: usize,
}

#[derive(Debug)]
struct Group {
    members: Vec<Weighted>,
    slots: Vec<u32>,
    /// Entries that name it.
    uses: usize,
    /// The group belongs to an entry and is removed with it, with its members.
    is_one_shot: bool,
}

impl ProfileStore {
    pub(crate) fn new(spec: ProfileSpec) -> ProfileStore {
        ProfileStore {
            spec,
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            down: BTreeSet::new(),
            dirty_members: BTreeSet::new(),
            dirty_groups: BTreeSet::new(),
            sealed_members: BTreeSet::new(),
            sealed_groups: BTreeSet::new(),
        }
    }

    pub(crate) fn add_member(&mut self, action: &[u64]) -> Result<u32, WriteError> {
        self.check_action(action)?;
        if self.members.len() as u64 >= u64::from(self.spec.size) {
            return Err(WriteError::Full(self.spec.size));
        }
        let number = smallest_free(&self.members);
        self.members.insert(number, Member { action: self.padded(action), uses: 0 });
        self.dirty_members.insert(number);
        Ok(number)
    }

    pub(crate) fn modify_member(&mut self, number: u32, action: &[u64]) -> Result<(), WriteError> {
        self.check_action(action)?;
        let action = self.padded(action);
        self.members.get_mut(&number).ok_or(WriteError::NoMember(number))?.action = action;
        self.dirty_members.insert(number);
        Ok(())
    }

    pub(crate) fn delete_member(&mut self, number: u32) -> Result<(), WriteError> {
        match self.members.get(&number) {
            None => Err(WriteError::NoMember(number)),
            Some(member) if member.uses > 0 => Err(WriteError::InUse),
            Some(_) => {
                self.members.remove(&number);
                Ok(())
            }
        }
    }

    pub(crate) fn add_group(&mut self, members: &[Weighted]) -> Result<u32, WriteError> {
        self.check_group(members)?;
        let number = smallest_free(&self.groups);
        let group = Group { members: vec![], slots: vec![], uses: 0, is_one_shot: false };
        self.groups.insert(number, group);
        self.set_members(number, members.to_vec());
        Ok(number)
    }

    pub(crate) fn modify_group(&mut self, number: u32, members: &[Weighted]) -> Result<(), WriteError> {
        self.check_group(members)?;
        if !self.groups.contains_key(&number) {
            return Err(WriteError::NoGroup(number));
        }
        self.set_members(number, members.to_vec());
        Ok(())
    }

    pub(crate) fn delete_group(&mut self, number: u32) -> Result<(), WriteError> {
        match self.groups.get(&number) {
            None => Err(WriteError::NoGroup(number)),
            Some(group) if group.uses > 0 => Err(WriteError::InUse),
            Some(_) => {
                self.set_members(number, vec![]);
                self.groups.remove(&number);
                Ok(())
            }
        }
    }

    /// Adds a group with members of its own, one for each action with its weight and watched port.
    pub(crate) fn add_one_shot(&mut self, actions: &[(&[u64], u32, Option<u32>)]) -> Result<u32, WriteError> {
        actions.iter().try_for_each(|(action, ..)| self.check_action(action))?;
        self.check_weights(actions.iter().map(|(_, weight, _)| *weight))?;
        if (self.members.len() + actions.len()) as u64 > u64::from(self.spec.size) {
            return Err(WriteError::Full(self.spec.size));
        }
        let mut members = vec![];
        for (action, weight, watch_port) in actions {
            members.push(Weighted {
                member: self.add_member(action)?,
                weight: *weight,
                watch_port: *watch_port,
            });
        }
        let number = self.add_group(&members)?;
        if let Some(group) = self.groups.get_mut(&number) {
            group.is_one_shot = true;
        }
        Ok(number)
    }

    pub(crate) fn set_port(&mut self, port: u32, is_up: bool) {
        let changed = if is_up { self.down.remove(&port) } else { self.down.insert(port) };
        let watches = |group: &Group| group.members.iter().any(|m| m.watch_port == Some(port));
        let watching = self.groups.iter().filter(|(_, group)| changed && watches(group));
        for number in watching.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.fill_slots(number);
        }
    }

    /// An entry names a member from now on, or no longer.
    pub(crate) fn use_member(&mut self, number: u32, more: bool) -> Result<(), WriteError> {
        let member = self.members.get_mut(&number).ok_or(WriteError::NoMember(number))?;
        member.uses = if more { member.uses + 1 } else { member.uses - 1 };
        Ok(())
    }

    /// An entry names a group from now on, or no longer.
    pub(crate) fn use_group(&mut self, number: u32, more: bool) -> Result<(), WriteError> {
        let group = self.groups.get_mut(&number).ok_or(WriteError::NoGroup(number))?;
        group.uses = if more { group.uses + 1 } else { group.uses - 1 };
        if group.uses == 0 && group.is_one_shot {
            let members = group.members.clone();
            self.delete_group(number)?;
            members.iter().try_for_each(|m| self.delete_member(m.member))?;
        }
        Ok(())
    }

    pub(crate) fn member(&self, number: u32) -> Option<&[u64]> {
        self.members.get(&number).map(|m| m.action.as_slice())
    }

    pub(crate) fn group(&self, number: u32) -> Option<&[Weighted]> {
        self.groups.get(&number).map(|g| g.members.as_slice())
    }

    pub(crate) fn numbers(&self) -> (Vec<u32>, Vec<u32>) {
        (self.members.keys().copied().collect(), self.groups.keys().copied().collect())
    }

    pub(crate) fn seal(&mut self) {
        self.sealed_members = std::mem::take(&mut self.dirty_members);
        self.sealed_groups = std::mem::take(&mut self.dirty_groups);
    }

    fn check_action(&self, action: &[u64]) -> Result<(), WriteError> {
        if action.is_empty() || action.len() > 1 + self.spec.data_words {
            Err(WriteError::Data)
        } else {
            Ok(())
        }
    }

    fn padded(&self, action: &[u64]) -> Vec<u64> {
        let mut padded = action.to_vec();
        padded.resize(1 + self.spec.data_words, 0);
        padded
    }

    fn check_group(&self, members: &[Weighted]) -> Result<(), WriteError> {
        if let Some(missing) = members.iter().find(|m| !self.members.contains_key(&m.member)) {
            return Err(WriteError::NoMember(missing.member));
        }
        let distinct: BTreeSet<u32> = members.iter().map(|m| m.member).collect();
        if distinct.len() < members.len() {
            return Err(WriteError::Duplicate);
        }
        self.check_weights(members.iter().map(|m| m.weight))
    }

    fn check_weights(&self, weights: impl Iterator<Item = u32>) -> Result<(), WriteError> {
        if self.spec.spread.is_none() {
            return Err(WriteError::NoGroups);
        }
        let sum: u64 = weights.map(u64::from).sum();
        if sum > u64::from(self.spec.max_group_weight) { Err(WriteError::Weight) } else { Ok(()) }
    }

    /// Replaces the members of a group that exists.
    fn set_members(&mut self, number: u32, mut members: Vec<Weighted>) {
        members.sort_by_key(|m| m.member);
        let Some(group) = self.groups.get_mut(&number) else { return };
        let old = std::mem::replace(&mut group.members, members.clone());
        // Both lists contain existing members: `check_group` has checked the new ones, and members in use are never
        // deleted.
        for (weighted, more) in old.iter().map(|m| (m, false)).chain(members.iter().map(|m| (m, true))) {
            if let Some(member) = self.members.get_mut(&weighted.member) {
                member.uses = if more { member.uses + 1 } else { member.uses - 1 };
            }
        }
        self.fill_slots(number);
    }

    fn fill_slots(&mut self, number: u32) {
        let Some(group) = self.groups.get_mut(&number) else { return };
        let is_up = |m: &&Weighted| m.watch_port.is_none_or(|port| !self.down.contains(&port));
        let active: Vec<Weighted> =
            group.members.iter().filter(is_up).filter(|m| m.weight > 0).copied().collect();
        group.slots = match self.spec.spread {
            Some(Spread::Stable(slots)) if !active.is_empty() => {
                (0..slots).map(|slot| highest_weight(&active, slot)).collect()
            }
            Some(Spread::InOrder) => {
                active.iter().flat_map(|m| std::iter::repeat_n(m.member, m.weight as usize)).collect()
            }
            _ => vec![],
        };
        self.dirty_groups.insert(number);
    }
}

/// The member of a slot: the one that draws the highest lot, with as many lots as its weight. Whoever has not the
/// highest does not matter, so that a member's going moves its own slots alone.
fn highest_weight(members: &[Weighted], slot: u32) -> u32 {
    let lot = |m: &Weighted, i: u32| mix(u64::from(slot) << 32 | u64::from(m.member), i);
    let highest = |m: &Weighted| (0..m.weight).map(|i| lot(m, i)).max().unwrap_or(0);
    let best = members.iter().max_by_key(|m| (highest(m), m.member));
    best.map_or(0, |m| m.member)
}

fn mix(a: u64, b: u32) -> u64 {
    let z = a.wrapping_add((u64::from(b) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn smallest_free<T>(used: &BTreeMap<u32, T>) -> u32 {
    (0..).zip(used.keys()).find(|(free, used)| free != *used).map_or(used.len() as u32, |(free, _)| free)
}
