//! What `simple_switch_CLI` has to be told for a device's part.
//!
//! It numbers entries, members, groups and multicast nodes itself, from 0 and each kind in its own order; keys of kind
//! `optional` are `ternary` ones to it, and its best priority is the smallest.

use crate::entries::is_ranked;
use crate::functions;
use crate::rack::Racked;
use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use base_diag::{Diagnostic, codes::emulate as codes};
use base_time::Duration;
use ir::{MatchKind, Program, Table, TableKey};
use ir_interp::{Crc, EntryRun, KeyMatch, MeterRate, Rates, Session, TableEntry, Write};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// The commands that fill one device: its tables and value sets, the runtime's and the user's, its state, and the origin's
/// groups and sessions.
pub fn commands(racked: &Racked, device: usize) -> String {
    let Some((_, part)) = racked.part(device) else { return String::new() };
    let mut out = String::new();
    for (name, members) in &part.linkage.value_sets {
        for member in members {
            let _ = writeln!(out, "pvs_add {name} {member}");
        }
    }
    for entry in &part.linkage.entries {
        let _ = writeln!(out, "table_add {} {} {} => {}", entry.table, entry.action, entry.key, entry.port);
    }
    let writes = racked.fill(device);
    let mut told = Told { best: best(&writes), ..Told::new(&part.program, out) };
    writes.iter().for_each(|write| told.write(write));
    told.out
}

/// The commands that fill a device as another one was filled.
pub(crate) fn fill_commands(program: &Program, writes: &[Write]) -> String {
    let writes: Vec<&Write> = writes.iter().collect();
    let mut told = Told { best: best(&writes), ..Told::new(program, String::new()) };
    writes.iter().for_each(|write| told.write(write));
    told.out
}

/// What a part has that `simple_switch` has not.
pub fn lacks(racked: &Racked) -> Vec<Diagnostic> {
    let mut found = vec![];
    for (name, part) in racked.parts() {
        for called in functions::used(&part.program) {
            found.push(
                Diagnostic::warning(
                    codes::NOT_IN_BMV2,
                    "not-in-bmv2",
                    format!("`simple_switch` cannot run the part of `{name}`"),
                )
                .note(format!("it calls the frame extern `{called}`, which `simple_switch` does not have"))
                .help("place its region on a device of this rack only, or leave it out"),
            );
        }
    }
    found
}

/// The priority that is the best to BMv2: all others are larger numbers.
fn best(writes: &[&Write]) -> i64 {
    let of = |write: &&Write| match write {
        Write::Entry { entry, .. } => Some(entry.priority),
        _ => None,
    };
    writes.iter().filter_map(of).max().unwrap_or(0).max(BEST)
}

/// What tests of p4c count down from.
const BEST: i64 = 10_000;

/// Commands as they come.
struct Told<'p> {
    program: &'p Program,
    best: i64,
    /// Entries of each table.
    entries: BTreeMap<&'p str, u64>,
    /// Numbers of members by profile, and then of groups, as BMv2 gives them.
    numbers: BTreeMap<(&'p str, bool), BTreeMap<u32, usize>>,
    nodes: usize,
    out: String,
}

impl<'p> Told<'p> {
    fn new(program: &'p Program, out: String) -> Told<'p> {
        let tables = program.controls.iter().flat_map(|c| &c.tables);
        let entries = tables.map(|t| (t.control_plane_name.as_str(), t.entries.len() as u64)).collect();
        Told { program, best: BEST, entries, numbers: BTreeMap::new(), nodes: 0, out }
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{line}");
    }

    fn table(&self, name: &str) -> Option<&'p Table> {
        self.program.controls.iter().flat_map(|c| &c.tables).find(|t| t.control_plane_name == name)
    }

    fn profile(&self, table: &str) -> Option<&'p str> {
        let instance = self.program.instances.get(self.table(table)?.implementation?.index())?;
        Some(&instance.control_plane_name)
    }

    fn write(&mut self, write: &Write) {
        match write {
            Write::Entry { table, entry, timeout, rates } => {
                if let Some(table) = self.table(table) {
                    self.entry(table, entry, *timeout, *rates);
                }
            }
            Write::Default { table, action, args } => {
                self.line(format_args!("table_set_default {table} {action}{}", numbers(args)));
            }
            Write::Member { table, member, action, args } => {
                let Some(profile) = self.profile(table) else { return };
                self.number(profile, true, *member);
                self.line(format_args!("act_prof_create_member {profile} {action}{}", numbers(args)));
            }
            Write::Group { table, group, members } => {
                let Some(profile) = self.profile(table) else { return };
                let group = self.number(profile, false, *group);
                self.line(format_args!("act_prof_create_group {profile}"));
                for member in members {
                    let member = self.number(profile, true, *member);
                    self.line(format_args!("act_prof_add_member_to_group {profile} {member} {group}"));
                }
            }
            Write::ValueSet { set, member } => {
                let member = set_value(self.program, set, member);
                self.line(format_args!("pvs_add {set} {member}"));
            }
            Write::Multicast { group, members } => {
                self.line(format_args!("mc_mgrp_create {group}"));
                for node in members.chunk_by(|a, b| a.1 == b.1) {
                    let rid = node.first().map_or(0, |(_, rid)| *rid);
                    let ports: String = node.iter().map(|(port, _)| format!(" {port}")).collect();
                    self.line(format_args!("mc_node_create {rid}{ports}"));
                    let number = self.nodes;
                    self.line(format_args!("mc_node_associate {group} {number}"));
                    self.nodes += 1;
                }
            }
            Write::Session { session, to: Session { port, group, .. } } => {
                if let Some(port) = port {
                    self.line(format_args!("mirroring_add {session} {port}"));
                }
                if let Some(group) = group {
                    self.line(format_args!("mirroring_add_mc {session} {group}"));
                }
            }
            Write::Register { name, index, value } => {
                let value = value.to_key().map_or_else(String::new, |bits| bits.to_hex());
                self.line(format_args!("register_write {name} {index} {value}"));
            }
            Write::Counter { name, index, count } => {
                self.line(format_args!("counter_write {name} {index} {} {}", count.packets, count.bytes));
            }
            Write::CustomCrc { width, crc } => {
                let Crc { polynomial, initial, final_xor, reflect_data, reflect_remainder } = crc;
                // The name that p4c gives the first calculation.
                self.line(format_args!(
                    "set_crc{width}_parameters calc {polynomial:#x} {initial:#x} {final_xor:#x} {reflect_data} {reflect_remainder}"
                ));
            }
            Write::Meter { name, index: Some(index), rates } => {
                self.line(format_args!("meter_set_rates {name} {index} {}", both(*rates)));
            }
            Write::Meter { name, index: None, rates } => {
                self.line(format_args!("meter_array_set_rates {name} {}", both(*rates)));
            }
        }
    }

    fn entry(
        &mut self,
        table: &'p Table,
        entry: &TableEntry,
        timeout: Option<Duration>,
        rates: Option<Rates>,
    ) {
        let name = table.control_plane_name.as_str();
        let count = self.entries.entry(name).or_default();
        let handle = *count;
        *count += 1;
        let keys = table.keys.iter().filter(|k| k.match_kind != MatchKind::Selector);
        let keys: String =
            keys.zip(&entry.keys).map(|(k, m)| format!(" {}", key(self.program, k, m))).collect();
        let priority = match is_ranked(table) {
            true => format!(" {}", self.best - entry.priority),
            false => String::new(),
        };
        match &entry.run {
            EntryRun::Action(action, args) => {
                let args = numbers(args);
                self.line(format_args!("table_add {name} {action}{keys} =>{args}{priority}"));
            }
            EntryRun::Member(member) => {
                let Some(profile) = self.profile(name) else { return };
                let member = self.number(profile, true, *member);
                self.line(format_args!("table_indirect_add {name}{keys} => {member}{priority}"));
            }
            EntryRun::Group(group) => {
                let Some(profile) = self.profile(name) else { return };
                let group = self.number(profile, false, *group);
                self.line(format_args!("table_indirect_add_with_group {name}{keys} => {group}{priority}"));
            }
        }
        if let Some(timeout) = timeout {
            let milliseconds = timeout.as_ns().div_ceil(1_000_000);
            self.line(format_args!("table_set_timeout {name} {handle} {milliseconds}"));
        }
        let meter = table.meters.and_then(|id| self.program.instances.get(id.index()));
        if let (Some(rates), Some(meter)) = (rates, meter) {
            let meter = &meter.control_plane_name;
            self.line(format_args!("meter_set_rates {meter} {handle} {}", both(rates)));
        }
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

/// Committed and peak rate, in units per microsecond, each with its burst.
fn both((committed, peak): Rates) -> String {
    let one = |rate: MeterRate| {
        const GIGA: u64 = 1_000_000_000;
        let (whole, part) = (rate.per_gigamicrosecond / GIGA, rate.per_gigamicrosecond % GIGA);
        format!("{whole}.{part:09}:{}", rate.burst)
    };
    format!("{} {}", one(committed), one(peak))
}

fn key(program: &Program, key: &TableKey, wanted: &KeyMatch) -> String {
    let width = program.bits(&key.expr.ty).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(32);
    let hex = Bits::to_hex;
    match (&key.match_kind, wanted) {
        (MatchKind::Ternary | MatchKind::Optional, KeyMatch::Any) => "0&&&0".to_string(),
        (MatchKind::Ternary | MatchKind::Optional, KeyMatch::Exact(value)) => {
            format!("{}&&&{}", hex(value), hex(&Bits::ones(width)))
        }
        (MatchKind::Ternary, KeyMatch::Lpm { value, prefix_len }) => {
            let mask = Bits::ones(width).shl_by(u64::from(width - prefix_len));
            format!("{}&&&{}", hex(&value.and(&mask)), hex(&mask))
        }
        (MatchKind::Range, KeyMatch::Any) => format!("0->{}", hex(&Bits::ones(width))),
        (MatchKind::Range, KeyMatch::Exact(value)) => format!("{0}->{0}", hex(value)),
        (MatchKind::Lpm, KeyMatch::Any) => "0/0".to_string(),
        (MatchKind::Lpm, KeyMatch::Exact(value)) => format!("{}/{width}", hex(value)),
        (_, KeyMatch::Ternary { value, mask }) => format!("{}&&&{}", hex(value), hex(mask)),
        (_, KeyMatch::Lpm { value, prefix_len }) => format!("{}/{prefix_len}", hex(value)),
        (_, KeyMatch::Range { lo, hi }) => format!("{}->{}", hex(lo), hex(hi)),
        (_, KeyMatch::Exact(value)) => hex(value),
        (_, KeyMatch::Any) => "0".to_string(),
    }
}

/// A member of a value set is one number to BMv2, its fields side by side.
fn set_value(program: &Program, set: &str, member: &[KeyMatch]) -> String {
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
            KeyMatch::Exact(value) => value.to_biguint(),
            _ => BigUint::ZERO,
        };
        all = (all << width.unwrap_or(0)) + value;
    }
    format!("{all:#x}")
}
