//! What hosts measure agrees with what links and devices are set to.

mod common;

use base_time::Duration;
use common::*;
use dataplane_api::Replica;
use rack_model::{LinkId, Probability, Rack};

/// 14 + 20 + 8 bytes of headers, 56 of payload, 24 of overhead at 1 ns a bit.
const PING_ON_WIRE: Duration = Duration::from_ns((98 + 24) * 8);

fn run(rack: &Rack, toy: Toy) -> rack_emulator::RunReport {
    let mut emulator = emulator(rack, toy);
    emulator.run().unwrap();
    emulator.report()
}

fn goodput(workload: &rack_emulator::WorkloadReport) -> u64 {
    workload.goodput_bits_per_s.unwrap()
}

#[test]
fn a_ping_takes_the_sum_of_its_parts() {
    let mut rack = star(2);
    rack.workloads = vec![ping(1, 2, 10, us(1000))];
    let report = run(&rack, Toy::new(wire));
    let one_way = PING_ON_WIRE * 2 + us(10) * 2 + us(1);
    let latency = report.workloads[0].latency.unwrap();
    assert_eq!((latency.min_ps, latency.max_ps), ((one_way * 2).as_ps(), (one_way * 2).as_ps()));
    assert_eq!(report.packets.in_flight, 0);
}

#[test]
fn recirculation_costs_a_service_time_each_round() {
    let mut rack = star(2);
    rack.workloads = vec![ping(1, 2, 1, us(1))];
    let mut toy = Toy::new(wire);
    toy.rounds = 3;
    let latency = run(&rack, toy).workloads[0].latency.unwrap();
    let one_way = PING_ON_WIRE * 2 + us(10) * 2 + us(1) * 4;
    assert_eq!(latency.min_ps, (one_way * 2).as_ps());
}

#[test]
fn loss_is_as_set_and_each_link_has_its_own_chance() {
    let mut rack = star(2);
    rack.links[0].loss = Probability::parse("1%").unwrap();
    rack.links[1].loss = Probability::parse("3%").unwrap();
    rack.workloads = vec![udp("stream", 1, 2, 50_000, 20, 10)];
    let report = run(&rack, Toy::new(wire));
    let stream = &report.workloads[0];
    // 1 - 0.99 * 0.97 = 3.97%, with a deviation of 0.087%.
    assert!((1850..2120).contains(&stream.lost), "{} of 50000 lost", stream.lost);
    let by_links: u64 = report.links.iter().map(|l| l.lost).sum();
    assert_eq!(by_links, stream.lost);
    assert!((430..570).contains(&report.links[0].lost), "{} of 50000 at 1%", report.links[0].lost);
}

#[test]
fn a_stream_passes_at_the_rate_of_the_slowest_link() {
    let mut rack = star(2);
    rack.links[1].rate = "100Mbit/s".parse().unwrap();
    rack.workloads = vec![udp("stream", 1, 2, 2000, 1000, 500)];
    let report = run(&rack, Toy::new(wire));
    let stream = &report.workloads[0];
    // 1000 of 1066 bytes on the wire are payload.
    let expected = 100_000_000 * 1000 / 1066;
    assert!(goodput(stream).abs_diff(expected) < expected / 1000, "{}", goodput(stream));
    let refused = &report.drops[0];
    assert_eq!((refused.place.as_str(), refused.reason.as_str()), ("dev:2", "queue full"));
    assert_eq!(refused.packets + stream.received, 2000);
    assert_eq!(report.links[3].longest_queue, 64);
}

#[test]
fn a_device_serves_as_many_at_once_as_it_can() {
    let mut rack = star(2);
    rack.devices[0].service = us(80);
    rack.devices[0].parallel = 4;
    rack.devices[0].backlog = 16;
    rack.links[1].queue = 1000;
    // One packet every 10 us; four every 80 us are served.
    rack.workloads = vec![udp("stream", 1, 2, 4000, 100, 80)];
    let report = run(&rack, Toy::new(wire));
    let stream = &report.workloads[0];
    let expected = 100 * 8 * 1_000_000 / 20;
    assert!(goodput(stream).abs_diff(expected) < expected / 100, "{}", goodput(stream));
    assert_eq!(report.drops[0].reason, "device overloaded");
    assert_eq!(report.devices[0].longest_backlog, 16);
}

#[test]
fn egress_reads_what_the_queue_was() {
    let mut rack = star(2);
    rack.links[1].rate = "10Mbit/s".parse().unwrap();
    rack.workloads = vec![udp("burst", 1, 2, 4, 100, 10_000)];
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.run().unwrap();
    let state = emulator.device(rack.device("dev").unwrap()).unwrap().state();
    // The first finds the wire free; the others wait.
    expect_test::expect!["12.328us/0/0 13.656us/0/2 14.984us/1/1 16.312us/2/0 "]
        .assert_eq(std::str::from_utf8(&state["records"]).unwrap());
}

#[test]
fn high_priorities_go_first() {
    let mut rack = star(3);
    rack.links[2].rate = "10Mbit/s".parse().unwrap();
    rack.workloads = vec![udp("low", 1, 3, 30, 100, 100), udp("high", 2, 3, 30, 100, 100)];
    let by_port = |_: &mut Toy, port, frame, _| vec![(Replica { port: 3, priority: port as u8 }, frame)];
    let report = run(&rack, Toy::new(by_port));
    let max = |n: usize| report.workloads[n].latency.unwrap().max_ps;
    assert!(max(1) * 3 < max(0) * 2, "{} and {}", max(0), max(1));
    let all = |_: &mut Toy, _, frame, _| vec![(Replica { port: 3, priority: 8 }, frame)];
    assert_eq!(run(&rack, Toy::new(all)).drops[0].reason, "no such priority");
}

#[test]
fn frames_beyond_the_mtu_are_dropped_where_it_is_exceeded() {
    let mut rack = star(2);
    rack.links[1].mtu = 500;
    rack.workloads = vec![udp("long", 1, 2, 5, 1000, 10), udp("short", 1, 2, 5, 472, 10)];
    let report = run(&rack, Toy::new(wire));
    assert_eq!((report.workloads[0].received, report.workloads[1].received), (0, 5));
    assert_eq!((report.drops[0].place.as_str(), report.drops[0].packets), ("dev:2 -> h2", 5));
    assert_eq!(report.drops[0].reason, "longer than the MTU");
}

#[test]
fn hosts_see_what_was_done_to_their_packets() {
    // Flips a bit in every second frame, and sends every fifth twice.
    let meddle = |toy: &mut Toy, _, mut frame: Vec<u8>, _| {
        if toy.calls.is_multiple_of(2) {
            frame[50] ^= 4;
        }
        let mut packets = vec![(out(2), frame)];
        if toy.calls.is_multiple_of(5) {
            packets.push(packets[0].clone());
        }
        packets
    };
    let mut rack = star(2);
    rack.workloads = vec![udp("stream", 1, 2, 100, 64, 1)];
    let report = run(&rack, Toy::new(meddle));
    let stream = &report.workloads[0];
    assert_eq!((stream.received, stream.corrupted, stream.duplicated, stream.lost), (50, 60, 10, 50));
    assert_eq!(report.drops[0].reason, "corrupted");
}

#[test]
fn jitter_stays_in_its_bounds_and_keeps_the_order() {
    let mut rack = star(2);
    rack.workloads = vec![udp("stream", 1, 2, 2000, 100, 100)];
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.set_jitter(LinkId(0), us(30));
    emulator.run().unwrap();
    let stream = &emulator.report().workloads[0];
    let latency = stream.latency.unwrap();
    assert_eq!((stream.reordered, stream.lost), (0, 0));
    assert!(latency.max_ps - latency.min_ps > us(20).as_ps());
    assert!(latency.max_ps - latency.min_ps <= us(31).as_ps());
}

#[test]
fn timers_run_at_their_deadlines() {
    let way = Duration::from_ns(84 * 8) + us(10);
    assert_eq!(timer_arrivals(&star(2)), [at_us(100) + way, at_us(150) + way, at_us(200) + way]);
}
