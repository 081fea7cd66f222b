//! What the data plane has written, as P4Runtime shows it.

use super::change::{place, refused};
use super::{Controlled, data};
use ir_interp::EntryOf;
use p4runtime_proto::p4::v1::P4Data;
use p4runtime_store::{Count, Described, EntryKey, Live, Result};

impl Live for Controlled {
    fn counter(&self, counter: u32, index: u64) -> Result<Count> {
        let catalog = &self.catalog;
        let count = self.switch.counter_read(catalog.counter(counter)?.name(), index).or_else(refused)?;
        Ok(Count { packets: count.packets, bytes: count.bytes })
    }

    fn direct_counter(&self, table: u32, key: &EntryKey) -> Result<Count> {
        let (table, keys, priority) = place(&self.catalog, table, key)?;
        let count = match key.is_of_default() {
            true => self.switch.default_count(table),
            false => self.switch.entry(EntryOf { table, keys: &keys, priority }).map(|entry| entry.count),
        }
        .or_else(refused)?;
        Ok(Count { packets: count.packets, bytes: count.bytes })
    }

    fn register(&self, register: u32, index: u64) -> Result<P4Data> {
        let described = self.catalog.register(register)?;
        let value = self.switch.register_value(described.name(), index).or_else(refused)?;
        data::message(self.catalog.info(), described.type_spec.as_ref(), &value)
    }

    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64> {
        let (table, keys, priority) = place(&self.catalog, table, key)?;
        let idle =
            self.switch.entry_idle(EntryOf { table, keys: &keys, priority }, self.now).or_else(refused)?;
        Ok(idle.as_ns())
    }
}
