//! `p4rack convert`

use super::Preprocessor;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use compiler::{Until, compile};
use ir::Program;
use p4rack::Disk;
use rmt_fit::Device;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use target_tna::Options;
use target_v1model::Converted;

/// Convert a program for TNA or T2NA to v1model, so that BMv2 and all other commands can run it, or one for v1model to TNA
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack convert switch.p4 --to v1model -o switch_v1model.p4 --entries initial.toml
  p4rack convert switch.p4 --to v1model -D __TARGET_TOFINO__=2
  p4rack convert part.p4 --to tna -o part_tna.p4")]
pub struct Args {
    /// A P4-16 program for TNA or T2NA; for `--to tna` one for v1model
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
    /// With `--to tna`: times count steps of 1,024 ns instead of microseconds, because a Tofino cannot divide its nanoseconds
    #[arg(long)]
    ticks: bool,
    /// Output format of diagnostics and notes
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The device of `--to tna`.
const TOFINO: &str = "tofino1";

/// Architectures that programs can be converted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum To {
    /// v1model, for BMv2
    V1model,
    /// TNA, for a Tofino 1
    Tna,
}

/// The new program.
struct New {
    text: String,
    notes: Vec<String>,
    /// Entries that give registers their initial values.
    entries: String,
}

impl New {
    fn of(program: &Program, args: &Args) -> Result<New, Vec<Diagnostic>> {
        Ok(match args.to {
            To::V1model => {
                let converted = target_v1model::convert(program)?;
                let notes = notes(&converted, args.entries.is_some());
                New { notes, entries: entries(&converted), text: converted.text }
            }
            To::Tna => {
                let converted = with_fit(target_tna::convert(program, Options { ticks: args.ticks })?);
                New { text: converted.text, notes: converted.notes, entries: String::new() }
            }
        })
    }
}

/// `text`, a printed program for v1model, as a program for TNA.
pub fn to_tna(
    name: &str,
    text: &str,
    options: Options,
    map: &mut SourceMap,
) -> Result<target_tna::Converted, Vec<Diagnostic>> {
    let program = compiler::reparse(name, text, map)?;
    target_tna::convert(&program, options).map(with_fit)
}

/// Adds a note if the model of a Tofino 1 has no place for the program.
fn with_fit(mut converted: target_tna::Converted) -> target_tna::Converted {
    converted.notes.extend(misfit("part.tna.p4", &converted.text));
    converted
}

/// The first reason why the model of a Tofino 1 has no place for a program for TNA, if there is one.
pub fn misfit(name: &str, text: &str) -> Option<String> {
    let mut map = SourceMap::new();
    let program = compiler::reparse(name, text, &mut map).ok()?;
    let device = Device::built_in(TOFINO)?;
    let found = match rmt_fit::fit(&program, &device) {
        Ok(fit) => fit.diagnostics(&map),
        Err(found) => found,
    };
    let first = found.first()?;
    let label = first.labels.first().filter(|label| !label.text.is_empty());
    let why = label.map(|label| format!(", {}", label.text)).unwrap_or_default();
    Some(format!(
        "the program does not fit a Tofino 1: {}{why}; `p4rack fit` on the output shows the reasons",
        first.title
    ))
}

/// Exit status 1 if the program has an error or cannot be converted, or a file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let compiled = compile(&args.program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    let mut found = compiled.diagnostics;
    let converted = compiled
        .program
        .and_then(|program| New::of(&program, args).map_err(|problems| found.extend(problems)).ok());
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
    files.extend(args.entries.as_ref().map(|path| (path, converted.entries.clone())));
    for (path, text) in files {
        if let Err(why) = output::write(path, text.as_bytes(), &sources) {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    }
    match args.format {
        Format::Text => converted.notes.iter().for_each(|note| report!("note: {note}")),
        Format::Json => output::json(&json!({
            "diagnostics": output::diagnostics_json(&found, &map),
            "notes": converted.notes,
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
