//! Table entries from an STF file, written to whichever device has their table; groups and sessions, written to the origin.

use crate::functions;
use crate::sources;
use base_diag::{Diagnostic, SourceMap, codes::emulate as codes};
use ir::Program;
use ir_interp::{Options, ResolvedEntry, Switch, resolve_entry, run_stf};
use p4_stf::{File, Spanned, Statement};
use std::path::Path;
use std::sync::Arc;

/// Entries, checked against the whole program.
#[derive(Clone, Default, Debug)]
pub struct Entries {
    /// Each with its place.
    list: Vec<(Place, Spanned)>,
    /// Each in the whole program's terms.
    resolved: Vec<ResolvedEntry>,
}

/// Where a statement is written.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    /// At every device with the table of this control-plane name.
    Table(String),
    /// At the origin.
    TrafficManager,
}

/// Reads a file of `add` and `setdefault` lines, and those of groups and sessions. All that is wrong with it is reported at once.
pub fn read(path: &Path, whole: &Arc<Program>, map: &mut SourceMap) -> Result<Entries, Vec<Diagnostic>> {
    let (text, base) = sources::read(path, map).map_err(|d| vec![d])?;
    let (file, mut wrong) = p4_stf::parse(&text, base);
    let mut list = vec![];
    for statement in file.statements {
        match resolve(whole, statement) {
            Ok(entry) => list.push(entry),
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let options = Options { registry: functions::all(), ..Options::default() };
    let mut switch = Switch::new(Arc::clone(whole), options)?;
    let mut entries = Entries { list, resolved: vec![] };
    entries.write(&mut switch, true)?;
    let resolved = entries.list.iter().filter_map(|(_, s)| resolve_entry(&switch, &s.kind)?.ok());
    entries.resolved = resolved.map(|entry| full_action(whole, entry)).collect();
    Ok(entries)
}

/// The same entry with the action's full name.
fn full_action(whole: &Program, mut entry: ResolvedEntry) -> ResolvedEntry {
    for control in &whole.controls {
        let Some(table) = control.tables.iter().find(|t| t.control_plane_name == entry.table) else {
            continue;
        };
        let names = table.actions.iter().map(|run| &control.actions[run.action.index()].control_plane_name);
        let suffix = format!(".{}", entry.action);
        if let Some(name) = names
            .clone()
            .find(|n| **n == entry.action)
            .or_else(|| names.clone().find(|n| n.ends_with(&suffix)))
        {
            entry.action = name.to_string();
        }
    }
    entry
}

/// Finds the table's full name.
fn resolve(whole: &Program, mut statement: Spanned) -> Result<(Place, Spanned), Diagnostic> {
    if replication(&statement.kind).is_some() {
        return Ok((Place::TrafficManager, statement));
    }
    let (Statement::Add { table, .. } | Statement::SetDefault { table, .. }) = &mut statement.kind else {
        return Err(Diagnostic::error(codes::NOT_AN_ENTRY, "this statement is no entry")
            .at(statement.span, "entries are `add` and `setdefault` lines, and those of groups and sessions")
            .help("put packets and expectations into a test of their own"));
    };
    let names: Vec<&str> =
        whole.controls.iter().flat_map(|c| &c.tables).map(|t| t.control_plane_name.as_str()).collect();
    let suffix = format!(".{}", table.text);
    let by_suffix: Vec<&str> = names.iter().copied().filter(|n| n.ends_with(&suffix)).collect();
    let found = match names.iter().find(|n| **n == table.text) {
        Some(name) => Some(*name),
        None if by_suffix.len() == 1 => Some(by_suffix[0]),
        None => None,
    };
    let Some(found) = found else {
        let title = match by_suffix.is_empty() {
            true => format!("there is no table `{}`", table.text),
            false => format!("`{}` may be any of {} tables", table.text, by_suffix.len()),
        };
        let shorts = names.iter().flat_map(|n| [*n, n.rsplit('.').next().unwrap_or(n)]);
        let diagnostic =
            Diagnostic::error(codes::ENTRY_TABLE, title).at(table.span, "").suggest(&table.text, shorts);
        return Err(diagnostic.note(format!("the program's tables are: {}", names.join(", "))));
    };
    table.text = found.to_string();
    Ok((Place::Table(found.to_string()), statement))
}

/// The command of `simple_switch_CLI` for a statement about groups and sessions.
fn replication(statement: &Statement) -> Option<String> {
    let ports = |ports: &[u32]| ports.iter().map(|port| format!(" {port}")).collect::<String>();
    Some(match statement {
        Statement::MirroringAdd(session, port) => format!("mirroring_add {session} {port}"),
        Statement::MirroringAddMc(session, group) => format!("mirroring_add_mc {session} {group}"),
        Statement::GroupCreate(group) => format!("mc_mgrp_create {group}"),
        Statement::NodeCreate(rid, to) => format!("mc_node_create {rid}{}", ports(to)),
        Statement::NodeUpdate(node, to) => format!("mc_node_update {node}{}", ports(to)),
        Statement::NodeAssociate(group, node) => format!("mc_node_associate {group} {node}"),
        _ => return None,
    })
}

impl Entries {
    /// Writes those entries whose table the switch has, and to the origin groups and sessions.
    pub fn write(&self, switch: &mut Switch, is_origin: bool) -> Result<(), Vec<Diagnostic>> {
        let mine: Vec<String> = switch.tables().map(str::to_string).collect();
        let is_here = |place: &Place| match place {
            Place::Table(table) => mine.contains(table),
            Place::TrafficManager => is_origin,
        };
        let statements = self.list.iter().filter(|(place, _)| is_here(place)).map(|(_, s)| s.clone());
        let report = run_stf(switch, &File { statements: statements.collect() });
        if report.passed() { Ok(()) } else { Err(report.problems) }
    }

    /// Each in the whole program's terms.
    pub fn resolved(&self) -> &[ResolvedEntry] {
        &self.resolved
    }

    /// Groups and sessions as commands of `simple_switch_CLI`.
    pub fn replication(&self) -> impl Iterator<Item = String> {
        self.list.iter().filter_map(|(_, statement)| replication(&statement.kind))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
