//! Why there is no allocation: each change that is named is enough, and the least one.

use crate::drawn::draw;
use app_allocation::{Affinity, Effort, Limit, Objective, Problem, Relaxation, allocate, why_not};

fn is_possible(problem: &Problem) -> bool {
    allocate(problem, Objective::Latency, &Effort::EXACT).is_ok()
}

fn with(problem: &Problem, limit: Limit, more: u64) -> Problem {
    let mut changed = problem.clone();
    match limit {
        Limit::Switch(row) => changed.switch[row].capacity += more,
        Limit::Memory(class, row) => changed.classes[class].memory[row].capacity += more,
        Limit::Bits(class) => {
            changed.classes[class].bits = changed.classes[class].bits.map(|bits| bits + more)
        }
        Limit::Packets(class) => {
            changed.classes[class].packets = changed.classes[class].packets.map(|packets| packets + more);
        }
    }
    changed
}

#[test]
fn named_changes_are_enough_and_least() {
    const HUGE: u64 = 1 << 40;
    let (mut alone, mut capacities, mut others, mut together) = (0, 0, 0, 0);
    for seed in 2000..2800 {
        let problem = draw(seed).problem;
        let Some(why) = why_not(&problem, &Effort::EXACT) else {
            assert!(is_possible(&problem), "seed {seed}");
            continue;
        };
        assert!(!is_possible(&problem), "seed {seed}");
        for change in &why.relaxations {
            match change {
                Relaxation::Capacity(limit, more) => {
                    assert!(is_possible(&with(&problem, *limit, *more)), "seed {seed}: {change:?}");
                    assert!(!is_possible(&with(&problem, *limit, more - 1)), "seed {seed}: {change:?}");
                    capacities += 1;
                }
                Relaxation::Medium(app) => {
                    let mut changed = problem.clone();
                    changed.apps[*app].affinity = Affinity::Medium;
                    assert!(is_possible(&changed), "seed {seed}: {change:?}");
                    others += 1;
                }
                Relaxation::Flows(app, flows) => {
                    let mut changed = problem.clone();
                    changed.apps[*app].flows = problem.apps[*app].flows.first(*flows);
                    assert!(is_possible(&changed), "seed {seed}: {change:?}");
                    others += 1;
                }
                Relaxation::Traffic(part) => {
                    let found = allocate(&problem, Objective::Throughput, &Effort::EXACT).unwrap();
                    assert_eq!(found.throughput.iter().min(), Some(part), "seed {seed}");
                    others += 1;
                }
            }
        }
        alone += u32::from(!why.alone.is_empty());
        if why.conflict.is_empty() {
            assert!(!why.alone.is_empty(), "seed {seed}");
            continue;
        }
        // Without other rows there is no allocation; without one of these, too, there is.
        let mut only = problem.clone();
        for limit in all(&problem).filter(|limit| !why.conflict.contains(limit)) {
            only = with(&only, limit, HUGE);
        }
        assert!(!is_possible(&only), "seed {seed}: {:?}", why.conflict);
        for limit in &why.conflict {
            assert!(
                is_possible(&with(&only, *limit, HUGE)),
                "seed {seed}: {limit:?} of {:?} {problem:#?}",
                why.conflict
            );
        }
        if !why.together.is_empty() {
            together += 1;
            let changed =
                why.together.iter().fold(problem.clone(), |p, (limit, more)| with(&p, *limit, *more));
            assert!(is_possible(&changed), "seed {seed}: {:?}", why.together);
        }
    }
    assert!(
        alone > 50 && capacities > 50 && others > 50 && together > 3,
        "{alone} {capacities} {others} {together}"
    );
}

fn all(problem: &Problem) -> impl Iterator<Item = Limit> + '_ {
    let switch = (0..problem.switch.len()).map(Limit::Switch);
    switch.chain(problem.classes.iter().enumerate().flat_map(|(at, class)| {
        let memory = (0..class.memory.len()).map(move |row| Limit::Memory(at, row));
        memory.chain([Limit::Bits(at), Limit::Packets(at)])
    }))
}
