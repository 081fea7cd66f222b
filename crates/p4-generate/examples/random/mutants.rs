//! `generate --mutants`: faults of lowering passes, with `--check native` misreadings by machine code, and how many random
//! programs it takes to notice each.

use p4_generate::{Config, MISREADINGS, hunt, hunt_native, mutants};
use std::fmt::Display;
use std::process::ExitCode;

/// Draws `count` faults of passes with `seed`, and hunts them with up to `programs` programs.
pub fn run(count: usize, config: &Config, programs: u64, seed: u64) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mutants = mutants(count, config, seed);
    let found = hunt(&mutants, config, programs, seed, &mut progress(programs, mutants.len()));
    report(&mutants, &found, programs)
}

/// The first `count` misreadings of programs by machine code.
pub fn run_native(count: usize, config: &Config, programs: u64, seed: u64) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mutants = &MISREADINGS[..count.min(MISREADINGS.len())];
    let found = hunt_native(mutants, config, programs, seed, &mut progress(programs, mutants.len()));
    report(mutants, &found, programs)
}

fn progress(programs: u64, mutants: usize) -> impl FnMut(u64, usize) {
    move |done, alive| {
        if done % 20 == 0 {
            eprintln!("{done} of {programs} programs, {alive} of {mutants} mutants live");
        }
    }
}

fn report<M: Display>(mutants: &[M], found: &[Option<u64>], programs: u64) -> ExitCode {
    for (mutant, found) in mutants.iter().zip(found) {
        match found {
            Some(programs) => println!("{programs:>5}  {mutant}"),
            None => println!("lives  {mutant}"),
        }
    }
    let alive = found.iter().filter(|found| found.is_none()).count();
    println!(
        "{} mutants, {} noticed, {alive} live after {programs} programs",
        mutants.len(),
        mutants.len() - alive
    );
    if alive == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
