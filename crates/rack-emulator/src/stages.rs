//! The stages of an experiment beside each other.

use crate::report::{LatencyReport, RunReport, WorkloadReport};
use crate::table::{Table, rate_words, time_words};
use rack_model::Stage;

const STAGES: [&str; 10] =
    ["<workload", "<phase", "sent", "received", "lost", "goodput", "median", "p99", "max", "<paper"];

/// A table with a row for each workload and phase, from the phases' names and reports, beside the values to reproduce.
pub fn stage_table(model: &[Stage], stages: &[(String, RunReport)]) -> Table {
    let mut names: Vec<&str> = vec![];
    for workload in stages.iter().flat_map(|(_, report)| &report.workloads) {
        if !names.contains(&workload.name.as_str()) {
            names.push(&workload.name);
        }
    }
    let rows = names.iter().flat_map(|name| {
        stages.iter().filter_map(move |(stage, report)| {
            let workload = report.workloads.iter().find(|workload| workload.name == *name)?;
            let model = model.iter().find(|model| model.name.value == *stage);
            let paper = model.and_then(|model| model.paper.iter().find(|(known, _)| known.value == *name));
            Some(row(stage, workload, paper.map_or("", |(_, text)| &text.value)))
        })
    });
    let mut table = Table::new(&STAGES, rows);
    if table.rows.iter().all(|row| row.last().is_some_and(String::is_empty)) {
        table.titles.pop();
        table.rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    table
}

fn row(stage: &str, w: &WorkloadReport, paper: &str) -> [String; 10] {
    let latency = |pick: fn(&LatencyReport) -> u64| {
        w.latency.as_ref().map_or("-".to_string(), |latency| time_words(pick(latency)))
    };
    let permille = (w.lost * 1000 + w.sent / 2) / w.sent.max(1);
    let [received, lost] = w.came(format!("{}.{}%", permille / 10, permille % 10));
    [
        w.name.clone(),
        stage.to_string(),
        w.sent.to_string(),
        received,
        lost,
        w.goodput_bits_per_s.map_or("-".to_string(), rate_words),
        latency(|l| l.median_ps),
        latency(|l| l.p99_ps),
        latency(|l| l.max_ps),
        paper.to_string(),
    ]
}
