//! Random programs notice the mistakes of the code generator.

use p4_generate::check::{Step, Steps, check};
use p4_generate::{Config, generate};
use target_native::Mutant;

/// What no random program shows. The last is noticed by target-native's test of the router.
/// FIXME: programs with selects without a default, with indices out of range, and with wider `int`s would show the others.
const HIDDEN: [Mutant; 5] =
    [Mutant::SignLost, Mutant::FirstElement, Mutant::NoMatchFine, Mutant::FirstCell, Mutant::SumPlain];

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
    let missed: Vec<_> = survived.iter().filter(|mutant| !HIDDEN.contains(mutant)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
