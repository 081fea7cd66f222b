//! `cargo xtask generate` and `cargo xtask generate-split`. They are no part of `xtask`, which so is built without the compiler.

mod mutants;
mod programs;
mod splits;

use std::process::ExitCode;

/// The exit status for arguments that are wrong: `xtask` shows what is right.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = match args.as_slice() {
        ["generate", options @ ..] => {
            programs::Options::parse(options).map(|options| programs::run(&options))
        }
        ["generate-split", options @ ..] => {
            splits::Options::parse(options).map(|options| splits::run(&options))
        }
        _ => None,
    };
    ended.unwrap_or(ExitCode::from(USAGE))
}
