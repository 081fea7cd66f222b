//! `p4rack fit`

use super::Preprocessor;
use crate::ExitCode;
use crate::output;
use base_diag::{Diagnostic, SourceMap, Span};
use compiler::{Until, compile};
use ir::{Arch, Program};
use p4_syntax::Options;
use p4rack::variants::{Chosen, Refused, first_that_fits};
use rmt_fit::{BUILT_IN, Device};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Show whether a program fits a Tofino, with the tables in each stage and the resources that they use
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack fit switch.p4
  p4rack fit switch.p4 --device tofino2 --html stages.html
  p4rack fit switch.p4 --device small.toml --format json      small.toml: extends = \"tofino1\", stages = 6")]
pub struct Args {
    /// A P4-16 program with `main`, for TNA, T2NA, v1model, PSA or PNA
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// `tofino1`, `tofino2`, or a file that describes a pipeline (default: the Tofino that the program is for, else `tofino1`)
    #[arg(long, value_name = "DEVICE|FILE.toml")]
    device: Option<String>,
    /// Also write a self-contained HTML page with the stages as columns
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

/// Exit status 1 if the program is wrong or does not fit, 2 if there is no such device.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let device = match &args.device {
        None => None,
        Some(name) => match find(name, &mut map) {
            Ok(Ok(device)) => Some(device),
            Ok(Err(wrong)) => return output::failed(&[wrong], &map, args.format),
            Err(why) => {
                report!("p4rack: {why}");
                return ExitCode::from(2);
            }
        },
    };
    let options = options(args, device.as_ref());
    let mut first = None;
    let found = first_that_fits(|blocks| {
        let compiled = compile(&args.program, blocks, &options, Until::Elaborated, &mut map);
        let program = compiled.program.ok_or(Refused::Input(compiled.diagnostics))?;
        let device = device.clone().unwrap_or_else(|| default_device(&program));
        let fit = rmt_fit::fit(&program, &device)?;
        if fit.fits() {
            return Ok(fit);
        }
        let why = fit.diagnostics(&map);
        first.get_or_insert(fit);
        Err(Refused::Devices(why))
    });
    match (found, first) {
        (Ok((fit, blocks)), _) => show(args, &fit, &blocks, fit.diagnostics(&map), &map),
        (Err(refused), Some(fit)) => show(args, &fit, &Chosen::default(), refused, &map),
        (Err(refused), None) => output::failed(&refused, &map, args.format),
    }
}

/// A placement with the blocks that were chosen for it; one that does not fit has the reasons, also those of other blocks.
fn show(
    args: &Args,
    fit: &rmt_fit::Fit,
    blocks: &Chosen,
    found: Vec<Diagnostic>,
    map: &SourceMap,
) -> ExitCode {
    let report = fit.report(map);
    if let Some(path) = &args.html {
        let page = rmt_fit::html(&report, &args.program);
        if let Err(why) = output::write(path, page.as_bytes(), &output::sources(map)) {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    }
    match args.format {
        output::Format::Text => {
            output::print(&blocks.text());
            output::print(&rmt_fit::text(&report, &args.program));
            output::diagnostics_text(&found, map);
        }
        output::Format::Json => {
            let diagnostics = output::diagnostics_json(&found, map);
            let mut json = json!({ "ok": report.fits, "fit": report, "diagnostics": diagnostics });
            if !blocks.blocks.is_empty() {
                json["blocks"] = blocks.json();
            }
            output::json(&json);
        }
    }
    if report.fits { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The device with that name, or described by that file; else the reason why there is none.
fn find(name: &str, map: &mut SourceMap) -> Result<Result<Device, Diagnostic>, String> {
    if let Some(device) = Device::built_in(name) {
        return Ok(Ok(device));
    }
    let known = BUILT_IN.join("`, `");
    let text = std::fs::read_to_string(name)
        .map_err(|e| format!("`{name}` is neither `{known}` nor a file that can be read: {e}"))?;
    let file = map.add_file(name, text.as_str(), Span::NONE).map_err(|_| format!("`{name}` is too large"))?;
    Ok(Device::read(&text, file, map))
}

/// Options of the front end: a program for both Tofinos is compiled for the one of `--device`.
fn options(args: &Args, device: Option<&Device>) -> Options {
    let mut options = args.preprocessor.options();
    let given = options.defines.iter().any(|d| d.split('=').next() == Some("__TARGET_TOFINO__"));
    if let Some(generation) = device.and_then(|d| d.tofino).filter(|_| !given) {
        options.defines.push(format!("__TARGET_TOFINO__={generation}"));
    }
    options
}

fn default_device(program: &Arc<Program>) -> Device {
    let name = if matches!(program.arch, Arch::T2na | Arch::Tna(2)) { "tofino2" } else { "tofino1" };
    Device::built_in(name).expect("it is built in")
}
