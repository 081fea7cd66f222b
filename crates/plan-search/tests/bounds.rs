//! Problems too large to try all plans: bounds exclude no plan, and annealing finds no other plans, than a search without them.

use crate::drawn;
use crate::fabric;

use drawn::Family;
use plan_search::{Goal, Problem, Progress, Stop, Switches, search_with};

fn front(problem: &Problem, switches: Switches) -> Vec<Vec<i64>> {
    let found = search_with(problem, &Goal::Front, switches, &mut |_| Stop::No);
    assert!(found.is_complete);
    found.plans.into_iter().map(|(cost, _)| cost).collect()
}

#[test]
fn prices_leave_nothing_out() {
    let mut plans = 0;
    for seed in (1..=12).chain(152..=163) {
        let problem = drawn::problem(seed, 12 + seed as usize % 5, 1, [10, 7][seed as usize % 2]);
        let of = |few: u64| {
            let switches = Switches { few, alone: 0, placements: Some(0), ..Switches::default() };
            front(&problem, switches)
        };
        // As many labels as it takes: no prices are made.
        let all = of(u64::MAX);
        plans += all.len();
        assert_eq!(of(0), all, "seed {seed}");
    }
    assert!(plans > 100, "{plans}");
}

/// Few large classes, all of whose functions use area: bounds from sets of regions on equal devices, and plans found by annealing, exclude no plan.
#[test]
fn sets_of_regions_leave_nothing_out() {
    let mut plans = 0;
    for seed in 1..=12 {
        let [switches, devices] = if seed % 3 == 0 { [2, 8] } else { [1, 10] };
        let gigabits = if seed % 2 == 0 { 10 } else { 100 };
        let regions = 6 + seed as usize % 3;
        let family = Family { regions, switches, gigabits, devices, classes: 4, is_dense: true };
        let problem = drawn::of_family(seed, &family);
        let of = |few: u64, near: i64| {
            let switches = Switches { few, near, alone: 0, placements: Some(0), ..Switches::default() };
            front(&problem, switches)
        };
        // As many labels as it takes: no prices are made.
        let all = of(u64::MAX, 0);
        plans += all.len();
        assert_eq!([of(0, 0), of(0, 50), of(0, 300)], [all.clone(), all.clone(), all], "seed {seed}");
    }
    assert!(plans > 40, "{plans}");
}

/// Looking for plans that are near others first leaves nothing out in the end.
#[test]
fn near_plans_first_leave_nothing_out() {
    let mut plans = 0;
    for seed in (1..=8).chain(152..=159) {
        let problem = drawn::problem(seed, 10 + seed as usize % 4, 1, [10, 7][seed as usize % 2]);
        let of = |near: i64| front(&problem, Switches { few: 3, near, ..Switches::default() });
        let all = of(0);
        plans += all.len();
        assert_eq!([of(50), of(500)], [all.clone(), all], "seed {seed}");
    }
    assert!(plans > 50, "{plans}");
}

/// A plan that covers a set of plans is kept although a plan that was found before is within 5 % of it: that one may be too far from what the set could have.
#[test]
fn plans_near_all_others_are_found_within_a_number_of_looks() {
    let family = Family { regions: 12, switches: 1, gigabits: 100, devices: 16, classes: 4, is_dense: true };
    let switches = Switches { few: 3, near: 50, look: u64::MAX, ..Switches::default() };
    let gap_after = |most: u32, seed: u64| {
        let mut looks = 0;
        let mut watch = |_: &Progress| {
            looks += 1;
            if looks > most { Stop::Yes } else { Stop::No }
        };
        search_with(&drawn::of_family(seed, &family), &Goal::Front, switches, &mut watch).gap
    };
    assert!((1..=60).contains(&gap_after(100, 2)));
    // Half as many looks suffice for another problem.
    assert!((1..=60).contains(&gap_after(50, 1)));
}

#[test]
fn placements_leave_nothing_out() {
    let of_fabrics = (1..=14).chain(17..=24).map(|seed| fabric::problem(seed, 2, 5 + seed as i64 % 3, 10));
    let of_narrow_fabrics =
        [3, 4, 5, 6, 7, 9, 11, 13, 14, 18, 20].map(|seed| fabric::problem(seed, 2, 5 + seed as i64 % 3, 2));
    let of_stars = (1..=12).map(|seed| drawn::problem(seed, 9, 1, 10));
    let of_rings = (1..=12).map(|seed| drawn::problem(seed, 8, 4, 10));
    let mut plans = 0;
    let step = if features::is_long() { 1 } else { 5 };
    let all = of_fabrics.chain(of_narrow_fabrics).chain(of_stars).chain(of_rings);
    for (at, problem) in all.enumerate().step_by(step) {
        let of = |placements: u64| {
            let switches = Switches { few: 0, placements: Some(placements), ..Switches::default() };
            front(&problem, switches)
        };
        let all = of(0);
        plans += all.len();
        // Two hundred do not always suffice; the rest is searched without them.
        assert_eq!([of(u64::MAX), of(200)], [all.clone(), all], "problem {at}");
    }
    assert!(plans > 200 / step, "{plans}");
}
