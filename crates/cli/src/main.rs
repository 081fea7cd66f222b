//! The `p4rack` command: see the library.

use std::process::ExitCode;

/// Returns released memory to the system, also that of large requests, so that a switch is as small after an attack as before.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(cli::run(std::env::args_os()))
}
