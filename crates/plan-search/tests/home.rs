//! Plans in one place against plans in all places.
//!
//! Each variant breaks one condition under which plans move home: then some plan elsewhere is better than all plans at home.

use crate::drawn;

use drawn::Family;
use plan_model::{Bound, Change, Compare, Effect, Model, Role, Unit};
use plan_search::{Goal, Problem, Stop, Switches, search_with};

/// The front, and the number of partial plans that it took.
fn front(problem: &Problem, symmetry: bool) -> (Vec<Vec<i64>>, u64) {
    // Dives find plans elsewhere before the sets are divided, so that a wrong home is not seen.
    let switches = Switches { symmetry, few: 0, placements: Some(0), dives: false, ..Switches::default() };
    let found = search_with(problem, &Goal::Front, switches, &mut |_| Stop::No);
    assert!(found.is_complete);
    (found.plans.into_iter().map(|(cost, _)| cost).collect(), found.labels)
}

fn steps(unit: Unit, text: &str) -> i64 {
    unit.parse(text).unwrap()
}

/// Helpers at the first switch are far from it.
fn far(model: &mut Model) {
    let first = model.links.iter_mut().filter(|link| link.ends[0].0 == 0 && link.ends[1].1 == 0);
    first.for_each(|link| link.delay = steps(Unit::Seconds, "3us"));
}

/// The switches receive little.
fn limited(model: &mut Model) {
    limit(model, "5Gbit/s");
}

fn limit(model: &mut Model, most: &str) {
    let rate = model.signature.role(Role::Rate).unwrap();
    let value = steps(Unit::BitsPerSecond, most);
    let switches = model.devices.iter_mut().take(2);
    switches.for_each(|switch| switch.bounds.push(Bound { var: rate, compare: Compare::AtMost, value }));
}

/// Packets that come late are processed faster.
fn late(model: &mut Model) {
    let latency = model.signature.role(Role::Latency).unwrap();
    let value = steps(Unit::Seconds, "2us");
    for rule in &mut model.rules {
        let of_latency = |effect: &&mut Effect| effect.var == latency;
        if rule.name.ends_with("10G") {
            rule.bounds = vec![Bound { var: latency, compare: Compare::Greater, value }];
            rule.effects.iter_mut().filter(of_latency).for_each(|effect| {
                effect.change = Change::Add(steps(Unit::Seconds, "100ns"));
            });
        }
    }
}

/// A switch has area for one region.
fn full(model: &mut Model) {
    let area = model.signature.find("Area").unwrap();
    let change = Change::Add(steps(Unit::Percent, "60"));
    let of_switches = model.rules.iter_mut().filter(|rule| rule.name.starts_with("c0 "));
    of_switches.for_each(|rule| rule.effects.push(Effect { var: area, change }));
}

#[test]
fn plans_at_home_are_as_good_as_plans_elsewhere() {
    let variants: [&dyn Fn(&mut Model); 5] = [&|_| {}, &far, &limited, &late, &full];
    let (mut plans, mut labels) = (0, [0; 2]);
    for seed in 1..=6 {
        let regions = 4 + seed as usize % 2;
        let family = Family { regions, switches: 2, gigabits: 100, devices: 10, classes: 4, is_dense: true };
        let drawn = drawn::of_family(seed, &family);
        for (at, change) in variants.iter().enumerate() {
            let mut model = drawn.model.clone();
            change(&mut model);
            let problem = Problem::new(model, drawn.settings.clone()).unwrap();
            let [all, home] = [false, true].map(|symmetry| front(&problem, symmetry));
            assert_eq!(home.0, all.0, "seed {seed}, variant {at}");
            plans += all.0.len();
            labels[0] += all.1;
            labels[1] += home.1;
        }
    }
    assert!(plans > 60 && labels[1] < labels[0], "{plans} plans, {labels:?}");
}

/// Each device runs one region that needs something, and only devices of a class do: the switches, or the helpers.
fn one_region_each(model: &mut Model, class: &str) {
    model.rules.retain(|rule| rule.name.starts_with("c1 "));
    let area = model.signature.find("Area").unwrap();
    for rule in &mut model.rules {
        rule.needs = vec![class.into()];
        rule.effects.retain(|effect| effect.var != area);
        rule.effects.push(Effect { var: area, change: Change::Add(steps(Unit::Percent, "60")) });
    }
}

/// Four regions on four helpers, between two at the first switch. With all helpers there, the switch receives four streams of 2 Gbit/s; with two
/// helpers at each switch, each switch receives three.
#[test]
fn plans_do_not_move_to_a_switch_that_receives_too_little() {
    moves(6, |model| {
        one_region_each(model, "c1");
        limit(model, "7Gbit/s");
    });
}

/// Two regions that only switches run, each of which has area for one.
#[test]
fn regions_of_switches_do_not_move_to_a_switch_without_area() {
    moves(4, |model| one_region_each(model, "c0"));
}

/// Fronts are the same with homes, and not all are empty.
fn moves(regions: usize, change: impl Fn(&mut Model)) {
    let family = Family { regions, switches: 2, gigabits: 100, devices: 10, classes: 2, is_dense: true };
    let mut plans = 0;
    for seed in 1..=8 {
        let drawn = drawn::of_family(seed, &family);
        let mut model = drawn.model;
        change(&mut model);
        let problem = Problem::new(model, drawn.settings).unwrap();
        let [all, home] = [false, true].map(|symmetry| front(&problem, symmetry).0);
        assert_eq!(home, all, "seed {seed}");
        plans += all.len();
    }
    assert!(plans > 0);
}
