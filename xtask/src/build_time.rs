//! `build-time SECONDS`: the cold build's budget.

use std::process::{Command, ExitCode};
use std::time::Instant;

/// Builds the release binary and all tests into an empty directory, prints how long it took and which crates took
/// longest, and fails past the budget.
#[allow(clippy::disallowed_methods)]
pub fn run(budget: u64) -> ExitCode {
    let target = std::env::temp_dir().join(format!("p4rack-build-time-{}", std::process::id()));
    let started = Instant::now();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--workspace", "--timings", "--target-dir"])
        .arg(&target)
        .status();
    let seconds = started.elapsed().as_secs();
    let ok = matches!(built, Ok(status) if status.success());
    // A leftover directory costs disk space and nothing else.
    let _ = std::fs::remove_dir_all(&target);
    println!("cold build: {seconds} s of {budget} s");
    if ok && seconds <= budget { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
