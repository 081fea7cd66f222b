//! Values that the data plane has written, as P4Runtime entities.

use super::Controlled;
use super::change::{entry_of, refused};
use control_writes::{Count, Data, EntryKey};
use p4runtime_store::{Described, Live, Result, not_supported};
use std::ops::Range;

impl Live for Controlled {
    fn counter(&self, counter: u32, index: u64) -> Result<Count> {
        self.view().counter_read(self.catalog.counter(counter)?.name(), index).or_else(refused)
    }

    fn counters(&self, counter: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        let found = self.view().counter_cells(self.catalog.counter(counter)?.name(), cells);
        found.or_else(refused)?.into_iter().for_each(|(cell, count)| give(cell, count));
        Ok(())
    }

    fn registers(&self, register: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        let found = self.view().register_cells(self.catalog.register(register)?.name(), cells);
        match found.or_else(refused)? {
            Some(found) => found.into_iter().for_each(|(cell, data)| give(cell, data)),
            None => return not_supported("values of this type"),
        }
        Ok(())
    }

    fn direct_counter(&self, table: u32, key: &EntryKey) -> Result<Count> {
        let table = self.catalog.table(table)?.name();
        match key.is_of_default() {
            true => self.view().default_count(table),
            false => self.view().entry(entry_of(table, key)).map(|entry| entry.count),
        }
        .or_else(refused)
    }

    fn register(&self, register: u32, index: u64) -> Result<Data> {
        match self.view().register_data(self.catalog.register(register)?.name(), index).or_else(refused)? {
            Some(data) => Ok(data),
            None => not_supported("values of this type"),
        }
    }

    fn memory(&self, object: u32) -> Result<Vec<u8>> {
        self.view().memory(self.catalog.extern_object(object)?.1.name()).or_else(refused)
    }

    fn memory_version(&self, object: u32) -> Result<Option<u64>> {
        self.view().memory_version(self.catalog.extern_object(object)?.1.name()).or_else(refused)
    }

    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64> {
        let of = entry_of(self.catalog.table(table)?.name(), key);
        Ok(self.view().entry_idle(of, self.now).or_else(refused)?.as_ns())
    }
}
