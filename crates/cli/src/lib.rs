//! The `p4rack` command: arguments in, text out. It holds no logic.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
pub mod output;
mod certificates;
mod command;
mod log;
mod memory;
mod once;
mod secret;
mod status;
mod tls;

pub use command::{Handlers, Preprocessor};
pub use status::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

/// Run P4 programs on a whole rack as if it were one switch.
#[derive(Parser)]
#[command(name = "p4rack", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Start with `p4rack up examples/crosspod` or docs/tutorial.md. `p4rack COMMAND --help` has examples."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(command::check::Args),
    Compile(command::compile::Args),
    Analyze(command::analyze::Args),
    Fit(command::fit::Args),
    Run(command::run::Args),
    Block(command::block::Args),
    Compare(Box<command::compare::Args>),
    Ir(command::ir::Args),
    P4info(command::p4info::Args),
    Switch(Box<command::switch::Args>),
    Cli(command::cli::Args),
    Ctl(command::ctl::Args),
    Job(command::job::Args),
    Lab(Box<command::lab::Args>),
    Plan(command::plan::Args),
    Split(command::split::Args),
    Merge(command::merge::Args),
    Convert(command::convert::Args),
    ProveSplit(command::prove_split::Args),
    Up(command::up::Args),
    Sweep(command::sweep::Args),
    GenerateRack(command::generate_rack::Args),
    Handler(command::handler::Args),
    Import(command::import::Args),
    /// Measure packets per second on the benchmark programs and compare with other implementations
    #[command(after_help = "Examples:
  p4rack bench --help
  p4rack bench --program router --peers none")]
    Bench(command::experiments::Args),
    /// Measure rate and latency of the network functions on this machine, as a table for `p4rack plan --rules`
    #[command(after_help = "Examples:
  p4rack profile --help
  p4rack profile fec-encode -o costs.csv")]
    Profile(command::experiments::Args),
    /// Show what a program costs for a number of flows: memory, Tofino resources, the device classes that can run it, and the time of a packet
    #[command(after_help = "Examples:
  p4rack profile-app --help
  p4rack profile-app examples/apps/vpn.p4 --flows 1000,100000")]
    ProfileApp(command::experiments::Args),
    /// Repeat a paper's experiments and print its numbers next to the measured ones
    #[command(after_help = "Examples:
  p4rack reproduce --help
  p4rack reproduce flightplan fig11")]
    Reproduce(command::experiments::Args),
    /// Write a capture of packets of many flows, with Zipf's popularity and the packet sizes of a kind of network
    #[command(after_help = "Examples:
  p4rack traffic --help
  p4rack traffic --flows 1000000 --skew 0.99 -o traffic.pcap")]
    Traffic(command::experiments::Args),
    Doctor(command::doctor::Args),
    Explain(command::explain::Args),
    Completions(command::completions::Args),
}

/// Runs the command with these arguments, the first of which is its name. Exit status: 0 success, 1 the input is wrong, 2 the command
/// line is wrong.
pub fn run<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> u8 {
    let command = match Cli::try_parse_from(command::switch::normalized(arguments)) {
        Ok(cli) => cli.command,
        Err(error) => {
            // The reader of the output has gone.
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    let status = match command {
        Command::Check(args) => command::check::run(&args),
        Command::Compile(args) => command::compile::run(&args),
        Command::Block(args) => command::block::run(args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Ir(args) => command::ir::run(&args),
        Command::P4info(args) => command::p4info::run(&args),
        Command::Analyze(args) => command::analyze::run(&args),
        Command::Fit(args) => command::fit::run(&args),
        Command::Run(args) => command::run::run(&args),
        Command::Switch(args) => command::switch::run(*args),
        Command::Cli(args) => command::cli::run(&args),
        Command::Ctl(args) => command::ctl::run(&args),
        Command::Job(args) => command::job::run(args),
        Command::Lab(args) => command::lab::run(&args),
        Command::Plan(args) => command::plan::run(&args),
        Command::Split(args) => command::split::run(&args),
        Command::Merge(args) => command::merge::run(&args),
        Command::Convert(args) => command::convert::run(&args),
        Command::ProveSplit(args) => command::prove_split::run(&args),
        Command::Up(args) => command::up::run(&args),
        Command::Sweep(args) => command::sweep::run(&args),
        Command::GenerateRack(args) => command::generate_rack::run(&args),
        Command::Handler(args) => command::handler::run(&args),
        Command::Import(args) => command::import::run(&args),
        Command::Bench(args) => command::experiments::run("bench", &args),
        Command::Profile(args) => command::experiments::run("profile", &args),
        Command::ProfileApp(args) => command::experiments::run("profile-app", &args),
        Command::Reproduce(args) => command::experiments::run("reproduce", &args),
        Command::Traffic(args) => command::experiments::run("traffic", &args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Explain(args) => command::explain::run(&args),
        Command::Completions(args) => command::completions::run(&args, Cli::command()),
    };
    status.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of an example, without shell syntax.
    fn words(line: &str) -> impl Iterator<Item = &str> {
        let line = line.split(" > ").next().unwrap_or(line);
        // Text after a gap is an explanation.
        let line = line.split("   ").next().unwrap_or(line);
        line.split_whitespace().map(|word| word.trim_matches('\''))
    }

    #[test]
    fn each_command_has_examples_that_can_be_typed() {
        let cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            let name = command.get_name();
            let help =
                command.get_after_help().unwrap_or_else(|| panic!("{name} has no examples")).to_string();
            let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert!(help.starts_with("Examples:\n") && !examples.is_empty(), "{name}: {help}");
            for example in examples {
                assert!(example.starts_with(&format!("p4rack {name}")), "{example}");
                if let Err(error) = Cli::try_parse_from(words(example)) {
                    panic!("{example}\n{error}");
                }
            }
        }
    }

    #[test]
    fn the_command_says_what_it_is_for() {
        let about = Cli::command().get_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Run P4 programs on a whole rack as if it were one switch"));
    }
}
