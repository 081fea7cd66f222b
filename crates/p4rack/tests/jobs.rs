//! `examples/jobs`: a tree of switches in virtual time. `P4RACK_ALL`: 200 seeds.

use base_diag::{SourceMap, Span};
use base_time::Rng;
use expect_test::expect_file;
use p4rack::{Racked, rack, up};
use rack_model::{Fault, FaultKind, Probability};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs")
}

/// The programs and entries that `p4rack job compile` writes.
#[test]
fn the_files_of_the_example_are_those_of_its_job() {
    let mut map = SourceMap::new();
    let read = p4rack::job::read(&[example().join("words.job")], &mut map).expect("it is a job");
    let topology = p4rack::job::network(&example(), &mut map).expect("it is a network");
    let jobs: Vec<_> = read.into_iter().map(|text| text.job).collect();
    let plan = reduce_jobs::plan(&jobs, &topology).expect("there is a placement");
    for (name, text) in p4rack::job::files(&plan, &topology) {
        if !name.ends_with(".toml") {
            expect_file![example().join(name)].assert_eq(&text);
        }
    }
}

fn tree() -> Racked {
    let path = example().join("tree.toml");
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

fn measures(racked: &Racked) -> BTreeMap<String, u64> {
    let report = up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let words = report.workloads.into_iter().next().expect("there is one");
    assert_eq!(
        (words.measures["wrong keys"], words.measures.get("trouble")),
        (0, Some(&0)),
        "{:?}",
        words.measures
    );
    assert_eq!(words.sent, words.received, "rounds");
    words.measures
}

#[test]
fn a_tree_saves_more_than_its_leaves_could() {
    let words = measures(&tree());
    let [best, saved] = ["saved at best, permille", "saved, permille"].map(|name| words[name]);
    assert!(saved * 10 > best * 7, "{saved} of {best}: {words:?}");
}

#[test]
fn losses_doubles_and_restarts_change_nothing() {
    let seeds = if std::env::var_os("P4RACK_ALL").is_some() { 200 } else { 4 };
    let mut racked = tree();
    let mut restarts = 0;
    for seed in 1..=seeds {
        let mut rng = Rng::new(seed);
        racked.rack.seed = seed;
        for link in &mut racked.rack.links {
            let mut share = || Probability::from_ppb(1000 * rng.below(200_001) as u32);
            (link.loss, link.duplicate, link.reorder) = (share(), share(), share());
        }
        let device = rack_model::DeviceId(rng.below(3) as u32);
        let at = base_time::Time::ZERO + base_time::Duration::from_us(rng.between(200, 20_000));
        let lasts = Some(base_time::Duration::from_us(rng.between(50, 2000)));
        racked.rack.faults = vec![Fault { kind: FaultKind::DeviceDown(device), at, lasts, span: Span::NONE }];
        restarts += measures(&racked)["restarts of the switch"];
    }
    assert!(restarts > 0);
}
