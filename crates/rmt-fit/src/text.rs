//! A report as text.

use crate::amount::Resource;
use crate::report::{PipeReport, Report, TableReport};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A report for a terminal: a line for each stage with its tables, then parsers and containers.
pub fn text(report: &Report, program: &str) -> String {
    let mut out = String::new();
    let verdict = if report.fits { "fits" } else { "does not fit" };
    let _ = writeln!(out, "{program} {verdict} {}", report.device);
    for pipe in &report.pipes {
        if report.pipes.len() > 1 {
            let _ = writeln!(out, "\n{}", pipe.name);
        }
        write_pipe(&mut out, report, pipe);
    }
    out
}

fn write_pipe(out: &mut String, report: &Report, pipe: &PipeReport) {
    let known = if pipe.stages_at_least == pipe.stages_used {
        "no placement takes fewer".to_string()
    } else {
        format!("at least {}", pipe.stages_at_least)
    };
    let _ = writeln!(out, "{} of {} stages ({known})\n", pipe.stages_used, report.device_stages);
    let columns: Vec<Resource> = Resource::ALL.into_iter().filter(|r| pipe.total.contains_key(r)).collect();
    let cell =
        |used: &BTreeMap<Resource, u32>, r: Resource| used.get(&r).map_or("-".to_string(), u32::to_string);
    let width = |r: Resource| cell(&pipe.total, r).len().max(r.short().len()).max(3);
    let line = |out: &mut String, head: &str, cells: &dyn Fn(Resource) -> String, tail: &str| {
        let _ = write!(out, "{head:>5}");
        for r in &columns {
            let _ = write!(out, "  {:>w$}", cells(*r), w = width(*r));
        }
        let _ = writeln!(out, "{}{tail}", if tail.is_empty() { "" } else { "  " });
    };
    line(out, "stage", &|r| r.short().to_string(), "tables");
    for stage in &pipe.stages {
        let tables: Vec<String> = stage.tables.iter().map(title).collect();
        line(out, &stage.stage.to_string(), &|r| cell(&stage.used, r), &tables.join(", "));
    }
    line(out, "total", &|r| cell(&pipe.total, r), "");
    line(out, "each", &|r| cell(&report.stage_limits, r), "(what a stage has)");
    let _ = writeln!(out);
    if !pipe.chain.is_empty() {
        let _ = writeln!(out, "longest chain of dependencies:");
        for step in &pipe.chain {
            let verb = match step.reason {
                crate::graph::Reason::Match => "matches",
                crate::graph::Reason::Action => "reads",
                _ => "also writes",
            };
            let _ = writeln!(out, "  {} {verb} {}, which {} writes", step.to, step.field, step.from);
        }
    }
    for (half, phv) in [("ingress", &pipe.ingress_phv), ("egress", &pipe.egress_phv)] {
        let mut kinds = format!("{} of 8 bits, {} of 16, {} of 32", phv.bytes, phv.halves, phv.words);
        for (number, kind) in [(phv.mocha, "mocha"), (phv.tagalong, "tagalong")] {
            if number > 0 {
                let _ = write!(kinds, ", {number} {kind}");
            }
        }
        let _ = writeln!(out, "{half} containers: {kinds}");
    }
    let _ =
        writeln!(out, "parser states: {} ingress, {} egress", pipe.parser_states[0], pipe.parser_states[1]);
    let _ = writeln!(out, "validity bits: {} ingress, {} egress", pipe.pov_bits[0], pipe.pov_bits[1]);
    if let Some(percent) = pipe.power_percent {
        let _ = writeln!(out, "power: {percent} % of the budget");
    }
}

/// `acl`, and of a divided table the entries here: `acl (4096 of 33792)`.
pub(crate) fn title(table: &TableReport) -> String {
    match (table.entries, table.size) {
        (Some(entries), Some(size)) if entries < size => format!("{} ({entries} of {size})", table.name),
        _ => table.name.clone(),
    }
}
