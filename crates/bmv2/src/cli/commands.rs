//! All commands, each with its form.

use super::program::{Object, Table};
use super::show::{action_entry, entries, entry, groups, hex, members, ports, scalar};
use super::words::Line;
use super::{Caller, NotDone};
use crate::wire::{Fields, Type, Value};
use std::fmt::Write;

pub type Run = fn(&mut Line<'_>, &mut dyn Caller) -> Result<String, String>;

/// A command.
pub struct Command {
    pub name: &'static str,
    pub form: &'static str,
    pub what: &'static str,
    pub run: Run,
}

const fn command(name: &'static str, form: &'static str, what: &'static str, run: Run) -> Command {
    Command { name, form, what, run }
}

/// The commands, and for which words their arguments stand.
pub const COMMANDS: &[Command] = &[
    command("table_add", "TABLE ACTION KEY... => ARG... [PRIORITY]", "add an entry", table_add),
    command("table_modify", "TABLE ACTION HANDLE ARG...", "an entry runs something else", table_modify),
    command("table_delete", "TABLE HANDLE", "remove an entry", table_delete),
    command("table_set_default", "TABLE ACTION ARG...", "set the default action", table_set_default),
    command("table_reset_default", "TABLE", "set the default action of the source", |line, to| {
        table_call(line, to, "bm_mt_reset_default_entry", vec![])
    }),
    command("table_clear", "TABLE", "remove all entries", |line, to| {
        table_call(line, to, "bm_mt_clear_entries", vec![Value::Bool(false)])
    }),
    command("table_num_entries", "TABLE", "count entries", table_num_entries),
    command("table_set_timeout", "TABLE HANDLE MILLISECONDS", "set an idle timeout", table_set_timeout),
    command("table_dump", "TABLE", "show all entries", table_dump),
    command("table_dump_entry", "TABLE HANDLE", "show an entry", table_dump_entry),
    command(
        "table_dump_entry_from_key",
        "TABLE KEY... [PRIORITY]",
        "show the entry with a key",
        table_dump_entry_from_key,
    ),
    command(
        "table_indirect_add",
        "TABLE KEY... => MEMBER [PRIORITY]",
        "add an entry that runs a member",
        |line, to| indirect_add(line, to, "bm_mt_indirect_add_entry"),
    ),
    command(
        "table_indirect_add_with_group",
        "TABLE KEY... => GROUP [PRIORITY]",
        "add an entry that runs a group",
        |line, to| indirect_add(line, to, "bm_mt_indirect_ws_add_entry"),
    ),
    command("table_indirect_delete", "TABLE HANDLE", "remove an entry", table_delete),
    command("table_indirect_reset_default", "TABLE", "set the default action of the source", |line, to| {
        table_call(line, to, "bm_mt_indirect_reset_default_entry", vec![])
    }),
    command("table_info", "TABLE", "keys and actions of a table", table_info),
    command("table_show_actions", "TABLE", "actions of a table", table_show_actions),
    command("show_tables", "", "all tables", show_tables),
    command("show_actions", "", "all actions", show_actions),
    command("act_prof_create_member", "PROFILE ACTION ARG...", "add a member", create_member),
    command(
        "act_prof_modify_member",
        "PROFILE ACTION MEMBER ARG...",
        "a member runs something else",
        modify_member,
    ),
    command("act_prof_delete_member", "PROFILE MEMBER", "remove a member", |line, to| {
        profile_call(line, to, "bm_mt_act_prof_delete_member", 1)
    }),
    command("act_prof_create_group", "PROFILE", "add a group", create_group),
    command("act_prof_delete_group", "PROFILE GROUP", "remove a group", |line, to| {
        profile_call(line, to, "bm_mt_act_prof_delete_group", 1)
    }),
    command("act_prof_add_member_to_group", "PROFILE MEMBER GROUP", "a group gets a member", |line, to| {
        profile_call(line, to, "bm_mt_act_prof_add_member_to_group", 2)
    }),
    command(
        "act_prof_remove_member_from_group",
        "PROFILE MEMBER GROUP",
        "a group loses a member",
        |line, to| profile_call(line, to, "bm_mt_act_prof_remove_member_from_group", 2),
    ),
    command("act_prof_dump", "PROFILE", "show members and groups", act_prof_dump),
    command("mc_mgrp_create", "GROUP", "create a multicast group", |line, to| {
        multicast(line, to, "bm_mc_mgrp_create", 1)
    }),
    command("mc_mgrp_destroy", "GROUP", "destroy a multicast group", |line, to| {
        multicast(line, to, "bm_mc_mgrp_destroy", 1)
    }),
    command("mc_node_create", "RID PORT...", "create a node of multicast groups", node_create),
    command("mc_node_update", "NODE PORT...", "change the ports of a node", node_update),
    command("mc_node_associate", "GROUP NODE", "a group gets a node", |line, to| {
        multicast(line, to, "bm_mc_node_associate", 2)
    }),
    command("mc_node_dissociate", "GROUP NODE", "a group loses a node", |line, to| {
        multicast(line, to, "bm_mc_node_dissociate", 2)
    }),
    command("mc_node_destroy", "NODE", "destroy a node", |line, to| {
        multicast(line, to, "bm_mc_node_destroy", 1)
    }),
    command("mc_dump", "", "show multicast groups as JSON", mc_dump),
    command("mirroring_add", "SESSION PORT", "clones of a session go to a port", |line, to| {
        mirroring(line, to, 1)
    }),
    command(
        "mirroring_add_mc",
        "SESSION GROUP",
        "clones of a session go to a multicast group",
        |line, to| mirroring(line, to, 2),
    ),
    command("mirroring_delete", "SESSION", "remove a session", mirroring_delete),
    command("mirroring_get", "SESSION", "show a session", mirroring_get),
    command("counter_read", "COUNTER INDEX", "show a cell", counter_read),
    command("counter_write", "COUNTER INDEX PACKETS BYTES", "set a cell", counter_write),
    command("counter_reset", "COUNTER", "count from zero", counter_reset),
    command("meter_get_rates", "METER INDEX", "show the rates of a cell", meter_get),
    command(
        "meter_set_rates",
        "METER INDEX RATE:BURST RATE:BURST",
        "set the rates of a cell, in units per microsecond",
        meter_set,
    ),
    command(
        "meter_array_set_rates",
        "METER RATE:BURST RATE:BURST",
        "set the rates of all cells",
        meter_array_set,
    ),
    command("register_read", "REGISTER [INDEX]", "show one cell or all", register_read),
    command("register_write", "REGISTER INDEX VALUE", "set a cell", register_write),
    command("register_reset", "REGISTER", "set all cells to 0", register_reset),
    command("pvs_add", "SET VALUE", "add a value to a parser value set", |line, to| {
        value_set(line, to, "bm_parse_vset_add")
    }),
    command("pvs_remove", "SET VALUE", "remove a value", |line, to| {
        value_set(line, to, "bm_parse_vset_remove")
    }),
    command("pvs_get", "SET", "show the values", pvs_get),
    command("pvs_clear", "SET", "remove all values", pvs_clear),
    command("port_add", "INTERFACE PORT", "attach a port", port_add),
    command("port_remove", "PORT", "detach a port", port_remove),
    command("show_ports", "", "all ports", show_ports),
    command("switch_info", "", "device id and Thrift port", switch_info),
    command("set_queue_depth", "PACKETS [PORT [PRIORITY]]", "set the depth of queues", |line, to| {
        queue(line, to, "depth")
    }),
    command(
        "set_queue_rate",
        "PACKETS_PER_SECOND [PORT [PRIORITY]]",
        "set the rate of queues",
        |line, to| queue(line, to, "rate"),
    ),
    command("get_time_elapsed", "", "microseconds since the switch started", |line, to| {
        time(line, to, "get_time_elapsed_us")
    }),
    command("get_time_since_epoch", "", "microseconds since 1970", |line, to| {
        time(line, to, "get_time_since_epoch_us")
    }),
    command("reset_state", "", "remove all entries and reset objects", reset_state),
];

const TABLE_ERRORS: [&str; 27] = [
    "TABLE_FULL",
    "INVALID_HANDLE",
    "EXPIRED_HANDLE",
    "COUNTERS_DISABLED",
    "METERS_DISABLED",
    "AGEING_DISABLED",
    "INVALID_TABLE_NAME",
    "INVALID_ACTION_NAME",
    "WRONG_TABLE_TYPE",
    "INVALID_MBR_HANDLE",
    "MBR_STILL_USED",
    "MBR_ALREADY_IN_GRP",
    "MBR_NOT_IN_GRP",
    "INVALID_GRP_HANDLE",
    "GRP_STILL_USED",
    "EMPTY_GRP",
    "DUPLICATE_ENTRY",
    "BAD_MATCH_KEY",
    "INVALID_METER_OPERATION",
    "DEFAULT_ACTION_IS_CONST",
    "DEFAULT_ENTRY_IS_CONST",
    "NO_DEFAULT_ENTRY",
    "INVALID_ACTION_PROFILE_NAME",
    "NO_ACTION_PROFILE_SELECTION",
    "IMMUTABLE_TABLE_ENTRIES",
    "BAD_ACTION_DATA",
    "NO_TABLE_KEY",
];

/// The words of an exception, as `simple_switch_CLI` has them.
fn refused(method: &str, code: i32) -> String {
    let name = |names: &[&'static str]| {
        usize::try_from(code - 1).ok().and_then(|at| names.get(at).copied()).unwrap_or("ERROR")
    };
    let (kind, name) = match method {
        _ if method.starts_with("bm_mt_") => ("table", name(&TABLE_ERRORS)),
        _ if method.starts_with("bm_counter") => {
            ("counter", name(&["INVALID_COUNTER_NAME", "INVALID_INDEX"]))
        }
        _ if method.starts_with("bm_meter") => {
            ("meter", name(&["INVALID_METER_NAME", "INVALID_INDEX", "BAD_RATES_LIST"]))
        }
        _ if method.starts_with("bm_register") => {
            ("register", name(&["INVALID_REGISTER_NAME", "INVALID_INDEX"]))
        }
        _ if method.starts_with("bm_parse") => ("parser value set", name(&["INVALID_PARSE_VSET_NAME"])),
        _ if method.starts_with("bm_mc") => {
            ("PRE", name(&["TABLE_FULL", "INVALID_MGID", "INVALID_MGRP_HANDLE", "INVALID_L1_HANDLE"]))
        }
        _ if method.starts_with("bm_dev_mgr") => ("device manager", "ERROR"),
        _ if method.starts_with("mirroring") => ("mirroring", name(&["SESSION_NOT_FOUND"])),
        _ => ("", "ERROR"),
    };
    format!("Invalid {kind} operation ({name})")
}

fn call(
    to: &mut dyn Caller,
    service: &str,
    method: &str,
    arguments: Fields,
) -> Result<Option<Value>, String> {
    to.call(&format!("{service}:{method}"), arguments).map_err(|why| match why {
        NotDone::Declared(code) => refused(method, code),
        NotDone::Failed(why) => why,
    })
}

/// A method of `standard` about something with a name.
fn about(to: &mut dyn Caller, method: &str, name: &str, more: Vec<Value>) -> Result<Option<Value>, String> {
    let all = [Value::I32(0), Value::text(name)].into_iter().chain(more);
    call(to, "standard", method, (1..).zip(all).collect())
}

fn table_add(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let action = line.action(&table.actions)?;
    let keys = line.until_arrow()?;
    let keys = line.keys(table, keys)?;
    let priority = line.priority(table)?;
    let data = line.data(action)?;
    added(about(to, "bm_mt_add_entry", &table.name, vec![keys, Value::text(&action.name), data, priority])?)
}

fn indirect_add(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    let table = line.table()?;
    let keys = line.until_arrow()?;
    let keys = line.keys(table, keys)?;
    let priority = line.priority(table)?;
    let handle = line.int()?;
    line.finish()?;
    added(about(to, method, &table.name, vec![keys, Value::I32(handle), priority])?)
}

fn added(handle: Option<Value>) -> Result<String, String> {
    Ok(format!("Entry has been added with handle {}\n", scalar(handle.as_ref())))
}

fn table_modify(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
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

fn done(result: Result<Option<Value>, String>) -> Result<String, String> {
    result.map(|_| String::new())
}

fn table_delete(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, handle) = (line.table()?, line.int()?);
    line.finish()?;
    done(about(to, "bm_mt_delete_entry", &table.name, vec![Value::I32(handle)]))
}

fn table_set_default(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let action = line.action(&table.actions)?;
    let data = line.data(action)?;
    done(about(to, "bm_mt_set_default_action", &table.name, vec![Value::text(&action.name), data]))
}

fn table_call(
    line: &mut Line<'_>,
    to: &mut dyn Caller,
    method: &str,
    more: Vec<Value>,
) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    done(about(to, method, &table.name, more))
}

fn table_num_entries(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    let count = about(to, "bm_mt_get_num_entries", &table.name, vec![])?;
    Ok(format!("{}\n", scalar(count.as_ref())))
}

fn table_set_timeout(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, handle, time) = (line.table()?, line.int()?, line.int()?);
    line.finish()?;
    done(about(to, "bm_mt_set_entry_ttl", &table.name, vec![Value::I32(handle), Value::I32(time)]))
}

fn table_dump(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
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

fn table_dump_entry(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (table, handle) = (line.table()?, line.int()?);
    line.finish()?;
    let found = about(to, "bm_mt_get_entry", &table.name, vec![Value::I32(handle)])?;
    Ok(entry(table, found.as_ref()))
}

fn table_dump_entry_from_key(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    let priority = line.priority(table)?;
    let words = std::mem::take(&mut line.words);
    let keys = line.keys(table, words)?;
    let found = about(to, "bm_mt_get_entry_from_key", &table.name, vec![keys, priority])?;
    Ok(entry(table, found.as_ref()))
}

fn table_line(table: &Table) -> String {
    let keys: Vec<String> =
        table.keys.iter().map(|key| format!("{}({}, {})", key.name, key.kind.name(), key.bits)).collect();
    let profile = table.profile.as_deref().unwrap_or("None");
    format!("{:30} [implementation={profile}, mk={}]\n", table.name, keys.join(",\t"))
}

fn action_lines(line: &Line<'_>, wanted: impl Fn(&str) -> bool) -> String {
    let mut actions: Vec<_> = line.program.actions.iter().filter(|action| wanted(&action.name)).collect();
    actions.sort_by_key(|action| &action.name);
    let params = |params: &[(String, i32)]| {
        params.iter().map(|(name, bits)| format!("{name}({bits})")).collect::<Vec<_>>().join(",\t")
    };
    actions.iter().map(|action| format!("{:30} [{}]\n", action.name, params(&action.params))).collect()
}

fn table_info(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    let actions = action_lines(line, |name| table.actions.iter().any(|action| action == name));
    Ok(format!("{}{}\n{actions}", table_line(table), "*".repeat(80)))
}

fn table_show_actions(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    let table = line.table()?;
    line.finish()?;
    Ok(action_lines(line, |name| table.actions.iter().any(|action| action == name)))
}

fn show_tables(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    let mut tables: Vec<&Table> = line.program.tables.iter().collect();
    tables.sort_by_key(|table| &table.name);
    Ok(tables.into_iter().map(table_line).collect())
}

fn show_actions(line: &mut Line<'_>, _: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    Ok(action_lines(line, |_| true))
}

fn profile<'l>(line: &mut Line<'l>) -> Result<&'l str, String> {
    let program = line.program;
    line.name_among("action profile", program.profiles.iter().map(String::as_str))
}

fn create_member(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    let name = line.word()?;
    let action = member_action(line, profile, name)?;
    let data = line.data(&action)?;
    let handle = about(to, "bm_mt_act_prof_add_member", profile, vec![Value::text(&action.name), data])?;
    Ok(format!("Member has been created with handle {}\n", scalar(handle.as_ref())))
}

fn modify_member(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    let name = line.word()?;
    let action = member_action(line, profile, name)?;
    let handle = line.int()?;
    let data = line.data(&action)?;
    done(about(
        to,
        "bm_mt_act_prof_modify_member",
        profile,
        vec![Value::I32(handle), Value::text(&action.name), data],
    ))
}

fn member_action(line: &Line<'_>, profile: &str, name: &str) -> Result<super::program::Action, String> {
    let among = line.program.actions_of(profile);
    match line.program.action(&among, name) {
        Some(action) => Ok(action.clone()),
        None => Err(format!("`{profile}` has no action `{name}`; there are: {}", among.join(", "))),
    }
}

fn create_group(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    line.finish()?;
    let handle = about(to, "bm_mt_act_prof_create_group", profile, vec![])?;
    Ok(format!("Group has been created with handle {}\n", scalar(handle.as_ref())))
}

fn profile_call(
    line: &mut Line<'_>,
    to: &mut dyn Caller,
    method: &str,
    numbers: usize,
) -> Result<String, String> {
    let profile = profile(line)?;
    let numbers: Result<Vec<Value>, String> = (0..numbers).map(|_| line.int().map(Value::I32)).collect();
    let numbers = numbers?;
    line.finish()?;
    done(about(to, method, profile, numbers))
}

fn profile_text(to: &mut dyn Caller, profile: &str) -> Result<String, String> {
    let found = about(to, "bm_mt_act_prof_get_members", profile, vec![])?;
    let mut text = format!("==========\nMEMBERS\n{}", members(found.as_ref()));
    // A profile without a selector has no groups.
    if let Ok(found) = about(to, "bm_mt_act_prof_get_groups", profile, vec![]) {
        let _ = write!(text, "==========\nGROUPS\n{}", groups(found.as_ref()));
    }
    Ok(text)
}

fn act_prof_dump(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    line.finish()?;
    profile_text(to, profile)
}

fn multicast(
    line: &mut Line<'_>,
    to: &mut dyn Caller,
    method: &str,
    numbers: usize,
) -> Result<String, String> {
    let numbers: Result<Vec<Value>, String> = (0..numbers).map(|_| line.int().map(Value::I32)).collect();
    let all = std::iter::once(Value::I32(0)).chain(numbers?);
    line.finish()?;
    done(call(to, "simple_pre_lag", method, (1..).zip(all).collect()))
}

fn node(line: &mut Line<'_>) -> Result<Fields, String> {
    let number = line.int()?;
    let mut map = vec![];
    while !line.words.is_empty() {
        let port = usize::try_from(line.int()?)
            .ok()
            .filter(|port| *port < 1 << 16)
            .ok_or("a port is below 65536")?;
        map.resize(map.len().max(port + 1), b'0');
        map[port] = b'1';
    }
    map.reverse();
    Ok(vec![(1, Value::I32(0)), (2, Value::I32(number)), (3, Value::String(map)), (4, Value::text(""))])
}

fn node_create(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let handle = call(to, "simple_pre_lag", "bm_mc_node_create", node(line)?)?;
    Ok(format!("node was created with handle {}\n", scalar(handle.as_ref())))
}

fn node_update(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    done(call(to, "simple_pre_lag", "bm_mc_node_update", node(line)?))
}

fn mc_dump(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    let dump = call(to, "simple_pre_lag", "bm_mc_get_entries", vec![(1, Value::I32(0))])?;
    Ok(format!("{}\n", scalar(dump.as_ref())))
}

fn mirroring(line: &mut Line<'_>, to: &mut dyn Caller, kind: i16) -> Result<String, String> {
    let (session, target) = (line.int()?, line.int()?);
    line.finish()?;
    let config = Value::Struct(vec![(kind, Value::I32(target))]);
    done(call(to, "simple_switch", "mirroring_session_add", vec![(1, Value::I32(session)), (2, config)]))
}

fn mirroring_delete(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let session = line.int()?;
    line.finish()?;
    done(call(to, "simple_switch", "mirroring_session_delete", vec![(1, Value::I32(session))]))
}

fn mirroring_get(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let session = line.int()?;
    line.finish()?;
    let config = call(to, "simple_switch", "mirroring_session_get", vec![(1, Value::I32(session))])?;
    let Some(Value::Struct(fields)) = config else { return Ok(String::new()) };
    let shown = fields
        .iter()
        .map(|(id, value)| format!("{} {}\n", if *id == 1 { "port" } else { "group" }, scalar(Some(value))));
    Ok(shown.collect())
}

fn object<'l>(line: &mut Line<'l>, kind: &str, all: &'l [Object]) -> Result<&'l Object, String> {
    let name = line.name_among(kind, all.iter().map(|object| object.name.as_str()))?;
    all.iter().find(|object| object.name == name).map_or_else(|| line.usage(), Ok)
}

fn counter_read(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (counter, index) = (object(line, "counter", &program.counters)?, line.int()?);
    line.finish()?;
    let found = match &counter.table {
        Some(table) => about(to, "bm_mt_read_counter", table, vec![Value::I32(index)])?,
        None => about(to, "bm_counter_read", &counter.name, vec![Value::I32(index)])?,
    };
    let Some(Value::Struct(fields)) = found else { return Err("the counter has no value".to_string()) };
    let field = |id| scalar(fields.iter().find(|(of, _)| *of == id).map(|(_, value)| value));
    Ok(format!("{}[{index}]= ({} bytes, {} packets)\n", counter.name, field(1), field(2)))
}

fn counter_write(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (counter, index) = (object(line, "counter", &program.counters)?, line.int()?);
    let (packets, bytes) = (line.long()?, line.long()?);
    line.finish()?;
    let count = Value::Struct(vec![(1, Value::I64(bytes)), (2, Value::I64(packets))]);
    let more = vec![Value::I32(index), count];
    done(match &counter.table {
        Some(table) => about(to, "bm_mt_write_counter", table, more),
        None => about(to, "bm_counter_write", &counter.name, more),
    })
}

fn counter_reset(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let counter = object(line, "counter", &program.counters)?;
    line.finish()?;
    done(match &counter.table {
        Some(table) => about(to, "bm_mt_reset_counters", table, vec![]),
        None => about(to, "bm_counter_reset_all", &counter.name, vec![]),
    })
}

fn rates(line: &mut Line<'_>) -> Result<Value, String> {
    let mut all = vec![];
    while !line.words.is_empty() {
        let word = line.word()?;
        let rate = word
            .split_once(':')
            .and_then(|(rate, burst)| Some((rate.parse::<f64>().ok()?, burst.parse::<i32>().ok()?)));
        let (rate, burst) = rate.ok_or_else(|| format!("`{word}` is not RATE:BURST, as in 0.5:10"))?;
        all.push(Value::Struct(vec![(1, Value::Double(rate)), (2, Value::I32(burst))]));
    }
    if all.len() == 2 { Ok(Value::List(Type::Struct, all)) } else { line.usage() }
}

fn meter_set(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (meter, index, rates) = (object(line, "meter", &program.meters)?, line.int()?, rates(line)?);
    let more = vec![Value::I32(index), rates];
    done(match &meter.table {
        Some(table) => about(to, "bm_mt_set_meter_rates", table, more),
        None => about(to, "bm_meter_set_rates", &meter.name, more),
    })
}

fn meter_array_set(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (meter, rates) = (object(line, "meter", &program.meters)?, rates(line)?);
    done(about(to, "bm_meter_array_set_rates", &meter.name, vec![rates]))
}

fn meter_get(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (meter, index) = (object(line, "meter", &program.meters)?, line.int()?);
    line.finish()?;
    let found = match &meter.table {
        Some(table) => about(to, "bm_mt_get_meter_rates", table, vec![Value::I32(index)])?,
        None => about(to, "bm_meter_get_rates", &meter.name, vec![Value::I32(index)])?,
    };
    let Some(Value::List(_, rates)) = found else { return Err("the meter has no rates".to_string()) };
    let mut text = String::new();
    for (at, rate) in rates.iter().enumerate() {
        if let Value::Struct(fields) = rate {
            let field = |id| scalar(fields.iter().find(|(of, _)| *of == id).map(|(_, value)| value));
            let _ = writeln!(text, "{at}: info rate = {}, burst size = {}", field(1), field(2));
        }
    }
    Ok(text)
}

fn register_read(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let register = &object(line, "register", &program.registers)?.name;
    if line.words.is_empty() {
        let Some(Value::List(_, cells)) = about(to, "bm_register_read_all", register, vec![])? else {
            return Err("the register has no cells".to_string());
        };
        let cells: Vec<String> = cells.iter().map(|cell| scalar(Some(cell))).collect();
        return Ok(format!("{register}= {}\n", cells.join(", ")));
    }
    let index = line.int()?;
    line.finish()?;
    let cell = about(to, "bm_register_read", register, vec![Value::I32(index)])?;
    Ok(format!("{register}[{index}]= {}\n", scalar(cell.as_ref())))
}

fn register_write(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (register, index, value) = (object(line, "register", &program.registers)?, line.int()?, line.long()?);
    line.finish()?;
    done(about(to, "bm_register_write", &register.name, vec![Value::I32(index), Value::I64(value)]))
}

fn register_reset(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let register = object(line, "register", &program.registers)?;
    line.finish()?;
    done(about(to, "bm_register_reset", &register.name, vec![]))
}

fn set_name<'l>(line: &mut Line<'l>) -> Result<&'l str, String> {
    let program = line.program;
    line.name_among("parser value set", program.value_sets.iter().map(|(name, _)| name.as_str()))
}

fn value_set(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    let set = set_name(line)?;
    let word = line.word()?;
    line.finish()?;
    let number = p4_entries::parse_number(word).map_err(|why| why.to_string())?;
    let bits = line.program.value_sets.iter().find(|(name, _)| name == set).map_or(0, |(_, bits)| *bits);
    if number > crate::value::ones(bits) {
        return Err(format!("`{word}` needs more than {bits} bits"));
    }
    let value = crate::value::padded(&crate::value::shortest(&number.to_bytes_be()), bits);
    done(about(to, method, set, vec![Value::String(value)]))
}

fn pvs_get(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let set = set_name(line)?;
    line.finish()?;
    let Some(Value::List(_, values)) = about(to, "bm_parse_vset_get", set, vec![])? else {
        return Ok(String::new());
    };
    Ok(values.iter().map(|value| format!("{}\n", hex(value))).collect())
}

fn pvs_clear(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let set = set_name(line)?;
    line.finish()?;
    done(about(to, "bm_parse_vset_clear", set, vec![]))
}

fn port_add(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (interface, port) = (line.word()?, line.int()?);
    line.finish()?;
    let arguments = vec![(1, Value::text(interface)), (2, Value::I32(port)), (3, Value::text(""))];
    done(call(to, "standard", "bm_dev_mgr_add_port", arguments))
}

fn port_remove(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let port = line.int()?;
    line.finish()?;
    done(call(to, "standard", "bm_dev_mgr_remove_port", vec![(1, Value::I32(port))]))
}

fn show_ports(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    Ok(ports(call(to, "standard", "bm_dev_mgr_show_ports", vec![])?.as_ref()))
}

fn switch_info(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    let Some(Value::Struct(fields)) = call(to, "standard", "bm_mgmt_get_info", vec![])? else {
        return Ok(String::new());
    };
    let name = |id| match id {
        1 => "device_id",
        2 => "thrift_port",
        3 => "notifications_socket",
        4 => "elogger_socket",
        _ => "debugger_socket",
    };
    Ok(fields.iter().map(|(id, value)| format!("{:25}: {}\n", name(*id), scalar(Some(value)))).collect())
}

fn queue(line: &mut Line<'_>, to: &mut dyn Caller, what: &str) -> Result<String, String> {
    let is_rate = what == "rate";
    let amount = line.int()?;
    let amount = if is_rate { Value::I64(amount.into()) } else { Value::I32(amount) };
    let mut places = vec![];
    while !line.words.is_empty() {
        places.push(Value::I32(line.int()?));
    }
    let method = match places.len() {
        0 => format!("set_all_egress_queue_{what}s"),
        1 => format!("set_egress_queue_{what}"),
        2 => format!("set_egress_priority_queue_{what}"),
        _ => return line.usage(),
    };
    places.push(amount);
    done(call(to, "simple_switch", &method, (1..).zip(places).collect()))
}

fn time(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    line.finish()?;
    Ok(format!("{}\n", scalar(call(to, "simple_switch", method, vec![])?.as_ref())))
}

fn reset_state(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    done(call(to, "standard", "bm_reset_state", vec![]))
}
