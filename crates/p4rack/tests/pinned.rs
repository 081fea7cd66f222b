//! `examples/pinned`: a firewall whose busy connections the switch processes, and two helpers for all others.

use base_diag::SourceMap;
use ir_prove::{Effort, prove};
use p4rack::rack::Racked;
use p4rack::{proof, rack, up};
use std::path::Path;

fn example() -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pinned");
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

#[test]
fn the_report_of_the_example_shows_the_share_of_the_switch() {
    let racked = example();
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let received: Vec<(&str, u64)> =
        report.workloads.iter().map(|load| (load.name.as_str(), load.received)).collect();
    assert_eq!(received, [("call", 800), ("query", 150), ("time", 50), ("scan", 0)]);
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    assert_eq!((pinned.packets, pinned.at_switch), (1100, 800));
    assert!(pinned.helpers.iter().all(|(_, frames)| *frames > 0), "{pinned:?}");
}

#[test]
fn the_parts_do_what_the_pinned_program_does() {
    let racked = example();
    let case = proof::case(&racked.apps[0]);
    let effort = Effort { packets: 300, ..Effort::default() };
    let tried = prove(&case, &effort).unwrap_or_else(|failure| panic!("{}", failure.describe()));
    assert!(tried.outputs > 50 && tried.hops > 50, "{tried:?}");
}
