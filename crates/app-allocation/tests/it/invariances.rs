//! Changes that change nothing, and changes that make nothing worse.

use crate::drawn::draw;
use app_allocation::{Distribution, Effort, Objective, Problem, Quantum, allocate};

const SEEDS: std::ops::Range<u64> = 1000..1250;

/// The cost, or none.
fn cost(problem: &Problem) -> Option<i128> {
    allocate(problem, Objective::Latency, &Effort::EXACT).ok().map(|found| found.cost)
}

/// No allocation is worse than any.
fn is_no_worse(new: Option<i128>, old: Option<i128>) -> bool {
    new.unwrap_or(i128::MAX) <= old.unwrap_or(i128::MAX)
}

#[test]
fn the_order_of_apps_classes_and_rows_does_not_matter() {
    for seed in SEEDS {
        let problem = draw(seed).problem;
        let best = cost(&problem);
        let mut turned = problem.clone();
        turned.apps.reverse();
        assert_eq!(cost(&turned), best, "seed {seed}: apps");
        turned.classes.reverse();
        turned.apps.iter_mut().for_each(|app| app.at_classes.reverse());
        assert_eq!(cost(&turned), best, "seed {seed}: classes");
        turned.switch.reverse();
        for place in turned.apps.iter_mut().filter_map(|app| app.at_switch.as_mut().ok()) {
            place.fixed.reverse();
            place.objects.iter_mut().for_each(|object| object.row = turned.switch.len() - 1 - object.row);
        }
        assert_eq!(cost(&turned), best, "seed {seed}: memories");
    }
}

#[test]
fn two_halves_of_a_class_of_flows_are_the_class() {
    for seed in SEEDS {
        let drawn = draw(seed);
        let best = cost(&drawn.problem);
        let mut halved = drawn.problem.clone();
        for (app, quanta) in halved.apps.iter_mut().zip(&drawn.quanta) {
            let halves = |weight: &u64| [(quanta.flows, *weight), (quanta.flows, *weight)];
            let classes: Vec<(u64, u64)> = quanta.weights.iter().flat_map(halves).collect();
            app.flows = Distribution::classes(&classes).unwrap();
            // Twice as many flows of half the entries.
            app.quantum = Quantum::Flows(2 * quanta.flows);
            let places = std::iter::once(&mut app.at_switch).chain(&mut app.at_classes);
            for object in places.filter_map(|place| place.as_mut().ok()).flat_map(|place| &mut place.objects)
            {
                object.per_flow.1 *= 2;
            }
        }
        assert_eq!(cost(&halved), best, "seed {seed}");
        for (app, quanta) in halved.apps.iter_mut().zip(&drawn.quanta) {
            app.quantum = Quantum::Flows(quanta.flows);
        }
        assert!(is_no_worse(cost(&halved), best), "seed {seed}: smaller quanta");
    }
}

#[test]
fn more_room_and_fewer_flows_are_never_worse() {
    for seed in SEEDS {
        let problem = draw(seed).problem;
        let best = cost(&problem);
        let mut larger = problem.clone();
        larger.switch[0].capacity += 1;
        assert!(is_no_worse(cost(&larger), best), "seed {seed}: memory");
        let mut faster = problem.clone();
        faster
            .classes
            .iter_mut()
            .for_each(|class| class.packets = class.packets.map(|packets| packets + 100));
        assert!(is_no_worse(cost(&faster), best), "seed {seed}: rate");
        let mut finest = problem.clone();
        finest.apps.iter_mut().for_each(|app| app.quantum = Quantum::Flows(1));
        assert!(is_no_worse(cost(&finest), best), "seed {seed}: quanta");
        // As many as fit into each unit of memory is as good as any number, where the switch is faster and no rate limits.
        let mut auto = problem.clone();
        auto.classes.iter_mut().for_each(|class| (class.bits, class.packets) = (None, None));
        let mut single = auto.clone();
        for (auto, single) in auto.apps.iter_mut().zip(&mut single.apps) {
            (auto.quantum, single.quantum) = (Quantum::Auto, Quantum::Flows(1));
            if let Ok(place) = &mut auto.at_switch {
                place.latency = 1;
            }
            if let Ok(place) = &mut single.at_switch {
                place.latency = 1;
            }
        }
        assert_eq!(cost(&auto), cost(&single), "seed {seed}: steps");
    }
}

#[test]
fn a_helper_more_serves_no_class_worse() {
    for seed in SEEDS {
        let problem = draw(seed).problem;
        let Ok(before) = allocate(&problem, Objective::Throughput, &Effort::EXACT) else { continue };
        let mut more = problem.clone();
        // A part that does not grow takes memory on each helper.
        more.classes
            .iter_mut()
            .for_each(|class| class.memory.iter_mut().for_each(|row| row.capacity += 1000));
        more.classes[0].count += 1;
        let after = allocate(&more, Objective::Throughput, &Effort::EXACT).unwrap();
        assert!(after.throughput.iter().min() >= before.throughput.iter().min(), "seed {seed}");
    }
}
