//! The problem as ExoPlane's section 5 has it, one variable for each quantum, with the corrections of `docs/internals/allocation.md`: every assignment is tried.

use crate::drawn::{Drawn, draw};
use app_allocation::{Affinity, Effort, NoAllocation, Objective, Place, Problem, allocate};
use base_time::Rng;

/// An assignment of all quanta: latency in weights * thousandths * picoseconds, and what each place is asked for.
#[derive(Clone, Default)]
struct Assigned {
    latency: u64,
    /// By row: the switch's memories.
    switch: Vec<u64>,
    /// By class: memories, packets, bits.
    classes: Vec<(Vec<u64>, u64, u64)>,
}

/// Every assignment that the memories and affinities allow.
fn assignments(drawn: &Drawn) -> Vec<Assigned> {
    let problem = &drawn.problem;
    let none = Assigned {
        switch: vec![0; problem.switch.len()],
        classes: problem.classes.iter().map(|class| (vec![0; class.memory.len()], 0, 0)).collect(),
        ..Assigned::default()
    };
    let mut all = vec![none];
    for at in 0..problem.apps.len() {
        let options = app(drawn, at);
        let with = |before: &Assigned| options.iter().map(|own| sum(before, own)).collect::<Vec<_>>();
        all = all.iter().flat_map(with).filter(|assigned| fits(problem, assigned)).collect();
    }
    all
}

fn sum(a: &Assigned, b: &Assigned) -> Assigned {
    let add = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<u64>>();
    let classes = a.classes.iter().zip(&b.classes);
    Assigned {
        latency: a.latency + b.latency,
        switch: add(&a.switch, &b.switch),
        classes: classes.map(|(a, b)| (add(&a.0, &b.0), a.1 + b.1, a.2 + b.2)).collect(),
    }
}

fn fits(problem: &Problem, assigned: &Assigned) -> bool {
    let switch = problem.switch.iter().zip(&assigned.switch).all(|(row, used)| *used <= row.capacity);
    let classes = problem.classes.iter().zip(&assigned.classes).all(|(class, (used, ..))| {
        let each = used.iter().zip(&class.memory);
        // Used * (1 + imbalance) <= count * capacity, in millionths.
        each.into_iter()
            .all(|(used, row)| used * (1_000_000 + class.imbalance) <= class.count * row.capacity * 1_000_000)
    });
    switch && classes
}

/// All subsets of an app's quanta at the switch, with each class for the others.
fn app(drawn: &Drawn, at: usize) -> Vec<Assigned> {
    let (problem, quanta) = (&drawn.problem, &drawn.quanta[at]);
    let app = &problem.apps[at];
    let all = quanta.weights.len() as u32;
    let mut found = vec![];
    for chosen in 0..1u32 << all {
        let is_allowed = match app.affinity {
            Affinity::High => chosen.count_ones() == all,
            Affinity::Medium => true,
            Affinity::Low => chosen == 0,
        };
        if !is_allowed || (chosen > 0 && app.at_switch.is_err()) {
            continue;
        }
        let share =
            (0..all as usize).filter(|q| chosen >> q & 1 == 1).map(|q| quanta.weights[q]).sum::<u64>();
        let mut here = Assigned {
            switch: vec![0; problem.switch.len()],
            classes: problem.classes.iter().map(|class| (vec![0; class.memory.len()], 0, 0)).collect(),
            ..Assigned::default()
        };
        if let Ok(place) = &app.at_switch
            && (chosen > 0 || place.stays)
        {
            let flows = if chosen > 0 { u64::from(chosen.count_ones()) * quanta.flows } else { 1 };
            here.switch = memory(place, problem.switch.len(), flows, 1);
            here.latency = app.weight * share * place.latency;
        }
        if app.affinity == Affinity::High {
            found.push(here);
            continue;
        }
        for (number, (class, place)) in problem.classes.iter().zip(&app.at_classes).enumerate() {
            let Ok(place) = place else { continue };
            let mut there = here.clone();
            there.latency += app.weight * (1000 - share) * place.latency;
            let copies = u64::from(all) * quanta.flows * (1 + app.replicas);
            // Traffic is 1000 packets for each weight.
            let packets = app.weight * (1000 - share);
            there.classes[number] =
                (memory(place, class.memory.len(), copies, class.count), packets, packets * app.packet_bits);
            found.push(there);
        }
    }
    found
}

/// Some of the programs are at the switch without flows, too.
fn drawn(seed: u64) -> Drawn {
    let mut drawn = draw(seed);
    let mut rng = Rng::new(seed).split("stays");
    for place in drawn.problem.apps.iter_mut().filter_map(|app| app.at_switch.as_mut().ok()) {
        place.stays = rng.chance(1, 3);
    }
    drawn
}

/// Units of each memory, the part that does not grow on each of `places`.
pub fn memory(place: &Place, rows: usize, flows: u64, places: u64) -> Vec<u64> {
    let mut units: Vec<u64> = (0..rows).map(|row| place.fixed[row] * places).collect();
    for object in &place.objects {
        let (number, of) = object.per_flow;
        let mut entries = (flows * number).div_ceil(of);
        if let Some(most) = object.most {
            entries = entries.min(most);
        }
        let blocks =
            (1..).find(|blocks| (blocks - 1) * object.block >= entries || blocks * object.block >= entries);
        let blocks = if entries == 0 { 0 } else { blocks.unwrap() };
        units[object.row] += blocks * object.units;
    }
    units
}

/// The part of its traffic that each class takes, in billionths.
fn parts(problem: &Problem, assigned: &Assigned) -> Vec<u64> {
    let class = |(class, (_, packets, bits)): (&app_allocation::Class, &(Vec<u64>, u64, u64))| {
        let part = |rate: Option<u64>, load: u64| match rate {
            Some(rate) if load > 0 => {
                let rate = u128::from(rate) * u128::from(class.count) * 1_000_000
                    / (1_000_000 + u128::from(class.imbalance));
                u64::try_from(rate * 1_000_000_000 / u128::from(load)).unwrap_or(u64::MAX).min(1_000_000_000)
            }
            _ => 1_000_000_000,
        };
        part(class.packets, *packets).min(part(class.bits, *bits))
    };
    problem.classes.iter().zip(&assigned.classes).map(class).collect()
}

fn sorted(mut parts: Vec<u64>) -> Vec<u64> {
    parts.sort();
    parts
}

/// The latency in the unit of [`Assigned`].
pub fn cost(found: &app_allocation::Allocation) -> u64 {
    u64::try_from(found.cost / i128::from(app_allocation::ONE / 1000)).unwrap()
}

#[test]
fn the_least_latency_of_500_problems_is_that_of_the_definition() {
    let (mut possible, mut divided, mut loaded) = (0, 0, 0);
    for seed in 0..500 {
        let drawn = drawn(seed);
        let problem = &drawn.problem;
        let all = assignments(&drawn);
        let whole =
            all.iter().filter(|assigned| parts(problem, assigned).iter().all(|part| *part == 1_000_000_000));
        let best = whole.map(|assigned| assigned.latency).min();
        match (allocate(problem, Objective::Latency, &Effort::EXACT), best) {
            (Ok(found), Some(best)) => {
                assert_eq!(cost(&found), best, "seed {seed}: {problem:#?} {found:#?}");
                assert!(found.is_optimal);
                possible += 1;
                divided +=
                    u32::from(found.apps.iter().any(|app| app.share > 0 && app.share < app_allocation::ONE));
                loaded += u32::from(best > all.iter().map(|assigned| assigned.latency).min().unwrap());
            }
            (Err(NoAllocation::Impossible), None) => {}
            (found, best) => panic!("seed {seed}: {found:?}, {best:?}"),
        }
    }
    // The problems are not all trivial.
    assert!(possible > 200 && possible < 480 && divided > 40 && loaded > 20, "{possible} {divided} {loaded}");
}

/// A search that may end near the optimum says how near it is.
#[test]
fn a_result_is_proven_to_be_as_near_as_the_gap() {
    let effort = Effort { gap: 10_000_000, ..Effort::EXACT };
    let mut possible = 0;
    for seed in 0..500 {
        let problem = drawn(seed).problem;
        let Ok(exact) = allocate(&problem, Objective::Latency, &Effort::EXACT) else { continue };
        let found = allocate(&problem, Objective::Latency, &effort).expect("there is one");
        let (least, most) = (found.least_latency, found.latency);
        assert!(least <= exact.latency && exact.latency <= most, "seed {seed}: {found:?} {exact:?}");
        assert!(most - least <= most / 100 + 1, "seed {seed}: {found:?}");
        possible += 1;
    }
    assert!(possible > 200, "{possible}");
}

#[test]
fn the_fairest_throughput_of_500_problems_is_that_of_the_definition() {
    let mut overloaded = 0;
    for seed in 0..500 {
        let drawn = drawn(seed);
        let problem = &drawn.problem;
        let all = assignments(&drawn);
        let best = all.iter().map(|assigned| sorted(parts(problem, assigned))).max();
        match (allocate(problem, Objective::Throughput, &Effort::EXACT), best) {
            (Ok(found), Some(best)) => {
                assert_eq!(sorted(found.throughput.clone()), best, "seed {seed}: {problem:#?}");
                let is_as_fair = |assigned: &&Assigned| {
                    parts(problem, assigned).iter().zip(&found.throughput).all(|(part, found)| part >= found)
                };
                let fastest = all.iter().filter(is_as_fair).map(|assigned| assigned.latency).min();
                assert_eq!(Some(cost(&found)), fastest, "seed {seed}: {problem:#?}");
                overloaded += u32::from(best.iter().any(|part| *part < 1_000_000_000));
            }
            (Err(NoAllocation::Impossible), None) => {}
            (found, best) => panic!("seed {seed}: {found:?}, {best:?}"),
        }
    }
    assert!(overloaded > 50, "{overloaded}");
}
