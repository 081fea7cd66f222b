//! Parser value sets: keys that the control plane fills, empty at the start.

use crate::names::refused;
use crate::table::{KeySpec, normal_of, prefix_mask};
use base_bits::Bits;
use control_writes::Match;
use dataplane_api::EntryError;
use ir::{Name, ParserId, ValueSetId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A value set.
#[derive(Clone, Debug)]
pub(crate) struct ValueSet {
    pub(crate) control_plane_name: Name,
    /// One for each position of a select case that it stands for.
    keys: Vec<KeySpec>,
    size: u64,
    members: Vec<Vec<Match>>,
    /// The members as values and masks, for machine code; none if one cannot be said so.
    masked: Option<Vec<Vec<(u128, u128)>>>,
}

impl ValueSet {
    /// Empty.
    pub(crate) fn new(control_plane_name: Name, keys: Vec<KeySpec>, size: u64) -> ValueSet {
        ValueSet { control_plane_name, keys, size, members: vec![], masked: Some(vec![]) }
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

    /// True if a member fits values of at most 128 bits.
    pub(crate) fn has_numbers(&self, values: &[u128]) -> bool {
        let Some(masked) = &self.masked else {
            let values: Vec<Bits> = values.iter().map(|value| Bits::new(128, *value)).collect();
            return self.has(&values);
        };
        let fits = |(value, (want, mask)): (&u128, &(u128, u128))| (value ^ want) & mask == 0;
        masked.iter().any(|member| values.iter().zip(member).all(fits))
    }

    /// A bit for each value of the only key, in words, if that has at most [`MOST_WIDTH`] bits.
    pub(crate) fn bits(&self) -> Option<Vec<u64>> {
        let [key] = self.keys.as_slice() else { return None };
        let values = 1u64 << Some(key.width).filter(|width| *width <= MOST_WIDTH)?;
        let mut words = vec![0; values.div_ceil(64) as usize];
        for value in 0..values {
            let is_in = self.has(&[Bits::new(key.width, u128::from(value))]);
            words[value as usize / 64] |= u64::from(is_in) << (value % 64);
        }
        Some(words)
    }

    /// A member in normal form as values and masks.
    fn masked(&self, member: &[Match]) -> Option<Vec<(u128, u128)>> {
        let one = |(spec, want): (&KeySpec, &Match)| {
            if spec.width > 128 {
                return None;
            }
            let (value, mask) = match want {
                Match::Exact(value) => (value, Bits::ones(spec.width)),
                Match::Ternary { value, mask } => (value, mask.clone()),
                Match::Lpm { value, prefix_len } => (value, prefix_mask(spec.width, *prefix_len)),
                Match::Any => return Some((0, 0)),
                Match::Range { .. } => return None,
            };
            Some((value.low_u128(), mask.low_u128()))
        };
        self.keys.iter().zip(member).map(one).collect()
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
        let masked = self.masked(&member);
        self.masked = self.masked.take().zip(masked).map(|(mut all, one)| {
            all.push(one);
            all
        });
        self.members.push(member);
        Ok(())
    }

    /// Removes all members.
    pub(crate) fn clear(&mut self) {
        self.members.clear();
        self.masked = Some(vec![]);
    }
}

/// Maximum width of a key whose values get a bit each.
pub const MOST_WIDTH: u32 = 12;

/// All value sets of a program, by parser.
#[derive(Debug, Default)]
pub(crate) struct ValueSets {
    pub(crate) by_parser: Vec<Vec<ValueSet>>,
    /// Number of writes, for compiled code with copies.
    pub(crate) writes: Arc<AtomicU64>,
}

impl ValueSets {
    /// One value set.
    pub(crate) fn get(&self, parser: ParserId, set: ValueSetId) -> Option<&ValueSet> {
        self.by_parser.get(parser.index())?.get(set.index())
    }

    /// The value set that the user means, for a write.
    pub(crate) fn by_name_mut(&mut self, name: &str) -> Result<&mut ValueSet, EntryError> {
        self.writes.fetch_add(1, Relaxed);
        let names: Vec<Name> =
            self.by_parser.iter().flatten().map(|s| s.control_plane_name.clone()).collect();
        let index = crate::names::resolve("value set", name, names.iter().map(Name::as_str))?;
        self.by_parser.iter_mut().flatten().nth(index).ok_or_else(|| refused("no such value set"))
    }
}
