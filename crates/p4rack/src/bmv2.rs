//! Commands for `simple_switch_CLI` that fill a device.
//!
//! `simple_switch_CLI` numbers entries, members, groups and multicast nodes itself, from 0, each kind in its own order.
//! It treats keys of kind `optional` as `ternary`, and its highest priority is the smallest number.

use crate::entries::is_ranked;
use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use control_writes::{ActionCall, Crc, Data, Entry, EntryKey, Match, OneShot, Run, members};
use ir::{MatchKind, Name, Program, Table, TableKey};
use ir_fill::Write;
pub use p4_entries::{is_about_queues, queue_commands};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// The commands that fill a device as another one was filled.
pub fn fill_commands(program: &Program, writes: &[Write]) -> String {
    let writes: Vec<&Write> = writes.iter().collect();
    more_commands(String::new(), program, &writes)
}

/// The same, after other commands.
pub(crate) fn more_commands(before: String, program: &Program, writes: &[&Write]) -> String {
    let mut commands = Commands { best: best(writes), ..Commands::new(program, before) };
    writes.iter().for_each(|write| commands.write(write));
    commands.out
}

/// The priority that is the best to BMv2: all others are larger numbers.
fn best(writes: &[&Write]) -> i64 {
    let of = |write: &&Write| match write {
        Write::Entry { key, .. } => Some(key.priority),
        _ => None,
    };
    writes.iter().filter_map(of).max().unwrap_or(0).max(BEST)
}

/// Priority from which p4c's tests count down.
const BEST: i64 = 10_000;

/// Members and groups of entries' own have numbers from here on.
const ONE_SHOTS: u32 = 1 << 31;

/// Writer of commands.
struct Commands<'p> {
    program: &'p Program,
    best: i64,
    /// Entries of each table.
    entries: BTreeMap<&'p str, u64>,
    /// Numbers of members by profile, and then of groups, as BMv2 gives them.
    numbers: BTreeMap<(&'p str, bool), BTreeMap<u32, usize>>,
    nodes: usize,
    out: String,
}

impl<'p> Commands<'p> {
    fn new(program: &'p Program, out: String) -> Commands<'p> {
        let tables = program.controls.iter().flat_map(|c| &c.tables);
        let entries = tables.map(|t| (t.control_plane_name.as_str(), t.entries.len() as u64)).collect();
        Commands { program, best: BEST, entries, numbers: BTreeMap::new(), nodes: 0, out }
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{line}");
    }

    fn table(&self, name: &str) -> Option<&'p Table> {
        self.program.controls.iter().flat_map(|c| &c.tables).find(|t| t.control_plane_name == name)
    }

    fn profile(&self, name: &str) -> Option<&'p str> {
        let mut instances = self.program.instances.iter();
        instances
            .find(|known| known.control_plane_name == name)
            .map(|known| known.control_plane_name.as_str())
    }

    fn profile_of(&self, table: &Table) -> Option<&'p str> {
        let instance = self.program.instances.get(table.implementation?.index())?;
        Some(&instance.control_plane_name)
    }

    fn write(&mut self, write: &Write) {
        match write {
            Write::Entry { table, key, to, .. } => {
                if let Some(table) = self.table(table) {
                    self.entry(table, key, to.as_deref());
                }
            }
            Write::Default { table, to, .. } => {
                let profile = self.table(table).and_then(|table| self.profile_of(table));
                match (&to.call, to.member, profile) {
                    (Some(_), Some(member), Some(profile)) => {
                        let member = self.number(profile, true, member);
                        self.line(format_args!("table_indirect_set_default {table} {member}"));
                    }
                    (Some(ActionCall { action, args }), ..) => {
                        self.line(format_args!("table_set_default {table} {action}{}", numbers(args)));
                    }
                    (None, ..) => self.line(format_args!("table_reset_default {table}")),
                }
            }
            Write::Member { profile, member, to: Some(call) } => {
                if let Some(profile) = self.profile(profile) {
                    self.member(profile, *member, call);
                }
            }
            Write::Group { profile, group, to: Some(to) } => {
                let Some(profile) = self.profile(profile) else { return };
                let group = self.number(profile, false, *group);
                self.line(format_args!("act_prof_create_group {profile}"));
                for member in &to.members {
                    let member = self.number(profile, true, member.member);
                    self.line(format_args!("act_prof_add_member_to_group {profile} {member} {group}"));
                }
            }
            Write::ValueSet { set, members } => {
                for member in members {
                    let member = set_value(self.program, set, member);
                    self.line(format_args!("pvs_add {set} {member}"));
                }
            }
            Write::CloneSession { session, to: Some(to) } => {
                for replica in &to.replicas {
                    self.line(format_args!("mirroring_add {session} {}", replica.port));
                }
                if let Some(group) = to.group {
                    self.line(format_args!("mirroring_add_mc {session} {group}"));
                }
            }
            Write::Register { register, index, to } => {
                let value = match to {
                    Data::Bits(bits) => bits.to_hex(),
                    Data::Bool(value) => u8::from(*value).to_string(),
                    _ => return,
                };
                self.line(format_args!("register_write {register} {index} {value}"));
            }
            Write::RegisterReset { register } => self.line(format_args!("register_reset {register}")),
            Write::Counter { counter, index, to } => {
                self.line(format_args!("counter_write {counter} {index} {} {}", to.packets, to.bytes));
            }
            Write::CounterReset { counter } => self.line(format_args!("counter_reset {counter}")),
            Write::CustomCrc { .. } => {
                if let Some(command) = crc_command(write) {
                    self.line(format_args!("{command}"));
                }
            }
            Write::Meter { meter, index, to: Some(rates) } => {
                self.line(format_args!("meter_set_rates {meter} {index} {}", rates));
            }
            Write::MeterArray { meter, to: Some(rates) } => {
                self.line(format_args!("meter_array_set_rates {meter} {}", rates));
            }
            Write::Multicast { group, to: Some(to) } => {
                self.line(format_args!("mc_mgrp_create {group}"));
                for node in members(&to.replicas).chunk_by(|a, b| a.1 == b.1) {
                    let rid = node.first().map_or(0, |(_, rid)| *rid);
                    let ports: String = node.iter().map(|(port, _)| format!(" {port}")).collect();
                    self.line(format_args!("mc_node_create {rid}{ports}"));
                    let number = self.nodes;
                    self.line(format_args!("mc_node_associate {group} {number}"));
                    self.nodes += 1;
                }
            }
            // Nothing of this is there when `simple_switch` starts. It has no settings of digests, no command for direct
            // counters, and no frame externs.
            Write::Member { to: None, .. }
            | Write::Group { to: None, .. }
            | Write::Multicast { to: None, .. }
            | Write::CloneSession { to: None, .. }
            | Write::Meter { to: None, .. }
            | Write::MeterArray { to: None, .. }
            | Write::Digest { .. }
            | Write::Memory { .. }
            | Write::DirectCounter { .. } => {}
        }
    }

    fn entry(&mut self, table: &'p Table, of: &EntryKey, to: Option<&Entry<Name>>) {
        let name = table.control_plane_name.as_str();
        let Some(entry) = to else { return };
        let count = self.entries.entry(name).or_default();
        let handle = *count;
        *count += 1;
        let keys = table.keys.iter().filter(|k| k.match_kind != MatchKind::Selector);
        let keys: String =
            keys.zip(&of.matches).map(|(k, m)| format!(" {}", key(self.program, k, m))).collect();
        let priority = match is_ranked(table) {
            true => format!(" {}", self.best - of.priority),
            false => String::new(),
        };
        let profile = self.profile_of(table);
        match (&entry.run, profile) {
            (Run::Action(ActionCall { action, args }), _) => {
                let args = numbers(args);
                self.line(format_args!("table_add {name} {action}{keys} =>{args}{priority}"));
            }
            (Run::Member(member), Some(profile)) => {
                let member = self.number(profile, true, *member);
                self.line(format_args!("table_indirect_add {name}{keys} => {member}{priority}"));
            }
            (Run::Group(group), Some(profile)) => {
                let group = self.number(profile, false, *group);
                self.line(format_args!("table_indirect_add_with_group {name}{keys} => {group}{priority}"));
            }
            (Run::OneShot(set), Some(profile)) => {
                let group = self.one_shot(profile, set);
                self.line(format_args!("table_indirect_add_with_group {name}{keys} => {group}{priority}"));
            }
            (Run::Member(_) | Run::Group(_) | Run::OneShot(_), None) => return,
        }
        if entry.idle_timeout_ns > 0 {
            // Rounded up: BMv2 takes 0 ms for no timeout.
            let milliseconds = entry.idle_timeout_ns.unsigned_abs().div_ceil(1_000_000);
            self.line(format_args!("table_set_timeout {name} {handle} {milliseconds}"));
        }
        let meter = table.meters.and_then(|id| self.program.instances.get(id.index()));
        if let (Some(rates), Some(meter)) = (entry.meter, meter) {
            let meter = &meter.control_plane_name;
            self.line(format_args!("meter_set_rates {meter} {handle} {}", rates));
        }
    }

    fn member(&mut self, profile: &'p str, member: u32, call: &ActionCall<Name>) -> usize {
        let number = self.number(profile, true, member);
        let ActionCall { action, args } = call;
        self.line(format_args!("act_prof_create_member {profile} {action}{}", numbers(args)));
        number
    }

    /// A group of an entry's own, and its members: BMv2 has no weights.
    fn one_shot(&mut self, profile: &'p str, set: &OneShot<Name>) -> usize {
        let used = self.numbers.get(&(profile, true)).map_or(0, BTreeMap::len) as u32;
        let members = (ONE_SHOTS | used..).zip(&set.actions);
        let members: Vec<usize> =
            members.map(|(number, one)| self.member(profile, number, &one.call)).collect();
        let used = self.numbers.get(&(profile, false)).map_or(0, BTreeMap::len) as u32;
        let group = self.number(profile, false, ONE_SHOTS | used);
        self.line(format_args!("act_prof_create_group {profile}"));
        for member in members {
            self.line(format_args!("act_prof_add_member_to_group {profile} {member} {group}"));
        }
        group
    }

    /// BMv2's number of a member, or else a group, that has this one here.
    fn number(&mut self, profile: &'p str, is_member: bool, here: u32) -> usize {
        let numbers = self.numbers.entry((profile, is_member)).or_default();
        let next = numbers.len();
        *numbers.entry(here).or_insert(next)
    }
}

fn numbers(args: &[Bits]) -> String {
    args.iter().map(|bits| format!(" {}", bits.to_hex())).collect()
}

fn key(program: &Program, key: &TableKey, wanted: &Match) -> String {
    let width = program.bits(&key.expr.ty).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(32);
    let hex = Bits::to_hex;
    match (&key.match_kind, wanted) {
        (MatchKind::Ternary | MatchKind::Optional, Match::Any) => "0&&&0".to_string(),
        (MatchKind::Ternary | MatchKind::Optional, Match::Exact(value)) => {
            format!("{}&&&{}", hex(value), hex(&Bits::ones(width)))
        }
        (MatchKind::Ternary, Match::Lpm { value, prefix_len }) => {
            let mask = Bits::ones(width).shl_by(u64::from(width - prefix_len));
            format!("{}&&&{}", hex(&value.and(&mask)), hex(&mask))
        }
        (MatchKind::Range, Match::Any) => format!("0->{}", hex(&Bits::ones(width))),
        (MatchKind::Range, Match::Exact(value)) => format!("{0}->{0}", hex(value)),
        (MatchKind::Lpm, Match::Any) => "0/0".to_string(),
        (MatchKind::Lpm, Match::Exact(value)) => format!("{}/{width}", hex(value)),
        (_, Match::Ternary { value, mask }) => format!("{}&&&{}", hex(value), hex(mask)),
        (_, Match::Lpm { value, prefix_len }) => format!("{}/{prefix_len}", hex(value)),
        (_, Match::Range { lo, hi }) => format!("{}->{}", hex(lo), hex(hi)),
        (_, Match::Exact(value)) => hex(value),
        (_, Match::Any) => "0".to_string(),
    }
}

/// A member of a value set is one number to BMv2, its fields side by side.
fn set_value(program: &Program, set: &str, member: &[Match]) -> String {
    let sets = program.parsers.iter().flat_map(|p| &p.value_sets);
    let found = sets.into_iter().find(|s| s.control_plane_name == set);
    let fields = found.map(|set| program.fields(&set.ty)).unwrap_or_default();
    let widths: Vec<Option<u64>> = match fields.is_empty() {
        true => vec![found.and_then(|set| program.bits(&set.ty))],
        false => fields.iter().map(|f| program.bits(&f.ty)).collect(),
    };
    let mut all = BigUint::ZERO;
    for (wanted, width) in member.iter().zip(widths) {
        let value = match wanted {
            Match::Exact(value) => value.to_biguint(),
            _ => BigUint::ZERO,
        };
        all = (all << width.unwrap_or(0)) + value;
    }
    format!("{all:#x}")
}

/// The command that sets the parameters of a hash; `None` for other writes.
pub fn crc_command(write: &Write) -> Option<String> {
    let Write::CustomCrc { calculation, width, to } = write else { return None };
    let Crc { polynomial, initial, final_xor, reflect_data, reflect_remainder } = to;
    // The name that p4c gives the first calculation.
    let calculation = calculation.as_deref().unwrap_or("calc");
    Some(format!(
        "set_crc{width}_parameters {calculation} {polynomial:#x} {initial:#x} {final_xor:#x} {reflect_data} {reflect_remainder}"
    ))
}
