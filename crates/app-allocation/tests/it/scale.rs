//! Large problems: the optimum against a plain dynamic program, and what several memories cost.

use crate::large::apps;
use app_allocation::{Effort, ONE, Objective, Problem, allocate};

/// The textbook's dynamic program over blocks.
fn program(problem: &Problem) -> i128 {
    let blocks = problem.switch[0].capacity as usize;
    let mut best: Vec<Option<i128>> = vec![Some(0); blocks + 1];
    for app in &problem.apps {
        let (Ok(here), Ok(there)) = (&app.at_switch, &app.at_classes[0]) else { continue };
        // Most flows for each number of blocks, by bisection.
        let flows = |blocks: u64| {
            let (mut low, mut high) = (0, app.flows.flows());
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if here.units(1, middle)[0] <= blocks { low = middle } else { high = middle - 1 }
            }
            low
        };
        let cost = |blocks: usize| {
            let share = app.flows.share(flows(blocks as u64));
            let all = u128::from(share) * u128::from(here.latency)
                + u128::from(ONE - share) * u128::from(there.latency);
            (all * u128::from(app.weight)) as i128
        };
        let costs: Vec<i128> = (0..=blocks).map(cost).collect();
        let next = |free: usize| (0..=free).filter_map(|own| Some(best[free - own]? + costs[own])).min();
        best = (0..=blocks).map(next).collect();
    }
    best[blocks].unwrap()
}

#[test]
fn large_optima_are_those_of_the_dynamic_program() {
    for (count, flows) in [(4, 10_000_000), (16, 1_000_000)] {
        let problem = apps(count, flows, 1);
        let found = allocate(&problem, Objective::Latency, &Effort::EXACT).unwrap();
        assert_eq!(found.cost, program(&problem), "{count} apps");
        assert!(found.is_optimal && found.used[0].used <= 960);
    }
}

/// With several memories, the bound shows how good a result is.
#[test]
fn several_memories_are_allocated_to_a_millionth() {
    let problem = apps(16, 1_000_000, 3);
    let effort = Effort { states: 4096, gap: 1000 };
    let found = allocate(&problem, Objective::Latency, &effort).unwrap();
    assert!((found.latency - found.least_latency) * 10_000 < found.latency, "{found:?}");
    assert!(found.used.iter().all(|used| used.used <= used.capacity));
}
