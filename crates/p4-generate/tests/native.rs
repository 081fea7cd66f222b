//! Random programs notice machine code that misreads them.

use p4_generate::{Config, MISREADINGS, hunt_native};

/// How many programs the test generates; each misreading is tried on one program after the other until one notices it.
#[allow(clippy::disallowed_methods, reason = "a test asks how long it may run")]
fn programs() -> u64 {
    std::env::var("P4RACK_MUTANT_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

/// Misreadings that few programs show: 150 programs may miss them. `P4RACK_MUTANT_PROGRAMS=1000` finds all of them.
const RARE: [&str; 0] = [];

#[test]
fn misreadings_are_noticed() {
    let found = hunt_native(&MISREADINGS, &Config::default(), programs(), 1, &mut |_, _| ());
    let missed = MISREADINGS.iter().zip(&found).filter(|(_, found)| found.is_none());
    let missed: Vec<String> = missed.map(|(misreading, _)| misreading.to_string()).collect();
    let missed: Vec<_> = missed.iter().filter(|says| !RARE.contains(&says.as_str())).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
