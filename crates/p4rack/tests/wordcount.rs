//! `examples/wordcount`: pairs of three mappers, folded by a switch on their way.

use base_diag::SourceMap;
use p4rack::{rack, up};
use std::collections::BTreeMap;
use std::path::Path;

/// The measures of the words in a rack, or in one of its phases.
fn measures(rack: &str, phase: Option<&str>) -> BTreeMap<String, u64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wordcount").join(rack);
    let racked = rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let stage = phase.map(|phase| racked.rack.stage_named(phase).unwrap());
    let report = up::bring_up_in(&racked, stage).unwrap().run().unwrap();
    let words = report.workloads.into_iter().next().expect("there is one");
    assert_eq!((words.sent, words.measures["wrong keys"], words.measures["trouble"]), (words.received, 0, 0));
    words.measures
}

#[test]
fn the_switch_saves_what_its_slots_have_room_for() {
    let hosts = measures("hosts.toml", None);
    assert_eq!(hosts["saved, permille"], 0);
    let best = hosts["saved at best, permille"];
    let [one, eight] = ["one-round.toml", "RACK.toml"].map(|rack| measures(rack, None)["saved, permille"]);
    assert!(best > 250 && one * 10 > best * 3 && eight * 10 > best * 8, "{one} and {eight} of {best}");
}

#[test]
fn losses_change_nothing() {
    let words = measures("RACK.toml", Some("losses"));
    assert!(words["packets sent again"] > 0, "{words:?}");
}

#[test]
fn a_restart_of_the_switch_changes_nothing() {
    let words = measures("RACK.toml", Some("restart"));
    assert!(words["restarts of the switch"] == 1 && words["generations thrown away"] > 0, "{words:?}");
}

#[test]
fn eviction_saves_most_with_few_slots() {
    let words = measures("software.toml", None);
    let [best, saved] = ["saved at best, permille", "saved, permille"].map(|name| words[name]);
    assert!(saved * 10 > best * 9, "{saved} of {best}");
}

/// `trimmed.toml`: without folding, through a queue of 8 packets before the master's link. Measures, time to the commit in picoseconds, packets dropped and trimmed there.
fn through_a_short_queue(trim: bool) -> (BTreeMap<String, u64>, u64, [u64; 2]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wordcount/trimmed.toml");
    let racked = rack::load(&path, &[], &mut SourceMap::new());
    let mut racked = racked.unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.devices[0].trim = trim;
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    let words = report.workloads.into_iter().next().expect("there is one");
    assert_eq!((words.sent, words.measures["wrong keys"], words.measures["trouble"]), (words.received, 0, 0));
    let narrow = report.links.iter().find(|link| link.to == "master").expect("it has a link");
    let time = words.latency.expect("it has committed").max_ps;
    (words.measures, time, [narrow.refused, narrow.trimmed])
}

/// The mappers learn of each packet that met the full queue from its header, and wait for no time-out.
#[test]
fn a_switch_that_trims_reports_what_met_a_full_queue() {
    let (dropped, slow, [refused, none]) = through_a_short_queue(false);
    assert!(
        refused > 0 && none == 0 && !dropped.contains_key("packets trimmed by full queues"),
        "{dropped:?}"
    );
    let (trimmed, fast, [lost, headers]) = through_a_short_queue(true);
    assert!(headers > 0 && lost == 0, "{trimmed:?}");
    assert_eq!(trimmed["packets trimmed by full queues"], headers);
    assert!(fast < slow, "{fast} and {slow}: {trimmed:?} {dropped:?}");
}
