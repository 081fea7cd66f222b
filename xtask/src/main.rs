//! The project's own checks: `cargo xtask COMMAND`.

mod build_time;
mod conformance;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  tidy                 layers, purity, crate manifests, file sizes, paths
  build-time SECONDS   build the command from nothing and fail past the budget
  conformance --suite DIR
                       check the programs of a p4c checkout and compare with its reference outputs
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => tidy::run(),
        ["build-time", seconds] => match seconds.parse() {
            Ok(budget) => build_time::run(budget),
            Err(_) => usage(),
        },
        ["conformance", "--suite", suite] => conformance::run(suite),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
}
