//! Few large classes: 20 and 40 regions on 64 to 256 devices, three classes of helpers.
//!
//! Every class of helpers offers all functions, all use area, and devices of one class are equal: many plans cost nearly the same, and an exact front takes
//! long. What counts is how soon plans are known to be near all others.

use crate::drawn::{Family, of_family};
use crate::ms;
use plan_search::{Found, Goal, Problem, Progress, Stop, search_near};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

pub fn run(switches: usize, gigabits: u64) -> ExitCode {
    let mut all_near = true;
    for regions in [20, 40] {
        for devices in [64, 128, 256] {
            let family = Family { regions, switches, gigabits, devices, classes: 4, is_dense: true };
            for seed in SEEDS {
                let problem = of_family(seed, &family);
                let told = [2, 8].map(|seconds| {
                    let (found, time) = near(&problem, Duration::from_secs(seconds));
                    all_near &= found.gap <= 50;
                    format!("{} plans within {} after {}", found.plans.len(), gap(&found), ms(time))
                });
                println!("{regions} regions, {devices} devices, {seed}: {}", told.join("; "));
            }
        }
    }
    if all_near { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn gap(found: &Found) -> String {
    match found.gap {
        0 => "0 %".to_string(),
        i64::MAX => "an unknown gap".to_string(),
        gap => format!("{}.{} %", gap / 10, gap % 10),
    }
}

#[allow(clippy::disallowed_methods)]
fn near(problem: &Problem, limit: Duration) -> (Found, Duration) {
    let start = Instant::now();
    let mut watch = |_: &Progress| if start.elapsed() > limit { Stop::Yes } else { Stop::No };
    let found = search_near(problem, &Goal::Front, &mut watch);
    (found, start.elapsed())
}
