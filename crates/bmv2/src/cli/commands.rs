//! All commands as data, each with its form and its effect.

use super::words::Line;
use super::{Caller, device, objects, profiles, replication, tables};

pub type Run = fn(&mut Line<'_>, &mut dyn Caller) -> Result<String, String>;

/// Effect of a command. For a Thrift method, the words of the form are its arguments.
#[derive(Clone, Copy)]
pub enum Does {
    /// Runs a function.
    Runs(Run),
    /// Calls a method about a table.
    Table(&'static str),
    /// Adds an entry that runs a member or group.
    Indirect(&'static str),
    /// Calls a method of action profiles with this number of numeric arguments.
    Profile(&'static str, usize),
    /// Calls a method of multicast groups with this number of numeric arguments.
    Multicast(&'static str, usize),
    /// Adds a session; the field of the target in its configuration.
    Mirroring(i16),
    /// Calls a method with a value of a parser value set.
    ValueSet(&'static str),
    /// Sets the parameters of a custom CRC of this width.
    Crc(u32),
    /// Sets the depth or the rate of queues.
    Queue(&'static str),
    /// Shows a time.
    Time(&'static str),
}

/// A command.
pub struct Command {
    pub name: &'static str,
    pub form: &'static str,
    pub what: &'static str,
    does: Does,
}

impl Command {
    /// Does a line.
    pub fn run(&self, line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
        match self.does {
            Does::Runs(run) => run(line, to),
            Does::Table(method) => tables::table_call(line, to, method),
            Does::Indirect(method) => tables::indirect_add(line, to, method),
            Does::Profile(method, numbers) => profiles::profile_call(line, to, method, numbers),
            Does::Multicast(method, numbers) => replication::multicast(line, to, method, numbers),
            Does::Mirroring(field) => replication::mirroring(line, to, field),
            Does::ValueSet(method) => objects::value_set(line, to, method),
            Does::Crc(width) => objects::set_crc(line, to, width),
            Does::Queue(what) => device::queue(line, to, what),
            Does::Time(method) => device::time(line, to, method),
        }
    }
}

const fn command(name: &'static str, form: &'static str, what: &'static str, does: Does) -> Command {
    Command { name, form, what, does }
}

/// The commands, and for which words their arguments stand.
pub const COMMANDS: &[Command] = &[
    command(
        "table_add",
        "TABLE ACTION KEY... => ARG... [PRIORITY]",
        "add an entry",
        Does::Runs(tables::table_add),
    ),
    command(
        "table_modify",
        "TABLE ACTION HANDLE ARG...",
        "an entry runs something else",
        Does::Runs(tables::table_modify),
    ),
    command("table_delete", "TABLE HANDLE", "remove an entry", Does::Runs(tables::table_delete)),
    command(
        "table_set_default",
        "TABLE ACTION ARG...",
        "set the default action",
        Does::Runs(tables::table_set_default),
    ),
    command(
        "table_reset_default",
        "TABLE",
        "set the default action of the source",
        Does::Table("bm_mt_reset_default_entry"),
    ),
    command("table_clear", "TABLE", "remove all entries", Does::Runs(tables::table_clear)),
    command("table_num_entries", "TABLE", "count entries", Does::Runs(tables::table_num_entries)),
    command(
        "table_set_timeout",
        "TABLE HANDLE MILLISECONDS",
        "set an idle timeout",
        Does::Runs(tables::table_set_timeout),
    ),
    command("table_dump", "TABLE", "show all entries", Does::Runs(tables::table_dump)),
    command("table_dump_entry", "TABLE HANDLE", "show an entry", Does::Runs(tables::table_dump_entry)),
    command(
        "table_dump_entry_from_key",
        "TABLE KEY... [PRIORITY]",
        "show the entry with a key",
        Does::Runs(tables::table_dump_entry_from_key),
    ),
    command(
        "table_indirect_add",
        "TABLE KEY... => MEMBER [PRIORITY]",
        "add an entry that runs a member",
        Does::Indirect("bm_mt_indirect_add_entry"),
    ),
    command(
        "table_indirect_add_with_group",
        "TABLE KEY... => GROUP [PRIORITY]",
        "add an entry that runs a group",
        Does::Indirect("bm_mt_indirect_ws_add_entry"),
    ),
    command("table_indirect_delete", "TABLE HANDLE", "remove an entry", Does::Runs(tables::table_delete)),
    command(
        "table_indirect_set_default",
        "TABLE MEMBER",
        "the default action is that of a member",
        Does::Runs(tables::table_indirect_set_default),
    ),
    command(
        "table_indirect_reset_default",
        "TABLE",
        "set the default action of the source",
        Does::Table("bm_mt_indirect_reset_default_entry"),
    ),
    command("table_info", "TABLE", "keys and actions of a table", Does::Runs(tables::table_info)),
    command("table_show_actions", "TABLE", "actions of a table", Does::Runs(tables::table_show_actions)),
    command("show_tables", "", "all tables", Does::Runs(tables::show_tables)),
    command("show_actions", "", "all actions", Does::Runs(tables::show_actions)),
    command(
        "act_prof_create_member",
        "PROFILE ACTION ARG...",
        "add a member",
        Does::Runs(profiles::create_member),
    ),
    command(
        "act_prof_modify_member",
        "PROFILE ACTION MEMBER ARG...",
        "a member runs something else",
        Does::Runs(profiles::modify_member),
    ),
    command(
        "act_prof_delete_member",
        "PROFILE MEMBER",
        "remove a member",
        Does::Profile("bm_mt_act_prof_delete_member", 1),
    ),
    command("act_prof_create_group", "PROFILE", "add a group", Does::Runs(profiles::create_group)),
    command(
        "act_prof_delete_group",
        "PROFILE GROUP",
        "remove a group",
        Does::Profile("bm_mt_act_prof_delete_group", 1),
    ),
    command(
        "act_prof_add_member_to_group",
        "PROFILE MEMBER GROUP",
        "a group gets a member",
        Does::Profile("bm_mt_act_prof_add_member_to_group", 2),
    ),
    command(
        "act_prof_remove_member_from_group",
        "PROFILE MEMBER GROUP",
        "a group loses a member",
        Does::Profile("bm_mt_act_prof_remove_member_from_group", 2),
    ),
    command("act_prof_dump", "PROFILE", "show members and groups", Does::Runs(profiles::act_prof_dump)),
    command("mc_mgrp_create", "GROUP", "create a multicast group", Does::Multicast("bm_mc_mgrp_create", 1)),
    command(
        "mc_mgrp_destroy",
        "GROUP",
        "destroy a multicast group",
        Does::Multicast("bm_mc_mgrp_destroy", 1),
    ),
    command(
        "mc_node_create",
        "RID PORT... [| LAG...]",
        "create a node of multicast groups",
        Does::Runs(replication::node_create),
    ),
    command(
        "mc_node_update",
        "NODE PORT... [| LAG...]",
        "change the ports of a node",
        Does::Runs(replication::node_update),
    ),
    command(
        "mc_set_lag_membership",
        "LAG PORT...",
        "set the ports of a link aggregation group",
        Does::Runs(replication::set_lag_membership),
    ),
    command(
        "mc_node_associate",
        "GROUP NODE",
        "a group gets a node",
        Does::Multicast("bm_mc_node_associate", 2),
    ),
    command(
        "mc_node_dissociate",
        "GROUP NODE",
        "a group loses a node",
        Does::Multicast("bm_mc_node_dissociate", 2),
    ),
    command("mc_node_destroy", "NODE", "destroy a node", Does::Multicast("bm_mc_node_destroy", 1)),
    command("mc_dump", "", "show multicast groups as JSON", Does::Runs(replication::mc_dump)),
    command("mirroring_add", "SESSION PORT", "clones of a session go to a port", Does::Mirroring(1)),
    command(
        "mirroring_add_mc",
        "SESSION GROUP",
        "clones of a session go to a multicast group",
        Does::Mirroring(2),
    ),
    command("mirroring_delete", "SESSION", "remove a session", Does::Runs(replication::mirroring_delete)),
    command("mirroring_get", "SESSION", "show a session", Does::Runs(replication::mirroring_get)),
    command("counter_read", "COUNTER INDEX", "show a cell", Does::Runs(objects::counter_read)),
    command("counter_write", "COUNTER INDEX PACKETS BYTES", "set a cell", Does::Runs(objects::counter_write)),
    command("counter_reset", "COUNTER", "count from zero", Does::Runs(objects::counter_reset)),
    command("meter_get_rates", "METER INDEX", "show the rates of a cell", Does::Runs(objects::meter_get)),
    command(
        "meter_set_rates",
        "METER INDEX RATE:BURST RATE:BURST",
        "set the rates of a cell, in units per microsecond",
        Does::Runs(objects::meter_set),
    ),
    command(
        "meter_array_set_rates",
        "METER RATE:BURST RATE:BURST",
        "set the rates of all cells",
        Does::Runs(objects::meter_array_set),
    ),
    command("register_read", "REGISTER [INDEX]", "show one cell or all", Does::Runs(objects::register_read)),
    command("register_write", "REGISTER INDEX VALUE", "set a cell", Does::Runs(objects::register_write)),
    command("register_reset", "REGISTER", "set all cells to 0", Does::Runs(objects::register_reset)),
    command("pvs_add", "SET VALUE", "add a value to a parser value set", Does::ValueSet("bm_parse_vset_add")),
    command("pvs_remove", "SET VALUE", "remove a value", Does::ValueSet("bm_parse_vset_remove")),
    command("pvs_get", "SET", "show the values", Does::Runs(objects::pvs_get)),
    command("pvs_clear", "SET", "remove all values", Does::Runs(objects::pvs_clear)),
    command(
        "set_crc16_parameters",
        "CALCULATION POLYNOMIAL INITIAL FINAL_XOR REFLECT_DATA REFLECT_REMAINDER",
        "set the parameters of a `crc16_custom`",
        Does::Crc(16),
    ),
    command(
        "set_crc32_parameters",
        "CALCULATION POLYNOMIAL INITIAL FINAL_XOR REFLECT_DATA REFLECT_REMAINDER",
        "set the parameters of a `crc32_custom`",
        Does::Crc(32),
    ),
    command("port_add", "INTERFACE PORT", "attach a port", Does::Runs(device::port_add)),
    command("port_remove", "PORT", "detach a port", Does::Runs(device::port_remove)),
    command("show_ports", "", "all ports", Does::Runs(device::show_ports)),
    command("switch_info", "", "device id and Thrift port", Does::Runs(device::switch_info)),
    command("set_queue_depth", "PACKETS [PORT [PRIORITY]]", "set the depth of queues", Does::Queue("depth")),
    command(
        "set_queue_rate",
        "PACKETS_PER_SECOND [PORT [PRIORITY]]",
        "set the rate of queues",
        Does::Queue("rate"),
    ),
    command(
        "get_time_elapsed",
        "",
        "microseconds since the switch started",
        Does::Time("get_time_elapsed_us"),
    ),
    command("get_time_since_epoch", "", "microseconds since 1970", Does::Time("get_time_since_epoch_us")),
    command("reset_state", "", "remove all entries, and reset objects", Does::Runs(device::reset_state)),
    command(
        "serialize_state",
        "FILE",
        "write program and state to a file, for `p4rack switch --restore-state` and `p4rack ctl restore`",
        Does::Runs(device::serialize_state),
    ),
];

#[cfg(test)]
mod tests {
    use super::COMMANDS;

    #[test]
    fn files_of_entries_know_every_command() {
        for command in COMMANDS {
            assert!(p4_entries::is_command(command.name), "{}", command.name);
        }
    }
}
