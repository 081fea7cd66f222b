//! The search against an enumeration of all plans, on small random problems.
//!
//! The enumeration (`definition`) is written from `docs/planning.md` alone and shares no code with the search: it proves what
//! regions need, finds routes and adds up costs by itself. It knows no order of regions, no equal devices, no bounds on costs.
//! An earlier one took proofs from the search and had read its rule for tiers there, where a rule without bounds was never
//! compared with others: search and enumeration agreed on plans that the definition does not allow.

use crate::definition;
use crate::plans;
use crate::random;

use plan_search::{Fault, Front, Goal, Problem, Stop, Switches, judge, search_with};
use plans::every_plan;
use random::{cases, problem};

/// The front of all plans that keep all bounds; none if there are too many.
fn enumerate(problem: &Problem) -> Option<Front<()>> {
    let mut front = Front::default();
    let is_all = definition::every(problem, &mut |_, cost| {
        front.add(cost, ());
    });
    is_all.then_some(front)
}

/// The judge and the definition agree on plans that keep all bounds and on plans that do not.
#[test]
fn the_judge_keeps_to_the_definition() {
    let (mut kept, mut broken) = (0, 0);
    for seed in 0..cases() / 4 {
        let problem = problem(seed);
        let mut count = 0;
        every_plan(&problem, &mut |plan| {
            count += 1;
            if count % 64 == 1 {
                let judged = judge(&problem, plan).unwrap();
                let cost = definition::cost(&problem, plan);
                kept += u64::from(cost.is_some());
                broken += u64::from(cost.is_none());
                assert_eq!(
                    judged.violations.is_empty().then_some(judged.cost),
                    cost,
                    "seed {seed}: {plan:?}"
                );
            }
        });
    }
    assert!(kept > cases() / 4 && broken > cases() / 4, "{kept} kept, {broken} broken");
}

fn costs<T>(front: Front<T>) -> Vec<Vec<i64>> {
    front.into_sorted().into_iter().map(|(cost, _)| cost).collect()
}

fn found(problem: &Problem, switches: Switches) -> Vec<Vec<i64>> {
    let found = search_with(problem, &Goal::Front, switches, &mut |_| Stop::No);
    assert!(found.is_complete);
    for (cost, plan) in &found.plans {
        let judged = judge(problem, plan).unwrap();
        assert_eq!(judged.violations, []);
        assert_eq!(&judged.cost, cost);
    }
    found.plans.into_iter().map(|(cost, _)| cost).collect()
}

#[test]
fn the_front_is_that_of_all_plans() {
    let (mut compared, mut points, mut impossible) = (0, 0, 0);
    for seed in 0..cases() {
        let problem = problem(seed);
        let Some(front) = enumerate(&problem) else { continue };
        let expected = costs(front);
        // Few of these problems are so large that plans would be left after what comes first: half of the time it is left out.
        let is_whole = seed / 3 % 2 == 0;
        let switches = Switches {
            dives: is_whole,
            few: if is_whole { 250 } else { 0 },
            // Then plans are looked for by their placements, or they are not.
            placements: Some(if is_whole || seed / 6 % 2 == 0 { 0 } else { 100_000 }),
            portion: [20_000, 1, 3][seed as usize % 3],
            ..Switches::default()
        };
        assert_eq!(found(&problem, switches), expected, "seed {seed}");
        compared += 1;
        points += expected.len();
        impossible += usize::from(expected.is_empty());
    }
    assert!(compared > cases() * 9 / 10, "{compared} compared");
    assert!(points > compared as usize / 2 && impossible > 0, "{points} points, {impossible} impossible");
}

/// If the best placement is refused repeatedly, the next best is found.
#[test]
fn refused_placements_are_replaced() {
    let mut refusals = 0;
    for seed in 0..cases() / 4 {
        let mut problem = problem(seed);
        for _ in 0..3 {
            let all = search_with(&problem, &Goal::Front, Switches::default(), &mut |_| Stop::No);
            let Some((_, plan)) = all.plans.into_iter().next() else { break };
            let mut settings = problem.settings.clone();
            settings.refused.push(plan.device);
            problem = Problem::new(problem.model.clone(), settings).unwrap();
            let Some(front) = enumerate(&problem) else { break };
            assert_eq!(found(&problem, Switches::default()), costs(front), "seed {seed}");
            refusals += 1;
        }
    }
    assert!(refusals > cases() / 4, "{refusals} refusals");
}

#[test]
fn a_goal_gives_the_best_of_the_front() {
    for seed in 0..cases() / 4 {
        let problem = problem(seed);
        let front = found(&problem, Switches::default());
        let first = search_with(&problem, &Goal::First, Switches::default(), &mut |_| Stop::No);
        assert_eq!(first.plans.first().map(|(cost, _)| cost), front.first(), "seed {seed}");
        let weights: Vec<i64> = (1..=problem.settings.objectives.len() as i64).collect();
        let sum = |cost: &[i64]| -> i64 { cost.iter().zip(&weights).map(|(c, w)| c * w).sum() };
        let goal = Goal::Weighted(weights.clone());
        let best = search_with(&problem, &goal, Switches::default(), &mut |_| Stop::No);
        let least = front.iter().map(|cost| sum(cost)).min();
        assert_eq!(best.plans.first().map(|(cost, _)| sum(cost)), least, "seed {seed}");
    }
}

/// A search that is stopped at any point returns plans, and no plan is below its lower bound.
#[test]
fn a_stopped_search_gives_the_best_so_far() {
    // Without those that are whole but not yet ordered when it is stopped, a fifth would have plans.
    let (mut stopped, mut with_plans, mut known) = (0, 0, 0);
    for seed in 0..cases() / 4 {
        let problem = problem(seed);
        let front = found(&problem, Switches::default());
        let near = [0, 50, 300][seed as usize % 3];
        // Plans that are near others are looked for where few labels do not suffice.
        let few = if near > 0 { 3 } else { 250 };
        let switches = Switches { look: 1, portion: 3, near, few, ..Switches::default() };
        for asks in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89] {
            let mut asked = 0;
            let some = search_with(&problem, &Goal::Front, switches, &mut |_| {
                asked += 1;
                if asked < asks { Stop::No } else { Stop::Yes }
            });
            if some.is_complete {
                assert_eq!(
                    some.plans.iter().map(|(cost, _)| cost).collect::<Vec<_>>(),
                    front.iter().collect::<Vec<_>>()
                );
                break;
            }
            for (cost, plan) in &some.plans {
                let judged = judge(&problem, plan).unwrap();
                assert_eq!((judged.violations, &judged.cost), (vec![], cost), "seed {seed}");
            }
            for cost in &front {
                assert!(some.least.iter().zip(cost).all(|(least, c)| least <= c), "seed {seed} after {asks}");
            }
            let is_near = |cost: &Vec<i64>| {
                let raised =
                    cost.iter().map(|c| i128::from(*c) * 1000 + i128::from(*c).abs() * i128::from(some.gap));
                let raised: Vec<i128> = raised.collect();
                some.plans
                    .iter()
                    .any(|(near, _)| near.iter().zip(&raised).all(|(c, r)| i128::from(*c) * 1000 <= *r))
            };
            assert!(
                some.gap == i64::MAX || front.iter().all(is_near),
                "seed {seed} after {asks}: not within {}",
                some.gap
            );
            known += u64::from(some.gap < i64::MAX);
            stopped += 1;
            with_plans += u64::from(!some.plans.is_empty());
        }
    }
    assert!(
        stopped > cases() / 4 && with_plans * 100 > stopped * 22 && known * 100 > stopped * 5,
        "{stopped} stopped, {with_plans} with plans, {known} with a known gap"
    );
}

#[test]
fn a_mistake_in_dominance_is_noticed() {
    for fault in [Fault::States, Fault::Uses, Fault::Loads, Fault::Owed, Fault::Places] {
        // Without bounds, which are computed from other figures and would drop plans that a fault keeps.
        let switches = Switches { bounds: false, fault: Some(fault), ..Switches::default() };
        let right = Switches { bounds: false, ..Switches::default() };
        let differs = |seed: &u64| {
            let problem = problem(*seed);
            found(&problem, switches) != found(&problem, right)
        };
        let first = (0..cases()).find(differs);
        assert!(first.is_some(), "{fault:?} is not noticed");
    }
}
