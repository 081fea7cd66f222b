//! What may be the matter with a workload of which nothing arrived.

use crate::rack::Racked;
use base_diag::{Diagnostic, codes::emulate as codes};
use ir::Table;
use rack_emulator::{RunReport, WorkloadReport};

/// A warning if there are workloads of which nothing has arrived: where their packets may have ended, and tables without entries.
pub fn silence(racked: &Racked, report: &RunReport) -> Option<Diagnostic> {
    let workloads = racked.rack.workloads.iter().zip(&report.workloads);
    // Of a transfer that is under way goodput tells.
    let is_silent = |told: &WorkloadReport| {
        told.sent > 0 && told.received == 0 && told.goodput_bits_per_s.unwrap_or(0) == 0
    };
    let mut silent = workloads.filter(|(_, told)| is_silent(told)).peekable();
    silent.peek()?;
    let title = "nothing that a workload sent has arrived";
    let mut diagnostic = Diagnostic::warning(codes::NOTHING_ARRIVED, "nothing-arrived", title);
    for (workload, told) in silent {
        diagnostic = diagnostic.at(workload.name.span, format!("{} sent to {}", told.sent, told.to));
    }
    if let Some(most) = report.drops.iter().max_by_key(|drop| drop.packets) {
        diagnostic = diagnostic.note(format!("most packets ended at {}: {}", most.place, most.reason));
    }
    let empty: Vec<String> = empty_tables(racked).map(|name| format!("`{name}`")).collect();
    if !empty.is_empty() {
        diagnostic = diagnostic.note(format!("tables without entries: {}", empty.join(", ")));
    }
    Some(
        diagnostic.help(
            "`p4rack up --step` shows each event, `p4rack run --trace` a packet's way through a program",
        ),
    )
}

/// Control-plane names of the tables with keys that nothing fills.
fn empty_tables(racked: &Racked) -> impl Iterator<Item = &str> {
    let has_keys = |table: &&Table| !table.keys.is_empty() && table.entries.is_empty();
    let tables = racked.apps.iter().flat_map(move |app| {
        let tables = app.whole.controls.iter().flat_map(|control| &control.tables).filter(has_keys);
        tables.map(move |table| (app, table.control_plane_name.as_str()))
    });
    let own = |name: &str| racked.own_entries.iter().any(|entries| entries.fills(name));
    tables.filter(move |(app, name)| !app.entries.fills(name) && !own(name)).map(|(_, name)| name)
}
