//! `p4rack bench`, `p4rack profile`, `p4rack profile-app`, `p4rack reproduce` and `p4rack traffic`: commands of a program of its own, `p4rack-experiments`.
//!
//! Racks run without them, and they would make the command larger and its build longer. The program stands beside the command or on `PATH`.

use crate::ExitCode;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program, from the crate `experiments`.
const PROGRAM: &str = "p4rack-experiments";

/// The program's arguments, `--help` among them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Arguments of the command; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// Becomes the program, whose exit status is the command's. Exit status 1 if there is none.
pub fn run(command: &str, args: &Args) -> ExitCode {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.to_path_buf()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = beside.iter().cloned().chain(std::env::split_paths(&path));
    let mut programs = places.map(|place| place.join(PROGRAM));
    let Some(program) = programs.find(|file| file.is_file()) else {
        let beside = beside.unwrap_or_else(|| PathBuf::from("."));
        report!(
            "p4rack: `{command}` needs the program `{PROGRAM}`, which is neither in `{}` nor on PATH",
            beside.display()
        );
        report!(
            "  = help: in p4rack's source directory, `cargo build --release -p experiments` builds it beside `target/release/p4rack`"
        );
        report!("  = help: `cargo install --path crates/experiments` installs it");
        return ExitCode::FAILURE;
    };
    // Nothing of this process is left if it succeeds.
    let error = Command::new(&program).arg(command).args(&args.arguments).exec();
    report!("p4rack: `{}` cannot be run: {error}", program.display());
    ExitCode::FAILURE
}
