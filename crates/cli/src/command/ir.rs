//! `p4rack ir`

use super::Preprocessor;
use crate::ExitCode;
use crate::output;
use base_diag::SourceMap;
use compiler::lowering::{Form, NoText, passes, text};
use compiler::{Until, compile};
use p4rack::Disk;

/// Print a program's intermediate representation: elaborated (the default), after a pass, lowered, or as generated code
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack ir router.p4
  p4rack ir router.p4 --print-after machine-code")]
pub struct Args {
    /// A P4-16 program
    #[arg(required_unless_present = "list_passes")]
    program: Option<String>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Print the program after this pass, or the generated code with `clif` or `machine-code`; may be repeated
    #[arg(long, value_name = "PASS", conflicts_with = "lowered")]
    print_after: Vec<String>,
    /// Print the program after all passes
    #[arg(long)]
    lowered: bool,
    /// List all passes in order, and the forms of the generated code
    #[arg(long)]
    list_passes: bool,
}

/// Exit status 1 if the program has an error, 2 if a pass is not known.
pub fn run(args: &Args) -> ExitCode {
    if args.list_passes {
        output::print(&passes());
        return ExitCode::SUCCESS;
    }
    let Some(program) = &args.program else { return ExitCode::from(2) };
    let mut map = SourceMap::new();
    let compiled = compile(program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    output::diagnostics_text(&compiled.diagnostics, &map);
    let Some(program) = compiled.program else { return ExitCode::FAILURE };
    let form = match (&args.print_after, args.lowered) {
        (names, _) if !names.is_empty() => Form::After(names.clone()),
        (_, true) => Form::Lowered,
        _ => Form::Elaborated,
    };
    match text(&program, &form) {
        Ok(text) => {
            output::print(&text);
            ExitCode::SUCCESS
        }
        Err(NoText::UnknownPass(name)) => {
            report!("p4rack: no pass is named `{name}`; the passes are:\n{}", passes());
            ExitCode::from(2)
        }
        Err(NoText::Refused(found)) => {
            output::diagnostics_text(&found, &map);
            ExitCode::FAILURE
        }
    }
}
