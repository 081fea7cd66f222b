//! The command as users build it, and what a run of it costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the command in the release profile.
pub fn build() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status =
        Command::new(env!("CARGO")).args(["build", "--release", "-p", "cli"]).current_dir(&root).status();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    status.is_ok_and(|s| s.success()).then(|| target.join("release/p4rack"))
}

/// CPU time of all child processes so far, in microseconds.
pub fn children_us() -> i64 {
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map(|usage| usage.user_time().num_microseconds() + usage.system_time().num_microseconds())
        .unwrap_or(0)
}
