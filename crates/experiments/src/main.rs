//! The program `p4rack-experiments`: the commands `bench`, `profile`, `profile-app`, `reproduce` and `traffic`, which `p4rack` hands over to it.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use clap::{Parser, Subcommand};
use experiments::command;
use std::process::ExitCode;

/// As of the command `p4rack`: both run racks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure p4rack beside its peers, and repeat experiments of papers.
#[derive(Parser)]
#[command(name = "p4rack-experiments", bin_name = "p4rack", version, arg_required_else_help = true)]
#[command(max_term_width = 100, after_help = "Run these commands as `p4rack COMMAND`.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(command::bench::Args),
    Profile(command::profile::Args),
    ProfileApp(command::profile_app::Args),
    Reproduce(command::reproduce::Args),
    Traffic(command::traffic::Args),
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => {
            // Nobody listens.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let status = match command {
        Command::Bench(args) => command::bench::run(&args),
        Command::Profile(args) => command::profile::run(&args),
        Command::ProfileApp(args) => command::profile_app::run(&args),
        Command::Reproduce(args) => command::reproduce::run(args),
        Command::Traffic(args) => command::traffic::run(&args),
    };
    status.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

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
                if let Err(error) = Cli::try_parse_from(example.split_whitespace()) {
                    panic!("{example}\n{error}");
                }
            }
        }
    }
}
