//! Operations on tables, members and groups of action profiles, and value sets.

use crate::names::refused;
use crate::objects::Object;
use crate::objects::profile::{Member, Profile};
use crate::switch::Switch;
use crate::table;
use crate::table::{IdleEntry, KeySpec, Run, action_data};
use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes as writes;
use control_writes::{ActionCall, Count, EntryKey, Match};
use dataplane_api::EntryError;
use ir::Name;
use ir_value::Value;

impl Switch {
    /// Adds an entry and gives its handle. `keys` has one for each key element that is not `selector`, in
    /// order; `args` one for each parameter without direction. A greater `priority` wins.
    pub fn table_add(
        &mut self,
        table: &str,
        keys: &[Match],
        action: &str,
        args: &[Bits],
        priority: Option<i64>,
    ) -> Result<u64, EntryError> {
        let program = std::sync::Arc::clone(&self.core.program);
        let table = self.core.state.tables.by_name_mut(table)?;
        if table.implementation.is_some() {
            return Err(refused(format!(
                "the entries of `{}` name members or groups",
                table.control_plane_name
            )));
        }
        let (action, data) = table.action(&program, action, args, true)?;
        table.add(keys, priority, Run::Action(action, data))
    }

    /// Adds an entry that names a member of the table's profile.
    pub fn table_add_member(
        &mut self,
        table: &str,
        keys: &[Match],
        member: u32,
        priority: Option<i64>,
    ) -> Result<u64, EntryError> {
        if self.profile_of(table, "profile")?.member(member).is_none() {
            return Err(refused(format!("there is no member {member}")));
        }
        self.core.state.tables.by_name_mut(table)?.add(keys, priority, Run::Member(member))
    }

    /// Adds an entry that names a group of the table's selector.
    pub fn table_add_group(
        &mut self,
        table: &str,
        keys: &[Match],
        group: u32,
        priority: Option<i64>,
    ) -> Result<u64, EntryError> {
        if !self.profile_of(table, "selector")?.has_group(group) {
            return Err(refused(format!("there is no group {group}")));
        }
        self.core.state.tables.by_name_mut(table)?.add(keys, priority, Run::Group(group))
    }

    /// The table's profile; `noun` names it if there is none.
    fn profile_of(&self, table: &str, noun: &str) -> Result<&Profile, EntryError> {
        let found = self.core.state.tables.by_name(table)?.implementation;
        match found.and_then(|id| self.core.state.objects.get(id.index())) {
            Some(Object::Profile(profile)) => Ok(profile),
            _ => Err(refused(format!("`{table}` has no {noun}"))),
        }
    }

    /// Replaces the action of an entry.
    pub fn table_modify(
        &mut self,
        table: &str,
        keys: &[Match],
        action: &str,
        args: &[Bits],
        priority: Option<i64>,
    ) -> Result<(), EntryError> {
        let program = std::sync::Arc::clone(&self.core.program);
        let table = self.core.state.tables.by_name_mut(table)?;
        let (action, data) = table.action(&program, action, args, true)?;
        table.modify(keys, priority, Run::Action(action, data))
    }

    /// Removes an entry.
    pub fn table_delete(
        &mut self,
        table: &str,
        keys: &[Match],
        priority: Option<i64>,
    ) -> Result<(), EntryError> {
        self.core.state.tables.by_name_mut(table)?.delete(keys, priority)
    }

    /// Removes all entries of all tables that are not constant.
    pub fn clear_tables(&mut self) {
        self.core.state.tables.iter_mut().for_each(table::Table::clear);
    }

    /// Replaces the default action.
    pub fn table_set_default(&mut self, table: &str, action: &str, args: &[Bits]) -> Result<(), EntryError> {
        let program = std::sync::Arc::clone(&self.core.program);
        let table = self.core.state.tables.by_name_mut(table)?;
        let run = table.action(&program, action, args, false)?;
        table.set_default(Some(run))
    }

    /// Takes back the default action that the source says.
    pub fn table_reset_default(&mut self, table: &str) -> Result<(), EntryError> {
        self.core.state.tables.by_name_mut(table)?.set_default(None)
    }

    /// Sets how long an entry may stay without a hit before [`take_idle`](Switch::take_idle) gives it, counted from
    /// `now`; none, or no time at all, takes that away. `handle` is the entry's; the table has `support_timeout`.
    pub fn table_set_idle_timeout(
        &mut self,
        table: &str,
        handle: u64,
        timeout: Option<Duration>,
        now: Time,
    ) -> Result<(), EntryError> {
        self.core.state.tables.by_name_mut(table)?.set_idle_timeout(handle, timeout, now)
    }

    /// Takes the entries that have been idle for their time by `now`, by tables and the earliest first. Each is
    /// given once, and again after another hit; it stays in its table. Of a table 4096 are kept.
    pub fn take_idle(&mut self, now: Time) -> Vec<IdleEntry> {
        self.core.state.tables.iter_mut().flat_map(|table| table.take_idle(now)).collect()
    }

    /// The control-plane names of all tables, in the order of the program.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.core.state.tables.iter().map(|t| t.control_plane_name.as_str())
    }

    /// The whole control-plane name of a table.
    pub fn table_name(&self, table: &str) -> Result<&Name, EntryError> {
        Ok(&self.core.state.tables.by_name(table)?.control_plane_name)
    }

    /// The keys of a table, those of kind `selector` left out.
    pub fn table_keys(&self, table: &str) -> Result<&[KeySpec], EntryError> {
        Ok(&self.core.state.tables.by_name(table)?.keys)
    }

    /// The entries of a table, in the order they were added.
    pub fn table_entries(&self, table: &str) -> Result<Vec<TableEntry>, EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        Ok(table.oldest_first().into_iter().map(|(key, entry)| TableEntry::new(table, key, entry)).collect())
    }

    /// Default action of a table: control-plane name and data.
    pub fn table_default(&self, table: &str) -> Result<(Name, Vec<Bits>), EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        Ok(action_view(table, table.default.0, &table.default.1))
    }

    /// The parameters without direction of a table's action, by name and width, in order.
    pub fn action_params(&self, table: &str, action: &str) -> Result<Vec<(String, u32)>, EntryError> {
        let table = self.core.state.tables.by_name(table)?;
        let spec = &table.actions[table.action_index(action)?];
        let width = |ty| Value::zero(&self.core.program, ty).to_key().map_or(0, |bits| bits.width());
        Ok(spec.data.iter().map(|(name, ty)| (name.to_string(), width(ty))).collect())
    }

    /// Adds a member to an action profile or selector and gives its number. `table` is one that uses it.
    pub fn member_add(&mut self, table: &str, action: &str, args: &[Bits]) -> Result<u32, EntryError> {
        let found = self.core.state.tables.by_name(table)?;
        let spec = &found.actions[found.action_index(action)?];
        let member = Member {
            action: spec.control_plane_name.clone(),
            data: action_data(&self.core.program, spec, args)?,
        };
        match found.implementation.and_then(|id| self.core.state.objects.get_mut(id.index())) {
            Some(Object::Profile(profile)) => profile.add_member(member),
            _ => Err(refused(format!("`{table}` has no profile"))),
        }
    }

    /// Adds a group to an action selector and gives its number. `table` is one that uses it.
    pub fn group_add(&mut self, table: &str, members: &[u32]) -> Result<u32, EntryError> {
        let found = self.core.state.tables.by_name(table)?;
        match found.implementation.and_then(|id| self.core.state.objects.get_mut(id.index())) {
            Some(Object::Profile(profile)) => profile.add_group(members),
            _ => Err(refused(format!("`{table}` has no selector"))),
        }
    }

    /// Adds a member to a value set: one match for each field of its type.
    pub fn value_set_add(&mut self, set: &str, member: &[Match]) -> Result<(), EntryError> {
        self.core.state.value_sets.by_name_mut(set)?.add(member)
    }

    /// Empties a value set.
    pub fn value_set_clear(&mut self, set: &str) -> Result<(), EntryError> {
        self.core.state.value_sets.by_name_mut(set)?.clear();
        Ok(())
    }
}

/// An entry as the control plane sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// Counts up from 0 in each table.
    pub handle: u64,
    /// Key and priority, unique in the table.
    pub key: EntryKey,
    /// Action, member or group; an entry's own group shows as a group.
    pub run: writes::Run<Name>,
    /// From the source, and not to be changed.
    pub is_const: bool,
    /// Count of the table's direct counter.
    pub count: Count,
}

impl TableEntry {
    pub(crate) fn new(table: &table::Table, key: &EntryKey, entry: &table::Entry) -> TableEntry {
        let run = match &entry.run {
            Run::Action(action, data) => {
                let (action, args) = action_view(table, *action, data);
                writes::Run::Action(ActionCall { action, args })
            }
            Run::Member(member) => writes::Run::Member(*member),
            Run::Group(group) => writes::Run::Group(*group),
        };
        let count = entry.direct.count.read();
        TableEntry { handle: entry.handle, key: key.clone(), run, is_const: entry.is_const, count }
    }
}

fn action_view(table: &table::Table, action: u32, data: &[Value]) -> (Name, Vec<Bits>) {
    let name = table.actions.get(action as usize).map(|a| a.control_plane_name.clone());
    (name.unwrap_or_default(), data.iter().filter_map(Value::to_key).collect())
}
