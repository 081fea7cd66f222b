//! `p4rack doctor`

use crate::ExitCode;
use crate::output::{self, Format};
use p4rack::doctor::doctor;
use serde_json::json;

/// Say what this machine can and cannot do, and what to install
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack doctor")]
pub struct Args {
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// What a machine cannot do is no error.
pub fn run(args: &Args) -> ExitCode {
    let findings = doctor();
    match args.format {
        Format::Text => {
            for finding in &findings {
                let word = if finding.works { "yes" } else { "no" };
                output::print(&format!("{word:<4} {:<27} {}\n", finding.what, finding.told));
            }
        }
        Format::Json => output::json(&json!({ "ok": true, "findings": findings })),
    }
    ExitCode::SUCCESS
}
