//! Notes on likely mistakes of a run: workloads without a received packet, frames that loop.

use super::expect::where_most_ended;
use crate::rack::Racked;
use base_diag::{Diagnostic, codes::emulate as codes};
use ir::Table;
use rack_emulator::{RunReport, WorkloadReport};
use rack_model::{Expect, Rack};

/// A warning if there are workloads of which nothing has arrived, though something was to: where their packets ended, and tables
/// without entries. `rack` is the one that ran, with its stage.
pub fn silence(racked: &Racked, rack: &Rack, report: &RunReport) -> Option<Diagnostic> {
    let workloads = rack.workloads.iter().zip(&report.workloads);
    // The goodput shows whether an unfinished transfer progresses.
    let is_silent = |sent_and_received: &WorkloadReport| {
        sent_and_received.sent > 0
            && sent_and_received.received == 0
            && sent_and_received.goodput_bits_per_s.unwrap_or(0) == 0
    };
    let is_wanted = |expect: &Option<Expect>| expect.as_ref().is_some_and(Expect::allows_silence);
    let mut silent = workloads
        .filter(|(workload, sent_and_received)| is_silent(sent_and_received) && !is_wanted(&workload.expect))
        .peekable();
    silent.peek()?;
    let title = "no packet of a workload has arrived";
    let mut diagnostic = Diagnostic::warning(codes::NOTHING_ARRIVED, "nothing-arrived", title);
    for (workload, sent_and_received) in silent {
        diagnostic = diagnostic
            .at(workload.name.span, format!("{} sent to {}", sent_and_received.sent, sent_and_received.to));
        diagnostic = where_most_ended(sent_and_received).into_iter().fold(diagnostic, Diagnostic::note);
    }
    let empty: Vec<String> = empty_tables(racked).map(|name| format!("`{name}`")).collect();
    if !empty.is_empty() {
        diagnostic = diagnostic.note(format!("tables without entries: {}", empty.join(", ")));
    }
    Some(diagnostic.help(
        "`p4rack up --step` prints each event, `p4rack run --trace` the path of a packet through a program",
    ))
}

/// A warning if frames go round without end.
pub fn endless(report: &RunReport) -> Option<Diagnostic> {
    let found = report.loops.first()?;
    let at = rack_emulator::time_words(found.found_ps);
    Some(
        Diagnostic::warning(codes::LOOP, "endless-loop", "frames loop endlessly")
            .note(match found.changing {
                false => format!("the same frame kept passing the loop {}", found.path),
                true => {
                    format!("copies of a frame, changed on each round, kept passing the loop {}", found.path)
                }
            })
            .note(format!("found at {at}, with {} packets in flight", found.in_flight))
            .help("let the devices forward along a tree, or count a TTL down"),
    )
}

/// Control-plane names of the tables with keys that nothing fills.
fn empty_tables(racked: &Racked) -> impl Iterator<Item = &str> {
    let has_keys = |table: &&Table| !table.keys.is_empty() && table.entries.is_empty();
    let tables = racked.apps.iter().flat_map(move |app| {
        let tables = app.whole.controls.iter().flat_map(|control| &control.tables).filter(has_keys);
        tables.map(move |table| (app, table.control_plane_name.as_str()))
    });
    let own = |name: &str| racked.own_entries.values().any(|entries| entries.fills(name));
    tables.filter(move |(app, name)| !app.entries.fills(name) && !own(name)).map(|(_, name)| name)
}
