//! `build-time`: what the cold build costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// So many cores, whatever the machine has: figures are to be compared.
const CORES: &str = "2";

/// Number of the slowest crates that are printed.
const SLOWEST: usize = 10;

/// Builds the command as users do, from nothing and on two cores, prints how long it took and which crates took
/// longest. A report, not a test: the same build takes twice as long on a machine that has other work.
///
/// If there was no target directory, the build stays for later builds; otherwise it uses a separate directory.
#[allow(clippy::disallowed_methods)]
pub fn run() -> ExitCode {
    let usual = std::env::var_os("CARGO_TARGET_DIR").map_or_else(usual_target, PathBuf::from);
    let keep = !usual.join("release").exists();
    let own = std::env::temp_dir().join(format!("p4rack-build-time-{}", std::process::id()));
    let target = if keep { usual } else { own };
    let started = Instant::now();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--timings", "--jobs", CORES, "--target-dir"])
        .arg(&target)
        .status();
    let seconds = started.elapsed().as_secs();
    let ok = matches!(built, Ok(status) if status.success());
    for unit in slowest(&target) {
        println!("{:>7.1} s  {}{}", unit.duration, unit.name, unit.target);
    }
    if !keep {
        // A leftover directory costs disk space and nothing else.
        let _ = std::fs::remove_dir_all(&target);
    }
    println!("cold build: {seconds} s on {CORES} cores, {} s of CPU time", cpu_seconds());
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usual_target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}

/// CPU time of everything this process has started and waited for.
fn cpu_seconds() -> i64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |u| (u.user_time() + u.system_time()).num_seconds())
}

/// One line of cargo's report.
#[derive(Deserialize)]
struct Unit {
    name: String,
    target: String,
    /// In seconds.
    duration: f64,
}

/// The units that took longest, by the page that `--timings` writes; none if it is written in another way.
fn slowest(target: &Path) -> Vec<Unit> {
    let page = std::fs::read_to_string(target.join("cargo-timings/cargo-timing.html")).unwrap_or_default();
    let data = page.split_once("const UNIT_DATA = ").map_or("", |(_, rest)| rest);
    let data = data.split_once("];\n").map_or("", |(list, _)| list);
    let mut units: Vec<Unit> = serde_json::from_str(&format!("{data}]")).unwrap_or_default();
    units.sort_by(|a, b| b.duration.total_cmp(&a.duration));
    units.truncate(SLOWEST);
    units
}
