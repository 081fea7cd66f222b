//! Numbers of the entries whose direct counters are merged ([`crate::merged`]): devices count by them, since an entry that is inserted again is
//! another one, with the same key.
//!
//! ```text
//! desired state    entry 10.0.0.1    number 7    ══ INSERT, 7 as `controller_metadata` ══>    devices
//! hub              cells 14 and 15: its packets and bytes                  0 and 1: those of the default entry
//! ```
//!
//! A number is used once. An undone deletion gives the entry its number back.

use control_writes::EntryKey;
use p4runtime_proto::p4::v1::TableEntry;
use p4runtime_store::Change;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of default entries, which always exist.
pub(crate) const OF_DEFAULT: u64 = 0;

/// An entry with its number.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Numbered {
    pub(crate) table: u32,
    pub(crate) number: u64,
    /// The entry's key.
    pub(crate) entry: TableEntry,
}

/// All numbers of a desired state.
#[derive(Default)]
pub(crate) struct Numbers {
    tables: BTreeSet<u32>,
    /// The last number of any.
    last: Arc<AtomicU64>,
    of: BTreeMap<(u32, EntryKey), u64>,
    /// Numbers of deleted entries whose deletion may be undone, the latest last.
    gone: BTreeMap<(u32, EntryKey), Vec<u64>>,
    /// True while something is undone: entries get the numbers that they had.
    pub(crate) undoes: bool,
}

impl Numbers {
    /// Entries of these tables have numbers, larger than `last`.
    pub(crate) fn of(tables: BTreeSet<u32>, last: Arc<AtomicU64>) -> Numbers {
        Numbers { tables, last, ..Numbers::default() }
    }

    /// True of a table whose entries have numbers.
    pub(crate) fn are_in(&self, table: u32) -> bool {
        self.tables.contains(&table)
    }

    /// An entry comes or goes.
    pub(crate) fn note(&mut self, change: &Change) {
        let Change::Entry { table, key, to, .. } = change else { return };
        if !self.are_in(*table) {
            return;
        }
        let key = (*table, key.clone());
        match (to, self.of.get(&key).copied()) {
            (Some(_), None) => {
                let number =
                    self.given_back(&key).unwrap_or_else(|| 1 + self.last.fetch_add(1, Ordering::Relaxed));
                self.of.insert(key, number);
            }
            (None, Some(number)) => {
                if !self.undoes {
                    self.gone.entry(key.clone()).or_default().push(number);
                }
                self.of.remove(&key);
            }
            _ => {}
        }
    }

    fn given_back(&mut self, key: &(u32, EntryKey)) -> Option<u64> {
        if !self.undoes {
            return None;
        }
        let numbers = self.gone.get_mut(key)?;
        let number = numbers.pop();
        if numbers.is_empty() {
            self.gone.remove(key);
        }
        number
    }

    /// The entry's number, if its table has any.
    pub(crate) fn get(&self, table: u32, key: &EntryKey) -> Option<u64> {
        match key.is_of_default() {
            true => self.are_in(table).then_some(OF_DEFAULT),
            false => self.of.get(&(table, key.clone())).copied(),
        }
    }

    /// The number of the entry, or of the one that was deleted last.
    pub(crate) fn latest(&self, table: u32, key: &EntryKey) -> Option<u64> {
        let gone = || self.gone.get(&(table, key.clone()))?.last().copied();
        self.get(table, key).or_else(gone)
    }

    /// Deletions, by table and number, that are not undone any more.
    pub(crate) fn are_gone(&mut self, ended: &BTreeSet<(u32, u64)>) {
        self.gone.retain(|(table, _), numbers| {
            numbers.retain(|number| !ended.contains(&(*table, *number)));
            !numbers.is_empty()
        });
    }

    /// Entries that are inserted until [`expect_none`](Numbers::expect_none) have these numbers, if they are among them.
    pub(crate) fn expect(&mut self, known: impl Iterator<Item = (u32, EntryKey, u64)>) {
        self.undoes = true;
        self.gone = known.map(|(table, key, number)| ((table, key), vec![number])).collect();
    }

    pub(crate) fn expect_none(&mut self) {
        self.undoes = false;
        self.gone.clear();
    }

    /// All entries.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &EntryKey, u64)> {
        self.of.iter().map(|((table, key), number)| (*table, key, *number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use control_writes::{Entry, Run};

    fn key(priority: i64) -> EntryKey {
        let exact = control_writes::Match::Exact(base_bits::Bits::new(8, 1));
        EntryKey { matches: [exact].into(), priority }
    }

    fn change(priority: i64, is_there: bool) -> Change {
        let entry = Entry::new(Run::Member(1));
        Change::Entry { table: 1, key: key(priority), to: is_there.then(|| Box::new(entry)), count: None }
    }

    #[test]
    fn an_entry_that_is_inserted_again_has_another_number_unless_its_deletion_is_undone() {
        let mut numbers = Numbers::of([1].into(), Arc::new(AtomicU64::new(6)));
        numbers.note(&change(1, true));
        numbers.note(&change(1, true));
        assert_eq!(numbers.get(1, &key(1)), Some(7));
        numbers.note(&change(1, false));
        assert_eq!((numbers.get(1, &key(1)), numbers.latest(1, &key(1))), (None, Some(7)));
        numbers.note(&change(1, true));
        assert_eq!(numbers.get(1, &key(1)), Some(8));
        // Both are undone, the last first.
        numbers.undoes = true;
        numbers.note(&change(1, false));
        numbers.note(&change(1, true));
        assert_eq!(numbers.get(1, &key(1)), Some(7));
        numbers.undoes = false;
        numbers.note(&change(1, false));
        numbers.are_gone(&[(1, 7)].into());
        numbers.undoes = true;
        numbers.note(&change(1, true));
        assert_eq!(numbers.get(1, &key(1)), Some(9));
        assert_eq!((numbers.get(1, &EntryKey::of_default()), numbers.get(2, &key(1))), (Some(0), None));
    }
}
