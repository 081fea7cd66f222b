//! The tightest of several rules: "The definition" in `docs/planning.md`.

use expect_test::{Expect, expect};
use plan_model::{App, Device, Model, Region, Signature, read_rules};
use plan_search::{Goal, Objective, Problem, Scopes, Settings, Stop, Tiers, search};

const VARIABLES: &str = "
    path Latency [s] is latency = 1.25us; path InputRate [bit/s] is rate = 1Gbit/s; path PacketSize [B] is size = 1100;";

/// The latencies of the plans of one region that needs `fa`, by the tightest rules and by any.
fn check(rules: &str, expected: Expect) {
    let latencies = |tiers: Tiers| {
        let mut signature = Signature::default();
        let (rules, found) = read_rules(&format!("{VARIABLES}{rules}"), 1, &mut signature);
        assert!(found.is_empty(), "{found:?}");
        let region = Region { name: "r".into(), paths: vec![vec!["fa".into()]], ..Region::default() };
        let device =
            Device { name: "d".into(), provides: vec!["C".into()], is_host: true, ..Device::default() };
        let objective = Objective::parse("Latency", &signature, &Scopes::new(&signature)).unwrap();
        let settings = Settings {
            tiers,
            one_region_per_device: false,
            routes: 1,
            objectives: vec![objective],
            without: vec![],
            refused: vec![],
            wanted: vec![],
        };
        let app = App { name: "a".into(), regions: vec![region], ..App::default() };
        let model = Model { signature, rules, apps: vec![app], devices: vec![device], links: vec![] };
        let problem = Problem::new(model, settings).unwrap();
        let found = search(&problem, &Goal::Front, &mut |_| Stop::No);
        let shown: Vec<String> = found.plans.iter().map(|(cost, _)| problem.show(0, cost[0])).collect();
        shown.join(" ")
    };
    expected.assert_eq(&format!("{}, any {}", latencies(Tiers::Tightest), latencies(Tiers::Any)));
}

/// The rule without bounds took part in no comparison of tiers, in the search and in the enumeration of the tests alike.
#[test]
fn a_rule_without_bounds_is_the_loosest() {
    check("rule fa; rule fa if PacketSize > 1050 then Latency += 7us;", expect!["8.25us, any 1.25us"]);
    check("rule fa; rule fa if PacketSize > 1150 then Latency += 7us;", expect!["1.25us, any 1.25us"]);
}

/// Only rules of one head are compared, whatever they need: there was no order between proofs of different shape.
#[test]
fn what_rules_need_does_not_matter() {
    check(
        "rule fa if fb then Latency += 1us; rule fb if InputRate < 3Gbit/s;
         rule fa if InputRate < 2Gbit/s then Latency += 3us;",
        expect!["4.25us, any 2.25us"],
    );
    check(
        "rule fa if fb; rule fb then Latency += 1us; rule fb if InputRate < 2Gbit/s then Latency += 5us;",
        expect!["6.25us, any 2.25us"],
    );
}

/// A tighter rule counts only if it can be used.
#[test]
fn a_rule_that_does_not_cover_the_state_is_no_tier() {
    check("rule fa; rule fa if fb, InputRate < 2Gbit/s then Latency += 7us;", expect!["1.25us, any 1.25us"]);
    check(
        "rule fa; rule fa if fb, InputRate < 2Gbit/s then Latency += 7us; rule fb if InputRate < 500Mbit/s;",
        expect!["1.25us, any 1.25us"],
    );
}

#[test]
fn bounds_that_only_overlap_or_are_equal_are_not_tighter() {
    check(
        "rule fa if InputRate < 2Gbit/s then Latency += 7us; rule fa if PacketSize > 1000 then Latency += 5us;",
        expect!["6.25us, any 6.25us"],
    );
    check(
        "rule fa if InputRate < 2Gbit/s then Latency += 7us; rule fa if InputRate < 2Gbit/s then Latency += 5us;",
        expect!["6.25us, any 6.25us"],
    );
}
