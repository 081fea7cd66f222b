//! `p4rack p4info`

use super::Preprocessor;
use crate::output;
use base_diag::{Diagnostic, SourceMap};
use p4rack::p4info::Form;
use p4rack::{Disk, Until, compile};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write what a program's control plane can see, as P4Runtime's P4Info
#[derive(clap::Args)]
pub struct Args {
    /// A P4-16 program
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Where to write P4Info; `-`, as without this, is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to write the entries that stand in the source, as a P4Runtime WriteRequest
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// In which form; without this by the file's extension: .txtpb or .txt, .json, .bin or .pb
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// The form of a protobuf message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    /// Protobuf's text format
    Text,
    /// JSON
    Json,
    /// Protobuf's wire format
    Binary,
}

/// Exit status 1 if the program has an error or a file cannot be written, 2 if a file's extension says no form.
pub fn run(args: &Args) -> ExitCode {
    let to_stdout = Path::new("-");
    let wanted_output = args.output.as_deref().unwrap_or(to_stdout);
    let is_wanted = args.output.is_some() || args.entries.is_none();
    let wanted =
        [(wanted_output, is_wanted), (args.entries.as_deref().unwrap_or(to_stdout), args.entries.is_some())];
    let mut forms = vec![];
    for (path, _) in wanted {
        match form(args.format, path) {
            Some(form) => forms.push(form),
            None => {
                eprintln!("p4rack: the extension of `{}` says no form: give `--format`", path.display());
                return ExitCode::from(2);
            }
        }
    }
    let mut map = SourceMap::new();
    let compiled = compile(&args.program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    output::diagnostics_text(&compiled.diagnostics, &map);
    let Some(program) = compiled.program else { return ExitCode::FAILURE };
    let made: [fn(&ir::Program, Form) -> Result<Vec<u8>, Vec<Diagnostic>>; 2] =
        [p4rack::p4info::p4info, p4rack::p4info::entries];
    for (((path, is_wanted), form), make) in wanted.into_iter().zip(forms).zip(made) {
        if !is_wanted {
            continue;
        }
        match make(&program, form) {
            Ok(bytes) => {
                if let Err(error) = output::write(path, &bytes) {
                    eprintln!("p4rack: `{}` cannot be written: {error}", path.display());
                    return ExitCode::FAILURE;
                }
            }
            Err(found) => {
                output::diagnostics_text(&found, &map);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn form(asked: Option<Format>, path: &Path) -> Option<Form> {
    match asked {
        Some(Format::Text) => Some(Form::Text),
        Some(Format::Json) => Some(Form::Json),
        Some(Format::Binary) => Some(Form::Binary),
        None if path == Path::new("-") => Some(Form::Text),
        None => Form::of_path(path),
    }
}
