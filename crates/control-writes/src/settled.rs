//! Net effect of a list of writes.

use crate::{DefaultEntry, EntryKey, Write};
use std::collections::BTreeMap;

/// Subject of a write: of two writes with one subject the later counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Thing<R> {
    Entry(R, EntryKey),
    DirectCounter(R, EntryKey),
    Member(R, u32),
    Group(R, u32),
    ValueSet(R),
    Digest(R),
    Multicast(u32),
    Session(u32),
    CustomCrc(Option<String>, u32),
    Memory(R),
    /// A cell of an object, or all cells together.
    Cell(R, Option<u64>),
}

impl<R: Clone> Thing<R> {
    fn of(write: &Write<R>) -> Thing<R> {
        match write {
            Write::Entry { table, key, .. } => Thing::Entry(table.clone(), key.clone()),
            Write::Default { table, .. } => Thing::Entry(table.clone(), EntryKey::of_default()),
            Write::DirectCounter { table, key, .. } => Thing::DirectCounter(table.clone(), key.clone()),
            Write::Member { profile, member, .. } => Thing::Member(profile.clone(), *member),
            Write::Group { profile, group, .. } => Thing::Group(profile.clone(), *group),
            Write::ValueSet { set, .. } => Thing::ValueSet(set.clone()),
            Write::Digest { digest, .. } => Thing::Digest(digest.clone()),
            Write::Multicast { group, .. } => Thing::Multicast(*group),
            Write::CloneSession { session, .. } => Thing::Session(*session),
            Write::Memory { object, .. } => Thing::Memory(object.clone()),
            Write::CustomCrc { calculation, width, .. } => Thing::CustomCrc(calculation.clone(), *width),
            Write::Meter { meter: object, index, .. }
            | Write::Counter { counter: object, index, .. }
            | Write::Register { register: object, index, .. } => Thing::Cell(object.clone(), Some(*index)),
            Write::MeterArray { meter: object, .. }
            | Write::CounterReset { counter: object }
            | Write::RegisterReset { register: object } => Thing::Cell(object.clone(), None),
        }
    }
}

/// The writes that remain of `writes` on a device that nobody has written to before: each thing once, in its final
/// state. Things that are created and deleted again are left out, and so are changes back to the initial state.
/// `is_own` is true for entries of the source: their deletion stays.
///
/// A thing is placed where it was first written; a thing that is always written as a whole, where it was last written.
pub fn settled<R: Clone + Ord, T>(
    writes: impl IntoIterator<Item = (Write<R>, T)>,
    is_own: impl Fn(&R, &EntryKey) -> bool,
) -> Vec<(Write<R>, T)> {
    let mut kept: Vec<Option<(Write<R>, T)>> = vec![];
    let mut places: BTreeMap<Thing<R>, usize> = BTreeMap::new();
    for (write, with) in writes {
        let thing = Thing::of(&write);
        // A reset of the whole object makes earlier writes of its cells void.
        if let Thing::Cell(object, None) = &thing {
            let cells = Thing::Cell(object.clone(), None)..=Thing::Cell(object.clone(), Some(u64::MAX));
            let gone: Vec<_> = places.range(cells).map(|(thing, at)| (thing.clone(), *at)).collect();
            for (thing, at) in gone {
                places.remove(&thing);
                kept[at] = None;
            }
        }
        let before = places.remove(&thing);
        let old = before.and_then(|at| kept[at].take());
        let made_before = old.is_some();
        // The count of a deleted entry goes with the entry.
        if let (Write::Entry { table, key, to: None, .. }, true) = (&write, made_before) {
            let counter = Thing::DirectCounter(table.clone(), key.clone());
            places.remove(&counter).into_iter().for_each(|at| kept[at] = None);
        }
        // An entry of the source is on the device without a write, so its deletion must reach the device.
        let deletes_own = matches!(&write, Write::Entry { table, key, to: None, .. } if is_own(table, key));
        if is_as_at_the_start(&write) && !deletes_own && (made_before || !is_deletion(&write)) {
            continue;
        }
        let at = match before {
            Some(at) if !stands_last(&write) => at,
            _ => {
                kept.push(None);
                kept.len() - 1
            }
        };
        kept[at] = Some((joined(old.map(|(old, _)| old), write), with));
        places.insert(thing, at);
    }
    kept.into_iter().flatten().collect()
}

/// Merges two writes of one thing. The old count of a direct counter stays unless the new write sets it.
fn joined<R>(old: Option<Write<R>>, new: Write<R>) -> Write<R> {
    match (old, new) {
        (Some(Write::Entry { count: old, .. }), Write::Entry { table, key, to: Some(to), count }) => {
            Write::Entry { table, key, to: Some(to), count: count.or(old) }
        }
        (Some(Write::Default { count: old, .. }), Write::Default { table, to, count }) => {
            Write::Default { table, to, count: count.or(old) }
        }
        (_, new) => new,
    }
}

fn stands_last<R>(write: &Write<R>) -> bool {
    matches!(
        write,
        Write::Default { .. }
            | Write::Multicast { .. }
            | Write::CloneSession { .. }
            | Write::CustomCrc { .. }
            | Write::ValueSet { .. }
    )
}

fn is_deletion<R>(write: &Write<R>) -> bool {
    matches!(
        write,
        Write::Entry { to: None, .. }
            | Write::Member { to: None, .. }
            | Write::Group { to: None, .. }
            | Write::Multicast { to: None, .. }
            | Write::CloneSession { to: None, .. }
            | Write::Digest { to: None, .. }
    )
}

fn is_as_at_the_start<R>(write: &Write<R>) -> bool {
    match write {
        Write::Default { to, count: None, .. } => {
            let DefaultEntry { call, metadata, controller_metadata, meter, .. } = &**to;
            call.is_none() && metadata.is_empty() && *controller_metadata == 0 && meter.is_none()
        }
        Write::ValueSet { members, .. } => members.is_empty(),
        Write::Meter { to: None, .. }
        | Write::MeterArray { to: None, .. }
        | Write::CounterReset { .. }
        | Write::RegisterReset { .. } => true,
        write => is_deletion(write),
    }
}

#[cfg(test)]
mod tests {
    use super::settled;
    use crate::{ActionCall, Count, Entry, EntryKey, Match, Rate, Rates, Run, Write};
    use base_bits::Bits;

    type W = Write<&'static str>;

    fn key(value: u128) -> EntryKey {
        EntryKey { matches: [Match::Exact(Bits::new(8, value))].into(), priority: 0 }
    }

    fn entry(value: u128, action: &'static str) -> W {
        let entry = Entry::new(Run::Action(ActionCall { action, args: vec![] }));
        Write::Entry { table: "t", key: key(value), to: Some(Box::new(entry)), count: None }
    }

    fn gone(value: u128) -> W {
        Write::Entry { table: "t", key: key(value), to: None, count: None }
    }

    /// Entry 3 is the program's own.
    fn check(writes: &[W], left: &[W]) {
        let all = settled(writes.iter().cloned().zip(0..), |table, of| *table == "t" && *of == key(3));
        assert_eq!(all.into_iter().map(|(write, _)| write).collect::<Vec<_>>(), left);
    }

    #[test]
    fn each_thing_once_as_it_is_at_the_end() {
        check(&[entry(1, "a"), entry(2, "a"), entry(1, "b")], &[entry(1, "b"), entry(2, "a")]);
        check(&[entry(1, "a"), gone(1)], &[]);
        check(&[entry(1, "a"), gone(1), entry(1, "b")], &[entry(1, "b")]);
    }

    #[test]
    fn the_programs_own_entries_are_deleted_on_every_device() {
        check(&[gone(3)], &[gone(3)]);
        check(&[gone(3), entry(3, "a")], &[entry(3, "a")]);
        check(&[gone(3), entry(3, "a"), gone(3)], &[gone(3)]);
        check(&[entry(3, "a"), gone(3)], &[gone(3)]);
        check(&[gone(3), gone(3)], &[gone(3)]);
        let counted = match entry(3, "a") {
            Write::Entry { table, key, to, .. } => {
                Write::Entry { table, key, to, count: Some(Count { packets: 1, bytes: 64 }) }
            }
            other => other,
        };
        check(&[counted, gone(3)], &[gone(3)]);
    }

    #[test]
    fn counts_last_as_long_as_their_entries() {
        let to = Count { packets: 1, bytes: 64 };
        let counted = Write::DirectCounter { table: "t", key: key(1), to };
        check(&[entry(1, "a"), counted.clone()], &[entry(1, "a"), counted.clone()]);
        check(&[entry(1, "a"), counted, gone(1)], &[]);
        let with = |write, set| match write {
            Write::Entry { table, key, to, .. } => Write::Entry { table, key, to, count: Some(set) },
            other => other,
        };
        check(&[with(entry(1, "a"), to), entry(1, "b")], &[with(entry(1, "b"), to)]);
        let more = Count { packets: 2, bytes: 0 };
        check(&[with(entry(1, "a"), to), with(entry(1, "b"), more)], &[with(entry(1, "b"), more)]);
    }

    #[test]
    fn an_array_is_more_than_its_cells() {
        let rate = Rate { per_gigamicrosecond: 1, burst: 1 };
        let to = Some(Rates { committed: rate, peak: rate });
        let cell = |index, to| Write::Meter { meter: "m", index, to };
        let array = |to| Write::MeterArray { meter: "m", to };
        check(&[cell(1, to), array(to), cell(2, to)], &[array(to), cell(2, to)]);
        check(&[cell(1, to), array(None)], &[]);
        let count = Write::Counter { counter: "c", index: 7, to: Count::default() };
        check(&[count, Write::CounterReset { counter: "c" }], &[]);
    }
}
