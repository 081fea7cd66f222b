//! `p4rack cli`

use crate::ExitCode;
use bmv2::cli::Cli;
use bmv2_thrift::Client;
use lab::{Commands, Done, Streams, read_commands};
use std::path::PathBuf;

/// Run commands of simple_switch_CLI on a running switch, at a prompt or from standard input
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack cli
  p4rack cli --thrift-port 9091
  p4rack cli -c show_tables

p4rack cli < s1-commands.txt reads commands from a file; the exit status is 1 if a command failed. `help` lists the commands.")]
pub struct Args {
    /// TCP port of the switch's Thrift services, as given to `p4rack switch --thrift-port`
    #[arg(long, value_name = "PORT", default_value_t = 9090)]
    thrift_port: u16,
    /// Address of the switch
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    thrift_ip: String,
    /// Run this command instead of showing the prompt; may be repeated
    #[arg(short, long, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Exit status 1 if there is no switch, or a command failed that did not come from a terminal.
pub fn run(args: &Args) -> ExitCode {
    let client = Client::connect(&format!("{}:{}", args.thrift_ip, args.thrift_port));
    let mut switch = match client.and_then(Cli::new) {
        Ok(cli) => OfSwitch(cli),
        Err(why) => {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    };
    for command in &args.command {
        match switch.perform(command, Streams::Captured) {
            Done::Exit => return ExitCode::SUCCESS,
            Done::Well(text) => crate::output::print(&text),
            Done::Badly(text) => {
                crate::output::write_report(format_args!("p4rack: {text}"));
                return ExitCode::FAILURE;
            }
        }
    }
    match !args.command.is_empty() || read_commands("RuntimeCmd: ", history().as_deref(), switch) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn history() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")));
    Some(state?.join("p4rack/cli_history"))
}

struct OfSwitch(Cli<Client>);

impl Commands for OfSwitch {
    fn perform(&mut self, line: &str, _: Streams) -> Done {
        match line.trim() {
            "exit" | "quit" | "EOF" => Done::Exit,
            line => match self.0.run(line) {
                Ok(text) => Done::Well(text),
                Err(why) => Done::Badly(format!("{why}\n")),
            },
        }
    }

    fn complete(&self, before: &str) -> (usize, Vec<String>) {
        self.0.complete(before)
    }

    fn hint(&self, before: &str) -> Option<String> {
        self.0.hint(before)
    }
}
