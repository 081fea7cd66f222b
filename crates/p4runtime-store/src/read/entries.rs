//! Entries of tables, and their direct objects.

use super::cursor::{Keys, Part};
use super::{Live, counter_data, signed};
use crate::catalog::Described;
use crate::change::{Entry, Run};
use crate::fault::{Result, Within, fault, not_supported};
use crate::said::default_action;
use crate::store::Store;
use crate::{action, matches, number, object, profile};
use control_writes::{EntryKey, Rates};
use p4runtime_proto::p4::config::v1::table::IdleTimeoutBehavior;
use p4runtime_proto::p4::config::v1::table_action_call::Argument;
use p4runtime_proto::p4::config::v1::{Table, TableActionCall};
use p4runtime_proto::p4::v1::{
    self, ActionProfileAction, ActionProfileActionSet, DirectCounterEntry, DirectMeterEntry, TableAction,
    TableEntry, entity::Entity, table_action, table_entry::IdleTimeout,
};
use std::collections::VecDeque;

impl Store {
    pub(super) fn entry_parts(&self, query: &TableEntry) -> Result<VecDeque<Part>> {
        let tables: Vec<&Table> = match query.table_id {
            0 => self.catalog.info().tables.iter().collect(),
            id => vec![self.catalog.table(id)?],
        };
        let part = |table: &&Table| {
            let is_asked = query.table_id != 0;
            if is_asked {
                self.refuse_impossible(table, query)?;
            }
            if query.is_default_action {
                return Ok(Part::Default(table.id()));
            }
            let keys = match is_asked && !query.r#match.is_empty() {
                true => {
                    // There are several where priorities differ.
                    let matches = matches::decode(&table.match_fields, &query.r#match)?;
                    let key = |priority| EntryKey { matches: matches.as_slice().into(), priority };
                    Keys::between(key(i64::MIN), key(i64::MAX))
                }
                false => Keys::all(),
            };
            Ok(Part::Entries(table.id(), keys))
        };
        tables.iter().map(part).collect()
    }

    fn refuse_impossible(&self, table: &Table, query: &TableEntry) -> Result<()> {
        if query.time_since_last_hit.is_some()
            && table.idle_timeout_behavior() == IdleTimeoutBehavior::NoTimeout
        {
            return fault("the table has no idle timeouts", "the program does not set `support_timeout`")
                .within("time_since_last_hit");
        }
        if query.meter_counter_data.is_some() {
            return not_supported("meter counters").within("meter_counter_data");
        }
        if query.is_default_action
            && query.counter_data.is_some()
            && self.catalog.direct_counter(query.table_id).is_some()
        {
            return self.catalog.may_count_misses().within("counter_data");
        }
        Ok(())
    }

    /// The entries that a query about something direct means: one, those of a table, or all. As of table entries (P4Runtime
    /// §9.1), default entries are meant by `is_default_action` alone.
    pub(super) fn direct_parts(
        &self,
        query: Option<&TableEntry>,
        has: impl Fn(u32) -> bool,
    ) -> Result<VecDeque<Part>> {
        let of_default = |table: u32| self.catalog.counts_misses().then_some(Part::Default(table));
        let Some(query) = query.filter(|query| query.table_id != 0) else {
            let is_default = query.is_some_and(|query| query.is_default_action);
            let tables = self.catalog.info().tables.iter().map(Described::id).filter(|table| has(*table));
            return Ok(match is_default {
                true => tables.filter_map(of_default).collect(),
                false => tables.map(|table| Part::Entries(table, Keys::all())).collect(),
            });
        };
        if query.is_default_action || !query.r#match.is_empty() {
            let (table, key) = object::direct_entry(self, Some(query))?;
            return match (has(table), key.is_of_default()) {
                (true, true) => Ok([Part::Default(table)].into()),
                (true, false) => Ok([Part::Entries(table, Keys::between(key.clone(), key))].into()),
                (false, _) => {
                    fault("the table has no direct object of this kind", "P4Info lists none for this table")
                        .within("table_entry")
                }
            };
        }
        let table = self.catalog.table(query.table_id).within("table_entry")?.id();
        Ok(has(table).then_some(Part::Entries(table, Keys::all())).into_iter().collect())
    }

    /// Answer of a query for an entry; `None` if the entry does not match.
    pub(super) fn found_of_entry(
        &self,
        query: &Entity,
        table: &Table,
        (key, entry): (&EntryKey, &Entry),
        live: &dyn Live,
    ) -> Result<Option<Entity>> {
        let has_priority = |of: Option<&TableEntry>| {
            of.is_none_or(|of| of.priority == 0 || i64::from(of.priority) == key.priority)
        };
        Ok(match query {
            Entity::TableEntry(q) if fits(q, key, entry) => {
                Some(Entity::TableEntry(self.entry_message(table, key, entry, q, live)?))
            }
            Entity::DirectCounterEntry(q) if has_priority(q.table_entry.as_ref()) => {
                Some(direct_counter(table, key, live)?)
            }
            Entity::DirectMeterEntry(q) if has_priority(q.table_entry.as_ref()) => {
                Some(direct_meter(table, key, entry.meter.as_ref()))
            }
            _ => None,
        })
    }

    /// Answer of a query for a table's default entry; `None` if it does not match.
    pub(super) fn found_of_default(
        &self,
        query: &Entity,
        table: &Table,
        live: &dyn Live,
    ) -> Result<Option<Entity>> {
        let of_default = EntryKey::of_default();
        Ok(match query {
            Entity::TableEntry(q) => Some(Entity::TableEntry(self.default_entry_message(table, q, live)?)),
            Entity::DirectCounterEntry(_) => Some(direct_counter(table, &of_default, live)?),
            Entity::DirectMeterEntry(_) => {
                let rates = self.default_entry(table.id()).meter.as_ref();
                Some(direct_meter(table, &of_default, rates))
            }
            _ => None,
        })
    }

    /// The default entry of a table, the controller's or the program's, with values of the data plane where `query`
    /// asks for them.
    pub(crate) fn default_entry_message(
        &self,
        table: &Table,
        query: &TableEntry,
        live: &dyn Live,
    ) -> Result<TableEntry> {
        let mut message = self.default_message(table);
        if self.catalog.counts_misses() {
            let rates = self.default_entry(table.id()).meter.as_ref();
            self.add_direct(&mut message, &EntryKey::of_default(), rates, query, live)?;
        }
        Ok(message)
    }

    /// True if a message for the default entry of its table equals this store's, except for direct objects.
    pub fn is_initial_default(&self, entry: &TableEntry) -> bool {
        let own = self.catalog.table(entry.table_id).map(|table| self.default_message(table));
        #[allow(deprecated)]
        own.is_ok_and(|own| {
            own.action == entry.action
                && own.metadata == entry.metadata
                && own.controller_metadata == entry.controller_metadata
        })
    }

    /// The same without direct objects.
    pub(crate) fn default_message(&self, table: &Table) -> TableEntry {
        let id = table.id();
        let set = self.default_entry(id);
        let initial = || {
            let action = match &table.initial_default_action {
                Some(initial) => {
                    v1::Action { action_id: initial.action_id, params: self.initial_params(initial) }
                }
                None if table.const_default_action_id != 0 => {
                    v1::Action { action_id: table.const_default_action_id, params: vec![] }
                }
                None => return None,
            };
            Some(TableAction { r#type: Some(table_action::Type::Action(action)) })
        };
        #[allow(deprecated)]
        TableEntry {
            table_id: id,
            is_default_action: true,
            is_const: table.const_default_action_id != 0,
            action: default_action(&self.catalog, set).or_else(initial),
            metadata: set.metadata.clone(),
            controller_metadata: set.controller_metadata,
            ..TableEntry::default()
        }
    }

    /// The data of the program's own default action in canonical form: P4Info has it at full width.
    fn initial_params(&self, initial: &TableActionCall) -> Vec<v1::action::Param> {
        let params = self.catalog.action(initial.action_id).map_or(&[][..], |action| &action.params);
        let bits = |id| params.iter().find(|param| param.id == id).map_or(0, |param| param.bitwidth);
        let param = |arg: &Argument| v1::action::Param {
            param_id: arg.param_id,
            value: number::canonical(&arg.value, bits(arg.param_id)),
        };
        initial.arguments.iter().map(param).collect()
    }

    /// An entry as a message, with values of the data plane where `query` asks for them.
    pub(crate) fn entry_message(
        &self,
        table: &Table,
        key: &EntryKey,
        entry: &Entry,
        query: &TableEntry,
        live: &dyn Live,
    ) -> Result<TableEntry> {
        let id = table.id();
        let mut message = self.plain_entry(table, key, entry);
        self.add_direct(&mut message, key, entry.meter.as_ref(), query, live)?;
        if query.time_since_last_hit.is_some()
            && table.idle_timeout_behavior() != IdleTimeoutBehavior::NoTimeout
        {
            let elapsed = live.since_last_hit(id, key)?;
            message.time_since_last_hit = Some(IdleTimeout { elapsed_ns: signed(elapsed) });
        }
        Ok(message)
    }

    /// Adds an entry's direct objects where `query` asks for them.
    fn add_direct(
        &self,
        message: &mut TableEntry,
        key: &EntryKey,
        rates: Option<&Rates>,
        query: &TableEntry,
        live: &dyn Live,
    ) -> Result<()> {
        let table = message.table_id;
        if query.meter_config.is_some() {
            message.meter_config = rates.map(object::config);
        }
        if query.counter_data.is_some() && self.catalog.direct_counter(table).is_some() {
            message.counter_data = Some(counter_data(live.direct_counter(table, key)?));
        }
        Ok(())
    }

    /// An entry as a message, without values of the data plane.
    pub fn plain_entry(&self, table: &Table, key: &EntryKey, entry: &Entry) -> TableEntry {
        #[allow(deprecated)]
        TableEntry {
            table_id: table.id(),
            r#match: matches::encode(&table.match_fields, &key.matches),
            priority: priority(key),
            action: Some(TableAction { r#type: Some(self.run_message(&entry.run)) }),
            is_const: entry.is_const,
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            idle_timeout_ns: entry.idle_timeout_ns,
            ..TableEntry::default()
        }
    }

    fn run_message(&self, run: &Run) -> table_action::Type {
        match run {
            Run::Action(call) => table_action::Type::Action(action::encode(&self.catalog, call)),
            Run::Member(member) => table_action::Type::ActionProfileMemberId(*member),
            Run::Group(group) => table_action::Type::ActionProfileGroupId(*group),
            Run::OneShot(set) => table_action::Type::ActionProfileActionSet(ActionProfileActionSet {
                action_profile_actions: set
                    .actions
                    .iter()
                    .map(|one| ActionProfileAction {
                        action: Some(action::encode(&self.catalog, &one.call)),
                        weight: one.weight,
                        watch_kind: profile::action_watch(one.watch),
                    })
                    .collect(),
                size_semantics: profile::size_message(set.size_semantics) as i32,
                action_selection_mode: profile::mode_message(set.selection_mode) as i32,
            }),
        }
    }
}

fn direct_counter(table: &Table, key: &EntryKey, live: &dyn Live) -> Result<Entity> {
    let data = Some(counter_data(live.direct_counter(table.id(), key)?));
    Ok(Entity::DirectCounterEntry(DirectCounterEntry { table_entry: Some(key_message(table, key)), data }))
}

fn direct_meter(table: &Table, key: &EntryKey, rates: Option<&Rates>) -> Entity {
    let table_entry = Some(key_message(table, key));
    let config = rates.map(object::config);
    Entity::DirectMeterEntry(DirectMeterEntry { table_entry, config, counter_data: None })
}

fn fits(query: &TableEntry, key: &EntryKey, entry: &Entry) -> bool {
    if query.table_id == 0 {
        return true;
    }
    let action = match query.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(wanted)) => match &entry.run {
            Run::Action(call) => wanted.action_id == 0 || wanted.action_id == call.action,
            _ => false,
        },
        _ => true,
    };
    #[allow(deprecated)]
    let cookie = query.controller_metadata == 0 || query.controller_metadata == entry.controller_metadata;
    let metadata = query.metadata.is_empty() || query.metadata == entry.metadata;
    let priority = query.priority == 0 || i64::from(query.priority) == key.priority;
    action && cookie && metadata && priority
}

pub(crate) fn key_message(table: &Table, key: &EntryKey) -> TableEntry {
    TableEntry {
        table_id: table.id(),
        r#match: matches::encode(&table.match_fields, &key.matches),
        priority: priority(key),
        is_default_action: key.is_of_default(),
        ..TableEntry::default()
    }
}

/// The priority as messages have it.
fn priority(key: &EntryKey) -> i32 {
    i32::try_from(key.priority).unwrap_or(i32::MAX)
}
