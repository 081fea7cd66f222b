//! Programs on the switches of a fat tree with k = 4.
//!
//! Each program begins at one edge switch and ends at another. Between them it has four regions in a row, two of which are arms of a branch in every other program; each takes some of a switch's
//! stages. Programs compete for stages on their shortest paths and for the links.

use base_time::Rng;
use plan_model::{
    App, Bound, Change, Compare, Device, Edge, Effect, Factor, Link, Model, Port, Region, Role, Rule, Scope,
    Signature, Unit, VarId, Variable,
};
use plan_search::{Objective, Problem, Scopes, Settings, Tiers};

const K: usize = 4;

/// `stages` is the capacity of a switch; a region takes 1 to 5. Each program brings 1 Gbit/s; links carry less than `gigabits` Gbit/s.
pub fn problem(seed: u64, programs: usize, stages: i64, gigabits: i64) -> Problem {
    let mut rng = Rng::new(seed);
    let r = &mut rng;
    let mut signature = Signature::default();
    let mut variable = |name: &str, unit: Unit, scope, role, initial: &str| {
        let initial = unit.parse(initial).unwrap_or(0);
        signature.add(Variable { name: name.into(), unit, scope, role, initial })
    };
    let latency = variable("Latency", Unit::Seconds, Scope::Path, Some(Role::Latency), "0");
    let rate = variable("Rate", Unit::BitsPerSecond, Scope::Path, Some(Role::Rate), "1Gbit/s");
    variable("Hops", Unit::Plain, Scope::Path, Some(Role::Hops), "0");
    let limit = Unit::Plain.parse(&stages.to_string()).ok();
    let stages = variable("Stages", Unit::Plain, Scope::Device { limit }, None, "0");
    let steps = |unit: Unit, text: &str| unit.parse(text).unwrap_or(0);
    let add = |var, value| Effect { var, change: Change::Add(value) };
    let rules = (1..=5).map(|n| Rule {
        name: format!("{n} stages").into(),
        head: format!("f{n}").into(),
        effects: vec![
            add(latency, steps(Unit::Seconds, &format!("{}ns", 20 * n))),
            add(stages, steps(Unit::Plain, &n.to_string())),
        ],
        needs: vec![],
        bounds: vec![],
        span: Default::default(),
    });
    let rules = rules.collect();
    let (devices, links) = fabric(rate, gigabits);
    let edges: Vec<usize> = (0..K * K / 2).collect();
    let apps = (0..programs).map(|at| program(r, at, &edges)).collect();
    let scopes = Scopes::new(&signature);
    let objectives = ["Latency", "devices"].map(|name| Objective::parse(name, &signature, &scopes));
    let settings = Settings {
        tiers: Tiers::Tightest,
        one_region_per_device: false,
        routes: 4,
        objectives: objectives.into_iter().flatten().collect(),
        without: vec![],
        refused: vec![],
        wanted: vec![],
    };
    Problem::new(Model { signature, rules, apps, devices, links }, settings)
        .unwrap_or_else(|found| panic!("{found:?}"))
}

/// Edge switches, then those above them, then the core.
fn fabric(rate: VarId, gigabits: i64) -> (Vec<Device>, Vec<Link>) {
    let half = K / 2;
    let (edges, above) = (K * half, K * half);
    let port = Port {
        name: format!("{gigabits}G").into(),
        bounds: vec![Bound {
            var: rate,
            compare: Compare::Less,
            value: Unit::BitsPerSecond.parse(&format!("{gigabits}Gbit/s")).unwrap_or(0),
        }],
    };
    let names = (0..edges).map(|n| format!("edge{n}"));
    let names = names
        .chain((0..above).map(|n| format!("above{n}")))
        .chain((0..half * half).map(|n| format!("core{n}")));
    let device =
        |name: String| Device { name: name.into(), forwards: true, is_host: true, ..Device::default() };
    let mut devices: Vec<Device> = names.map(device).collect();
    let delay = Unit::Seconds.parse("500ns").unwrap_or(0);
    let mut links = vec![];
    let mut join = |a: usize, b: usize| {
        let mut plug = |device: usize| {
            devices[device].ports.push(port.clone());
            (device, devices[device].ports.len() - 1)
        };
        let ends = [plug(a), plug(b)];
        links.push(Link { ends, delay, ..Link::default() });
    };
    for pod in 0..K {
        for low in 0..half {
            (0..half).for_each(|high| join(pod * half + low, edges + pod * half + high));
        }
        for high in 0..half {
            (0..half).for_each(|core| join(edges + pod * half + high, edges + above + high * half + core));
        }
    }
    (devices, links)
}

fn program(r: &mut Rng, at: usize, edges: &[usize]) -> App {
    let from = edges[at % edges.len()];
    let others: Vec<usize> = edges.iter().copied().filter(|edge| *edge != from).collect();
    let to = others[r.below(others.len() as u64) as usize];
    let region = |name: &str, needs: Option<u64>, on: Vec<usize>| Region {
        name: name.into(),
        paths: vec![needs.map(|n| format!("f{n}").into()).into_iter().collect()],
        on,
        ..Region::default()
    };
    let mut regions = vec![region("in", None, vec![from])];
    for name in ["a", "b", "c", "d"] {
        regions.push(region(name, Some(r.between(1, 5)), vec![]));
    }
    regions.push(region("out", None, vec![to]));
    let edge = |from, to, percent: i64| Edge {
        from,
        to,
        bits: 0,
        share: Factor(Factor::ONE.0 / 100 * percent),
        passes: 0,
    };
    let edges = match at % 2 {
        0 => (0..5).map(|n| edge(n, n + 1, 100)).collect(),
        _ => vec![
            edge(0, 1, 100),
            edge(1, 2, 50),
            edge(1, 3, 50),
            edge(2, 4, 100),
            edge(3, 4, 100),
            edge(4, 5, 100),
        ],
    };
    App { name: format!("program{at}").into(), regions, edges, ..App::default() }
}
