//! Times of large allocations: `cargo bench -p app-allocation`. Figures of the paper (appendix D) stand beside them.
#![allow(clippy::disallowed_methods)]

#[path = "../tests/large.rs"]
mod large;

use app_allocation::{Effort, Objective, allocate};
use large::apps;
use std::time::Instant;

const ROUNDS: usize = 5;

fn main() {
    println!("apps     flows  memories  build and solve  latency     above the bound  paper");
    let rows: [(u64, u64, usize, &str); 9] = [
        (4, 1_000_000, 1, "54.5 ms"),
        (4, 5_000_000, 1, ""),
        (4, 10_000_000, 1, "4.1 s"),
        (16, 1_000_000, 1, ""),
        (64, 1_000_000, 1, ""),
        (64, 10_000_000, 1, ""),
        (4, 1_000_000, 3, ""),
        (16, 1_000_000, 3, ""),
        (64, 1_000_000, 3, ""),
    ];
    for (count, flows, memories, paper) in rows {
        let effort = if memories == 1 { Effort::EXACT } else { Effort { states: 1 << 14, gap: 1000 } };
        let mut best = f64::MAX;
        let mut found = None;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let problem = apps(count, flows, memories);
            found = allocate(&problem, Objective::Latency, &effort).ok();
            best = best.min(begun.elapsed().as_secs_f64());
        }
        let Some(found) = found else { continue };
        let gap = (found.latency - found.least_latency) as f64 / found.latency as f64;
        println!(
            "{count:>4} {flows:>9} {memories:>9} {:>13.2} ms {:>8.4} us {gap:>14.1e}   {paper}",
            best * 1e3,
            found.latency as f64 / 1e6,
        );
    }
}
