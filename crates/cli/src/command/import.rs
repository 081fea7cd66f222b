//! `p4rack import`

use crate::ExitCode;
use crate::output;
use base_diag::SourceMap;
use lab::Wishes;
use std::path::{Path, PathBuf};

/// Write the network of a lab as a RACK.toml, for `p4rack up`
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack import topology.json -o RACK.toml
  p4rack import exercises/basic --programs exercises/basic/solution -o RACK.toml
  p4rack import topology.json --captures pcaps -o RACK.toml")]
pub struct Args {
    /// topology.json or p4app.json, or a directory with one
    path: PathBuf,
    /// Output file; `-` is standard output. Paths in the file are relative to its directory
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Program of all switches
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Directory of a lab's captures: the RACK.toml sends the frames that the hosts sent in the lab
    #[arg(long, value_name = "DIR")]
    captures: Option<PathBuf>,
    /// Look for programs in this directory first
    #[arg(long, value_name = "DIR")]
    programs: Vec<PathBuf>,
}

/// Exit status 1 if the lab's description has an error or the file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let programs = args.program.iter().map(|file| (None, file.clone())).collect();
    let wishes = Wishes { programs, directories: args.programs.clone(), ..Wishes::default() };
    let directory =
        args.output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match lab::import(&args.path, &wishes, args.captures.as_deref(), directory, &mut map) {
        Ok((text, warnings)) => {
            output::diagnostics_text(&warnings, &map);
            match output::write(&args.output, text.as_bytes(), &output::sources(&map)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => {
                    report!("p4rack: {why}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(found) => {
            output::diagnostics_text(&found, &map);
            ExitCode::FAILURE
        }
    }
}
