//! Random programs notice the mistakes of the code generator.

use p4_generate::check::{Step, Steps, check};
use p4_generate::{Config, generate};
use target_native::Mutant;

/// Faults that few programs show: the default count of programs may miss them. `P4RACK_MUTANT_PROGRAMS=400` finds all of them.
const RARE: [Mutant; 2] = [Mutant::FirstElement, Mutant::SignLost];

/// How many programs the test generates; each fault is tried on one program after the other until one notices it.
#[allow(clippy::disallowed_methods, reason = "a test asks how long it may run")]
fn programs() -> u64 {
    std::env::var("P4RACK_MUTANT_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

#[test]
fn mistakes_are_noticed() {
    let config = Config::default();
    let mut survived = Mutant::ALL.to_vec();
    for seed in 1..=programs() {
        let source = generate(seed, &config).source;
        survived.retain(|mutant| {
            let steps = Steps { native: true, native_mutant: Some(*mutant), ..Steps::NONE };
            let noticed =
                check(&source, steps, 12, seed, None).is_err_and(|found| found.step == Step::Native);
            if noticed {
                println!("program {seed} notices {mutant:?}")
            }
            !noticed
        });
    }
    let missed: Vec<_> = survived.iter().filter(|mutant| !RARE.contains(mutant)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
