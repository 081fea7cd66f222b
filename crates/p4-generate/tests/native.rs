//! Random programs notice machine code that misreads them.

use p4_generate::{Config, MISREADINGS, hunt_native};

/// Maximum number of programs that the test generates; each misreading is tried on one program after the other until it is detected.
#[allow(clippy::disallowed_methods, reason = "a test asks how long it may run")]
fn programs() -> u64 {
    std::env::var("P4RACK_MUTANT_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

#[test]
fn misreadings_are_noticed() {
    // In the short form, one of three.
    let step = if features::is_long() { 1 } else { 3 };
    let misreadings: Vec<_> = MISREADINGS.into_iter().step_by(step).collect();
    let found = hunt_native(&misreadings, &Config::default(), programs(), 1, &mut |_, _| ());
    let missed = misreadings.iter().zip(&found).filter(|(_, found)| found.is_none());
    let missed: Vec<String> = missed.map(|(misreading, _)| misreading.to_string()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
