//! Seeded problems: 40 regions with branches, 64 devices in 8 classes, 3 objectives.

use crate::drawn::problem;
use crate::{ms, shown, timed};
use std::process::ExitCode;
use std::time::Duration;

const SEEDS: u64 = 20;

pub fn run(switches: usize, gigabits: u64, only: Option<u64>) -> ExitCode {
    let mut times = vec![];
    let mut all_complete = true;
    for seed in (1..=SEEDS).filter(|seed| only.is_none_or(|only| only == *seed)) {
        let problem = problem(seed, 40, switches, gigabits);
        let (found, time) = timed(&problem, Duration::from_secs(20));
        let state = if found.is_complete { "exact" } else { "given up" };
        let ends: Vec<String> = found.plans.iter().take(1).map(|(cost, _)| shown(&problem, cost)).collect();
        println!(
            "{seed:>4} {:>12}  {:>4} plans  {:>8} labels  {state}  {}",
            ms(time),
            found.plans.len(),
            found.labels,
            ends.join("")
        );
        all_complete &= found.is_complete;
        times.push(time);
    }
    times.sort_unstable();
    let (Some(median), Some(worst)) = (times.get(times.len() / 2), times.last()) else {
        return ExitCode::FAILURE;
    };
    println!("median {}, worst {}", ms(*median), ms(*worst));
    match all_complete && *median < Duration::from_secs(1) && *worst < Duration::from_secs(10) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
