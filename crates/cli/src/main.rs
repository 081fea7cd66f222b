//! The `p4rack` command: see the library.

mod memory;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|command| command == "switch") {
        memory::give_back();
    }
    ExitCode::from(cli::run(std::env::args_os()))
}
