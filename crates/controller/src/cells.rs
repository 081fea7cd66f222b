//! Cells of merged objects as numbers: each cell of a register is one, each of a counter two, its packets and its bytes; of a direct counter, each
//! entry has two, after its number ([`crate::numbers`]).

use crate::numbers::OF_DEFAULT;
use base_bits::Bits;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::v1::{
    CounterData, CounterEntry, Entity, Index, P4Data, RegisterEntry, entity::Entity as Kinds,
    p4_data::Data as Bytes,
};
use p4runtime_store::{Catalog, Change, Described, Live, Store};
use std::collections::BTreeMap;

/// Bits of a count.
const COUNT: u32 = 64;

/// The kind of object that has the cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    Register,
    Counter,
    /// The direct counter of a table.
    Entries,
}

/// Entries of a table on a device, by their numbers; none for other objects.
pub(crate) type Entries = BTreeMap<u64, EntryKey>;

/// The cells of a register of numbers, of a counter, or of the entries of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cells {
    of: Of,
    /// Bits of each.
    pub(crate) width: u32,
    /// Number of cells.
    pub(crate) size: u64,
}

impl Cells {
    /// Cells of an object; `None` for an object without cells that can be merged.
    pub(crate) fn of(catalog: &Catalog, id: u32) -> Option<Cells> {
        // This is asked for each message, and a fault with all known ids takes long to make.
        if let Some(counter) = catalog.info().counters.iter().find(|counter| counter.id() == id) {
            let size = u64::try_from(counter.size).ok()?.checked_mul(2)?;
            return Some(Cells { of: Of::Counter, width: COUNT, size });
        }
        if catalog.direct_counter(id).is_some() {
            return Some(Cells { of: Of::Entries, width: COUNT, size: u64::MAX });
        }
        let register = catalog.register(id).ok()?;
        let Data::Bits(zero) = catalog.register_zero(id).ok()? else { return None };
        let size = u64::try_from(register.size).ok()?;
        (1..=128).contains(&zero.width()).then_some(Cells { of: Of::Register, width: zero.width(), size })
    }

    /// True of the cells of a table's entries, which come and go.
    pub(crate) fn are_entries(self) -> bool {
        self.of == Of::Entries
    }

    /// The entries of a device that have numbers.
    pub(crate) fn entries(self, table: u32, store: &Store) -> Entries {
        if !self.are_entries() {
            return Entries::new();
        }
        let numbered = store.entries(table).map(|(key, entry)| (entry.controller_metadata, key.clone()));
        let default = (OF_DEFAULT, EntryKey::of_default());
        numbered.filter(|(number, _)| *number != OF_DEFAULT).chain([default]).collect()
    }

    /// True if the device has the cell.
    pub(crate) fn is_here(self, cell: u64, entries: &Entries) -> bool {
        !self.are_entries() || entries.contains_key(&(cell / 2))
    }

    /// Cells of a device that are not zero.
    pub(crate) fn shown(self, id: u32, entries: &Entries, target: &impl Live) -> BTreeMap<u64, u128> {
        let mut cells = BTreeMap::new();
        let mut note = |cell: u64, value: u128| {
            if value != 0 {
                cells.insert(cell, value);
            }
        };
        let mut both = |index: u64, count: Count| {
            note(2 * index, count.packets.into());
            note(2 * index + 1, count.bytes.into());
        };
        // A program without the object has no cells.
        let _ = match self.of {
            Of::Entries => {
                for (number, key) in entries {
                    target.direct_counter(id, key).into_iter().for_each(|count| both(*number, count));
                }
                Ok(())
            }
            Of::Counter => target.counters(id, 0..self.size / 2, &mut both),
            Of::Register => target.registers(id, 0..self.size, &mut |cell, data| note(cell, number(&data))),
        };
        cells
    }

    /// One of a device; `None` if there is no such cell.
    pub(crate) fn one(self, at: (u32, u64), entries: &Entries, target: &impl Live) -> Option<u128> {
        match self.of {
            Of::Register => target.register(at.0, at.1).ok().map(|data| number(&data)),
            Of::Counter | Of::Entries => self.count(at, entries, target).map(|count| part(count, at.1)),
        }
    }

    fn count(self, (id, cell): (u32, u64), entries: &Entries, target: &impl Live) -> Option<Count> {
        match self.are_entries() {
            true => target.direct_counter(id, entries.get(&(cell / 2))?).ok(),
            false => target.counter(id, cell / 2).ok(),
        }
    }

    /// The change that gives a cell a value; `None` if there is no such cell.
    pub(crate) fn change(
        self,
        (id, cell): (u32, u64),
        value: u128,
        entries: &Entries,
        target: &impl Live,
    ) -> Option<Change> {
        if self.of == Of::Register {
            let to = Data::Bits(Bits::new(self.width, value));
            return Some(Change::Register { register: id, index: cell, to });
        }
        let mut to = self.count((id, cell), entries, target)?;
        *if cell & 1 == 0 { &mut to.packets } else { &mut to.bytes } = value as u64;
        Some(match self.are_entries() {
            true => Change::DirectCounter { table: id, key: entries.get(&(cell / 2))?.clone(), to },
            false => Change::Counter { counter: id, index: cell / 2, to },
        })
    }

    /// Values of all cells as a control plane sees them: of registers, and of counters.
    pub(crate) fn seen(self, values: impl Iterator<Item = (u64, u128)>) -> Seen {
        let mut seen = Seen::default();
        for (cell, value) in values {
            if self.of != Of::Register {
                let count: &mut Count = seen.counts.entry(cell / 2).or_default();
                *if cell & 1 == 0 { &mut count.packets } else { &mut count.bytes } = value as u64;
            } else {
                seen.data.insert(cell, Data::Bits(Bits::new(self.width, value)));
            }
        }
        seen
    }

    /// The cells that an entity gives values, with these.
    pub(crate) fn written(self, entity: &Entity) -> Vec<(u64, u128)> {
        let all = |index: Option<Index>, size: u64| match index.map(|index| u64::try_from(index.index)) {
            Some(Ok(index)) => index..index + 1,
            Some(Err(_)) => 0..0,
            // P4Runtime: an entry without an index is about all cells.
            None => 0..size,
        };
        match &entity.entity {
            Some(Kinds::RegisterEntry(e)) => {
                let Some(Some(Bytes::Bitstring(bytes))) = e.data.as_ref().map(|data| &data.data) else {
                    return vec![];
                };
                let value = bytes.iter().fold(0, |value: u128, byte| value << 8 | u128::from(*byte));
                all(e.index, self.size).map(|cell| (cell, value)).collect()
            }
            Some(Kinds::CounterEntry(e)) => {
                let Some(data) = e.data else { return vec![] };
                let [packets, bytes] = [data.packet_count, data.byte_count].map(|n| u128::from(n as u64));
                let both = |index: u64| [(2 * index, packets), (2 * index + 1, bytes)];
                all(e.index, self.size / 2).flat_map(both).collect()
            }
            _ => vec![],
        }
    }
}

/// Values of an object.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) counts: BTreeMap<u64, Count>,
    pub(crate) data: BTreeMap<u64, Data>,
}

impl Seen {
    /// As entities of the object.
    pub(crate) fn entities(self, id: u32) -> Vec<Entity> {
        let at = |index: u64| Some(Index { index: i64::try_from(index).unwrap_or(i64::MAX) });
        let counter = |(index, count): (u64, Count)| {
            let data = CounterData { packet_count: count.packets as i64, byte_count: count.bytes as i64 };
            Kinds::CounterEntry(CounterEntry { counter_id: id, index: at(index), data: Some(data) })
        };
        let register = |(index, data): (u64, Data)| {
            let bytes = number(&data).to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len() - 1);
            let data = Some(P4Data { data: Some(Bytes::Bitstring(bytes[zeros..].to_vec())) });
            Kinds::RegisterEntry(RegisterEntry { register_id: id, index: at(index), data })
        };
        let counters = self.counts.into_iter().map(counter);
        let kinds = counters.chain(self.data.into_iter().map(register));
        kinds.map(|kind| Entity { entity: Some(kind) }).collect()
    }
}

fn part(count: Count, cell: u64) -> u128 {
    if cell & 1 == 0 { count.packets.into() } else { count.bytes.into() }
}

fn number(data: &Data) -> u128 {
    match data {
        Data::Bits(bits) => bits.to_u128().unwrap_or(0),
        _ => 0,
    }
}
