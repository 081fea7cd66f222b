//! How soon a broken form of a program is noticed: a check that lets it live proves nothing.

use crate::check::{compile, run};
use crate::config::Config;
use crate::inputs::inputs;
use ir::Program;
use std::sync::Arc;

/// Makes programs from `seed` on, and from each its broken form (none if there is nothing to break), until one does
/// something else than its program, is not well formed or is refused. Gives how many programs that took; none if
/// all of them live.
pub fn killed(
    form: &dyn Fn(&Program) -> Option<Program>,
    config: &Config,
    programs: u64,
    seed: u64,
) -> Option<u64> {
    (0..programs).find(|at| dies(form, config, seed + at)).map(|at| at + 1)
}

fn dies(form: &dyn Fn(&Program) -> Option<Program>, config: &Config, seed: u64) -> bool {
    let Ok(program) = compile(&crate::generate(seed, config).source) else { return false };
    let Some(broken) = form(&program) else { return false };
    if ir::verify::verify(&broken).is_err() {
        return true;
    }
    let inputs = inputs(&program, config.packets, seed);
    let Ok(outcome) = run(&Arc::new(program), &inputs) else { return false };
    match run(&Arc::new(broken), &inputs) {
        Ok(other) if outcome.ran_out() || other.ran_out() => false,
        Ok(other) => outcome.difference(&other).is_some(),
        Err(_) => true,
    }
}
