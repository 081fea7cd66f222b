//! `p4rack check`

use super::Preprocessor;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Severity, SourceMap, WARNINGS, WarningPolicy, did_you_mean};
use compiler::{Until, compile};
use p4rack::Disk;
use rack_model::DeviceClass;
use serde_json::json;

/// Parse and type-check P4 programs
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack check router.p4
  p4rack check -I include -D PORTS=32 left.p4 right.p4 --format json
  p4rack check router.p4 --device flexswitch")]
pub struct Args {
    /// P4-16 programs
    #[arg(required = true)]
    programs: Vec<String>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Disable the warning NAME, or all warnings without NAME; an unknown NAME lists the names
    #[arg(long = "Wdisable", value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    disable: Vec<String>,
    /// Turn the warning NAME into an error, or all warnings without NAME
    #[arg(long = "Werror", value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    error: Vec<String>,
    /// Also refuse operations that devices of this class cannot execute, regardless of their resources: tofino1, tofino2, flexswitch, switch, smartnic, fpga or cpu
    #[arg(long, value_name = "CLASS", value_parser = class)]
    device: Option<DeviceClass>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// A class of devices that run programs.
fn class(word: &str) -> Result<DeviceClass, String> {
    let known = || DeviceClass::ALL.into_iter().filter(|class| *class != DeviceClass::Legacy);
    known().find(|class| class.word() == word).ok_or_else(|| {
        match did_you_mean(word, known().map(DeviceClass::word)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known().map(DeviceClass::word).collect::<Vec<_>>().join(", ")),
        }
    })
}

/// Exit status 1 if any program has an error.
pub fn run(args: &Args) -> ExitCode {
    let policy = match WarningPolicy::new(&args.disable, &args.error) {
        Ok(policy) => policy,
        Err(error) => {
            report!("p4rack: {error}");
            report!("the warnings are:");
            for (name, meaning) in WARNINGS {
                report!("  {name:<24} {meaning}");
            }
            return ExitCode::from(2);
        }
    };
    // The limits of devices are checked on the elaborated program.
    let until = if args.device.is_some() { Until::Elaborated } else { Until::Checked };
    let mut ok = true;
    let mut results = vec![];
    for program in &args.programs {
        let mut map = SourceMap::new();
        let compiled = compile(program, &Disk, &args.preprocessor.options(), until, &mut map);
        let mut found = compiled.diagnostics;
        if let Some(program) = &compiled.program {
            found.extend(p4rack::functions::check(program));
            found.extend(args.device.iter().flat_map(|class| ir_limits::check(program, *class)));
        }
        let diagnostics = policy.apply(found);
        let good = diagnostics.iter().all(|d| d.severity != Severity::Error);
        ok &= good;
        match args.format {
            Format::Text => {
                output::diagnostics_text(&diagnostics, &map);
                if !diagnostics.is_empty() {
                    report!("{program}: {}", output::summary(&diagnostics));
                }
            }
            Format::Json => results.push(json!({
                "program": program,
                "ok": good,
                "diagnostics": output::diagnostics_json(&diagnostics, &map),
            })),
        }
    }
    if args.format == Format::Json {
        output::json(&results.into());
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
