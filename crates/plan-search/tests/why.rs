//! Explanations of an infeasible problem, and of a plan.

use expect_test::expect;
use plan_model::{App, Device, Edge, Factor, Link, Model, Port, Region, Signature, read_rules};
use plan_search::{Goal, Objective, Problem, Scopes, Settings, Stop, Tiers, explain, judge, search, why};

const RULES: &str = "
    path Latency [s] is latency; path Rate [bit/s] is rate = 2Gbit/s; once Power [W]; device BRAMs [%] <= 100%;
    rule \"decode\" decode if FPGA, Rate < 3Gbit/s then Latency += 17us, once Power += 30W, <BRAMs> += 72.4%;
    rule \"cache\" cache if FPGA, Rate < 3Gbit/s then Latency += 6us, once Power += 30W, <BRAMs> += 54.4%;
    rule \"route\" route if Switch then once Power += 110W;";

/// A switch with one FPGA: a routing region, then the given functions, on the FPGA or anywhere.
fn problem(functions: &[&str]) -> Problem {
    let mut signature = Signature::default();
    let (rules, found) = read_rules(RULES, 1, &mut signature);
    assert!(found.is_empty(), "{found:?}");
    let device = |name: &str, class: &str, forwards| Device {
        name: name.into(),
        provides: vec![class.into()],
        forwards,
        is_host: true,
        ports: vec![Port::default()],
        ..Device::default()
    };
    let region =
        |name: &&str| Region { name: (*name).into(), paths: vec![vec![(*name).into()]], ..Region::default() };
    let regions: Vec<Region> = [&"route"].into_iter().chain(functions).map(region).collect();
    let edge = |to| Edge { from: to - 1, to, bits: 0, share: Factor::ONE, passes: 0 };
    let edges = (1..regions.len()).map(edge).collect();
    let scopes = Scopes::new(&signature);
    let objectives = ["Latency", "Power"].map(|n| Objective::parse(n, &signature, &scopes).unwrap());
    let model = Model {
        signature,
        rules,
        apps: vec![App { name: "app".into(), regions, edges, ..App::default() }],
        devices: vec![device("tor", "Switch", true), device("card", "FPGA", false)],
        links: vec![Link { ends: [(0, 0), (1, 0)], delay: 1_000_000, ..Link::default() }],
    };
    let settings = Settings {
        tiers: Tiers::Tightest,
        one_region_per_device: false,
        routes: 1,
        objectives: objectives.to_vec(),
        without: vec![],
        refused: vec![],
        wanted: vec![],
    };
    Problem::new(model, settings).unwrap()
}

fn refusal(functions: &[&str]) -> String {
    let problem = problem(functions);
    let found = search(&problem, &Goal::Front, &mut |_| Stop::No);
    assert!(found.is_complete && found.plans.is_empty());
    let diagnostic = why::no_plan(&problem, &mut || true);
    diagnostic.notes.into_iter().chain(diagnostic.help).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_missing_rule_is_named() {
    expect![[r#"
        region `encrypt` runs nowhere: Switch has no rule for `encrypt`; FPGA has no rule for `encrypt`
        add rules for the missing propositions, or devices that provide them"#]]
    .assert_eq(&refusal(&["decode", "encrypt"]));
}

#[test]
fn the_smallest_change_is_reported() {
    expect!["`BRAMs` of each device: 100%; there would be a plan with 126.8 % of that"]
        .assert_eq(&refusal(&["decode", "cache"]));
}

#[test]
fn a_plan_is_explained() {
    let problem = problem(&["decode"]);
    let found = search(&problem, &Goal::First, &mut |_| Stop::No);
    let (_, plan) = &found.plans[0];
    let judged = judge(&problem, plan).unwrap();
    expect![[r#"
        route on tor
            packets before: Latency 0s, Rate 2Gbit/s
            rule "route" route if Switch then once Power += 110W;
        decode on card
            from route: tor -> card (0 bits handed over)
            packets before: Latency 1us, Rate 2Gbit/s
            rule "decode" decode if FPGA, Rate < 3Gbit/s then Latency += 17us, once Power += 30W, <BRAMs> += 72.4%;
            packets after:  Latency 18us, Rate 2Gbit/s
        tor: Power 110W
        card: Power 30W, BRAMs 72.4% of 100%
    "#]].assert_eq(&explain(&problem, plan, &judged));
}
