//! Entries and default actions of tables (P4Runtime 1.5, section 9.1).

use crate::action::{For, action};
use crate::catalog::{Catalog, Described};
use crate::desired::{Desired, Phase};
use crate::fault::{Result, Within, fault, not_supported};
use crate::matches::{matches, named};
use crate::profile;
use base_diag::Span;
use p4_entries::{Args, Keys, Match, Named, Run, Statement};
use p4runtime_proto::p4::config::v1::Table;
use p4runtime_proto::p4::config::v1::match_field::{Match as Wanted, MatchType};
use p4runtime_proto::p4::v1::{TableEntry, table_action, update::Type};

pub(crate) fn table_entry(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    entry: &TableEntry,
    span: Span,
) -> Result<()> {
    let table = catalog.table(entry.table_id)?;
    refuse_extras(entry)
        .and_then(|()| match entry.is_default_action {
            true => default(catalog, desired, how, table, entry, span),
            false => ordinary(catalog, desired, how, table, entry, span),
        })
        .about(|| format!("an entry of table `{}`", table.name()))
}

fn refuse_extras(entry: &TableEntry) -> Result<()> {
    if entry.meter_config.is_some() {
        return not_supported("rates of direct meters").within("meter_config");
    }
    if entry.counter_data.is_some() {
        return not_supported("values of direct counters").within("counter_data");
    }
    if entry.meter_counter_data.is_some() {
        return not_supported("counters of meters").within("meter_counter_data");
    }
    if entry.idle_timeout_ns != 0 {
        return not_supported("timeouts of entries").within("idle_timeout_ns");
    }
    Ok(())
}

fn default(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    table: &Table,
    entry: &TableEntry,
    span: Span,
) -> Result<()> {
    if table.const_default_action_id != 0 {
        return fault("this default action is constant", "the source says `const default_action`");
    }
    if !entry.r#match.is_empty() {
        return fault("a default action matches nothing", "it runs where no entry matches").within("match");
    }
    if entry.priority != 0 {
        return fault("a default action has no priority", "it runs where no entry matches")
            .within("priority");
    }
    let name = Named { text: table.name().to_string(), span };
    let made = match entry.action.as_ref().and_then(|a| a.r#type.as_ref()) {
        None => vec![],
        Some(table_action::Type::Action(given)) => {
            let found = action(catalog, &[table], For::Default, given, span);
            let (action, args) = found.within("action").within("action")?;
            vec![Statement::Default { table: name, action, args, span }]
        }
        Some(_) => return not_supported("a member or group as default action").within("action"),
    };
    desired.set(how, format!("default {}", entry.table_id), made)
}

fn ordinary(
    catalog: &Catalog<'_>,
    desired: &mut Desired,
    how: Type,
    table: &Table,
    entry: &TableEntry,
    span: Span,
) -> Result<()> {
    if table.is_const_table {
        return fault("the entries of this table are constant", "the source says `const entries`");
    }
    let found = matches(catalog, &table.match_fields, &entry.r#match)?;
    let priority = priority(table, entry).within("priority")?;
    let key = format!("{} {found:?} {}", entry.table_id, entry.priority);
    if how == Type::Delete {
        return desired.write(how, Phase::Entry, key, vec![]);
    }
    let (mut made, run) = run(catalog, desired, table, entry, &key, span).within("action")?;
    made.push(statement(table, &found, run, priority, span));
    desired.write(how, Phase::Entry, key, made)
}

fn statement(table: &Table, found: &[Match], run: Run, priority: Option<i64>, span: Span) -> Statement {
    let table_name = Named { text: table.name().to_string(), span };
    let keys = Keys::Named(named(&table.match_fields, found, span));
    Statement::Entry { table: table_name, keys, run, priority, span }
}

/// Tables have priorities if some field can be matched in more than one way that does not say which is better.
fn priority(table: &Table, entry: &TableEntry) -> Result<Option<i64>> {
    let is_ranked = table.match_fields.iter().any(|field| {
        let ranked = [MatchType::Ternary, MatchType::Range, MatchType::Optional];
        matches!(field.r#match, Some(Wanted::MatchType(kind)) if ranked.iter().any(|r| *r as i32 == kind))
    });
    match (is_ranked, entry.priority) {
        (true, 1..) => Ok(Some(i64::from(entry.priority))),
        (true, _) => fault("a priority is missing", "fields are ternary, range or optional: it is 1 or more"),
        (false, 0) => Ok(None),
        (false, _) => fault("a priority where there is none", "no field is ternary, range or optional"),
    }
}

/// What an entry runs, and what has to be made for it before.
fn run(
    catalog: &Catalog<'_>,
    desired: &Desired,
    table: &Table,
    entry: &TableEntry,
    key: &str,
    span: Span,
) -> Result<(Vec<Statement>, Run)> {
    let has_profile = table.implementation_id != 0;
    match entry.action.as_ref().and_then(|a| a.r#type.as_ref()) {
        None => fault("an entry without an action", "nothing says what it runs"),
        Some(table_action::Type::Action(given)) if !has_profile => {
            let (name, args): (Named, Args) =
                action(catalog, &[table], For::Entry, given, span).within("action")?;
            Ok((vec![], Run::Action(name, args)))
        }
        Some(table_action::Type::Action(_)) => {
            fault("a table with a profile runs members and groups", "this is an action").within("action")
        }
        Some(_) if !has_profile => fault("the table has no action profile", "its entries say an action"),
        Some(table_action::Type::ActionProfileMemberId(id)) => {
            let label = profile::member_label(*id);
            profile::must_be(desired, Phase::Member, table.implementation_id, *id)
                .within("action_profile_member_id")?;
            Ok((vec![], Run::Member(Named { text: label, span })))
        }
        Some(table_action::Type::ActionProfileGroupId(id)) => {
            let label = profile::group_label(*id);
            profile::must_be(desired, Phase::Group, table.implementation_id, *id)
                .within("action_profile_group_id")?;
            Ok((vec![], Run::Group(Named { text: label, span })))
        }
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            profile::one_shot(catalog, table, set, key, span).within("action_profile_action_set")
        }
    }
}
