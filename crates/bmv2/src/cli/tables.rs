//! Commands about tables.

use super::Caller;
use super::calls::{about, done};
use super::profiles::profile_text;
use super::program::Table;
use super::show::scalar;
use super::show::{action_entry, entries, entry};
use super::words::Line;
use crate::wire::Value;
use std::fmt::Write;

pub fn table_add(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let action = line.action(&table.actions)?;
    let keys = line.until_arrow()?;
    let keys = line.keys(table, keys)?;
    let priority = line.priority(table)?;
    let data = line.data(action)?;
    added(about(to, "bm_mt_add_entry", &table.name, vec![keys, Value::text(&action.name), data, priority])?)
}

pub fn indirect_add(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    let table = line.table()?;
    let keys = line.until_arrow()?;
    let keys = line.keys(table, keys)?;
    let priority = line.priority(table)?;
    let handle = line.int()?;
    line.finish()?;
    added(about(to, method, &table.name, vec![keys, Value::I32(handle), priority])?)
}

pub fn added(handle: Option<Value>) -> Result<String, String> {
    Ok(format!("Entry has been added with handle {}\n", scalar(handle.as_ref())))
}

pub fn table_modify(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let action = line.action(&table.actions)?;
    let handle = line.int()?;
    let data = line.data(action)?;
    done(about(
        to,
        "bm_mt_modify_entry",
        &table.name,
        vec![Value::I32(handle), Value::text(&action.name), data],
    ))
}

pub fn table_delete(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, handle) = (line.table()?, line.int()?);
    line.finish()?;
    done(about(to, "bm_mt_delete_entry", &table.name, vec![Value::I32(handle)]))
}

pub fn table_set_default(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let action = line.action(&table.actions)?;
    let data = line.data(action)?;
    done(about(to, "bm_mt_set_default_action", &table.name, vec![Value::text(&action.name), data]))
}

pub fn table_call(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    done(about(to, method, &table.name, vec![]))
}

pub fn table_clear(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    done(about(to, "bm_mt_clear_entries", &table.name, vec![Value::Bool(false)]))
}

pub fn table_num_entries(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    let count = about(to, "bm_mt_get_num_entries", &table.name, vec![])?;
    Ok(format!("{}\n", scalar(count.as_ref())))
}

pub fn table_indirect_set_default(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, member) = (line.table()?, line.int()?);
    line.finish()?;
    done(about(to, "bm_mt_indirect_set_default_member", &table.name, vec![Value::I32(member)]))
}

pub fn table_set_timeout(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, handle, time) = (line.table()?, line.int()?, line.int()?);
    line.finish()?;
    done(about(to, "bm_mt_set_entry_ttl", &table.name, vec![Value::I32(handle), Value::I32(time)]))
}

pub fn table_dump(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    let found = about(to, "bm_mt_get_entries", &table.name, vec![])?;
    let mut text = format!("==========\nTABLE ENTRIES\n{}", entries(table, found.as_ref()));
    if let Some(profile) = &table.profile {
        text.push_str(&profile_text(to, profile)?);
    }
    let default = about(to, "bm_mt_get_default_entry", &table.name, vec![])?;
    let _ = write!(text, "==========\nDumping default entry\n{}==========\n", action_entry(default.as_ref()));
    Ok(text)
}

pub fn table_dump_entry(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, handle) = (line.table()?, line.int()?);
    line.finish()?;
    let found = about(to, "bm_mt_get_entry", &table.name, vec![Value::I32(handle)])?;
    Ok(entry(table, found.as_ref()))
}

pub fn table_dump_entry_from_key(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let priority = line.priority(table)?;
    let words = std::mem::take(&mut line.words);
    let keys = line.keys(table, words)?;
    let found = about(to, "bm_mt_get_entry_from_key", &table.name, vec![keys, priority])?;
    Ok(entry(table, found.as_ref()))
}

pub fn table_line(table: &Table) -> String {
    let keys: Vec<String> =
        table.keys.iter().map(|key| format!("{}({}, {})", key.name, key.kind.name(), key.bits)).collect();
    let profile = table.profile.as_deref().unwrap_or("None");
    format!("{:30} [implementation={profile}, mk={}]\n", table.name, keys.join(",\t"))
}

pub fn action_lines(line: &Line<'_>, wanted: impl Fn(&str) -> bool) -> String {
    let mut actions: Vec<_> = line.program.actions.iter().filter(|action| wanted(&action.name)).collect();
    actions.sort_by_key(|action| &action.name);
    let params = |params: &[(String, i32)]| {
        params.iter().map(|(name, bits)| format!("{name}({bits})")).collect::<Vec<_>>().join(",\t")
    };
    actions.iter().map(|action| format!("{:30} [{}]\n", action.name, params(&action.params))).collect()
}

pub fn table_info(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    let actions = action_lines(line, |name| table.actions.iter().any(|action| action == name));
    Ok(format!("{}{}\n{actions}", table_line(table), "*".repeat(80)))
}

pub fn table_show_actions(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    Ok(action_lines(line, |name| table.actions.iter().any(|action| action == name)))
}

pub fn show_tables(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    let mut tables: Vec<&Table> = line.program.tables.iter().collect();
    tables.sort_by_key(|table| &table.name);
    Ok(tables.into_iter().map(table_line).collect())
}

pub fn show_actions(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    Ok(action_lines(line, |_| true))
}
