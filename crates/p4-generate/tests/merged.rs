//! Random programs in pairs: merged, each does what it does alone.

use p4_generate::merged::{Trial, Tried, program};
use p4_generate::{Config, generate};
use std::collections::BTreeMap;
use std::sync::Arc;
use traffic_classes::Class;

mod support;

use support::with_stack;

/// The classes of two apps, and what their packets' ports become.
type Way = (&'static str, [Option<&'static str>; 2], fn(usize, u32) -> u32);

const WAYS: [Way; 3] = [
    ("ports", [Some("port in 0..7"), Some("port > 7")], |app, port| port % 8 + 8 * app as u32),
    ("addresses", [Some("ethernet.dst < 0x800000000000"), None], |_, port| port),
    (
        "ip",
        [Some("ipv4 && !(tcp && l4.dst < 1024) || ethernet.type < 0x4000 || port == 3"), None],
        |_, port| port,
    ),
];

fn pairs(from: u64, to: u64) {
    let config = Config { packets: 12, ..Config::default() };
    let (mut refused, mut packets) = (BTreeMap::<String, u32>::new(), [0, 0]);
    for seed in from..=to {
        let (name, classes, port) = WAYS[(seed % 3) as usize];
        let made = |seed: u64| Arc::new(program(&generate(seed, &config).source).expect("a program"));
        let one = made(seed);
        // All programs of a switch are for one version of v1model.
        let other = (1_000_000 + seed..).step_by(10_000).map(made).find(|other| other.arch == one.arch);
        let other = other.expect("another program");
        let class = |at: usize| classes[at].map(|text| Class::read(text).expect("a class"));
        let trial = Trial { apps: vec![("one", one, class(0)), ("two", other, class(1))], fault: None };
        match trial.run(config.packets, seed, &port) {
            Ok(Tried::Refused(why)) => *refused.entry(why).or_default() += 1,
            Ok(Tried::Same(same)) => {
                packets[0] += same[0];
                packets[1] += same[1];
            }
            Err(finding) => panic!("seed {seed}, by {name}: {}: {}", finding.summary, finding.details),
        }
    }
    let (all, merged) = (to - from + 1, to - from + 1 - u64::from(refused.values().sum::<u32>()));
    println!("{merged} of {all} pairs merged, {packets:?} packets; {refused:#?}");
    assert!(merged * 2 > all, "{refused:#?}");
    assert!(packets.iter().all(|packets| *packets > all as usize), "{packets:?}");
}

#[test]
fn merged_programs_do_what_each_does_alone() {
    let all = if std::env::var_os("P4RACK_ALL").is_some() { 2000 } else { 24 };
    with_stack(move || pairs(1, features::setting("P4RACK_MERGES", all)));
}
