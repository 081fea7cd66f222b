//! A counter with copies on two devices.

use super::*;
use p4runtime_proto::p4::config::v1::{Counter, P4Info, Preamble};
use std::sync::Arc;

const COUNTER: u32 = 7;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn merged() -> Merged {
    let preamble = Some(Preamble { id: COUNTER, ..Preamble::default() });
    let counter = Counter { preamble, size: 4, ..Counter::default() };
    let catalog = Catalog::new(Arc::new(P4Info { counters: vec![counter], ..P4Info::default() }));
    let object = Object {
        name: "seen".to_string(),
        holders: vec![0, 1],
        names: ["tor", "nic"].map(String::from).to_vec(),
        cells: Cells::of(&catalog, COUNTER).expect("it is a counter"),
        hub: Hub::new(Kind { operator: Operator::Add, width: 64 }, 2, BTreeMap::new()),
        entries: BTreeMap::new(),
    };
    let (objects, heard) = ([(COUNTER, object)].into(), [(0, 0), (1, 0)].into());
    Merged { hub: 1, objects, heard, first: 1, span: Duration::from_ms(10), ..Merged::default() }
}

/// The device has counted nothing.
fn answers(merged: &mut Merged, now: Time, device: usize, round: u64, (incarnation, sequence): (u64, u64)) {
    let push = Push { incarnation, sequence, seen: 0, cells: vec![], retired: vec![] };
    let answer = ToHub { hub: 1, round, objects: vec![(COUNTER, push)] };
    merged.pushed(now, device, &answer.bytes());
}

#[test]
fn what_a_program_answered_before_its_device_restarted_does_not_count() {
    let mut merged = merged();
    merged.begin(at(10));
    answers(&mut merged, at(11), 0, 1, (10, 1));
    answers(&mut merged, at(11), 1, 1, (20, 1));
    assert!(!merged.is_behind(at(9)));
    // The answer of device 1 is under way when the device gets its program again.
    merged.begin(at(20));
    answers(&mut merged, at(21), 0, 2, (10, 2));
    merged.restarted(1);
    answers(&mut merged, at(22), 1, 2, (20, 2));
    assert!(merged.is_behind(at(9)));
    let round = merged.round + 1;
    merged.begin(at(30));
    answers(&mut merged, at(31), 0, round, (10, 3));
    answers(&mut merged, at(31), 1, round, (21, 1));
    assert!(!merged.is_behind(at(29)));
}
