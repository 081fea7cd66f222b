//! Random programs notice the mistakes of the code generator.

use p4_generate::check::{Step, Steps, check};
use p4_generate::{Config, generate};
use target_native::Mutant;

/// What so few programs do not show; `cargo xtask generate --check native --mutants 26 --programs 1000` kills them too.
const RARE: [Mutant; 2] = [Mutant::FirstElement, Mutant::SignLost];

/// Programs that are tried for one mistake.
const PROGRAMS: u64 = 150;

#[test]
fn mistakes_are_noticed() {
    let config = Config::default();
    let sources: Vec<String> = (1..=PROGRAMS).map(|seed| generate(seed, &config).source).collect();
    let mut survived = vec![];
    for mutant in Mutant::ALL {
        let steps = Steps { native: true, native_mutant: Some(mutant), ..Steps::NONE };
        let notices = |(source, seed): (&String, u64)| {
            check(source, steps, 12, seed, None).is_err_and(|found| found.step == Step::Native)
        };
        if !sources.iter().zip(1..).any(notices) {
            survived.push(mutant);
        }
    }
    let missed: Vec<_> = survived.iter().filter(|mutant| !RARE.contains(mutant)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
