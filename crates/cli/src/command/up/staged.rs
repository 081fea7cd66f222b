//! `p4rack up` of a rack with phases: a run for each.

use super::{Args, Output, samples};
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, Severity, SourceMap};
use p4rack::{Racked, up};
use rack_emulator::{Emulator, RunReport, stage_table};
use serde_json::{Value, json};
use std::io::IsTerminal;

/// Events from one word of progress to the next.
const REPORT_EVERY: u64 = 50_000;

/// Runs all phases and prints their table.
pub fn run(args: &Args, racked: &Racked, map: &SourceMap) -> ExitCode {
    let page = match args.html.clone().map(|path| Output::new(path, racked)).transpose() {
        Ok(page) => page,
        Err(why) => return failed(&why),
    };
    let mut file = match samples::open(args, racked) {
        Ok(file) => file,
        Err(why) => return failed(&why),
    };
    let shows_progress = args.format == Format::Text && std::io::stderr().is_terminal();
    let mut events = 0u64;
    let keeps_samples = file.is_some();
    let begin = |emulator: &mut Emulator| emulator.keep_samples(keeps_samples);
    let result = up::run_stages(racked, REPORT_EVERY, &begin, &mut |stage, emulator| {
        if let Some(file) = &mut file {
            samples::write(file, &stage.name.value, emulator)?;
        }
        events += REPORT_EVERY;
        if shows_progress {
            report_over!("\r{}: {}, {events} events in all \x1b[K", stage.name.value, emulator.now());
        }
        Ok(())
    });
    if shows_progress {
        report_over!("\r\x1b[K");
    }
    let stages = match result {
        Ok(stages) => stages,
        Err(found) => return output::failed(&found, map, args.format),
    };
    if let Some(mut page) = page
        && let Err(why) = page.write(up::stages_page(racked, &stages).as_bytes())
    {
        return failed(&why);
    }
    let judge = |(at, (_, report)): (usize, &(String, RunReport))| {
        super::judged(racked, &racked.rack.in_stage(Some(at)), report)
    };
    let found: Vec<Diagnostic> = stages.iter().enumerate().flat_map(judge).collect();
    let ok = !found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    match args.format {
        Format::Text => {
            for stage in &racked.rack.stages {
                let note = stage.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
                output::print(&format!("phase {}{note}\n", stage.name.value));
            }
            output::print(&format!("\n{}", stage_table(&racked.rack.stages, &stages)));
            output::diagnostics_text(&found, map);
        }
        Format::Json => {
            let phases = stages.iter().map(|(name, report)| json!({ "phase": name, "report": report }));
            output::json(&json!({
                "ok": ok,
                "diagnostics": output::diagnostics_json(&found, map),
                "placement": crate::command::split::placement_json(racked),
                "phases": phases.collect::<Vec<Value>>(),
            }));
        }
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(why: &str) -> ExitCode {
    report!("p4rack: {why}");
    ExitCode::FAILURE
}
