//! `examples/spares`: a region whose device fails while traffic passes. The switch goes over to the spare by itself; the controller
//! decides when a device is used again.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, LinkId, NodeId, Probability};
use std::collections::BTreeMap;
use std::path::Path;

const TOR: DeviceId = DeviceId(0);
const NIC1: DeviceId = DeviceId(1);
const NIC2: DeviceId = DeviceId(2);

/// Links from `tor` to `nic1` and `nic2`.
const TO_NIC1: LinkId = LinkId(2);
const TO_NIC2: LinkId = LinkId(3);

/// The rack of the example with these faults.
fn racked(faults: Vec<Fault>) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/spares");
    let mut racked =
        rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.faults = faults;
    racked
}

fn fault(kind: FaultKind, at_us: u64, lasts: Option<u64>) -> Fault {
    let at = Time::ZERO + Duration::from_us(at_us);
    Fault { kind, at, lasts: lasts.map(Duration::from_us), span: Default::default() }
}

/// From the beginning on, no message between controller and devices arrives.
fn no_controller() -> Fault {
    fault(FaultKind::ControlLoss { device: None, share: Probability::from_ppb(1_000_000_000) }, 0, None)
}

fn run(racked: &Racked) -> RunReport {
    up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap()
}

/// The lost packets of both directions, which have to be counted where they were lost.
fn lost(report: &RunReport) -> u64 {
    let [up, down, forbidden] = report.workloads.as_slice() else { panic!("{report:#?}") };
    assert_eq!(forbidden.received, 0, "each device has the access list");
    assert_eq!((up.duplicated, down.duplicated, up.corrupted), (0, 0, 0));
    let lost = up.lost + down.lost + forbidden.lost;
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    report.drops.iter().for_each(|drop| *reasons.entry(drop.reason.as_str()).or_default() += drop.packets);
    println!("{lost} lost: {reasons:?}; {:#?}", report.notes);
    up.lost + down.lost
}

fn used(report: &RunReport) -> (Option<&str>, u64) {
    let [edge] = report.edges.as_slice() else { panic!("{:?}", report.edges) };
    (edge.used.as_deref(), edge.changes)
}

fn notes(report: &RunReport) -> Vec<&str> {
    report.notes.iter().map(|note| note.what.as_str()).collect()
}

#[test]
fn without_faults_nothing_is_lost() {
    let report = run(&racked(vec![]));
    assert_eq!(lost(&report), 0);
    assert_eq!(used(&report), (Some("nic1"), 0));
}

#[test]
fn two_failures_are_survived_without_a_controller() {
    let down = |device, at| fault(FaultKind::DeviceDown(device), at, None);
    let report = run(&racked(vec![no_controller(), down(NIC1, 10_000), down(NIC2, 20_000)]));
    let lost = lost(&report);
    assert_eq!(used(&report), (Some("nic3"), 2));
    // Each time less than 120 us of 126 packets a millisecond, and what was under way.
    assert!((10..=40).contains(&lost), "{lost} packets are lost");
}

#[test]
fn when_no_device_is_left_packets_are_counted_drops() {
    let down = |device, at| fault(FaultKind::DeviceDown(DeviceId(device)), at, None);
    let report = run(&racked(vec![no_controller(), down(1, 10_000), down(2, 10_000), down(3, 10_000)]));
    assert!(lost(&report) > 8_000);
    assert_eq!(used(&report), (None, 3));
}

#[test]
fn an_idle_edge_notices_the_failure() {
    let mut racked = racked(vec![no_controller(), fault(FaultKind::DeviceDown(NIC1), 10_000, None)]);
    racked.rack.workloads.truncate(1);
    racked.rack.workloads[0].load.start = Time::ZERO + Duration::from_us(10_600);
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    assert_eq!(report.workloads[0].lost, 0, "{report:#?}");
    assert_eq!(used(&report), (Some("nic2"), 1));
}

#[test]
fn a_port_that_goes_down_is_left_at_once() {
    let report = run(&racked(vec![no_controller(), fault(FaultKind::LinkDown(TO_NIC1), 10_000, Some(5_000))]));
    let lost = lost(&report);
    assert!(lost <= 6, "{lost}: what was under way");
    assert_eq!(used(&report), (Some("nic1"), 2), "the cable is plugged in again");
}

#[test]
fn a_link_that_loses_frames_is_left() {
    let loss = FaultKind::Loss { link: TO_NIC1, from: None, share: Probability::from_ppb(100_000_000) };
    let report = run(&racked(vec![no_controller(), fault(loss, 10_000, None)]));
    let lost = lost(&report);
    assert_eq!(used(&report), (Some("nic2"), 1));
    assert!((20..=120).contains(&lost), "{lost}: 32 missing, and as many of what comes back");
}

#[test]
fn frames_that_overtake_each_other_are_no_failure() {
    let mut racked = racked(vec![]);
    for link in &mut racked.rack.links[2..] {
        (link.reorder, link.reorder_delay) = (Probability::from_ppb(50_000_000), Duration::from_us(20));
    }
    let report = run(&racked);
    assert_eq!(lost(&report), 0);
    assert_eq!(used(&report), (Some("nic1"), 0));
}

/// The example as it is: `nic1` restarts, and the cable of `nic2` is pulled meanwhile.
#[test]
fn a_device_that_comes_back_is_used_again_after_the_hold_down() {
    let faults = vec![
        fault(FaultKind::DeviceDown(NIC1), 10_000, Some(20_000)),
        fault(FaultKind::LinkDown(TO_NIC2), 20_000, None),
    ];
    let report = run(&racked(faults));
    let lost = lost(&report);
    assert!(lost <= 30, "{lost} packets are lost");
    let expected = [
        "`tor` hands over to `nic2` instead of `nic1`: `Wall`",
        "`tor` hands over to `nic3` instead of `nic2`: `Wall`",
        "`nic1` has restarted",
        "`nic1` is in sync again",
        "`tor` hands over to `nic1` instead of `nic3`: `Wall`",
    ];
    assert_eq!(notes(&report), expected);
    let at = |what: &str| report.notes.iter().find(|note| note.what == what).unwrap().at_ps / 1_000_000;
    let waited = at(expected[4]) - at(expected[3]);
    assert!((10_000..40_000).contains(&waited), "{waited} us");
}

/// What fails by itself again and again is used more and more rarely.
#[test]
fn a_link_that_loses_frames_for_long_waits_longer_each_time() {
    let loss = FaultKind::Loss { link: TO_NIC1, from: None, share: Probability::from_ppb(300_000_000) };
    let mut racked = racked(vec![fault(loss, 1_000, None)]);
    for workload in &mut racked.rack.workloads {
        workload.load.count = 40_000;
    }
    let report = run(&racked);
    let back: Vec<u64> = report
        .notes
        .iter()
        .filter(|note| note.what.contains("to `nic1`"))
        .map(|note| note.at_ps / 1_000_000_000)
        .collect();
    println!("{back:?}");
    let waits: Vec<u64> = back.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.len() >= 3 && waits.windows(2).all(|pair| pair[1] > pair[0] + pair[0] / 2), "{waits:?}");
}

/// The switch itself restarts: its numbers are after all that the devices have seen, and it goes on.
#[test]
fn a_switch_that_restarts_goes_on() {
    let report = run(&racked(vec![fault(FaultKind::DeviceDown(TOR), 10_000, Some(2_000))]));
    lost(&report);
    assert_eq!(used(&report).0, Some("nic1"));
    let [up, ..] = report.workloads.as_slice() else { panic!() };
    assert!(up.received > 3_000, "{up:?}");
    assert!(!notes(&report).iter().any(|note| note.contains("hands over")), "{:?}", report.notes);
}

/// A partition of the controller's own making: what it cannot reach, it does not bar.
#[test]
fn the_same_seed_gives_the_same_run() {
    let faults = || vec![fault(FaultKind::Partition(vec![NodeId::Device(NIC1)]), 9_000, Some(7_000))];
    let [one, other] = [run(&racked(faults())), run(&racked(faults()))];
    assert_eq!(one, other);
    assert_eq!(used(&one).0, Some("nic1"));
}
