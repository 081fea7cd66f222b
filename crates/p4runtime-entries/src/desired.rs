//! What is there after the updates so far, with where the text says so.

use base_diag::Span;
use p4runtime_store::{Change, DefaultEntry, EntryKey};
use std::collections::BTreeMap;

/// What comes first when a device is filled: entries name groups, groups name members.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Member(u32, u32),
    Group(u32, u32),
    Entry(u32, EntryKey),
    DirectCounter(u32, EntryKey),
    Object(&'static str, u32, u64),
}

impl Place {
    fn phase(&self) -> u8 {
        match self {
            Place::Member(..) => 0,
            Place::Group(..) => 1,
            Place::Entry(..) => 2,
            Place::DirectCounter(..) | Place::Object(..) => 3,
        }
    }

    fn of(change: &Change) -> Place {
        match change {
            Change::Member { profile, member, .. } => Place::Member(*profile, *member),
            Change::Group { profile, group, .. } => Place::Group(*profile, *group),
            Change::Entry { table, key, .. } => Place::Entry(*table, key.clone()),
            Change::Default { table, .. } => Place::Entry(*table, EntryKey::of_default()),
            Change::DirectCounter { table, key, .. } => Place::DirectCounter(*table, key.clone()),
            Change::Multicast { group, .. } => Place::Object("multicast", *group, 0),
            Change::CloneSession { session, .. } => Place::Object("clone", *session, 0),
            Change::ValueSet { set, .. } => Place::Object("value set", *set, 0),
            Change::Digest { digest, .. } => Place::Object("digest", *digest, 0),
            Change::Meter { meter, index, .. } => Place::Object("meter", *meter, *index),
            Change::Counter { counter, index, .. } => Place::Object("counter", *counter, *index),
            Change::Register { register, index, .. } => Place::Object("register", *register, *index),
        }
    }
}

/// The last change of each thing, with its place in the text.
#[derive(Default)]
pub(crate) struct Desired {
    made: BTreeMap<Place, (u64, Change, Span)>,
    count: u64,
}

impl Desired {
    /// Notes a change. What is deleted is forgotten.
    pub(crate) fn note(&mut self, change: &Change, span: Span) {
        let place = Place::of(change);
        if is_deletion(change) {
            self.made.remove(&place);
            return;
        }
        self.count += 1;
        let order = self.made.get(&place).map_or(self.count, |(order, ..)| *order);
        self.made.insert(place, (order, change.clone(), span));
    }

    /// All changes, what others name first, else in the order of the text.
    pub(crate) fn into_changes(self) -> Vec<(Change, Span)> {
        let mut all: Vec<_> = self
            .made
            .into_iter()
            .map(|(place, (order, change, span))| (place.phase(), order, change, span))
            .collect();
        all.sort_by_key(|(phase, order, ..)| (*phase, *order));
        all.into_iter().map(|(.., change, span)| (change, span)).collect()
    }
}

fn is_deletion(change: &Change) -> bool {
    match change {
        Change::Default { to, count, .. } => **to == DefaultEntry::default() && count.is_none(),
        Change::Member { to: None, .. }
        | Change::Group { to: None, .. }
        | Change::Entry { to: None, .. }
        | Change::Multicast { to: None, .. }
        | Change::CloneSession { to: None, .. }
        | Change::Digest { to: None, .. }
        | Change::Meter { to: None, .. } => true,
        _ => false,
    }
}
