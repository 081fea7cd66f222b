//! An experiment: a run for each stage of a rack.

use super::{bring_up_in, page, topology};
use crate::rack::Racked;
use base_diag::Diagnostic;
use base_page::markup::{self, escape};
use rack_emulator::{Emulator, RunReport, WorkloadReport, rate_words, stage_table, time_words};
use rack_model::Stage;
use std::fmt::Write;

/// Callback, called at intervals while a phase runs.
pub type Watch<'a> = dyn FnMut(&Stage, &mut Emulator) -> Result<(), String> + 'a;

/// Runs all phases one after the other; each starts at time 0. Returns their names with their reports. `begin` is
/// called before each phase, `watch` as in [`run_watched`](super::Running::run_watched).
pub fn run_stages(
    racked: &Racked,
    every: u64,
    begin: &dyn Fn(&mut Emulator),
    watch: &mut Watch<'_>,
) -> Result<Vec<(String, RunReport)>, Vec<Diagnostic>> {
    let mut runs = vec![];
    for (at, stage) in racked.rack.stages.iter().enumerate() {
        let mut running = bring_up_in(racked, Some(at))?;
        begin(&mut running.emulator);
        let report = running.run_watched(every, &mut |emulator| watch(stage, emulator))?;
        runs.push((stage.name.value.clone(), report));
    }
    Ok(runs)
}

/// A measure of a workload: its title, how much it is, and how that is written.
type Measure = (&'static str, fn(&WorkloadReport) -> Option<u64>, fn(u64) -> String);

/// Measures drawn for each workload.
const MEASURES: [Measure; 4] = [
    ("goodput", |w| w.goodput_bits_per_s, rate_words),
    ("percent received", received, |permille| format!("{}.{}", permille / 10, permille % 10)),
    ("latency, median", |w| Some(w.latency.as_ref()?.median_ps), time_words),
    ("latency, p99", |w| Some(w.latency.as_ref()?.p99_ps), time_words),
];

/// In thousandths; none of transfers, which the end of a run may cut short.
fn received(workload: &WorkloadReport) -> Option<u64> {
    if !workload.is_loss_known {
        return None;
    }
    (workload.received * 1000).checked_div(workload.sent)
}

/// Height of a bar, and of the room around it.
const ROW: usize = 18;
const NAMES: usize = 140;
const LONGEST: f64 = 300.0;
/// Room for a value between the name and the bar: where a screen is too narrow for bars, values are still in sight.
const VALUES: usize = 90;

/// The page of an experiment: figures first, then all numbers.
pub fn stages_page(racked: &Racked, stages: &[(String, RunReport)]) -> String {
    let title = format!("Rack {}", racked.rack.name.value);
    let mut body = format!("<h1>{}</h1>\n<ol>\n", escape(&title));
    for stage in &racked.rack.stages {
        let note = stage.note.as_ref().map_or(String::new(), |note| format!(": {}", escape(note)));
        let _ = writeln!(body, "<li><b>{}</b>{note}</li>", escape(&stage.name.value));
    }
    body.push_str("</ol>\n");
    if let Some((_, report)) = stages.last() {
        let _ = writeln!(body, "<h2>Placement</h2>\n{}", page::runs_where(racked, &racked.rack, report));
    }
    let mut names: Vec<&String> = vec![];
    for workload in stages.iter().flat_map(|(_, report)| &report.workloads) {
        if !names.contains(&&workload.name) {
            names.push(&workload.name);
        }
    }
    for name in names {
        let mut drawn = String::new();
        for measure in &MEASURES {
            bars(&mut drawn, stages, name, measure);
        }
        if !drawn.is_empty() {
            let _ = writeln!(body, "<h2>{}</h2>\n<div class=\"scroll\">{drawn}</div>", escape(name));
        }
    }
    body.push_str("<h2>Figures</h2>\n");
    page::show(&mut body, &stage_table(&racked.rack.stages, stages));
    markup::page(&title, &[page::STYLE, topology::STYLE].concat(), &body, page::SCRIPT)
}

/// A bar for each phase with the workload; nothing if nothing was measured.
fn bars(out: &mut String, stages: &[(String, RunReport)], name: &str, (title, of, words): &Measure) {
    let found = stages.iter().filter_map(|(stage, report)| {
        let workload = report.workloads.iter().find(|workload| workload.name == *name)?;
        Some((stage, of(workload)?))
    });
    let found: Vec<(&String, u64)> = found.collect();
    let Some(most) = found.iter().map(|(_, value)| *value).max() else { return };
    let (width, height) = ((NAMES + VALUES) as f64 + LONGEST + 10.0, (found.len() + 1) * ROW + 6);
    let _ = writeln!(out, "<svg class=\"bars\" {}>", markup::size(width, height as f64));
    let _ = writeln!(out, "<text class=\"name\" x=\"0\" y=\"14\">{}</text>", escape(title));
    for (row, (stage, value)) in (1..).zip(found) {
        let (stage, y) = (escape(stage), row * ROW);
        let long = LONGEST * value as f64 / most.max(1) as f64;
        let _ = writeln!(
            out,
            "<g data-name=\"{stage}\"><text x=\"12\" y=\"{}\">{stage}</text><rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{long:.1}\" height=\"{}\" fill=\"#1f6fb2\"/><text text-anchor=\"end\" x=\"{}\" y=\"{}\">{}</text></g>",
            y + 14,
            NAMES + VALUES,
            y + 3,
            ROW - 4,
            NAMES + VALUES - 8,
            y + 14,
            words(value)
        );
    }
    out.push_str("</svg>\n");
}
