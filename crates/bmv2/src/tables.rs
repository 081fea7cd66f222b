//! Methods about tables: `bm_mt_*`.

use crate::call::{Answer, Args, VOID, declared, unable};
use crate::catalog::{Named, by_id};
use crate::entry::{action_of, default_entry, entry_value, error, key, run_value};
use crate::objects::{count_of, count_value, rates, rates_value};
use crate::profiles::id_of;
use crate::services::{Services, table_error, updated};
use crate::switch::Switch;
use crate::wire::{Type, Value};
use p4runtime_proto::p4::config::v1::{DirectMeter, Table};
use p4runtime_proto::p4::v1::{
    DirectCounterEntry, DirectMeterEntry, TableAction, TableEntry, entity::Entity as Of, table_action, update,
};

/// The name of a table is the second argument of all methods.
const TABLE: i16 = 2;

impl<S: Switch> Services<S> {
    pub(crate) fn tables(&mut self, method: &str, args: &Args<'_>) -> Option<Answer> {
        Some(match method {
            "bm_mt_get_num_entries" => self.num_entries(args),
            "bm_mt_clear_entries" => self.clear_entries(args),
            "bm_mt_add_entry" => self.add_entry(
                args,
                |services, table| action_of(&services.info, table, args.text(4)?, &args.strings(5)?),
                6,
            ),
            "bm_mt_indirect_add_entry" => {
                self.add_entry(args, |_, table| indirect(table, args.index(4)?, false), 5)
            }
            "bm_mt_indirect_ws_add_entry" => {
                self.add_entry(args, |_, table| indirect(table, args.index(4)?, true), 5)
            }
            "bm_mt_set_default_action" => self.set_default(args),
            "bm_mt_reset_default_entry" | "bm_mt_indirect_reset_default_entry" => self.reset_default(args),
            "bm_mt_indirect_set_default_member" => self.set_default_member(args),
            "bm_mt_indirect_ws_set_default_group" => declared(
                error::ERROR,
                "a default that names a group is not supported: name a member, or add an entry for all packets",
            ),
            "bm_mt_delete_entry" | "bm_mt_indirect_delete_entry" => self.delete_entry(args),
            "bm_mt_modify_entry" => self.modify_entry(args, |services, table| {
                action_of(&services.info, table, args.text(4)?, &args.strings(5)?)
            }),
            "bm_mt_indirect_modify_entry" => {
                self.modify_entry(args, |_, table| indirect(table, args.index(4)?, false))
            }
            "bm_mt_indirect_ws_modify_entry" => {
                self.modify_entry(args, |_, table| indirect(table, args.index(4)?, true))
            }
            "bm_mt_set_entry_ttl" | "bm_mt_indirect_set_entry_ttl" => self.set_ttl(args),
            "bm_mt_get_entries" => self.get_entries(args),
            "bm_mt_get_entry" => self.get_entry(args),
            "bm_mt_get_default_entry" => self.get_default(args),
            "bm_mt_get_entry_from_key" => self.entry_from_key(args),
            "bm_mt_read_counter" => self.read_direct_counter(args),
            "bm_mt_write_counter" => self.write_direct_counter(args),
            "bm_mt_reset_counters" => self.reset_direct_counters(args),
            "bm_mt_set_meter_rates" => self.set_direct_rates(args),
            "bm_mt_get_meter_rates" => self.get_direct_rates(args),
            _ => return None,
        })
    }

    fn num_entries(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        Ok(Value::I64(self.entries(&table)?.len() as i64))
    }

    fn clear_entries(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        let entries = self.handled(&table)?;
        let delete = |(_, entry): &(u32, TableEntry)| {
            let key = TableEntry {
                table_id: entry.table_id,
                r#match: entry.r#match.clone(),
                priority: entry.priority,
                ..TableEntry::default()
            };
            updated(update::Type::Delete, Of::TableEntry(key))
        };
        self.switch.write(entries.iter().map(delete).collect()).or_else(|status| table_error(&status))?;
        entries.iter().for_each(|(handle, _)| self.handles.forget(table.id(), *handle));
        match args.bool(3)? {
            true => self.reset_default(args),
            false => VOID,
        }
    }

    fn add_entry(
        &mut self,
        args: &Args<'_>,
        run: impl FnOnce(&Services<S>, &Table) -> Answer<TableAction>,
        options: i16,
    ) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        let priority = args.fields(options)?.optional_number(1)?.unwrap_or(0);
        let key = key(&table, &args.structs(3)?, priority)?;
        // The program's own entries have the first handles.
        if !self.handles.knows(table.id()) {
            self.handled(&table)?;
        }
        let entry = TableEntry { action: Some(run(self, &table)?), ..key };
        self.write(update::Type::Insert, Of::TableEntry(entry.clone()))
            .or_else(|status| table_error(&status))?;
        Ok(Value::I32(self.handles.handle(&entry) as i32))
    }

    fn modify_entry(
        &mut self,
        args: &Args<'_>,
        run: impl FnOnce(&Services<S>, &Table) -> Answer<TableAction>,
    ) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        let entry = self.entry(&table, args.index(3)?)?;
        let entry = TableEntry { action: Some(run(self, &table)?), time_since_last_hit: None, ..entry };
        self.write(update::Type::Modify, Of::TableEntry(entry)).or_else(|status| table_error(&status))?;
        VOID
    }

    fn set_ttl(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        if table.idle_timeout_behavior == 0 {
            return declared(error::AGEING_DISABLED, format!("`{}` has no idle timeouts", table.name()));
        }
        let entry = self.entry(&table, args.index(3)?)?;
        let idle_timeout_ns = args.number(4)?.max(0).saturating_mul(1_000_000);
        let entry = TableEntry { idle_timeout_ns, time_since_last_hit: None, ..entry };
        self.write(update::Type::Modify, Of::TableEntry(entry)).or_else(|status| table_error(&status))?;
        VOID
    }

    fn delete_entry(&mut self, args: &Args<'_>) -> Answer {
        let (table, handle) = (self.table(args.text(TABLE)?)?, args.index(3)?);
        self.entry(&table, handle)?;
        let key = self.handles.key(table.id(), handle).unwrap_or_default();
        self.write(update::Type::Delete, Of::TableEntry(key)).or_else(|status| table_error(&status))?;
        self.handles.forget(table.id(), handle);
        VOID
    }

    fn set_default(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        if table.const_default_action_id != 0 {
            return declared(
                error::DEFAULT_ACTION_IS_CONST,
                format!("the default action of `{}` is constant", table.name()),
            );
        }
        let action = action_of(&self.info, &table, args.text(3)?, &args.strings(4)?)?;
        self.default_to(&table, Some(action))
    }

    fn set_default_member(&mut self, args: &Args<'_>) -> Answer {
        let (table, handle) = (self.table(args.text(TABLE)?)?, args.index(3)?);
        let member = indirect(&table, handle, false)?;
        if table.const_default_action_id != 0 {
            return declared(
                error::DEFAULT_ENTRY_IS_CONST,
                format!("the default action of `{}` is constant", table.name()),
            );
        }
        if let Some(profile) = by_id(&self.info.action_profiles, table.implementation_id).cloned() {
            self.member(&profile, handle)?;
        }
        self.default_to(&table, Some(member))
    }

    fn reset_default(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        self.default_to(&table, None)
    }

    fn default_to(&mut self, table: &Table, action: Option<TableAction>) -> Answer {
        let entry = default_entry(table, action);
        self.write(update::Type::Modify, Of::TableEntry(entry)).or_else(|status| table_error(&status))?;
        VOID
    }

    fn get_default(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        Ok(self.default_value(&table)?.1)
    }

    fn default_value(&mut self, table: &Table) -> Answer<(TableEntry, Value)> {
        let query = default_entry(table, None);
        let found = self.read(Of::TableEntry(query)).or_else(|status| table_error(&status))?;
        let entry = match found.into_iter().next() {
            Some(Of::TableEntry(entry)) => entry,
            _ => TableEntry::default(),
        };
        let value = run_value(&self.info, entry.action.as_ref());
        Ok((entry, value))
    }

    fn get_entries(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        let entries = self.handled(&table)?;
        // An entry is freed as soon as its value is there.
        let value = |(handle, entry)| entry_value(&self.info, &table, handle, &entry);
        let values = entries.into_iter().map(value);
        Ok(Value::List(Type::Struct, values.collect()))
    }

    fn get_entry(&mut self, args: &Args<'_>) -> Answer {
        let (table, handle) = (self.table(args.text(TABLE)?)?, args.index(3)?);
        let entry = self.entry(&table, handle)?;
        Ok(entry_value(&self.info, &table, handle, &entry))
    }

    /// Without a key, the default entry.
    fn entry_from_key(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        let keys = args.structs(3)?;
        if keys.is_empty() {
            let (entry, _) = self.default_value(&table)?;
            return Ok(entry_value(&self.info, &table, 0, &entry));
        }
        let key = key(&table, &keys, args.fields(4)?.optional_number(1)?.unwrap_or(0))?;
        let found = self.read(Of::TableEntry(key)).or_else(|status| table_error(&status))?;
        match found.into_iter().next() {
            Some(Of::TableEntry(entry)) => {
                if !self.handles.knows(table.id()) {
                    self.handled(&table)?;
                }
                let handle = self.handles.handle(&entry);
                Ok(entry_value(&self.info, &table, handle, &entry))
            }
            _ => declared(error::BAD_MATCH_KEY, "there is no entry with this key"),
        }
    }

    fn counted(&mut self, args: &Args<'_>) -> Answer<DirectCounterEntry> {
        let table = self.table(args.text(TABLE)?)?;
        if !self.info.direct_counters.iter().any(|counter| counter.direct_table_id == table.id()) {
            return declared(error::COUNTERS_DISABLED, format!("`{}` has no direct counter", table.name()));
        }
        let entry = self.entry(&table, args.index(3)?)?;
        let entry = TableEntry { action: None, idle_timeout_ns: 0, time_since_last_hit: None, ..entry };
        Ok(DirectCounterEntry { table_entry: Some(entry), data: None })
    }

    fn read_direct_counter(&mut self, args: &Args<'_>) -> Answer {
        let query = self.counted(args)?;
        let found = self.read(Of::DirectCounterEntry(query)).or_else(|status| table_error(&status))?;
        match found.into_iter().next() {
            Some(Of::DirectCounterEntry(entry)) => Ok(count_value(entry.data.as_ref())),
            _ => unable("the counter has no value"),
        }
    }

    fn write_direct_counter(&mut self, args: &Args<'_>) -> Answer {
        let query = self.counted(args)?;
        let entry = DirectCounterEntry { data: Some(count_of(&args.fields(4)?)?), ..query };
        self.write(update::Type::Modify, Of::DirectCounterEntry(entry))
            .or_else(|status| table_error(&status))?;
        VOID
    }

    fn reset_direct_counters(&mut self, args: &Args<'_>) -> Answer {
        let table = self.table(args.text(TABLE)?)?;
        let entries = self.handled(&table)?;
        let zero = |(_, entry): (u32, TableEntry)| {
            let entry = TableEntry { action: None, idle_timeout_ns: 0, time_since_last_hit: None, ..entry };
            let entry = DirectCounterEntry { table_entry: Some(entry), data: Some(Default::default()) };
            updated(update::Type::Modify, Of::DirectCounterEntry(entry))
        };
        self.switch.write(entries.into_iter().map(zero).collect()).or_else(|status| table_error(&status))?;
        VOID
    }

    fn metered(&mut self, args: &Args<'_>) -> Answer<DirectMeterEntry> {
        let table = self.table(args.text(TABLE)?)?;
        let is_its = |meter: &DirectMeter| meter.direct_table_id == table.id();
        if !self.info.direct_meters.iter().any(is_its) {
            return declared(error::METERS_DISABLED, format!("`{}` has no direct meter", table.name()));
        }
        let entry = self.entry(&table, args.index(3)?)?;
        let entry = TableEntry { action: None, idle_timeout_ns: 0, time_since_last_hit: None, ..entry };
        Ok(DirectMeterEntry { table_entry: Some(entry), config: None, counter_data: None })
    }

    fn set_direct_rates(&mut self, args: &Args<'_>) -> Answer {
        let query = self.metered(args)?;
        let config = rates(&args.structs(4)?)?;
        let Some(config) = config else {
            return declared(error::ERROR, "a meter has two rates, the first not above the second");
        };
        let entry = DirectMeterEntry { config: Some(config), ..query };
        self.write(update::Type::Modify, Of::DirectMeterEntry(entry))
            .or_else(|status| table_error(&status))?;
        VOID
    }

    fn get_direct_rates(&mut self, args: &Args<'_>) -> Answer {
        let query = self.metered(args)?;
        let found = self.read(Of::DirectMeterEntry(query)).or_else(|status| table_error(&status))?;
        match found.into_iter().next() {
            Some(Of::DirectMeterEntry(entry)) => Ok(rates_value(entry.config.as_ref())),
            _ => unable("the meter has no value"),
        }
    }
}

/// A member or group of the table's profile.
fn indirect(table: &Table, handle: u32, is_group: bool) -> Answer<TableAction> {
    if table.implementation_id == 0 {
        return declared(error::WRONG_TABLE_TYPE, format!("`{}` has no action profile", table.name()));
    }
    Ok(TableAction {
        r#type: Some(match is_group {
            true => table_action::Type::ActionProfileGroupId(id_of(handle)),
            false => table_action::Type::ActionProfileMemberId(id_of(handle)),
        }),
    })
}
