//! Values of the data planes, combined: counts are joined by their objects' operators, registers are read from the
//! device that holds them.

use crate::cells::Seen;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::v1::{CounterData, Entity, TableEntry, entity::Entity as Kind};
use p4runtime_store::{Catalog, Change};
use state_modes::Merge;
use std::collections::BTreeMap;
use std::ops::Range;

/// An answer of every device to the same queries.
#[derive(Default, Debug)]
pub(crate) struct Gathered {
    counters: BTreeMap<(u32, u64), Count>,
    direct_counters: BTreeMap<(u32, EntryKey), Count>,
    /// Counts of entries with numbers, by table and number.
    entries: BTreeMap<(u32, u64), Count>,
    registers: BTreeMap<(u32, u64), Data>,
    since_last_hit: BTreeMap<(u32, EntryKey), u64>,
    /// By the ids of frame externs and value externs.
    memories: BTreeMap<u32, Vec<u8>>,
}

impl Gathered {
    /// Values of one device; duplicates count once. Objects that the whole program lacks belong to runtimes and are
    /// left out.
    pub(crate) fn of(catalog: &Catalog, found: Vec<Entity>) -> Gathered {
        let mut all = Gathered::default();
        for entity in found.into_iter().filter_map(|entity| entity.entity) {
            match entity {
                Kind::CounterEntry(e) => {
                    if let (Some(index), true) =
                        (cell(e.index.as_ref()), catalog.counter(e.counter_id).is_ok())
                    {
                        all.counters.insert((e.counter_id, index), count(e.data));
                    }
                }
                Kind::DirectCounterEntry(e) => {
                    if let Some(key) = e.table_entry.as_ref().and_then(|entry| key(catalog, entry)) {
                        all.direct_counters.insert(key, count(e.data));
                    }
                }
                Kind::RegisterEntry(e) => {
                    let Ok(register) = catalog.register(e.register_id) else { continue };
                    let data = e.data.and_then(|data| catalog.data(register.type_spec.as_ref(), &data).ok());
                    if let (Some(index), Some(data)) = (cell(e.index.as_ref()), data) {
                        all.registers.insert((e.register_id, index), data);
                    }
                }
                Kind::TableEntry(e) => {
                    let Some(key) = key(catalog, &e) else { continue };
                    if e.counter_data.is_some() {
                        all.direct_counters.insert(key.clone(), count(e.counter_data));
                    }
                    if let Some(since) = e.time_since_last_hit {
                        all.since_last_hit.insert(key, u64::try_from(since.elapsed_ns).unwrap_or(0));
                    }
                }
                Kind::ExternEntry(e) => {
                    if let Ok(Change::Memory { object, to }) = catalog.memory(&e) {
                        all.memories.insert(object, to);
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Adds the values of another device. `merge_of` gives the operator of a counter, and of a table's direct counter.
    pub(crate) fn add(&mut self, other: Gathered, merge_of: impl Fn(u32) -> Option<Merge>) {
        for (cell, count) in other.counters {
            let merge = merge_of(cell.0);
            self.counters
                .entry(cell)
                .and_modify(|known| *known = join(merge, *known, count))
                .or_insert(count);
        }
        for (key, count) in other.direct_counters {
            let merge = merge_of(key.0);
            let known = self.direct_counters.entry(key);
            known.and_modify(|known| *known = join(merge, *known, count)).or_insert(count);
        }
        self.registers.extend(other.registers);
        self.entries.extend(other.entries);
        self.memories.extend(other.memories);
        for (key, since) in other.since_last_hit {
            let known = self.since_last_hit.entry(key).or_insert(since);
            *known = since.min(*known);
        }
    }

    /// Takes over values that replace the present ones.
    pub(crate) fn prefer(&mut self, other: Gathered) {
        self.counters.extend(other.counters);
        self.direct_counters.extend(other.direct_counters);
        self.registers.extend(other.registers);
        self.entries.extend(other.entries);
        self.since_last_hit.extend(other.since_last_hit);
        self.memories.extend(other.memories);
    }

    /// An object has these values, whatever devices have reported.
    pub(crate) fn know(&mut self, id: u32, Seen { counts, data }: Seen) {
        self.counters.retain(|(counter, _), _| *counter != id);
        self.registers.retain(|(register, _), _| *register != id);
        self.counters.extend(counts.into_iter().map(|(index, count)| ((id, index), count)));
        self.registers.extend(data.into_iter().map(|(index, data)| ((id, index), data)));
    }

    /// The numbered entries of a table have these counts.
    pub(crate) fn know_entries(&mut self, table: u32, Seen { counts, .. }: Seen) {
        self.entries.retain(|(of, _), _| *of != table);
        self.entries.extend(counts.into_iter().map(|(number, count)| ((table, number), count)));
    }

    /// An entry has this count.
    pub(crate) fn know_entry(&mut self, entry: (u32, u64), count: Count) {
        self.entries.insert(entry, count);
    }

    /// The count of the entry of a table with this number.
    pub(crate) fn entry(&self, entry: (u32, u64)) -> Count {
        self.entries.get(&entry).copied().unwrap_or_default()
    }

    /// Records a value that the control plane writes.
    pub(crate) fn note(&mut self, change: &Change) {
        match change {
            Change::Counter { counter, index, to } => drop(self.counters.insert((*counter, *index), *to)),
            Change::DirectCounter { table, key, to } => {
                self.direct_counters.insert((*table, key.clone()), *to);
            }
            Change::Entry { table, key, to, count } => {
                // An entry that is written without counts starts at zero.
                let count = to.as_ref().map(|_| count.unwrap_or_default());
                match count {
                    Some(count) => drop(self.direct_counters.insert((*table, key.clone()), count)),
                    None => drop(self.direct_counters.remove(&(*table, key.clone()))),
                }
            }
            Change::Default { table, count: Some(count), .. } => {
                self.direct_counters.insert((*table, EntryKey::of_default()), *count);
            }
            Change::Register { register, index, to } => {
                self.registers.insert((*register, *index), to.clone());
            }
            Change::Memory { object, to } => drop(self.memories.insert(*object, to.clone())),
            _ => {}
        }
    }

    /// The memory of a frame extern or value extern; `None` if no device has it.
    pub(crate) fn memory(&self, object: u32) -> Option<&[u8]> {
        self.memories.get(&object).map(Vec::as_slice)
    }

    pub(crate) fn counter(&self, counter: u32, index: u64) -> Count {
        self.counters.get(&(counter, index)).copied().unwrap_or_default()
    }

    /// Passes the known cells of a counter to `give`.
    pub(crate) fn counters(&self, counter: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) {
        let known = self.counters.range((counter, cells.start)..(counter, cells.end));
        known.for_each(|((_, cell), count)| give(*cell, *count));
    }

    /// Passes the known cells of a register to `give`.
    pub(crate) fn registers(&self, register: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) {
        let known = self.registers.range((register, cells.start)..(register, cells.end));
        known.for_each(|((_, cell), data)| give(*cell, data.clone()));
    }

    pub(crate) fn direct_counter(&self, table: u32, key: &EntryKey) -> Count {
        self.direct_counters.get(&(table, key.clone())).copied().unwrap_or_default()
    }

    pub(crate) fn register(&self, register: u32, index: u64) -> Option<Data> {
        self.registers.get(&(register, index)).cloned()
    }

    pub(crate) fn since_last_hit(&self, table: u32, key: &EntryKey) -> u64 {
        self.since_last_hit.get(&(table, key.clone())).copied().unwrap_or_default()
    }
}

fn cell(index: Option<&p4runtime_proto::p4::v1::Index>) -> Option<u64> {
    u64::try_from(index?.index).ok()
}

fn key(catalog: &Catalog, entry: &TableEntry) -> Option<(u32, EntryKey)> {
    Some((entry.table_id, catalog.entry_key(entry).ok()?))
}

fn count(data: Option<CounterData>) -> Count {
    let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
    let data = data.unwrap_or_default();
    Count { packets: unsigned(data.packet_count), bytes: unsigned(data.byte_count) }
}

/// One count of two copies'; without an operator the second one's.
fn join(merge: Option<Merge>, one: Count, other: Count) -> Count {
    let Some(merge) = merge else { return other };
    Count { packets: merge.join(one.packets, other.packets), bytes: merge.join(one.bytes, other.bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::from_text;
    use std::sync::Arc;

    #[test]
    fn what_default_entries_have_counted_is_summed() {
        let info = from_text(
            r#"pkg_info { arch: "psa" }
               tables { preamble { id: 1 name: "t" } match_fields { id: 1 name: "k" bitwidth: 8 match_type: EXACT } }"#,
        );
        let catalog = Catalog::new(Arc::new(info.unwrap()));
        let gathered = |text: &str| Gathered::of(&catalog, vec![from_text(text).unwrap()]);
        let mut all = gathered(
            "table_entry { table_id: 1 is_default_action: true counter_data { packet_count: 1 byte_count: 60 } }",
        );
        let more = "direct_counter_entry { table_entry { table_id: 1 is_default_action: true } data { packet_count: 2 } }";
        all.add(gathered(more), |_| Some(Merge::Add));
        let of_default = EntryKey::of_default();
        assert_eq!(all.direct_counter(1, &of_default), Count { packets: 3, bytes: 60 });
        let change = |count| Change::Default { table: 1, to: Box::default(), count };
        all.note(&change(None));
        assert_eq!(all.direct_counter(1, &of_default).packets, 3);
        all.note(&change(Some(Count { packets: 9, bytes: 9 })));
        assert_eq!(all.direct_counter(1, &of_default).packets, 9);
    }

    #[test]
    fn copies_are_joined_by_the_operator_of_their_object() {
        let info = from_text(
            r#"pkg_info { arch: "psa" }
               counters { preamble { id: 7 name: "c" } spec { unit: PACKETS } size: 4 }"#,
        );
        let catalog = Catalog::new(Arc::new(info.unwrap()));
        let gathered = |packets: u64| {
            let text = format!(
                "counter_entry {{ counter_id: 7 index {{ index: 2 }} data {{ packet_count: {packets} }} }}"
            );
            Gathered::of(&catalog, vec![from_text(&text).unwrap()])
        };
        for (merge, joined) in
            [(Some(Merge::Add), 7), (Some(Merge::Max), 4), (Some(Merge::Min), 3), (None, 3)]
        {
            let mut all = gathered(4);
            all.add(gathered(3), |id| merge.filter(|_| id == 7));
            assert_eq!(all.counter(7, 2).packets, joined, "{merge:?}");
        }
    }
}
