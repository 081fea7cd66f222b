//! `p4rack check`

use super::Preprocessor;
use crate::output::{self, Format};
use base_diag::{Severity, SourceMap};
use p4rack::{Disk, Until, compile};
use serde_json::json;
use std::process::ExitCode;

/// Parse and type-check P4 programs
#[derive(clap::Args)]
pub struct Args {
    /// P4-16 programs
    #[arg(required = true)]
    programs: Vec<String>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// How to print diagnostics
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if any program has an error.
pub fn run(args: &Args) -> ExitCode {
    let mut ok = true;
    let mut results = vec![];
    for program in &args.programs {
        let mut map = SourceMap::new();
        let compiled = compile(program, &Disk, &args.preprocessor.options(), Until::Checked, &mut map);
        let good = compiled.diagnostics.iter().all(|d| d.severity != Severity::Error);
        ok &= good;
        match args.format {
            Format::Text => {
                output::diagnostics_text(&compiled.diagnostics, &map);
                if !compiled.diagnostics.is_empty() {
                    eprintln!("{program}: {}", output::summary(&compiled.diagnostics));
                }
            }
            Format::Json => results.push(json!({
                "program": program,
                "ok": good,
                "diagnostics": output::diagnostics_json(&compiled.diagnostics, &map),
            })),
        }
    }
    if args.format == Format::Json {
        output::json(&results.into());
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
