//! The `p4rack` command: see the library.

use std::process::ExitCode;

/// Gives memory back to the system, also that of large requests: a switch is as small after an attack as before.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(cli::run(std::env::args_os()))
}
