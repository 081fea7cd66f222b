//! `p4rack completions`

use crate::ExitCode;
use crate::output;
use clap_complete::Shell;

/// Print the shell completion script
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack completions bash > ~/.local/share/bash-completion/completions/p4rack
  p4rack completions zsh > ~/.zfunc/_p4rack
  p4rack completions fish > ~/.config/fish/completions/p4rack.fish")]
pub struct Args {
    /// Shell to print the script for
    shell: Shell,
}

/// The script of the whole `command`.
pub fn run(args: &Args, mut command: clap::Command) -> ExitCode {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "p4rack", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
