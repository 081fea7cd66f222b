//! Measures how soon a broken form of a program is noticed: a check that lets it live proves nothing.

mod fault;
mod made;
mod misread;

pub use fault::Mutant;
pub use misread::{MISREADINGS, Misreading};

use crate::check::{Outcome, check_native, compile, reference, run};
use crate::config::Config;
use crate::inputs::{Inputs, inputs};
use base_time::Rng;
use ir::Program;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Programs that show which faults there can be, and how many of them have to.
const SHOWING: u64 = 200;
const SHOWN: usize = 2;

/// Makes programs from `seed` on, and from each its broken form (none if there is nothing to break), until one does
/// something else than its program, is not well formed or is refused. Gives how many programs that took; none if
/// all of them live.
pub fn killed(
    form: &dyn Fn(&Program) -> Option<Program>,
    config: &Config,
    programs: u64,
    seed: u64,
) -> Option<u64> {
    let dies = |seed| {
        Trial::new(config, seed).is_some_and(|trial| form(&trial.program).is_some_and(|f| trial.differs(f)))
    };
    (0..programs).find(|at| dies(seed + at)).map(|at| at + 1)
}

/// Faults of lowering passes, drawn from all that 1 % of [`SHOWING`] programs show: each is a pass, what it makes, and what goes
/// wrong with that wherever it is made. If later passes repair it, so that the lowered program is the same, it is no
/// fault of that program.
pub fn mutants(count: usize, config: &Config, seed: u64) -> Vec<Mutant> {
    let compiled = (0..SHOWING).map(|at| {
        let mut program = compile(&crate::generate(seed + at, config).source).ok()?;
        ir::text::erase_spans(&mut program);
        Some(program)
    });
    let programs: Vec<Program> = compiled.flatten().collect();
    let mut all: BTreeMap<Mutant, Vec<usize>> = BTreeMap::new();
    for (at, program) in programs.iter().enumerate() {
        Mutant::all_of(program).into_iter().for_each(|mutant| all.entry(mutant).or_default().push(at));
    }
    let mut all: Vec<(Mutant, Vec<usize>)> = all.into_iter().collect();
    Rng::new(seed).split("mutants").shuffle(&mut all);
    let matters = |mutant: &Mutant, program: &Program| {
        let work = || mutant.lower(program) != ir_lower::lower(program).ok();
        catch_unwind(AssertUnwindSafe(work)).unwrap_or(true)
    };
    let shown = |(mutant, shows): &(Mutant, Vec<usize>)| {
        let shows = shows.iter().filter_map(|at| programs.get(*at));
        shows.filter(|program| matters(mutant, program)).take(SHOWN).count() == SHOWN
    };
    all.into_iter().filter(shown).map(|(mutant, _)| mutant).take(count).collect()
}

/// For each mutant the number of programs that it took to notice it; none if all of them let it live. `done` gets
/// the number of generated programs and of living mutants.
pub fn hunt(
    mutants: &[Mutant],
    config: &Config,
    programs: u64,
    seed: u64,
    done: &mut dyn FnMut(u64, usize),
) -> Vec<Option<u64>> {
    each(mutants.len(), programs, done, |at, alive| {
        let Some(trial) = Trial::new(config, seed + at) else { return vec![] };
        let noticed = |mutant: &usize| {
            let work =
                AssertUnwindSafe(|| mutants[*mutant].lower(&trial.program).is_some_and(|f| trial.differs(f)));
            catch_unwind(work).unwrap_or(true)
        };
        alive.iter().copied().filter(noticed).collect()
    })
}

/// Hunts faults of machine code that misreads the program.
pub fn hunt_native(
    mutants: &[Misreading],
    config: &Config,
    programs: u64,
    seed: u64,
    done: &mut dyn FnMut(u64, usize),
) -> Vec<Option<u64>> {
    each(mutants.len(), programs, done, |at, alive| {
        let Some(trial) = Trial::new(config, seed + at) else { return vec![] };
        let noticed = |mutant: &usize| {
            let work = AssertUnwindSafe(|| {
                let read = mutants[*mutant].read(&trial.program);
                read.is_some_and(|read| check_native(&read, &trial.inputs, &trial.outcome).is_err())
            });
            catch_unwind(work).unwrap_or(true)
        };
        alive.iter().copied().filter(noticed).collect()
    })
}

/// Program after program, until none of `mutants` is alive: which of those alive does program `at` notice? Each comes back with
/// how many programs it took.
fn each(
    mutants: usize,
    programs: u64,
    done: &mut dyn FnMut(u64, usize),
    mut noticed: impl FnMut(u64, &[usize]) -> Vec<usize>,
) -> Vec<Option<u64>> {
    let mut found = vec![None; mutants];
    for at in 0..programs {
        let alive: Vec<usize> = (0..mutants).filter(|mutant| found[*mutant].is_none()).collect();
        if alive.is_empty() {
            break;
        }
        done(at, alive.len());
        for mutant in noticed(at, &alive) {
            found[mutant] = Some(at + 1);
        }
    }
    found
}

/// A program and what it does.
struct Trial {
    program: Program,
    inputs: Inputs,
    outcome: Outcome,
}

impl Trial {
    fn new(config: &Config, seed: u64) -> Option<Trial> {
        let mut program = compile(&crate::generate(seed, config).source).ok()?;
        ir::text::erase_spans(&mut program);
        let inputs = inputs(&program, config.packets, seed);
        let outcome = reference(&Arc::new(program.clone()), &inputs).ok()?;
        Some(Trial { program, inputs, outcome })
    }

    /// True if `other` is noticed to be another program.
    fn differs(&self, other: Program) -> bool {
        if ir::verify::verify(&other).is_err() {
            return true;
        }
        match run(&Arc::new(other), &self.inputs) {
            Ok(other) => self.outcome.difference(&other).is_some(),
            Err(_) => true,
        }
    }
}
