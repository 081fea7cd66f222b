//! Inputs as an STF test.

use crate::check::Outcome;
use crate::inputs::{Inputs, Write};
use base_bits::Bits;
use control_writes::Match;
use ir::{Control, Program, Table};
use ir_prove::generate::EntrySpec;
use std::fmt::Write as _;

/// The writes, the packets, and what came out of them. Inputs that STF cannot express become comments.
pub(crate) fn stf(program: &Program, inputs: &Inputs, outcome: &Outcome) -> String {
    let mut out = String::new();
    let mut nodes = 0;
    for write in &inputs.writes {
        let text = statement(program, write, &mut nodes);
        let _ = writeln!(out, "{}", text.unwrap_or_else(|| format!("# {write:?}")));
    }
    for (packet, frames) in inputs.packets.iter().zip(&outcome.outputs) {
        let _ = writeln!(out, "packet {} {}", packet.port, hex(&packet.frame));
        for frame in frames {
            let _ = writeln!(out, "expect {} {}$", frame.port, hex(&frame.frame));
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn statement(program: &Program, write: &Write, nodes: &mut u32) -> Option<String> {
    match write {
        Write::Entry(entry) => add(program, entry),
        Write::Default(entry) => Some(format!("setdefault \"{}\" {}", entry.table, action(program, entry)?)),
        Write::Session(session, to) => {
            let port = to.port.map(|port| format!("mirroring_add {session} {port}"));
            let group = to.group.map(|group| format!("mirroring_add_mc {session} {group}"));
            let lines: Vec<String> = port.into_iter().chain(group).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Write::Group(group, members) => {
            let mut lines = vec![format!("mc_mgrp_create {group}")];
            for (port, rid) in members {
                lines.push(format!("mc_node_create {rid} {port}"));
                lines.push(format!("mc_node_associate {group} {nodes}"));
                *nodes += 1;
            }
            Some(lines.join("\n"))
        }
        Write::Register(name, index, value) => {
            Some(format!("register_write \"{name}\" {index} {}", value.to_hex()))
        }
        Write::Meter(name, rates) => Some(format!("meter_array_set_rates \"{name}\" {rates}")),
        Write::Indirect { .. } | Write::ValueSet(..) => None,
    }
}

fn table<'p>(program: &'p Program, name: &str) -> Option<(&'p Control, &'p Table)> {
    let tables = program.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t)));
    { tables }.find(|(_, t)| t.control_plane_name == name)
}

fn add(program: &Program, entry: &EntrySpec) -> Option<String> {
    let (_, found) = table(program, &entry.table)?;
    let mut line = format!("add \"{}\"", entry.table);
    if let Some(priority) = entry.priority {
        let _ = write!(line, " {priority}");
    }
    for (key, wanted) in found.keys.iter().zip(&entry.keys) {
        let value = match wanted {
            Match::Exact(value) => value.to_hex(),
            Match::Lpm { value, prefix_len } => format!("{}/{prefix_len}", value.to_hex()),
            Match::Any => continue,
            Match::Ternary { value, mask } => ternary(value, mask),
            Match::Range { .. } => return None,
        };
        let _ = write!(line, " \"{}\":{value}", key.name);
    }
    Some(format!("{line} {}", action(program, entry)?))
}

/// All bits, with `*` for those outside of the mask.
fn ternary(value: &Bits, mask: &Bits) -> String {
    let bit = |at: u32| match (mask.slice(at, at).is_zero(), value.slice(at, at).is_zero()) {
        (true, _) => '*',
        (false, true) => '0',
        (false, false) => '1',
    };
    let bits: String = (0..value.width()).rev().map(bit).collect();
    format!("0b{bits}")
}

fn action(program: &Program, entry: &EntrySpec) -> Option<String> {
    let (control, found) = table(program, &entry.table)?;
    let named = |run: &&ir::ActionRef| {
        control.actions.get(run.action.index()).is_some_and(|a| a.control_plane_name == entry.action)
    };
    let run = found.actions.iter().find(named)?;
    let data = control.actions.get(run.action.index())?.params.iter().skip(run.args.len());
    let names = data.filter_map(|var| control.vars.get(var.index())).map(|var| &var.name);
    let args: Vec<String> =
        names.zip(&entry.args).map(|(name, value)| format!("{name}:{}", value.to_hex())).collect();
    Some(format!("\"{}\"({})", entry.action, args.join(", ")))
}
