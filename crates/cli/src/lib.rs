//! The `p4rack` command: arguments in, text out. It holds no logic.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod output;
mod command;
mod log;
mod status;
mod tls;

use status::ExitCode;

use clap::{Parser, Subcommand};
use std::ffi::OsString;

/// Run P4 programs on a whole rack as if it were one switch.
#[derive(Parser)]
#[command(name = "p4rack", version, about, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(command::check::Args),
    Compile(command::compile::Args),
    Analyze(command::analyze::Args),
    Run(command::run::Args),
    Ir(command::ir::Args),
    P4info(command::p4info::Args),
    Switch(command::switch::Args),
    Ctl(command::ctl::Args),
    Plan(command::plan::Args),
    Split(command::split::Args),
    ProveSplit(command::prove_split::Args),
    Up(command::up::Args),
    GenerateRack(command::generate_rack::Args),
    Bench(command::bench::Args),
    Profile(command::profile::Args),
    Reproduce(command::reproduce::Args),
    Doctor(command::doctor::Args),
    Explain(command::explain::Args),
}

/// Runs the command with these arguments, the first of which is its name. Exit status: 0 all is well, 1 the input is wrong, 2 the command
/// line is wrong.
pub fn run<A: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = A>) -> u8 {
    let command = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command,
        Err(error) => {
            // Nobody listens.
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    let status = match command {
        Command::Check(args) => command::check::run(&args),
        Command::Compile(args) => command::compile::run(&args),
        Command::Ir(args) => command::ir::run(&args),
        Command::P4info(args) => command::p4info::run(&args),
        Command::Analyze(args) => command::analyze::run(&args),
        Command::Run(args) => command::run::run(&args),
        Command::Switch(args) => command::switch::run(args),
        Command::Ctl(args) => command::ctl::run(&args),
        Command::Plan(args) => command::plan::run(&args),
        Command::Split(args) => command::split::run(&args),
        Command::ProveSplit(args) => command::prove_split::run(&args),
        Command::Up(args) => command::up::run(&args),
        Command::GenerateRack(args) => command::generate_rack::run(&args),
        Command::Bench(args) => command::bench::run(&args),
        Command::Profile(args) => command::profile::run(&args),
        Command::Reproduce(args) => command::reproduce::run(args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Explain(args) => command::explain::run(&args),
    };
    status.0
}
