//! Measurements of hosts agree with the settings of links and devices.

use crate::common;

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
    assert_eq!(report.drops[0].reason, "wrong UDP checksum");
    assert_eq!(stream.corrupted_by["wrong UDP checksum"], 60);
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

#[test]
fn values_of_watched_fields_are_counted_where_packets_arrive() {
    use rack_model::Field;
    // Marks every fourth packet as congestion does, and counts its TTL down; checksums follow.
    let mark = |toy: &mut Toy, port, mut frame: Vec<u8>, now| {
        let congested = if toy.calls.is_multiple_of(4) { 3 } else { 0 };
        frame[15] |= congested;
        frame[22] -= 1;
        let sum = u16::from_be_bytes([frame[24], frame[25]]);
        // RFC 1624: HC' = ~(~HC + ~m + m'), of two words.
        let add = |a: u16, b: u16| {
            let (sum, carry) = a.overflowing_add(b);
            sum + u16::from(carry)
        };
        let sum = !add(add(!sum, u16::from(congested)), !0x0100);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        wire(toy, port, frame, now)
    };
    let mut rack = star(2);
    rack.workloads = vec![ping(1, 2, 100, us(100)), udp("stream", 2, 1, 50, 100, 1)];
    rack.workloads[0].watch = vec![Field::Ecn, Field::Ttl];
    let report = run(&rack, Toy::new(mark));
    let text: Vec<String> = report.workloads[0]
        .watched
        .iter()
        .map(|w| {
            let values = w.values.iter().map(|value| format!("{}x{}", value.value, value.packets));
            format!("{} {} {}", w.field, w.at, values.collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(report.workloads[0].received, 100, "{report:?}");
    let marked = |at: usize| report.workloads[0].watched[at].values[1].packets;
    assert!(
        text[0].starts_with("ipv4.ecn sender 0x") && text[1].starts_with("ipv4.ecn receiver 0x"),
        "{text:?}"
    );
    assert!((20..70).contains(&(marked(0) + marked(1))), "{text:?}");
    assert_eq!(text[2..], ["ipv4.ttl sender 63x100", "ipv4.ttl receiver 63x100"]);
    assert!(report.workloads[1].watched.is_empty());
    assert!(
        report.to_table().contains("\nping     ipv4.ttl  receiver  63         100\n"),
        "{}",
        report.to_table()
    );
}

#[test]
fn drops_are_known_by_the_workload_of_the_packet() {
    // One workload goes where nothing is plugged in, the other through a queue that is too short.
    let sort = |toy: &mut Toy, port, frame: Vec<u8>, now| match frame[36..38] {
        [0x23, 0x28] => wire(toy, port, frame, now),
        _ => vec![(out(9), frame)],
    };
    let mut rack = star(2);
    rack.links[1].rate = "10Mbit/s".parse().unwrap();
    rack.links[1].queue = 2;
    rack.workloads = vec![udp("full", 1, 2, 100, 500, 100), udp("lost", 1, 2, 10, 500, 10)];
    rack.workloads[1].load = rack.workloads[1].load.clone().with("port", host_programs::Value::Number(7));
    let report = run(&rack, Toy::new(sort));
    let drops = |at: usize| {
        let drops = &report.workloads[at].drops;
        drops.iter().map(|d| format!("{} {}", d.place, d.reason)).collect::<Vec<_>>()
    };
    assert_eq!(drops(0), ["dev:2 queue full"]);
    assert_eq!(drops(1), ["dev:9 no link on the port"]);
    let (full, lost) = (&report.workloads[0], &report.workloads[1]);
    assert_eq!((full.drops[0].packets, lost.drops[0].packets), (full.lost, 10));
}

#[test]
fn samples_are_what_the_report_is_made_of() {
    let mut rack = star(2);
    rack.links[0].loss = Probability::parse("10%").unwrap();
    rack.workloads = vec![ping(1, 2, 100, us(100)), udp("stream", 2, 1, 50, 100, 1)];
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.keep_samples(true);
    let mut samples = vec![];
    while emulator.run_events(base_time::Time::MAX, 100).unwrap() > 0 {
        samples.extend(emulator.take_samples());
    }
    let report = emulator.report();
    assert!(samples.is_sorted_by_key(|sample| sample.received));
    for (at, workload) in report.workloads.iter().enumerate() {
        let own: Vec<_> = samples.iter().filter(|sample| sample.workload == at).collect();
        let latencies: Vec<u64> = own.iter().map(|s| s.received.since(s.sent).as_ps()).collect();
        let latency = workload.latency.unwrap();
        assert_eq!(own.len() as u64, workload.received);
        assert_eq!(latencies.iter().sum::<u64>() / own.len() as u64, latency.mean_ps);
        assert_eq!(latencies.iter().max(), Some(&latency.max_ps));
        assert!(own.is_sorted_by_key(|sample| sample.sequence));
    }
    assert!(emulator.take_samples().is_empty());
}
