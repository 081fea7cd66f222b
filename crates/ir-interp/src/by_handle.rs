//! Entries by their handles, and what resets whole objects.

use crate::names::refused;
use crate::objects::Object;
use crate::switch::Switch;
use crate::table::Run;
use base_bits::Bits;
use control_writes::{Count, Crc, Match};
use dataplane_api::EntryError;
use ir::Name;

impl Switch {
    /// The whole control-plane name of a table.
    pub fn table_name(&self, table: &str) -> Result<&Name, EntryError> {
        Ok(&self.core.state.tables.by_name(table)?.control_plane_name)
    }

    /// Replaces what an entry runs.
    pub fn table_modify_handle(
        &mut self,
        table: &str,
        handle: u64,
        action: &str,
        args: &[Bits],
    ) -> Result<(), EntryError> {
        let (keys, priority) = self.key_of(table, handle)?;
        let program = std::sync::Arc::clone(&self.core.program);
        let found = self.core.state.tables.by_name_mut(table)?;
        if found.implementation.is_some() {
            return Err(refused(format!("the entries of `{table}` name members or groups")));
        }
        let (action, data) = found.action(&program, action, args, true)?;
        found.modify(&keys, priority, Run::Action(action, data))
    }

    /// Removes an entry.
    pub fn table_delete_handle(&mut self, table: &str, handle: u64) -> Result<(), EntryError> {
        let (keys, priority) = self.key_of(table, handle)?;
        self.core.state.tables.by_name_mut(table)?.delete(&keys, priority)
    }

    fn key_of(&self, table: &str, handle: u64) -> Result<(Vec<Match>, Option<i64>), EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        let found = table.entries.iter().find(|(_, entry)| entry.handle == handle);
        let none =
            || refused(format!("`{}` has no entry with the handle {handle}", table.control_plane_name));
        found.map(|(key, _)| (key.matches.to_vec(), Some(key.priority))).ok_or_else(none)
    }

    /// Sets all cells of a counter to zero; of a direct counter those of all entries.
    pub fn counter_reset(&mut self, name: &str) -> Result<(), EntryError> {
        let pick = |o| matches!(o, &Object::Counter(_) | &Object::DirectCounter).then_some(());
        let (id, ()) = self.core.state.object(&self.core.program, "counter", name, pick)?;
        if let Some(Object::Counter(counter)) = self.core.state.objects.get_mut(id.index()) {
            for index in 0..counter.size {
                counter.write(index, Count::default());
            }
            return Ok(());
        }
        for table in self.core.state.tables.iter_mut().filter(|table| table.counters == Some(id)) {
            table.entries.values_mut().for_each(|entry| entry.direct.count.write(Count::default()));
        }
        Ok(())
    }

    /// Sets what `crc16_custom` or `crc32_custom` computes, in every call and object; `width` is 16 or 32.
    pub fn set_custom_crc(&mut self, width: u32, crc: Crc) {
        match width {
            16 => self.set_crc16_custom(crc),
            _ => self.set_crc32_custom(crc),
        }
    }
}
