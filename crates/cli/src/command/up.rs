//! `p4rack up`

use crate::output::{self, Format};
use base_diag::SourceMap;
use base_time::Time;
use p4rack::{rack, up};
use rack_emulator::Emulator;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Split a rack's program, bring the rack up in virtual time, run its workloads
#[derive(clap::Args)]
pub struct Args {
    /// A RACK.toml, or the directory that has one
    rack: PathBuf,
    /// Define a macro of the program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Instead of the rack's seed
    #[arg(long)]
    seed: Option<u64>,
    /// Stop at this virtual time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Write the log of all events to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if the rack, its program or its entries are wrong.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let until = match args.until.as_deref().map(|t| t.parse::<base_time::Duration>()) {
        None => None,
        Some(Ok(duration)) => Some(Time::ZERO + duration),
        Some(Err(error)) => {
            eprintln!("p4rack: --until: {error}");
            return ExitCode::from(2);
        }
    };
    let mut racked = match rack::load(&args.rack, &args.define, &mut map) {
        Ok(racked) => racked,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    if let Some(seed) = args.seed {
        racked.rack.seed = seed;
    }
    racked.rack.until = until.or(racked.rack.until);
    if args.format == Format::Text {
        output::diagnostics_text(&racked.warnings, &map);
        output::print(&super::split::summary(&racked));
    }
    let mut emulator = match up::bring_up(&racked) {
        Ok(emulator) => emulator,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    emulator.keep_log(args.log.is_some());
    let report = match up::run(&mut emulator) {
        Ok(report) => report,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    if !write_log(args, &mut emulator) {
        return ExitCode::FAILURE;
    }
    match args.format {
        Format::Text => output::print(&report.to_table()),
        Format::Json => output::json(&json!({
            "ok": true,
            "placement": super::split::placement_json(&racked),
            "report": report,
        })),
    }
    ExitCode::SUCCESS
}

fn write_log(args: &Args, emulator: &mut Emulator) -> bool {
    let Some(path) = &args.log else { return true };
    match std::fs::write(path, emulator.take_log()) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("p4rack: `{}` cannot be written: {error}", path.display());
            false
        }
    }
}
