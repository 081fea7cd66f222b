//! Problems by seed: regions with branches, 64 devices or more in 4 or 8 classes, 3 objectives.
//!
//! A switch with helpers of seven or three classes, or four switches in a ring with as many each. A region needs one or two of twelve functions; a class offers some of them, slower and
//! cheaper or faster and dearer, in two tiers of rate; a third of what is offered uses area, of which a device has 100 %.

use base_time::Rng;
use plan_model::{
    App, Bound, Change, Compare, Device, Edge, Effect, Factor, Link, Model, Port, Region, Role, Rule, Scope,
    Signature, Unit, Variable,
};
use plan_search::{Objective, Problem, Scopes, Settings, Tiers};

const FUNCTIONS: usize = 12;

/// A family of problems.
#[derive(Clone, Copy)]
pub struct Family {
    /// Regions of the program.
    pub regions: usize,
    /// Switches: one, or a ring of them.
    pub switches: usize,
    /// Rate of the helpers' links in Gbit/s; the traffic has 2 Gbit/s.
    pub gigabits: u64,
    /// Devices, switches included.
    pub devices: usize,
    /// Classes, that of the switches included.
    pub classes: usize,
    /// Every class of helpers offers everything, and all that it offers uses area.
    pub is_dense: bool,
}

/// A problem with `regions` regions and `switches` switches; helpers have links of `gigabits` Gbit/s, the traffic has 2 Gbit/s.
pub fn problem(seed: u64, regions: usize, switches: usize, gigabits: u64) -> Problem {
    of_family(seed, &Family { regions, switches, gigabits, devices: 64, classes: 8, is_dense: false })
}

/// A problem of a family.
pub fn of_family(seed: u64, family: &Family) -> Problem {
    let helpers = family.classes - 1;
    let mut rng = Rng::new(seed);
    let r = &mut rng;
    let mut signature = Signature::default();
    let mut variable = |name: &str, unit: Unit, scope, role, initial: &str| {
        let initial = unit.parse(initial).unwrap_or(0);
        signature.add(Variable { name: name.into(), unit, scope, role, initial })
    };
    let latency = variable("Latency", Unit::Seconds, Scope::Path, Some(Role::Latency), "0");
    let rate = variable("Rate", Unit::BitsPerSecond, Scope::Path, Some(Role::Rate), "2Gbit/s");
    let power = variable("Power", Unit::Watts, Scope::Once, None, "0");
    let cost = variable("Cost", Unit::Plain, Scope::Once, None, "0");
    let full = Unit::Percent.parse("100").ok();
    let area = variable("Area", Unit::Percent, Scope::Device { limit: full }, None, "0");
    let steps = |unit: Unit, value: u64| unit.parse(&value.to_string()).unwrap_or(0);
    let mut rules = vec![];
    for class in 0..family.classes {
        // Class 0 are the switches: fast, and they can do little.
        let speed = if class == 0 { 1 } else { r.between(1, 6) };
        let watts = if class == 0 { 110 } else { 180 / speed + r.between(0, 40) };
        let price = if class == 0 { 10 } else { 14 / speed + r.between(1, 5) };
        for function in 0..FUNCTIONS {
            let offered = match class {
                0 => r.chance(1, 3),
                _ => r.chance(2, 3) || function % helpers == class - 1 || family.is_dense,
            };
            if !offered {
                continue;
            }
            let uses = class != 0 && (r.chance(1, 3) || family.is_dense);
            let used = if uses { r.between(10, 45) } else { 0 };
            let base = r.between(500, 4000) * speed;
            for (gigabits, slower) in [(3, 100), (10, 100 + r.between(5, 60))] {
                let nanoseconds = format!("{}ns", base * slower / 100);
                let add = |var, value| Effect { var, change: Change::Add(value) };
                let factor = Factor(Factor::ONE.0 / 100 * r.between(97, 103) as i64);
                let mut effects = vec![
                    add(latency, Unit::Seconds.parse(&nanoseconds).unwrap_or(0)),
                    add(power, steps(Unit::Watts, watts)),
                    add(cost, steps(Unit::Plain, price)),
                    add(area, steps(Unit::Percent, used)),
                ];
                if function % 4 == 0 {
                    effects.push(Effect { var: rate, change: Change::Multiply(factor) });
                }
                let value = steps(Unit::BitsPerSecond, gigabits * 1_000_000_000);
                rules.push(Rule {
                    name: format!("c{class} f{function} {gigabits}G").into(),
                    head: format!("f{function}").into(),
                    needs: vec![format!("c{class}").into()],
                    bounds: vec![Bound { var: rate, compare: Compare::Less, value }],
                    effects,
                    span: Default::default(),
                });
            }
        }
    }
    let (devices, links) = network(family, rate);
    let app = program(r, family.regions);
    let scopes = Scopes::new(&signature);
    let objectives = ["Latency", "Power", "Cost"].map(|n| Objective::parse(n, &signature, &scopes));
    let settings = Settings {
        tiers: Tiers::Tightest,
        one_region_per_device: false,
        routes: 2,
        objectives: objectives.into_iter().flatten().collect(),
        without: vec![],
        refused: vec![],
        wanted: vec![],
    };
    Problem::new(Model { signature, rules, apps: vec![app], devices, links }, settings)
        .unwrap_or_else(|found| panic!("{found:?}"))
}

/// Switches and helpers.
fn network(family: &Family, rate: plan_model::VarId) -> (Vec<Device>, Vec<Link>) {
    let Family { switches, gigabits, devices: all, classes, .. } = *family;
    let (mut devices, mut links) = (vec![], vec![]);
    let port = |gigabits: u64| Port {
        name: format!("{gigabits}G").into(),
        bounds: vec![Bound {
            var: rate,
            compare: Compare::Less,
            value: Unit::BitsPerSecond.parse(&format!("{gigabits}Gbit/s")).unwrap_or(0),
        }],
    };
    let each = (all - switches) / switches;
    for at in 0..switches {
        devices.push(Device {
            name: format!("switch{at}").into(),
            provides: vec!["c0".into()],
            forwards: true,
            is_host: true,
            ports: (0..each + 2).map(|at| port(if at < 2 { 100 } else { gigabits })).collect(),
            ..Device::default()
        });
    }
    let delay = |text: &str| Unit::Seconds.parse(text).unwrap_or(0);
    for at in 0..if switches > 1 { switches } else { 0 } {
        let next = (at + 1) % switches;
        links.push(Link { ends: [(at, 0), (next, 1)], delay: delay("500ns"), ..Link::default() });
    }
    for helper in 0..switches * each {
        let (switch, class) = (helper / each, 1 + helper % (classes - 1));
        links.push(Link {
            ends: [(switch, 2 + helper % each), (devices.len(), 0)],
            delay: delay("300ns"),
            ..Link::default()
        });
        devices.push(Device {
            name: format!("helper{helper}").into(),
            provides: vec![format!("c{class}").into()],
            is_host: true,
            ports: vec![port(gigabits)],
            ..Device::default()
        });
    }
    (devices, links)
}

/// A chain with branches that join again, beginning and ending at the first switch.
fn program(r: &mut Rng, count: usize) -> App {
    let mut app = App { name: "random".into(), ..App::default() };
    let edge = |from, to, percent: i64| Edge {
        from,
        to,
        bits: 0,
        share: Factor(Factor::ONE.0 / 100 * percent),
        passes: 0,
    };
    for at in 0..count {
        let is_end = at == 0 || at + 1 == count;
        let functions = if is_end { 0 } else { 1 + u64::from(r.chance(1, 4)) };
        let path = (0..functions).map(|_| format!("f{}", r.below(FUNCTIONS as u64)).into()).collect();
        app.regions.push(Region {
            name: format!("r{at}").into(),
            paths: vec![path],
            on: if is_end { vec![0] } else { vec![] },
            share: None,
            span: Default::default(),
        });
    }
    let mut at = 0;
    while at + 1 < count {
        if at + 4 < count && r.chance(1, 4) {
            // Two arms of one region each, and where they join.
            app.edges.extend([edge(at, at + 1, 60), edge(at, at + 2, 40)]);
            app.edges.extend([edge(at + 1, at + 3, 100), edge(at + 2, at + 3, 100)]);
            at += 3;
        } else {
            app.edges.push(edge(at, at + 1, 100));
            at += 1;
        }
    }
    app
}
