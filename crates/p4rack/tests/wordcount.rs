//! `examples/wordcount`: pairs of three mappers, folded by a switch on their way.

use base_diag::SourceMap;
use p4rack::{rack, up};
use std::collections::BTreeMap;
use std::path::Path;

/// The measures of the words, after a phase.
fn measures(phase: &str) -> BTreeMap<String, u64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wordcount");
    let racked = rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let stage = racked.rack.stage_named(phase).unwrap();
    let report = up::bring_up_in(&racked, Some(stage)).unwrap().run().unwrap();
    let words = report.workloads.into_iter().next().expect("there is one");
    assert_eq!((words.sent, words.measures["wrong keys"], words.measures["trouble"]), (words.received, 0, 0));
    words.measures
}

#[test]
fn the_switch_saves_what_its_slots_have_room_for() {
    let hosts = measures("hosts");
    assert_eq!(hosts["saved, permille"], 0);
    let best = hosts["saved at best, permille"];
    let [switch, rounds] = ["switch", "rounds"].map(|phase| measures(phase)["saved, permille"]);
    assert!(
        best > 400 && switch * 10 > best * 3 && rounds * 10 > best * 8,
        "{switch} and {rounds} of {best}"
    );
}

#[test]
fn losses_change_nothing() {
    let words = measures("losses");
    assert!(words["packets sent again"] > 0, "{words:?}");
}
