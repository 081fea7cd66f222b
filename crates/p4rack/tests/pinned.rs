//! `examples/pinned`: a firewall whose busy connections the switch processes, and two helpers for all others.

use base_diag::SourceMap;
use p4rack::{rack, up};
use std::path::Path;

#[test]
fn the_report_of_the_example_shows_the_share_of_the_switch() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pinned");
    let racked = rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let received: Vec<(&str, u64)> =
        report.workloads.iter().map(|load| (load.name.as_str(), load.received)).collect();
    assert_eq!(received, [("call", 800), ("query", 150), ("time", 50), ("scan", 0)]);
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    assert_eq!((pinned.packets, pinned.at_switch), (1100, 800));
    assert!(pinned.helpers.iter().all(|(_, frames)| *frames > 0), "{pinned:?}");
}
