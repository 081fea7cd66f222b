//! The project's own checks: `cargo xtask COMMAND`.

mod bench_check;
mod build_time;
mod conformance;
mod conformance_arch;
mod conformance_p4info;
mod features;
mod process;
mod protocol;
mod rack_file;
mod tidy;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask COMMAND

  tidy                 layers, purity, crate manifests, file sizes, paths, circles of files, test programs, generated code and pages
  protocol             generate the code and descriptors of P4Runtime's messages and services from proto/
  rack-file            write docs/rack-file.md, the reference of RACK.toml, from the heads of rack-model's modules
  features [--commands]
                       third-party crates that `cargo test -p CRATE` or `cargo build` compiles with other features than `cargo test --workspace`;
                       with --commands those of builds of the commands alone
  build-time           build the command from nothing: how long it takes, and its slowest crates
  bench-check          check a generated program of 7,000 lines and fail past 150 ms
  conformance --suite DIR
                       check the programs of a p4c checkout and compare with its reference outputs
  conformance-arch --suite DIR
                       compare our declarations of the architectures with those of a p4c checkout
  conformance-stf --suite DIR [NAME]
                       elaborate, print and run the programs of a p4c checkout with its packet tests
  conformance-split --suite DIR [--prove N] [--seed S] [--packets N] [NAME]
                       cut our programs and a p4c checkout's at every border between statements; 95 % must be accepted
  conformance-split --tables DIR.. [--lines N] [--prove N] [--seed S] [--packets N] [NAME]
                       cut the long programs of checkouts at each table; 90 % of each program's must be accepted, and a
                       proved split moves a third of its tables
  generate [--programs N] [--seed S] [--jobs J] [--check compile|reparse|print|passes|native|all] [--packets N] [--size N]
           [--portable] [--coverage] [--out DIR] [--no-shrink]
                       random programs: each compiles, and printed or lowered it does the same with its packets
  generate --mutants N [--programs N] [--seed S]
                       lowering passes with faults: how many random programs it takes to notice each
  generate-split [--programs N] [--seed S] [--jobs J] [--packets N] [--size N] [--no-shrink]
                 [--file PROGRAM | --faults]
                       random programs with random cuts over two to four devices: the parts do what the whole does;
                       with a file: one program, with regions named after their devices, `Cut0_at1`; prints its parts;
                       with --faults: how many programs it takes to notice each fault that a splitter could have
  conformance-p4info --suite DIR
                       compare P4Info and entries with the reference outputs of a p4c checkout
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => tidy::run(),
        ["features"] => features::run(true),
        ["features", "--commands"] => features::run(false),
        ["protocol"] => protocol::run(),
        ["rack-file"] => rack_file::run(),
        ["build-time"] => build_time::run(),
        ["bench-check"] => bench_check::run(),
        ["conformance", "--suite", suite] => conformance::run(suite),
        ["conformance-stf", "--suite", suite, name @ ..] => conformance::run_stf(suite, name),
        ["conformance-split", "--suite", suite, rest @ ..] => conformance::run_split(suite, rest),
        ["conformance-split", "--tables", suite, rest @ ..] => conformance::run_tables(suite, rest),
        ["generate" | "generate-split", ..] => random(&args),
        ["conformance-arch", "--suite", suite] => conformance_arch::run(suite),
        ["conformance-p4info", "--suite", suite] => conformance_p4info::run(suite),
        _ => usage(),
    }
}

/// Runs p4-generate's example `random`, which knows the compiler.
fn random(args: &[&str]) -> ExitCode {
    let example = ["run", "--quiet", "-p", "p4-generate", "--example", "random", "--"];
    let status = Command::new(env!("CARGO")).args(example).args(args).status();
    match status.ok().and_then(|status| status.code()) {
        Some(0) => ExitCode::SUCCESS,
        Some(2) => usage(),
        _ => ExitCode::FAILURE,
    }
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
}
