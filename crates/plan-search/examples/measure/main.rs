//! The planner's measures: `cargo run --release -p plan-search --example measure -- COMMAND`.
//!
//! ```text
//! flightplan DIR   the programs, networks and rules of Flightplan's planner, read from a directory that has
//!                  planner_config.json, devices.json, network_*.json, performance_tclust.csv and test_programs/
//! random [SEED]    20 seeded problems of 40 regions and 64 devices at one switch, links of 100 Gbit/s, or one of them
//! narrow [SEED]    the same with links of 10 Gbit/s to helpers
//! ring [SEED]      the same with four switches in a ring
//! star             12 problems of 20 and 40 regions on 64 and 256 devices in three classes of helpers: plans after 2 s and 8 s;
//!                  or one of them: star REGIONS DEVICES SEED SECONDS
//! star-narrow      the same with links of 10 Gbit/s to helpers
//! star-ring        the same with four switches in a ring
//! fat-tree [SEED]  ten problems of ten programs on a fat tree's 20 switches, or one of them
//! growth [FILE]    how the time grows with regions and programs, as a picture too
//! ```

mod drawn;
mod fabric;
mod fat_tree;
mod flightplan;
mod growth;
mod random;
mod star;

use plan_search::{Found, Goal, Problem, Progress, Stop, search};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["flightplan", directory] => flightplan::run(directory.as_ref()),
        ["random"] => random::run(1, 100, None),
        ["random", seed] => random::run(1, 100, seed.parse().ok()),
        ["narrow"] => random::run(1, 10, None),
        ["narrow", seed] => random::run(1, 10, seed.parse().ok()),
        ["ring"] => random::run(4, 100, None),
        ["ring", seed] => random::run(4, 100, seed.parse().ok()),
        ["star", which @ ..] => star::run(1, 100, which),
        ["star-narrow", which @ ..] => star::run(1, 10, which),
        ["star-ring", which @ ..] => star::run(4, 100, which),
        ["fat-tree"] => fat_tree::run(None),
        ["fat-tree", seed] => fat_tree::run(seed.parse().ok()),
        ["growth"] => growth::run(None),
        ["growth", file] => growth::run(Some(file)),
        _ => {
            eprintln!(
                "usage: measure flightplan DIR | random [SEED] | narrow [SEED] | ring [SEED] | star | star-narrow | star-ring [REGIONS DEVICES SEED SECONDS] | fat-tree [SEED] | growth [FILE]"
            );
            ExitCode::from(2)
        }
    }
}

/// The whole front, and the time of the search; stopped after `limit`.
fn timed(problem: &Problem, limit: Duration) -> (Found, Duration) {
    let start = Timer::start();
    let shows_progress = std::env::var_os("MEASURE_PROGRESS").is_some();
    let mut watch = |progress: &Progress| {
        if shows_progress {
            eprintln!("{:>8} us {progress:?}", start.elapsed().as_micros());
        }
        if start.elapsed() > limit { Stop::Yes } else { Stop::No }
    };
    let found = search(problem, &Goal::Front, &mut watch);
    (found, start.elapsed())
}

/// CPU time of this thread, so that other load does not count; wall-clock time where the system has no CPU clock.
struct Timer {
    start: Instant,
    used: Option<Duration>,
}

impl Timer {
    #[allow(clippy::disallowed_methods)]
    fn start() -> Timer {
        Timer { start: Instant::now(), used: used() }
    }

    fn elapsed(&self) -> Duration {
        match (used(), self.used) {
            (Some(now), Some(start)) => now - start,
            _ => self.start.elapsed(),
        }
    }
}

/// `/proc/thread-self/schedstat` begins with nanoseconds on a processor.
#[allow(clippy::disallowed_methods)]
fn used() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

/// A cost, objective by objective.
fn shown(problem: &Problem, cost: &[i64]) -> String {
    let values = cost.iter().enumerate().map(|(at, value)| problem.show(at, *value));
    values.collect::<Vec<_>>().join("  ")
}

fn ms(time: Duration) -> String {
    format!("{}.{:02} ms", time.as_micros() / 1000, time.as_micros() % 1000 / 10)
}
