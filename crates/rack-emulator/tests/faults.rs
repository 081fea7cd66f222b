//! Faults, and their ends.

use crate::common;

use base_time::Duration;
use common::*;
use expect_test::expect;
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, HostId, LinkId, NodeId, Probability, Rack};

fn fault(kind: FaultKind, at: u64, lasts: u64) -> Fault {
    Fault { kind, at: at_us(at), lasts: Some(us(lasts)), span: Default::default() }
}

/// A packet of 100 us each for 100 ms, and what goes wrong.
fn stream_with(faults: Vec<Fault>) -> RunReport {
    let mut rack = star(2);
    rack.workloads = vec![udp("stream", 1, 2, 1000, 125, 10)];
    rack.faults = faults;
    run(&rack)
}

fn run(rack: &Rack) -> RunReport {
    let mut emulator = emulator(rack, Toy::new(wire));
    emulator.run().unwrap();
    emulator.report()
}

fn dropped(report: &RunReport, reason: &str) -> u64 {
    report.drops.iter().filter(|d| d.reason == reason).map(|d| d.packets).sum()
}

#[test]
fn a_link_is_down_for_a_while() {
    let report = stream_with(vec![fault(FaultKind::LinkDown(LinkId(0)), 20_005, 10_000)]);
    let stream = &report.workloads[0];
    // Packets of 20.0 ms, which is on the link, to 30.0 ms.
    assert_eq!((stream.lost, dropped(&report, "link down")), (101, 101));
    assert_eq!((report.faults[0].swept, report.links[0].cut), (1, 101));
    assert_eq!(report.packets.in_flight, 0);
}

#[test]
fn a_device_is_down_for_a_while() {
    let mut rack = star(2);
    rack.workloads = vec![udp("stream", 1, 2, 1000, 125, 10)];
    // Packets inside a failing device are lost as well: here one packet, 150 us after it came in.
    rack.devices[0].service = us(200);
    rack.faults = vec![fault(FaultKind::DeviceDown(DeviceId(0)), 20_150, 10_000)];
    let report = run(&rack);
    assert_eq!(report.faults[0].swept, 2);
    assert_eq!((report.workloads[0].lost, dropped(&report, "device down")), (102, 102));
}

#[test]
fn queues_of_a_device_that_fails_are_lost() {
    let mut rack = star(2);
    rack.links[1].rate = "10Mbit/s".parse().unwrap();
    rack.workloads = vec![udp("burst", 1, 2, 30, 125, 1000)];
    rack.faults = vec![fault(FaultKind::DeviceDown(DeviceId(0)), 100, 1)];
    let report = run(&rack);
    let stream = &report.workloads[0];
    assert_eq!(stream.received + dropped(&report, "device down"), 30);
    assert!(report.faults[0].swept > 20, "{}", report.faults[0].swept);
}

#[test]
fn gray_loss_is_one_way_or_both() {
    let share = Probability::parse("20%").unwrap();
    let loss = |from| FaultKind::Loss { link: LinkId(0), from, share };
    let lost = |from| {
        let report = stream_with(vec![fault(loss(from), 0, 1_000_000)]);
        (report.links[0].lost, report.links[1].lost, report.workloads[0].lost)
    };
    let (there, back, all) = lost(Some(NodeId::Host(HostId(0))));
    assert!((160..240).contains(&there) && back == 0 && all == there, "{there}");
    assert_eq!(lost(Some(NodeId::Device(DeviceId(0)))), (0, 0, 0));
    assert_eq!(lost(None).0, there, "chance belongs to the direction");
}

#[test]
fn a_slow_device_and_a_long_way_delay() {
    let slow = FaultKind::Slow { device: DeviceId(0), factor: 20 };
    let delay = FaultKind::Delay { link: LinkId(1), by: us(50) };
    let report = stream_with(vec![fault(slow, 10_000, 10_000), fault(delay, 50_000, 10_000)]);
    let latency = report.workloads[0].latency.unwrap();
    let usual = Duration::from_ns(191 * 8 * 2) + us(10) * 2 + us(1);
    assert_eq!((latency.min_ps, latency.median_ps), (usual.as_ps(), usual.as_ps()));
    assert_eq!(latency.max_ps, (usual + us(50)).as_ps());
    assert_eq!(latency.p99_ps, (usual + us(50)).as_ps());
    assert_eq!((report.workloads[0].lost, report.workloads[0].reordered), (0, 0));
}

#[test]
fn nobody_overtakes_where_a_device_becomes_fast_again() {
    let mut rack = star(2);
    rack.workloads = vec![udp("stream", 1, 2, 1000, 125, 10)];
    rack.faults = vec![fault(FaultKind::Slow { device: DeviceId(0), factor: 1000 }, 20_000, 500)];
    let report = run(&rack);
    let stream = &report.workloads[0];
    assert_eq!((stream.received, stream.reordered), (1000, 0));
    assert!(stream.latency.unwrap().max_ps > us(1000).as_ps());
}

#[test]
fn a_partition_cuts_between_its_nodes_and_the_others() {
    let mut rack = star(3);
    rack.workloads = vec![ping(1, 2, 100, us(100)), ping(3, 2, 100, us(100))];
    rack.faults = vec![fault(FaultKind::Partition(vec![NodeId::Host(HostId(2))]), 0, 5_000)];
    let mut toy = Toy::new(hub);
    toy.ports = vec![1, 2, 3];
    let mut emulator = emulator(&rack, toy);
    emulator.run().unwrap();
    let report = emulator.report();
    assert_eq!((report.workloads[0].lost, report.workloads[1].lost), (0, 50));
}

#[test]
fn overlapping_faults_end_one_by_one() {
    let down = || FaultKind::LinkDown(LinkId(0));
    let report = stream_with(vec![fault(down(), 10_000, 20_000), fault(down(), 20_000, 20_000)]);
    // From 10 ms to 40 ms.
    assert_eq!(report.workloads[0].lost, 300);
}

#[test]
fn timers_of_a_device_that_is_down_wait() {
    let mut rack = star(2);
    rack.faults = vec![fault(FaultKind::DeviceDown(DeviceId(0)), 120, 100)];
    let way = Duration::from_ns(84 * 8) + us(10);
    assert_eq!(timer_arrivals(&rack), [at_us(100) + way, at_us(220) + way, at_us(270) + way]);
}

#[test]
fn faults_are_reported() {
    let share = Probability::parse("5%").unwrap();
    let mut rack = star(2);
    rack.name = "bad day".into();
    rack.until = Some(at_us(1000));
    rack.faults = vec![
        fault(FaultKind::LinkDown(LinkId(0)), 20, 10),
        Fault { lasts: None, ..fault(FaultKind::DeviceDown(DeviceId(0)), 30, 1) },
        fault(FaultKind::Loss { link: LinkId(1), from: Some(NodeId::Host(HostId(1))), share }, 1, 1),
    ];
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.keep_log(true);
    emulator.run().unwrap();
    expect![[r#"
        1us              fault begins: loss 5% on h2 - dev:2 from h2
        2us              fault is over: loss 5% on h2 - dev:2 from h2
        20us             fault begins: link-down h1 - dev:1
        30us             fault is over: link-down h1 - dev:1
        30us             fault begins: device-down dev
    "#]]
    .assert_eq(&emulator.take_log());
    let table = emulator.report().to_table();
    expect![[r#"
                                  from    to  swept
        link-down h1 - dev:1           20us  30us      0
        device-down dev                30us     -      0
        loss 5% on h2 - dev:2 from h2   1us   2us      0
    "#]]
    .assert_eq(table.split_once("fault").unwrap().1);
}
