//! Handles of entries: small numbers that BMv2's clients name entries by, where P4Runtime names them by their keys.

use p4runtime_proto::p4::v1::TableEntry;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Handles of all tables.
#[derive(Default)]
pub struct Handles(BTreeMap<u32, OfTable>);

/// Keys are encoded: handles stay, and a decoded key takes many times the memory.
#[derive(Default)]
struct OfTable {
    keys: BTreeMap<u32, Arc<[u8]>>,
    handles: BTreeMap<Arc<[u8]>, u32>,
    /// Below the next one that was never given.
    free: BTreeSet<u32>,
    next: u32,
}

/// The key of an entry: matches sorted by field id, and the priority.
fn key_of(entry: &TableEntry) -> Vec<u8> {
    let mut matches = entry.r#match.clone();
    matches.sort_by_key(|field| field.field_id);
    let key = TableEntry {
        table_id: entry.table_id,
        r#match: matches,
        priority: entry.priority,
        ..TableEntry::default()
    };
    key.encode_to_vec()
}

impl OfTable {
    fn handle(&mut self, entry: &TableEntry) -> u32 {
        let key: Arc<[u8]> = key_of(entry).into();
        if let Some(handle) = self.handles.get(&key) {
            return *handle;
        }
        let handle = self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.keys.insert(handle, Arc::clone(&key));
        self.handles.insert(key, handle);
        handle
    }

    fn forget(&mut self, handle: u32) {
        if let Some(key) = self.keys.remove(&handle) {
            self.handles.remove(&key);
            self.free.insert(handle);
        }
    }
}

impl Handles {
    /// True if the entries of a table have been looked at.
    pub fn knows(&self, table: u32) -> bool {
        self.0.contains_key(&table)
    }

    /// The key of an entry.
    pub fn key(&self, table: u32, handle: u32) -> Option<TableEntry> {
        let key = self.0.get(&table)?.keys.get(&handle)?;
        TableEntry::decode(&key[..]).ok()
    }

    /// The handle of an entry, which is given one if it has none.
    pub fn handle(&mut self, entry: &TableEntry) -> u32 {
        self.0.entry(entry.table_id).or_default().handle(entry)
    }

    /// An entry is gone.
    pub fn forget(&mut self, table: u32, handle: u32) {
        if let Some(of) = self.0.get_mut(&table) {
            of.forget(handle);
        }
    }

    /// These are all entries of a table: handles of others are free, and new ones get theirs in this order. Sorted by handles.
    pub fn note(&mut self, table: u32, entries: Vec<TableEntry>) -> Vec<(u32, TableEntry)> {
        let of = self.0.entry(table).or_default();
        let known = |entry: &TableEntry| of.handles.get(&key_of(entry)[..]).copied();
        let there: BTreeSet<u32> = entries.iter().filter_map(known).collect();
        let gone: Vec<u32> = of.keys.keys().filter(|handle| !there.contains(handle)).copied().collect();
        gone.into_iter().for_each(|handle| of.forget(handle));
        let mut all: Vec<_> = entries.into_iter().map(|entry| (of.handle(&entry), entry)).collect();
        all.sort_by_key(|(handle, _)| *handle);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(priority: i32) -> TableEntry {
        TableEntry { table_id: 1, priority, ..TableEntry::default() }
    }

    #[test]
    fn a_handle_stays_with_its_entry_and_is_used_again_when_that_is_gone() {
        let mut handles = Handles::default();
        assert_eq!([3, 4, 5].map(|priority| handles.handle(&entry(priority))), [0, 1, 2]);
        assert_eq!(handles.handle(&entry(4)), 1);
        handles.forget(1, 0);
        assert_eq!((handles.key(1, 0), handles.key(1, 1)), (None, Some(entry(4))));
        let noted = handles.note(1, vec![entry(9), entry(5)]);
        assert_eq!(noted, [(0, entry(9)), (2, entry(5))]);
        assert_eq!(handles.handle(&entry(4)), 1);
    }
}
