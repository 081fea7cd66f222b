//! `generate --mutants`: faults of lowering passes, and how many random programs it takes to notice each.

use p4_generate::{Config, hunt, mutants};
use std::process::ExitCode;

/// Draws `count` faults with `seed`, and hunts them with up to `programs` programs.
pub fn run(count: usize, config: &Config, programs: u64, seed: u64) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mutants = mutants(count, config, seed);
    let found = hunt(&mutants, config, programs, seed, &mut |done, alive| {
        if done % 20 == 0 {
            eprintln!("{done} of {programs} programs, {alive} of {} mutants live", mutants.len());
        }
    });
    for (mutant, found) in mutants.iter().zip(&found) {
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
