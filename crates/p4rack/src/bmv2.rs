//! What `simple_switch_CLI` has to be told for a device's part.

use crate::rack::Racked;
use base_bits::Bits;
use ir::{MatchKind, Program};
use ir_interp::KeyMatch;
use std::fmt::Write;

/// The commands that fill the tables and value sets of one device, the runtime's and the user's; the origin's groups and
/// sessions too.
pub fn commands(racked: &Racked, device: usize) -> String {
    let mut out = String::new();
    let Some(Some(part)) = racked.parts.get(device) else { return out };
    for (name, members) in &part.linkage.value_sets {
        for member in members {
            let _ = writeln!(out, "pvs_add {name} {member}");
        }
    }
    for entry in &part.linkage.entries {
        let _ = writeln!(out, "table_add {} {} {} => {}", entry.table, entry.action, entry.key, entry.port);
    }
    let own = racked.own_entries.get(device);
    let entries = racked.entries.resolved().iter().chain(own.into_iter().flat_map(|own| own.resolved()));
    for entry in entries {
        if !has_table(&part.program, &entry.table) {
            continue;
        }
        let args: Vec<String> = entry.args.iter().map(number).collect();
        let (table, action, args) = (&entry.table, &entry.action, args.join(" "));
        let Some(keys) = &entry.keys else {
            let _ = writeln!(out, "table_set_default {table} {action} {args}");
            continue;
        };
        let keys: Vec<String> = keys.iter().map(key).collect();
        let priority = entry.priority.map_or(String::new(), |p| format!(" {}", BEST - p));
        let _ = writeln!(out, "table_add {table} {action} {} => {args}{priority}", keys.join(" "));
    }
    if racked.placement.origins().any(|origin| origin.0 as usize == device) {
        for command in racked.entries.replication() {
            let _ = writeln!(out, "{command}");
        }
    }
    for command in own.into_iter().flat_map(|own| own.replication()) {
        let _ = writeln!(out, "{command}");
    }
    out
}

/// BMv2's best priority is the smallest; here the largest wins.
const BEST: i64 = 10_000;

fn has_table(program: &Program, name: &str) -> bool {
    program.controls.iter().flat_map(|c| &c.tables).any(|t| t.control_plane_name == name)
}

fn number(bits: &Bits) -> String {
    bits.to_hex()
}

fn key(key: &(MatchKind, u32, KeyMatch)) -> String {
    let (kind, width, wanted) = key;
    match (kind, wanted) {
        (MatchKind::Ternary, KeyMatch::Any) => "0&&&0".to_string(),
        (MatchKind::Ternary, KeyMatch::Exact(value)) => {
            format!("{}&&&{}", number(value), number(&Bits::ones(*width)))
        }
        (_, KeyMatch::Ternary { value, mask }) => format!("{}&&&{}", number(value), number(mask)),
        (_, KeyMatch::Lpm { value, prefix_len }) => format!("{}/{prefix_len}", number(value)),
        (MatchKind::Lpm, KeyMatch::Any) => "0/0".to_string(),
        (_, KeyMatch::Range { lo, hi }) => format!("{}->{}", number(lo), number(hi)),
        (_, KeyMatch::Exact(value)) => number(value),
        (_, KeyMatch::Any) => "0".to_string(),
    }
}
