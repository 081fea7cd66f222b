//! Entries and default actions of tables (P4Runtime 1.5, section 9.1).

use crate::action::{self, For};
use crate::catalog::Described;
use crate::change::{ActionCall, Change, DefaultEntry, Entry, Run};
use crate::fault::{Result, Within, fault, not_supported};
use crate::key::{key, key_of_default};
use crate::metadata::metadata;
use crate::presence::{only_modified, presence};
use crate::store::Store;
use crate::{object, profile};
use control_writes::{Count, Rates};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::Table;
use p4runtime_proto::p4::config::v1::table::IdleTimeoutBehavior;
use p4runtime_proto::p4::v1::{Action, TableAction, TableEntry, table_action, update::Type};

pub(crate) fn plan(store: &Store, how: Type, entry: &TableEntry) -> Result<Change> {
    let table = store.catalog.table(entry.table_id)?;
    match entry.is_default_action {
        true => plan_default(store, how, table, entry),
        false => plan_entry(store, how, table, entry),
    }
    .about(|| format!("an entry of table `{}`", table.name()))
}

fn plan_default(store: &Store, how: Type, table: &Table, entry: &TableEntry) -> Result<Change> {
    only_modified(how)?;
    if table.const_default_action_id != 0 {
        return fault("the default action is constant", "the program declares `const default_action`")
            .code(Code::PermissionDenied);
    }
    key_of_default(entry)?;
    if entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some() {
        return fault("a default action has no idle timeout", "it always exists").within("idle_timeout_ns");
    }
    let (meter, count) = direct(store, entry)?;
    let to = match entry.action.as_ref().and_then(|a| a.r#type.as_ref()) {
        None => DefaultEntry { meter, ..DefaultEntry::default() },
        Some(given) => {
            let (call, member) = default_run(store, table, given).within("action")?;
            DefaultEntry {
                call: Some(call),
                member,
                metadata: metadata(&entry.metadata)?,
                controller_metadata: controller_metadata(entry),
                meter,
            }
        }
    };
    Ok(Change::Default { table: entry.table_id, to: Box::new(to), count })
}

/// Action of a default entry, and the member of which it is the action. P4Runtime 1.5 needs no members here (section 20, limitations);
/// BMv2 has them.
fn default_run(
    store: &Store,
    table: &Table,
    given: &table_action::Type,
) -> Result<(ActionCall, Option<u32>)> {
    let of_table = |given: &Action| action::decode(&store.catalog, &[table], For::Default, given);
    match given {
        table_action::Type::Action(given) => Ok((of_table(given).within("action")?, None)),
        table_action::Type::ActionProfileMemberId(member) => {
            let field = "action_profile_member_id";
            if table.implementation_id == 0 {
                return fault("the table has no action profile", "its default names an action").within(field);
            }
            profile::member_must_be(store, table.implementation_id, *member).within(field)?;
            let call = store.member(table.implementation_id, *member);
            let given = call.map(|call| action::encode(&store.catalog, call)).unwrap_or_default();
            Ok((of_table(&given).within(field)?, Some(*member)))
        }
        table_action::Type::ActionProfileGroupId(_) | table_action::Type::ActionProfileActionSet(_) => {
            not_supported("a group as default action")
        }
    }
}

#[allow(deprecated)]
fn controller_metadata(entry: &TableEntry) -> u64 {
    entry.controller_metadata
}

fn plan_entry(store: &Store, how: Type, table: &Table, entry: &TableEntry) -> Result<Change> {
    if entry.is_const {
        return fault("`is_const` is set", "only programs declare constant entries").within("is_const");
    }
    if how == Type::Insert && table.match_fields.is_empty() {
        return fault("a table without a key has no entries", "it runs its default action")
            .help(|| Some("modify its default action".into()));
    }
    if table.is_const_table && how != Type::Modify {
        return fault("the entries of this table are constant", "the program declares `const entries`")
            .code(Code::PermissionDenied);
    }
    let key = key(table, entry)?;
    let known = store.entry(entry.table_id, &key);
    presence(how, known.is_some())?;
    if how == Type::Delete {
        if known.is_some_and(|known| known.is_const) {
            return constant();
        }
        return Ok(Change::Entry { table: entry.table_id, key, to: None, count: None });
    }
    if how == Type::Insert {
        room(store, table, entry.table_id)?;
        // MODIFY keeps the key, so the restriction holds already.
        if let Some(restriction) = store.catalog.restrictions().table(entry.table_id) {
            restriction.allows_entry(table, &key.matches, key.priority)?;
        }
    }
    let (meter, count) = direct(store, entry)?;
    let to = match (&entry.action, known) {
        (Some(_), Some(known)) if known.is_const => return constant().within("action"),
        (None, None) => {
            return fault("the action is missing", "an entry must have one").within("action");
        }
        (None, Some(known)) => Entry { meter, ..known.clone() },
        (Some(given), _) => Entry {
            run: run(store, table, given, known.map(|known| &known.run)).within("action")?,
            metadata: metadata(&entry.metadata)?,
            controller_metadata: controller_metadata(entry),
            idle_timeout_ns: idle_timeout(table, entry)?,
            meter,
            is_const: false,
        },
    };
    Ok(Change::Entry { table: entry.table_id, key, to: Some(Box::new(to)), count })
}

/// An entry that the program has from the start, unless there is one with its key.
pub(crate) fn plan_initial(store: &Store, entry: &TableEntry) -> Result<Option<Change>> {
    let table = store.catalog.table(entry.table_id)?;
    let key = key(table, entry)?;
    if store.entry(entry.table_id, &key).is_some() {
        return Ok(None);
    }
    let given = entry.action.clone().unwrap_or_default();
    let run = run(store, table, &given, None).within("action")?;
    let to = Entry { is_const: entry.is_const, ..Entry::new(run) };
    Ok(Some(Change::Entry { table: entry.table_id, key, to: Some(Box::new(to)), count: None }))
}

fn constant<T>() -> Result<T> {
    fault("the entry is constant", "the program declares it so").code(Code::PermissionDenied)
}

fn room(store: &Store, table: &Table, id: u32) -> Result<()> {
    let used = store.tables.get(&id).map_or(0, |state| state.entries.len());
    match usize::try_from(table.size) {
        Ok(size) if size > 0 && used >= size => {
            fault("the table is full", format!("its size is {size}")).code(Code::ResourceExhausted)
        }
        _ => Ok(()),
    }
}

/// Direct meter and counter of an entry.
fn direct(store: &Store, entry: &TableEntry) -> Result<(Option<Rates>, Option<Count>)> {
    if entry.meter_counter_data.is_some() {
        return not_supported("meter counters").within("meter_counter_data");
    }
    let meter = match (&entry.meter_config, store.catalog.direct_meter(entry.table_id)) {
        (None, _) => None,
        (Some(_), None) => {
            return fault("the table has no direct meter", "P4Info lists none for this table")
                .within("meter_config");
        }
        (Some(config), Some(meter)) => {
            may_be_direct(store, entry).within("meter_config")?;
            Some(object::rates(meter.spec.as_ref(), config).within("meter_config")?)
        }
    };
    let count = match (&entry.counter_data, store.catalog.direct_counter(entry.table_id)) {
        (None, _) => None,
        (Some(_), None) => {
            return fault("the table has no direct counter", "P4Info lists none for this table")
                .within("counter_data");
        }
        (Some(data), Some(_)) => {
            may_be_direct(store, entry).within("counter_data")?;
            Some(object::count(data).within("counter_data")?)
        }
    };
    Ok((meter, count))
}

fn may_be_direct(store: &Store, entry: &TableEntry) -> Result<()> {
    if entry.is_default_action { store.catalog.may_count_misses() } else { Ok(()) }
}

fn idle_timeout(table: &Table, entry: &TableEntry) -> Result<i64> {
    if entry.time_since_last_hit.is_some() {
        return fault("the time since the last hit is read-only", "the data plane sets it")
            .within("time_since_last_hit");
    }
    if entry.idle_timeout_ns != 0 && table.idle_timeout_behavior() == IdleTimeoutBehavior::NoTimeout {
        return fault("the table has no idle timeouts", "the program does not set `support_timeout`")
            .within("idle_timeout_ns");
    }
    match entry.idle_timeout_ns {
        0.. => Ok(entry.idle_timeout_ns),
        _ => fault("the time is negative", "it must be 0 or more").within("idle_timeout_ns"),
    }
}

/// Action, member or group of an entry; `known` is the present one.
fn run(store: &Store, table: &Table, given: &TableAction, known: Option<&Run>) -> Result<Run> {
    let id = table.implementation_id;
    match given.r#type.as_ref() {
        None => fault("the action is missing", "an entry must have one"),
        Some(table_action::Type::Action(given)) if id == 0 => {
            action::decode(&store.catalog, &[table], For::Entry, given).map(Run::Action).within("action")
        }
        Some(table_action::Type::Action(_)) => {
            fault("the table has an action profile", "its entries name members or groups, not actions")
                .within("action")
        }
        Some(_) if id == 0 => fault("the table has no action profile", "its entries name actions"),
        Some(table_action::Type::ActionProfileMemberId(member)) => {
            profile::member_must_be(store, id, *member).within("action_profile_member_id")?;
            Ok(Run::Member(*member))
        }
        Some(table_action::Type::ActionProfileGroupId(group)) => {
            profile::group_must_be(store, id, *group).within("action_profile_group_id")?;
            Ok(Run::Group(*group))
        }
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            profile::one_shot(store, table, set, known).map(Run::OneShot).within("action_profile_action_set")
        }
    }
}
