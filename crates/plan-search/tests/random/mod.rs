//! Small random problems, and all their plans.

use base_time::Rng;
use plan_model::{
    App, Bound, Change, Compare, Device, Edge, Effect, Factor, Link, Model, Port, Region, Role, Rule, Scope,
    Signature, Unit, Variable,
};
use plan_search::{Objective, Problem, Scopes, Settings, Tiers};

/// More of them with `P4_PLAN_CASES`.
pub fn cases() -> u64 {
    features::setting("P4_PLAN_CASES", if features::is_long() { 2000 } else { 700 })
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[below(rng, from.len())].clone()
}

fn below(rng: &mut Rng, n: usize) -> usize {
    (rng.next_u64() % n.max(1) as u64) as usize
}

fn chance(rng: &mut Rng, percent: u64) -> bool {
    rng.next_u64() % 100 < percent
}

fn variable(name: &str, unit: Unit, scope: Scope, role: Option<Role>, initial: i64) -> Variable {
    Variable { name: name.into(), unit, scope, role, initial }
}

/// A star or two switches, some helpers, a program of a few regions, rules with tiers.
pub fn problem(seed: u64) -> Problem {
    let mut rng = Rng::new(seed);
    let r = &mut rng;
    // Of its own: the order in which paths come to their needs, and passes.
    let path_rng = &mut Rng::new(!seed);
    // Of their own, too: frames on the wire; rules without bounds, and with others' needs.
    let wires = &mut Rng::new(seed.rotate_left(16) ^ 0x6672_616d);
    let tiers = &mut Rng::new(seed.rotate_left(32) ^ 0x7169_6572);
    // Every fourth problem has a narrow link between two switches, and all helpers are at the second one.
    let is_narrow = seed % 4 == 3;
    let mut signature = Signature::default();
    let latency = signature.add(variable("Latency", Unit::Plain, Scope::Path, Some(Role::Latency), 0));
    let rate = signature.add(variable("Rate", Unit::Plain, Scope::Path, Some(Role::Rate), 100));
    let size = signature.add(variable("Size", Unit::Plain, Scope::Path, Some(Role::Size), 1000));
    let hops = signature.add(variable("Hops", Unit::Plain, Scope::Path, Some(Role::Hops), 0));
    signature.add(variable("Passes", Unit::Plain, Scope::Path, Some(Role::Recirculations), 0));
    let power = signature.add(variable("Power", Unit::Plain, Scope::Once, None, 0));
    let cost = signature.add(variable("Cost", Unit::Plain, Scope::Once, None, 0));
    let limit = (!chance(path_rng, 20)).then_some(10);
    let area = signature.add(variable("Area", Unit::Plain, Scope::Device { limit }, None, 0));
    let add = |var, value: i64| Effect { var, change: Change::Add(value) };
    let classes = ["S", "A", "B"];
    let functions = ["f", "g", "h"];
    let mut rules = vec![];
    for class in classes {
        let charges = (below(r, 4) as i64, below(r, 4) as i64);
        for function in functions {
            if chance(r, 12) {
                continue;
            }
            for tier in 0..1 + below(r, 2) {
                let mut effects = vec![
                    add(latency, below(r, 12) as i64),
                    Effect {
                        var: rate,
                        change: Change::Multiply(Factor(Factor::ONE.0 * (5 + below(r, 5) as i64) / 8)),
                    },
                    add(power, charges.0),
                    add(cost, charges.1 + i64::from(chance(r, 10))),
                    add(area, if !is_narrow && chance(r, 50) { below(r, 8) as i64 } else { 0 }),
                ];
                if chance(r, 8) {
                    effects.push(Effect { var: size, change: Change::Assign(500) });
                } else if chance(path_rng, 8) {
                    effects.push(add(size, 30));
                }
                let mut bounds = vec![Bound {
                    var: rate,
                    compare: Compare::Less,
                    value: [200, 101, 160][(tier + below(r, 2)) % 3],
                }];
                if chance(r, 15) {
                    bounds.push(Bound { var: size, compare: Compare::Greater, value: 600 });
                }
                let mut needs = vec![class.into()];
                if function == "h" && chance(r, 30) {
                    needs.push("f".into());
                }
                // Some for all packets, some for more kinds of them than one.
                match below(tiers, 10) {
                    0 | 1 => bounds.clear(),
                    2 => {
                        bounds.remove(0);
                        bounds.push(Bound { var: size, compare: Compare::AtMost, value: 1000 });
                    }
                    3 if function == "g" => needs.push("f".into()),
                    _ => {}
                }
                let name = format!("{class} {function} {tier}").into();
                rules.push(Rule {
                    name,
                    head: function.into(),
                    needs,
                    bounds,
                    effects,
                    span: Default::default(),
                });
            }
        }
    }
    let switches = if is_narrow { 2 } else { 1 + below(r, 2) };
    let helpers = 1 + below(r, 3);
    let mut devices = vec![];
    let mut links = vec![];
    let port = |r: &mut Rng| Port {
        name: "p".into(),
        bounds: match !is_narrow && chance(r, 40) {
            true => vec![Bound { var: rate, compare: Compare::Less, value: 150 + below(r, 400) as i64 }],
            false => vec![],
        },
    };
    for at in 0..switches {
        let ports = (0..8).map(|_| port(r)).collect();
        let bounds = match chance(r, 20) {
            true => vec![Bound { var: rate, compare: Compare::AtMost, value: 150 + below(r, 500) as i64 }],
            false => vec![],
        };
        devices.push(Device {
            name: format!("s{at}").into(),
            provides: vec!["S".into()],
            forwards: true,
            is_host: true,
            recirculates: chance(path_rng, 30),
            bounds,
            ports,
            ..Device::default()
        });
    }
    if chance(wires, 20) {
        devices[0].frames = Some(12 + below(wires, 40) as i64);
    }
    let few_frames = chance(wires, 15).then(|| 12 + below(wires, 40) as i64);
    let mut link = |r: &mut Rng, a: usize, b: usize, ports: (usize, usize), same: bool| {
        let is_narrow = is_narrow && a == 0 && b == 1;
        let rate = (is_narrow || !same && chance(r, 40)).then(|| 150 + below(r, 250) as i64);
        links.push(Link {
            ends: [(a, ports.0), (b, ports.1)],
            delay: if same { 1 } else { below(r, 3) as i64 },
            rate,
            longest: (!same && chance(r, 10)).then_some(1010),
            overhead: if same { 0 } else { pick(wires, &[0, 0, 24, 200]) },
            shortest: if same { 0 } else { pick(wires, &[0, 0, 0, 600, 1100]) },
            span: Default::default(),
        });
    };
    if switches == 2 {
        link(r, 0, 1, (7, 7), false);
    }
    let alike = !is_narrow && chance(r, 60);
    let class = pick(r, &classes[1..]);
    let shared = port(r);
    for at in 0..helpers {
        let class = if alike { class } else { pick(r, &classes[1..]) };
        let own = if alike { shared.clone() } else { port(r) };
        let limits = if !alike && chance(r, 20) { vec![(area, 6)] } else { vec![] };
        let charges = if !alike && chance(r, 20) { vec![add(power, 2)] } else { vec![] };
        devices.push(Device {
            name: format!("d{at}").into(),
            provides: vec![class.into()],
            is_host: true,
            limits,
            charges,
            frames: few_frames,
            ports: vec![own],
            ..Device::default()
        });
        if alike {
            devices[0].ports[1 + at] = shared.clone();
        }
        let to = if alike {
            0
        } else if is_narrow {
            1
        } else {
            below(r, switches)
        };
        link(r, to, switches + at, (1 + at, 0), alike);
    }
    let mut apps = vec![];
    for at in 0..1 + usize::from(chance(r, 15)) {
        let count = if at == 0 {
            2 + usize::from(is_narrow) + below(r, 3 - usize::from(is_narrow))
        } else {
            1 + below(r, 2)
        };
        let regions: Vec<Region> = (0..count)
            .map(|at| {
                let mut paths = vec![];
                for _ in 0..1 + below(r, 2) {
                    let mut wanted: Vec<&str> = functions.into_iter().filter(|_| chance(r, 35)).collect();
                    if chance(path_rng, 20) {
                        wanted.reverse();
                    }
                    if chance(path_rng, 10) {
                        wanted.extend(wanted.first().copied());
                    }
                    paths.push(wanted.into_iter().map(Into::into).collect());
                }
                let on = match at {
                    0 if chance(r, 80) => vec![0],
                    _ if chance(r, 10) => vec![below(r, devices.len()), below(r, devices.len())],
                    _ => vec![],
                };
                let share =
                    chance(wires, 15).then(|| Factor(Factor::ONE.0 / 10 * (3 + below(wires, 7) as i64)));
                Region { name: format!("r{at}").into(), paths, on, share, span: Default::default() }
            })
            .collect();
        let mut edges = vec![];
        for to in 1..count {
            for from in 0..to {
                if from + 1 == to && chance(r, 75) || chance(r, 20) || is_narrow && from == 0 {
                    let share = if chance(r, 80) { Factor::ONE } else { Factor(Factor::ONE.0 / 2) };
                    let bits = if chance(r, 30) { below(r, 30) as i64 } else { 0 };
                    let passes = i64::from(chance(path_rng, 25));
                    edges.push(Edge { from, to, bits, share, passes });
                }
            }
        }
        let together = if chance(r, 10) { vec![vec![0, count - 1]] } else { vec![] };
        apps.push(App { name: format!("a{at}").into(), regions, edges, together, initial: vec![] });
    }
    let scopes = Scopes::new(&signature);
    let mut names = vec!["Latency", "Power", "Cost"];
    names.extend(pick(r, &[vec![], vec!["Area"], vec!["Hops"], vec!["devices"], vec!["max Rate"]]));
    names.truncate(1 + below(r, 4));
    if chance(path_rng, 10) {
        names.push("Passes");
    }
    let objectives = names.iter().map(|n| Objective::parse(n, &signature, &scopes).unwrap()).collect();
    let settings = Settings {
        refused: vec![],
        wanted: vec![],
        tiers: if chance(r, 50) { Tiers::Any } else { Tiers::Tightest },
        one_region_per_device: chance(r, 25),
        routes: 2,
        objectives,
        without: vec![],
    };
    let _ = hops;
    Problem::new(Model { signature, rules, apps, devices, links }, settings).unwrap()
}
