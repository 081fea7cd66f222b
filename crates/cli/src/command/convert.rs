//! `p4rack convert`

use super::Preprocessor;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::SourceMap;
use compiler::{Until, compile};
use p4rack::Disk;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use target_v1model::{Converted, convert};

/// Convert a program for TNA or T2NA to another architecture, so that BMv2 and all other commands can run it
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack convert switch.p4 --to v1model -o switch_v1model.p4 --entries initial.toml
  p4rack convert switch.p4 --to v1model -D __TARGET_TOFINO__=2")]
pub struct Args {
    /// A P4-16 program for TNA or T2NA
    program: String,
    /// Architecture of the new program
    #[arg(long, value_enum)]
    to: To,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Output file for the program, `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Output file for entries that give registers their initial values, which v1model does not have
    #[arg(long, value_name = "FILE.toml")]
    entries: Option<PathBuf>,
    /// Output format of diagnostics and notes
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Architectures that programs can be converted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum To {
    /// v1model, for BMv2
    V1model,
}

/// Exit status 1 if the program has an error or cannot be converted, or a file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let To::V1model = args.to;
    let mut map = SourceMap::new();
    let compiled = compile(&args.program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    let mut found = compiled.diagnostics;
    let converted = compiled
        .program
        .and_then(|program| convert(&program).map_err(|problems| found.extend(problems)).ok());
    if args.format == Format::Text {
        output::diagnostics_text(&found, &map);
    }
    let Some(converted) = converted else {
        if args.format == Format::Json {
            output::json(&json!({ "diagnostics": output::diagnostics_json(&found, &map) }));
        }
        return ExitCode::FAILURE;
    };
    let sources = output::sources(&map);
    let mut files = vec![];
    if args.format == Format::Text || args.output.as_os_str() != "-" {
        files.push((&args.output, converted.text.clone()));
    }
    files.extend(args.entries.as_ref().map(|path| (path, entries(&converted))));
    for (path, text) in files {
        if let Err(why) = output::write(path, text.as_bytes(), &sources) {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    }
    let notes = notes(&converted, args.entries.is_some());
    match args.format {
        Format::Text => notes.iter().for_each(|note| report!("note: {note}")),
        Format::Json => output::json(&json!({
            "diagnostics": output::diagnostics_json(&found, &map),
            "notes": notes,
            "program": converted.text,
        })),
    }
    ExitCode::SUCCESS
}

fn notes(converted: &Converted, writes_entries: bool) -> Vec<String> {
    let initial = converted.initial.iter().filter(|_| !writes_entries).map(|initial| {
        let (register, value) = (&initial.register, &initial.value);
        format!(
            "the cells of `{register}` have to be {value} before the first packet; `--entries` writes that"
        )
    });
    converted.notes.iter().cloned().chain(initial).collect()
}

/// The initial values as a file of entries.
fn entries(converted: &Converted) -> String {
    let mut out = String::new();
    for initial in &converted.initial {
        let _ = writeln!(out, "[register.{:?}]", initial.register);
        for cell in 0..initial.cells {
            let _ = writeln!(out, "{cell} = {:?}", initial.value);
        }
        out.push('\n');
    }
    out
}
