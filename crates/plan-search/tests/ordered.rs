//! Plans one after the other, against all placements of small random problems.

use crate::definition;
use crate::random;

use plan_search::{Goal, Ordered, Problem, Progress, Stop};
use random::{cases, problem};
use std::collections::{BTreeMap, BTreeSet};

/// Rearrangements of the devices after which the model is the same.
fn symmetries(problem: &Problem) -> Vec<Vec<usize>> {
    let model = &problem.model;
    let mut all = vec![];
    permute(&mut (0..model.devices.len()).collect(), 0, &mut all);
    let links = |as_: &[usize]| {
        let end = |(device, port): (usize, usize)| {
            (as_[device], format!("{:?}", model.devices[device].ports[port].bounds))
        };
        let mut links: Vec<_> = model
            .links
            .iter()
            .map(|link| {
                let mut ends = link.ends.map(end);
                ends.sort();
                (ends, link.delay, link.rate, link.longest, link.overhead, link.shortest)
            })
            .collect();
        links.sort();
        links
    };
    let is_same = |as_: &Vec<usize>| {
        let own: Vec<usize> = (0..model.devices.len()).collect();
        let figures = |d: usize| {
            let device = &model.devices[d];
            (
                &device.provides,
                device.forwards,
                device.is_host,
                &device.limits,
                &device.bounds,
                &device.charges,
                device.frames,
            )
        };
        own.iter().all(|d| figures(*d) == figures(as_[*d]) && (!model.devices[*d].forwards || as_[*d] == *d))
            && links(as_) == links(&own)
            && model
                .apps
                .iter()
                .flat_map(|app| &app.regions)
                .all(|region| region.on.iter().all(|d| region.on.contains(&as_[*d])))
    };
    all.retain(is_same);
    all
}

/// Exchanges of devices that forward nothing, after which every placement has the same cost.
fn exchanges(problem: &Problem, table: &Table) -> Vec<Vec<usize>> {
    let mut all = vec![];
    permute(&mut (0..problem.model.devices.len()).collect(), 0, &mut all);
    let stays = |as_: &[usize]| (0..as_.len()).all(|d| !problem.model.devices[d].forwards || as_[d] == d);
    let image = |as_: &[usize], placement: &[usize]| placement.iter().map(|d| as_[*d]).collect::<Vec<_>>();
    all.retain(|as_| stays(as_) && table.iter().all(|(p, cost)| table.get(&image(as_, p)) == Some(cost)));
    all
}

fn permute(list: &mut Vec<usize>, from: usize, all: &mut Vec<Vec<usize>>) {
    if from == list.len() {
        all.push(list.clone());
    }
    for at in from..list.len() {
        list.swap(from, at);
        permute(list, from + 1, all);
        list.swap(from, at);
    }
}

/// Sort key of plans.
fn key(goal: &Goal, cost: &[i64]) -> Vec<i64> {
    match goal {
        Goal::Weighted(weights) => {
            let sum = cost.iter().zip(weights).map(|(cost, weight)| cost * weight).sum();
            [sum].into_iter().chain(cost.iter().copied()).collect()
        }
        _ => cost.to_vec(),
    }
}

/// Best cost of each placement.
type Table = BTreeMap<Vec<usize>, Vec<i64>>;

fn table(problem: &Problem, goal: &Goal) -> Option<Table> {
    let mut best = Table::new();
    let is_all = definition::every(problem, &mut |choice, cost| {
        let known = best.entry(choice.device.clone()).or_insert_with(|| cost.clone());
        if key(goal, &cost) < key(goal, known) {
            *known = cost;
        }
    });
    is_all.then_some(best)
}

fn least(symmetries: &[Vec<usize>], placement: &[usize]) -> Vec<usize> {
    let images = symmetries.iter().map(|as_| placement.iter().map(|d| as_[*d]).collect::<Vec<_>>());
    images.min().unwrap_or_default()
}

fn all(ordered: &mut Ordered) -> Vec<(Vec<i64>, Vec<usize>)> {
    let mut given = vec![];
    while let Some((cost, plan)) = ordered.next(&mut |_: &Progress| Stop::No) {
        assert_eq!(definition::cost(ordered.problem(), &plan).as_ref(), Some(&cost), "it is what it costs");
        given.push((cost, plan.device));
    }
    given
}

#[test]
fn all_plans_come_once_and_in_order() {
    let (mut compared, mut plans) = (0, 0);
    for seed in 0..cases() / 5 {
        let objectives = problem(seed).settings.objectives.len() as i64;
        let goal = [Goal::First, Goal::Weighted((1..=objectives).rev().collect())][seed as usize % 2].clone();
        let Some(table) = table(&problem(seed), &goal) else { continue };
        let mut ordered = Ordered::new(problem(seed), goal.clone(), usize::MAX);
        let given = all(&mut ordered);
        assert!(ordered.is_complete());
        assert!(given.is_sorted_by_key(|(cost, _)| key(&goal, cost)), "seed {seed}");
        assert!(given.iter().all(|(cost, placement)| table.get(placement) == Some(cost)), "seed {seed}");
        // Nothing comes twice, not with equal devices exchanged either.
        let equal = symmetries(&problem(seed));
        let orbits: BTreeSet<_> = given.iter().map(|(_, placement)| least(&equal, placement)).collect();
        assert_eq!(orbits.len(), given.len(), "seed {seed}");
        // A placement that is left out equals another one with devices exchanged that make no difference to any plan.
        let alike = exchanges(&problem(seed), &table);
        let orbits: BTreeSet<_> = given.iter().map(|(_, placement)| least(&alike, placement)).collect();
        let missing = table.keys().find(|placement| !orbits.contains(&least(&alike, placement)));
        assert_eq!(missing, None, "seed {seed}");
        compared += 1;
        plans += given.len();
    }
    assert!(compared > cases() / 6 && plans as u64 > 4 * cases() / 5, "{compared} compared, {plans} plans");
}

/// None of the wanted plans is missing; after them the search reports that it does not know.
#[test]
fn only_what_is_wanted_is_kept() {
    let mut cut_short = 0;
    for seed in 0..cases() / 10 {
        let everything = all(&mut Ordered::new(problem(seed), Goal::First, usize::MAX));
        let mut ordered = Ordered::new(problem(seed), Goal::First, 2);
        let given = all(&mut ordered);
        assert!(given.len() >= everything.len().min(2), "seed {seed}");
        assert_eq!(given, everything[..given.len()], "seed {seed}");
        assert_eq!(ordered.is_complete(), given.len() == everything.len(), "seed {seed}");
        cut_short += u64::from(!ordered.is_complete());
    }
    assert!(cut_short > cases() / 100, "{cut_short}");
}
