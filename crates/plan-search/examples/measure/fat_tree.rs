//! Ten programs on a fat tree, placed together.

use crate::fabric::problem;
use crate::{ms, shown, timed};
use std::process::ExitCode;
use std::time::Duration;

const PROGRAMS: usize = 10;
const STAGES: i64 = 12;

pub fn run(only: Option<u64>) -> ExitCode {
    let mut all_are_quick = true;
    for seed in only.map_or(1..=10, |only| only..=only) {
        let problem = problem(seed, PROGRAMS, STAGES, 10);
        let (found, time) = timed(&problem, Duration::from_secs(20));
        let state = if found.is_complete { "exact" } else { "given up" };
        let best = found.plans.first().map_or(String::new(), |(cost, _)| shown(&problem, cost));
        println!(
            "{seed:>4} {:>12}  {:>4} plans  {:>8} labels  {state}  {best}",
            ms(time),
            found.plans.len(),
            found.labels
        );
        all_are_quick &= found.is_complete && time < Duration::from_secs(5);
    }
    if all_are_quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
