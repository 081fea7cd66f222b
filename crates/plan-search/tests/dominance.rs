//! Partial plans that seem needless and are not.

use plan_model::{App, Change, Device, Edge, Effect, Factor, Link, Model, Port, Region, Role, Rule};
use plan_model::{Scope, Signature, Unit, Variable};
use plan_search::{Objective, Problem, Scopes, Settings, search};

/// `s0 -- s1` with a helper of one class at each. The first function is fast there, at a cost of 5, or slow at the switch for some power; what comes last can run on the helper of `s1`
/// alone, where there is no place for both. So the helper of `s0` is paid for besides, and not instead.
#[test]
fn a_helper_elsewhere_is_paid_for_again() {
    let mut signature = Signature::default();
    let mut variable = |name: &str, scope, role| {
        signature.add(Variable { name: name.into(), unit: Unit::Plain, scope, role, initial: 0 })
    };
    let latency = variable("Latency", Scope::Path, Some(Role::Latency));
    let power = variable("Power", Scope::Once, None);
    let cost = variable("Cost", Scope::Once, None);
    let area = variable("Area", Scope::Device { limit: Some(10) }, None);
    let rule = |head: &str, class: &str, values: [i64; 4]| Rule {
        name: head.into(),
        head: head.into(),
        needs: vec![class.into()],
        bounds: vec![],
        effects: [latency, power, cost, area]
            .into_iter()
            .zip(values)
            .map(|(var, value)| Effect { var, change: Change::Add(value) })
            .collect(),
        span: Default::default(),
    };
    let rules =
        vec![rule("f", "S", [10, 1, 0, 0]), rule("f", "A", [1, 0, 5, 6]), rule("g", "A", [1, 0, 5, 6])];
    let device = |name: &str, class: &str, ports: usize| Device {
        name: name.into(),
        provides: vec![class.into()],
        forwards: class == "S",
        is_host: true,
        ports: (0..ports).map(|at| Port { name: at.to_string().as_str().into(), bounds: vec![] }).collect(),
        ..Device::default()
    };
    let devices =
        vec![device("s0", "S", 2), device("s1", "S", 2), device("d0", "A", 1), device("d1", "A", 1)];
    let link = |a, b| Link { ends: [a, b], ..Link::default() };
    let links = vec![link((0, 0), (1, 0)), link((0, 1), (2, 0)), link((1, 1), (3, 0))];
    let region = |name: &str, needs: &[&str], on: &[usize]| Region {
        name: name.into(),
        paths: vec![needs.iter().map(|need| (*need).into()).collect()],
        on: on.to_vec(),
        share: None,
        span: Default::default(),
    };
    let regions = vec![
        region("in", &[], &[0]),
        region("f", &["f"], &[]),
        region("back", &[], &[0]),
        region("g", &["g"], &[3]),
    ];
    let edges = (0..3).map(|from| Edge { from, to: from + 1, bits: 0, share: Factor::ONE, passes: 0 });
    let app = App { name: "a".into(), regions, edges: edges.collect(), ..App::default() };
    let scopes = Scopes::new(&signature);
    let objectives =
        ["Latency", "Power", "Cost"].map(|name| Objective::parse(name, &signature, &scopes).unwrap());
    let settings = Settings {
        tiers: Default::default(),
        one_region_per_device: false,
        routes: 1,
        objectives: objectives.to_vec(),
        without: vec![],
        refused: vec![],
        wanted: vec![],
    };
    let model = Model { signature, rules, apps: vec![app], devices, links };
    let problem = Problem::new(model, settings).unwrap();
    let found = search(&problem, &Default::default(), &mut |_| plan_search::Stop::No);
    let costs: Vec<Vec<i64>> = found.plans.into_iter().map(|(cost, _)| cost).collect();
    assert_eq!(costs, [[2, 0, 10], [11, 1, 5]]);
}
