//! `p4rack p4info`

use super::Preprocessor;
use crate::ExitCode;
use crate::output;
use base_diag::SourceMap;
use compiler::p4info::{Form, What, file};
use compiler::{Until, compile};
use p4rack::Disk;
use std::path::{Path, PathBuf};

/// Write a program's P4Info: the objects that P4Runtime controllers can read and write
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack p4info router.p4 -o router.p4info.txtpb --entries router.entries.json")]
pub struct Args {
    /// A P4-16 program
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Output file for P4Info, `-` for standard output; standard output is the default unless `--entries` is given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output file for the entries declared in the source, as a P4Runtime WriteRequest
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Encoding; the default follows the file's extension (.txtpb or .txt, .json, .bin or .pb), and is text on standard output
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// The form of a protobuf message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// Protobuf text format
    Text,
    /// JSON
    Json,
    /// Protobuf binary format
    Binary,
}

/// Exit status 1 if the program has an error or a file cannot be written, 2 if a file's extension says no form.
pub fn run(args: &Args) -> ExitCode {
    let to_stdout = (args.output.is_none() && args.entries.is_none()).then(|| PathBuf::from("-"));
    let info = args.output.iter().chain(&to_stdout).map(|path| (What::P4Info, path));
    let wanted: Vec<(What, &PathBuf)> =
        info.chain(args.entries.iter().map(|path| (What::Entries, path))).collect();
    if let Some((_, path)) = wanted.iter().find(|(_, path)| form(args.format, path).is_none()) {
        report!(
            "p4rack: the extension of `{}` does not determine the encoding: add `--format`",
            path.display()
        );
        return ExitCode::from(2);
    }
    let mut map = SourceMap::new();
    let compiled = compile(&args.program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    output::diagnostics_text(&compiled.diagnostics, &map);
    let Some(program) = compiled.program else { return ExitCode::FAILURE };
    for (what, path) in wanted {
        let Some(form) = form(args.format, path) else { continue };
        match file(&program, what, form) {
            Ok(bytes) => {
                if let Err(why) = output::write(path, &bytes, &output::sources(&map)) {
                    report!("p4rack: {why}");
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

impl From<Format> for Form {
    fn from(format: Format) -> Form {
        match format {
            Format::Text => Form::Text,
            Format::Json => Form::Json,
            Format::Binary => Form::Binary,
        }
    }
}

fn form(asked: Option<Format>, path: &Path) -> Option<Form> {
    match asked {
        Some(format) => Some(format.into()),
        None if path == Path::new("-") => Some(Form::Text),
        None => Form::of_path(path),
    }
}
