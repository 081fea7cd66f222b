//! `features`: third-party crates that a build of one crate's tests, or of a command, gives other features than a build of all.
//!
//! Each such crate, and all that depends on it, is compiled once more for `cargo test -p CRATE`, `cargo build` or `cargo install`. The crate
//! `features` says what to do for tests; the command has the workspace's features without it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Differences that are known and cheap: `(crate, why)`.
const KNOWN: &[(&str, &str)] =
    &[("axum", "only `p4runtime-grpc` needs its HTTP server, and few crates depend on it")];

/// Crates whose programs users build.
const COMMANDS: [&str; 2] = ["cli", "experiments"];

/// Dependency kinds of a build of the command, and of a build of tests.
const COMMAND: &str = "normal,build";
const TESTS: &str = "normal,build,dev";

/// Prints every difference; fails if there is one that is not known.
pub fn run() -> ExitCode {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut names: Vec<String> = std::fs::read_dir(crates)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().to_string())
        .collect();
    names.sort();
    let all = match tree(TESTS, &["--workspace"]) {
        Ok(all) => all,
        Err(error) => return failed(&error),
    };
    let mut found = 0;
    let tests = names.iter().map(|name| (TESTS, "test", name.as_str()));
    for (edges, what, name) in tests.chain(COMMANDS.map(|name| (COMMAND, "build", name))) {
        let one = match tree(edges, &["--package", name]) {
            Ok(one) => one,
            Err(error) => return failed(&error),
        };
        for line in
            one.difference(&all).filter(|line| !KNOWN.iter().any(|(known, _)| line.starts_with(known)))
        {
            println!("cargo {what} -p {name}: {line}");
            found += 1;
        }
    }
    println!("features: {found} differences");
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(error: &str) -> ExitCode {
    eprintln!("features: {error}");
    ExitCode::FAILURE
}

/// The packages that a build of some packages needs, each with its version and features.
fn tree(edges: &str, packages: &[&str]) -> Result<BTreeSet<String>, String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", edges, "--prefix", "none", "--format", "{p} [{f}]"])
        .args(packages)
        .output()
        .map_err(|error| format!("cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(|line| line.trim_end_matches(" (*)").to_string()).collect())
}
