//! The sections of the file, each with its keys.

use super::fields::{Fields, Item, Reader};
use crate::{Args, Keys, Named, Run, Statement};
use base_diag::Span;
use control_writes::{Rate, Rates};
use toml::de::DeValue;

/// Reads one section.
pub(super) type Section = for<'t> fn(&mut Reader, Item<'t>, &mut Vec<Statement>);

/// `[[table.NAME]]`: `key`, `action` and `args`, `member` or `group`, `priority`, `idle_timeout`, `meter`
pub(super) fn tables(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    let Some(mut tables) = r.fields("`table`", item) else { return };
    for (table, item) in tables.rest() {
        let entries = r.list(item, "`[[table.NAME]]` before each entry");
        for item in entries.unwrap_or_default() {
            out.extend(entry(r, &table, item));
        }
    }
}

fn entry(r: &mut Reader, table: &Named, item: Item) -> Option<Statement> {
    let mut fields = r.fields("this entry", item)?;
    let key = fields.need(r, "key", "[\"10.0.0.0/8\"]");
    let keys = key.and_then(|key| keys(r, key));
    let priority = all(fields.take("priority").map(|item| r.small(item, i64::MAX)));
    let idle_timeout = all(fields.take("idle_timeout").map(|item| r.duration(item)));
    let rates = all(fields.take("meter").map(|item| two_rates(r, item)));
    let run = match (fields.take("member"), fields.take("group")) {
        (Some(member), None) => r.name(member).map(Run::Member),
        (None, Some(group)) => r.name(group).map(Run::Group),
        (Some(_), Some(group)) => {
            r.wrong(group.span, "an entry has a member or a group", "there is a `member` too");
            None
        }
        (None, None) => action(r, &mut fields).map(|(action, args)| Run::Action(action, args)),
    };
    let span = fields.span;
    fields.finish(r, &["key", "action", "args", "member", "group", "priority", "idle_timeout", "meter"]);
    Some(Statement::Entry {
        table: table.clone(),
        keys: keys?,
        run: run?,
        priority: priority?,
        idle_timeout: idle_timeout?,
        rates: rates?,
        span,
    })
}

fn keys(r: &mut Reader, item: Item) -> Option<Keys> {
    if let DeValue::Array(_) = item.value {
        let items = r.list(item, "[\"10.0.0.0/8\"]")?;
        let matches: Vec<_> = items.into_iter().map(|i| r.matching(i)).collect();
        return matches.into_iter().collect::<Option<_>>().map(Keys::InOrder);
    }
    let mut fields = r.fields("`key`", item)?;
    let named: Vec<_> =
        fields.rest().into_iter().map(|(name, i)| r.matching(i).map(|value| (name, value))).collect();
    named.into_iter().collect::<Option<_>>().map(Keys::Named)
}

fn action(r: &mut Reader, fields: &mut Fields) -> Option<(Named, Args)> {
    let action = fields.need(r, "action", "\"drop\"").and_then(|item| r.name(item));
    let args = match fields.take("args") {
        Some(item) => args(r, item),
        None => Some(Args::InOrder(vec![])),
    };
    Some((action?, args?))
}

fn args(r: &mut Reader, item: Item) -> Option<Args> {
    if let DeValue::Array(_) = item.value {
        let items = r.list(item, "[1, 2]")?;
        let numbers: Vec<_> = items.into_iter().map(|i| r.number(i)).collect();
        return numbers.into_iter().collect::<Option<_>>().map(Args::InOrder);
    }
    let mut fields = r.fields("`args`", item)?;
    let named: Vec<_> =
        fields.rest().into_iter().map(|(name, i)| r.number(i).map(|value| (name, value))).collect();
    named.into_iter().collect::<Option<_>>().map(Args::Named)
}

/// `[default]`: `NAME = { action = ..., args = ... }`, or `NAME = "action"`
pub(super) fn defaults(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    let Some(mut tables) = r.fields("`default`", item) else { return };
    for (table, item) in tables.rest() {
        if let DeValue::String(_) = item.value {
            let none = Args::InOrder(vec![]);
            let name = r.name(item);
            out.extend(name.map(|action| Statement::Default { table, action, args: none, span: item.span }));
            continue;
        }
        let Some(mut fields) = r.fields("this default", item) else { continue };
        let found = action(r, &mut fields);
        fields.finish(r, &["action", "args"]);
        out.extend(found.map(|(action, args)| Statement::Default { table, action, args, span: item.span }));
    }
}

/// `[[member]]`: `profile`, `name`, `action`, `args`
pub(super) fn members(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    for item in r.list(item, "`[[member]]`").unwrap_or_default() {
        let Some(mut fields) = r.fields("this member", item) else { continue };
        let profile = fields.need(r, "profile", "\"ecmp\"").and_then(|i| r.name(i));
        let label = fields.need(r, "name", "\"left\"").and_then(|i| r.name(i));
        let run = action(r, &mut fields);
        fields.finish(r, &["profile", "name", "action", "args"]);
        if let (Some(profile), Some(label), Some((action, args))) = (profile, label, run) {
            out.push(Statement::Member { profile, label, action, args, span: item.span });
        }
    }
}

/// `[[group]]`: `profile`, `name`, `members`
pub(super) fn groups(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    for item in r.list(item, "`[[group]]`").unwrap_or_default() {
        let Some(mut fields) = r.fields("this group", item) else { continue };
        let profile = fields.need(r, "profile", "\"ecmp\"").and_then(|i| r.name(i));
        let label = fields.need(r, "name", "\"both\"").and_then(|i| r.name(i));
        let members = fields.need(r, "members", "[\"left\", \"right\"]");
        let members = members.and_then(|i| r.list(i, "[\"left\", \"right\"]"));
        let members: Option<Vec<_>> = members
            .and_then(|all| all.into_iter().map(|i| r.name(i)).collect::<Vec<_>>().into_iter().collect());
        fields.finish(r, &["profile", "name", "members"]);
        if let (Some(profile), Some(label), Some(members)) = (profile, label, members) {
            out.push(Statement::Group { profile, label, members, span: item.span });
        }
    }
}

/// `[[multicast]]`: `group`, `members = [1, { port = 2, rid = 7 }]`
pub(super) fn multicast(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    for item in r.list(item, "`[[multicast]]`").unwrap_or_default() {
        let Some(mut fields) = r.fields("this multicast group", item) else { continue };
        let group = fields.need(r, "group", "1").and_then(|i| r.small(i, u32::MAX));
        let members = fields.need(r, "members", "[1, 2]").and_then(|i| r.list(i, "[1, 2]"));
        let members: Option<Vec<_>> = members
            .and_then(|all| all.into_iter().map(|i| replica(r, i)).collect::<Vec<_>>().into_iter().collect());
        fields.finish(r, &["group", "members"]);
        if let (Some(group), Some(members)) = (group, members) {
            out.push(Statement::Multicast { group, members, span: item.span });
        }
    }
}

fn replica(r: &mut Reader, item: Item) -> Option<(u32, u16)> {
    let DeValue::Table(_) = item.value else {
        return r.small(item, u32::MAX).map(|port| (port, 0));
    };
    let mut fields = r.fields("this copy", item)?;
    let port = fields.need(r, "port", "1").and_then(|i| r.small(i, u32::MAX));
    let rid = fields.take("rid").map_or(Some(0), |i| r.small(i, u16::MAX));
    fields.finish(r, &["port", "rid"]);
    Some((port?, rid?))
}

/// `[[clone]]`: `session`, `port`, `group`
pub(super) fn clones(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    for item in r.list(item, "`[[clone]]`").unwrap_or_default() {
        let Some(mut fields) = r.fields("this clone session", item) else { continue };
        let session = fields.need(r, "session", "5").and_then(|i| r.small(i, u32::MAX));
        let port = fields.take("port").map(|i| r.small(i, u32::MAX));
        let group = fields.take("group").map(|i| r.small(i, u32::MAX));
        if port.is_none() && group.is_none() {
            r.wrong(item.span, "`port` is missing", "a session sends its clones to a `port` or a `group`");
        }
        fields.finish(r, &["session", "port", "group"]);
        if let (Some(session), Some(port), Some(group)) = (session, all(port), all(group)) {
            out.push(Statement::Clone { session, port, group, span: item.span });
        }
    }
}

/// Propagates an error of an optional value: `None` if a value was given and is wrong.
fn all<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(value) => value.map(Some),
        None => Some(None),
    }
}

/// The cells of `[KIND.NAME]`: keys are numbers, or one of `words`.
fn cells<'t>(
    r: &mut Reader,
    what: &'static str,
    item: Item<'t>,
    word: Option<&str>,
    mut each: impl FnMut(&mut Reader, &Named, Option<u64>, Item<'t>, Span),
) {
    let Some(mut objects) = r.fields(what, item) else { return };
    for (name, item) in objects.rest() {
        let Some(mut cells) = r.fields(what, item) else { continue };
        for (index, item) in cells.rest() {
            match index.text.parse::<u64>() {
                Ok(at) => each(r, &name, Some(at), item, item.span),
                Err(_) if Some(index.text.as_str()) == word => each(r, &name, None, item, item.span),
                Err(_) => {
                    let wanted =
                        word.map_or("a cell's number".to_string(), |w| format!("a cell's number or `{w}`"));
                    r.wrong(index.span, "this names no cell", format!("write {wanted}"));
                }
            }
        }
    }
}

/// `[register.NAME]`: `INDEX = value`
pub(super) fn registers(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    cells(r, "`register`", item, None, |r, name, index, item, _| {
        let value = r.number(item);
        if let (Some(value), Some(index)) = (value, index) {
            out.push(Statement::Register { name: name.clone(), index, value });
        }
    });
}

/// `[counter.NAME]`: `INDEX = { packets = 1, bytes = 64 }`
pub(super) fn counters(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    cells(r, "`counter`", item, None, |r, name, index, item, span| {
        let Some(mut fields) = r.fields("this counter", item) else { return };
        let packets = fields.take("packets").map_or(Some(0), |i| r.small(i, u64::MAX));
        let bytes = fields.take("bytes").map_or(Some(0), |i| r.small(i, u64::MAX));
        fields.finish(r, &["packets", "bytes"]);
        if let (Some(packets), Some(bytes), Some(index)) = (packets, bytes, index) {
            out.push(Statement::Counter { name: name.clone(), index, packets, bytes, span });
        }
    });
}

/// `[meter.NAME]`: `INDEX = { committed = 1000, burst = 10, peak = 2000, peak_burst = 20 }`, or `all = ...`;
/// rates a second
pub(super) fn meters(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    cells(r, "`meter`", item, Some("all"), |r, name, index, item, span| {
        if let Some(rates) = two_rates(r, item) {
            out.push(Statement::Meter { name: name.clone(), index, rates, span });
        }
    });
}

/// Committed and peak rate of a meter.
fn two_rates(r: &mut Reader, item: Item) -> Option<Rates> {
    let mut fields = r.fields("this meter", item)?;
    let mut rate = |rate: &str, burst: &str| {
        let per_second: Option<u64> = fields.need(r, rate, "1000").and_then(|i| r.small(i, u64::MAX));
        let burst = fields.need(r, burst, "10").and_then(|i| r.small(i, u64::MAX));
        Some(Rate::per_second(per_second?, burst?))
    };
    let (committed, peak) = (rate("committed", "burst"), rate("peak", "peak_burst"));
    fields.finish(r, &["committed", "burst", "peak", "peak_burst"]);
    Some(Rates { committed: committed?, peak: peak? })
}

/// `[value_set]`: `NAME = [0x0800, [1, "2 &&& 3"]]`
pub(super) fn value_sets(r: &mut Reader, item: Item, out: &mut Vec<Statement>) {
    let Some(mut sets) = r.fields("`value_set`", item) else { return };
    for (name, item) in sets.rest() {
        for item in r.list(item, "[0x0800]").unwrap_or_default() {
            let parts = match item.value {
                DeValue::Array(_) => r.list(item, "[1, 2]").unwrap_or_default(),
                _ => vec![item],
            };
            let member: Vec<_> = parts.into_iter().map(|i| r.matching(i)).collect();
            let member: Option<Vec<_>> = member.into_iter().collect();
            out.extend(member.map(|member| Statement::ValueSet {
                name: name.clone(),
                member,
                span: item.span,
            }));
        }
    }
}
