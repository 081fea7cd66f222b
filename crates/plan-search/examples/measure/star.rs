//! Few large classes: 20 and 40 regions on 64 and 256 devices, three classes of helpers.
//!
//! Every class of helpers offers all functions, all use area, and devices of one class are equal: many plans cost nearly the same, and an exact front takes
//! long. The measure is how soon plans are known to be near all others.

use crate::drawn::{Family, of_family};
use crate::{Timer, ms};
use plan_search::{Found, Goal, Problem, Progress, Stop, search_near};
use std::process::ExitCode;
use std::time::Duration;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;
/// A gap that is near, in thousandths.
const NEAR: i64 = 50;

/// All problems, or the one of `which`: regions, devices, seed, and the seconds after which the search is stopped.
pub fn run(switches: usize, gigabits: u64, which: &[&str]) -> ExitCode {
    let family =
        |regions, devices| Family { regions, switches, gigabits, devices, classes: 4, is_dense: true };
    let mut all_near = true;
    if let [regions, devices, seed, seconds] = which {
        let (Ok(regions), Ok(devices), Ok(seed), Ok(seconds)) =
            (regions.parse(), devices.parse(), seed.parse(), seconds.parse())
        else {
            return ExitCode::from(2);
        };
        let problem = of_family(seed, &family(regions, devices));
        let (found, time) = near(&problem, Duration::from_secs(seconds));
        println!("{}, {} partial plans", summary(&found, time), found.labels);
        return if found.gap <= NEAR { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    for regions in [20, 40] {
        let mut gaps = vec![];
        for devices in [64, 256] {
            for seed in SEEDS {
                let problem = of_family(seed, &family(regions, devices));
                let (soon, time) = near(&problem, Duration::from_secs(2));
                let mut text = summary(&soon, time);
                if !soon.is_complete {
                    let (later, time) = near(&problem, Duration::from_secs(8));
                    text += &format!("; {}", summary(&later, time));
                }
                println!("{regions} regions, {devices} devices, {seed}: {text}");
                gaps.push(soon.gap);
            }
        }
        gaps.sort_unstable();
        let median = gaps[gaps.len() / 2];
        println!("{regions} regions: median gap after 2 s {}", percent(median));
        all_near &= median <= NEAR;
    }
    if all_near { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary(found: &Found, time: Duration) -> String {
    format!("{} plans within {} after {}", found.plans.len(), percent(found.gap), ms(time))
}

fn percent(gap: i64) -> String {
    match gap {
        i64::MAX => "an unknown gap".to_string(),
        gap => format!("{}.{} %", gap / 10, gap % 10),
    }
}

fn near(problem: &Problem, limit: Duration) -> (Found, Duration) {
    let start = Timer::start();
    let mut watch = |_: &Progress| if start.elapsed() > limit { Stop::Yes } else { Stop::No };
    let found = search_near(problem, &Goal::Front, &mut watch);
    (found, start.elapsed())
}
