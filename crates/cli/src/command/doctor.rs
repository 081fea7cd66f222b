//! `p4rack doctor`

use crate::ExitCode;
use crate::output::{self, Format};
use p4rack::doctor::doctor;
use serde_json::json;

/// Report which features work on this machine and what to install for the others
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack doctor")]
pub struct Args {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Missing abilities of the machine are not an error.
pub fn run(args: &Args) -> ExitCode {
    let findings = doctor();
    match args.format {
        Format::Text => {
            for finding in &findings {
                let word = if finding.works { "yes" } else { "no" };
                output::print(&format!("{word:<4} {:<27} {}\n", finding.what, finding.message));
            }
        }
        Format::Json => output::json(&json!({ "ok": true, "findings": findings })),
    }
    ExitCode::SUCCESS
}
