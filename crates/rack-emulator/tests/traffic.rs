//! Every kind of workload, against what it should come to.

use crate::common;

use base_time::{Duration, Rate, Time};
use common::*;
use host_programs::explicit::RCP;
use host_programs::memcached::MEMCACHED;
use host_programs::pcap::PCAP;
use host_programs::request::REQUEST;
use host_programs::tcp::TCP;
use host_programs::udp::{ON_OFF, POISSON, ZIPF};
use host_programs::{Kind, Load, Value};
use rack_emulator::{Captures, Emulator, RackDevice, RunReport, Spent, WorkloadReport};
use rack_model::{HostId, Probability, Rack};

fn run(rack: &Rack) -> RunReport {
    let mut emulator = emulator(rack, Toy::new(wire));
    emulator.run().unwrap();
    emulator.report()
}

fn source(kind: &'static Kind, mbit_per_s: u64) -> Load {
    load(kind, &[("rate", Value::Rate(Rate::from_bits_per_s(mbit_per_s * 1_000_000)))])
}

fn assert_near(found: u64, wanted: u64, permille: u64) {
    assert!(found.abs_diff(wanted) <= wanted * permille / 1000, "{found}, not {wanted}");
}

/// A queue before a link of 1 Gbit/s, filled by a Poisson source through a link without limit: packets of 976 + 24 bytes
/// take 8 us each.
fn mean_queue(load_percent: u64, packets: u64) -> (u64, WorkloadReport) {
    let mut rack = star(2);
    rack.links[0].rate = Rate::from_bits_per_s(100_000_000_000_000);
    rack.links[1].queue = 1000;
    rack.devices[0].service = Duration::ZERO;
    // 934 bytes of payload in each 1000 on the wire.
    let rate = 934 * 10 * load_percent / 1000;
    rack.workloads = vec![workload("m", source(&POISSON, rate), 1, 2, packets, 934)];
    let report = run(&rack);
    let queue = report.links[3].mean_queue_milli;
    (queue, report.workloads[0].clone())
}

#[test]
fn a_queue_is_as_long_as_theory_says() {
    // M/D/1: the mean number of waiting packets is r^2 / (2 (1 - r)).
    let many = if features::is_long() { 1_000_000 } else { 400_000 };
    for (percent, packets) in [(30, 100_000), (50, 100_000), (70, many)] {
        let (queue, stream) = mean_queue(percent, packets);
        // The rate was rounded down to whole Mbit/s.
        let load = (934 * 10 * percent / 1000) as f64 / 934.0;
        let theory = load * load / (2.0 * (1.0 - load)) * 1000.0;
        let allowed = if percent == 70 { 0.02 } else { 0.04 };
        assert!((queue as f64 / theory - 1.0).abs() < allowed, "at {percent} %: {queue} and {theory}");
        assert_eq!(stream.lost, 0);
    }
}

#[test]
fn sources_by_chance_keep_their_rate() {
    let mut rack = star(2);
    let bursts = source(&ON_OFF, 160).with("on", Value::Time(us(200))).with("off", Value::Time(us(600)));
    rack.workloads = vec![
        workload("poisson", source(&POISSON, 40), 1, 2, 20_000, 500),
        workload("onoff", bursts, 2, 1, 20_000, 500),
    ];
    let report = run(&rack);
    assert_near(report.workloads[0].goodput_bits_per_s.unwrap(), 40_000_000, 20);
    // A quarter of the time it sends, and in each burst half a packet more than fits, on average.
    assert_near(report.workloads[1].goodput_bits_per_s.unwrap(), 40_000_000, 120);
    assert_eq!((report.workloads[0].kind.as_str(), report.workloads[1].kind.as_str()), ("poisson", "onoff"));
    // Packets of a burst that come at once wait for each other; the others do not.
    assert!(report.links[0].longest_queue > 1);
    assert_eq!(report.packets.dropped, 0);
}

#[test]
fn popular_flows_have_their_share() {
    let mut rack = star(2);
    let flows = source(&ZIPF, 100).with("flows", Value::Number(100));
    rack.workloads = vec![workload("zipf", flows, 1, 2, 10_000, 100)];
    let h2 = HostId(1);
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.listen(h2);
    emulator.run().unwrap();
    let mut ports = std::collections::BTreeMap::new();
    for received in emulator.take_received(h2) {
        let port = u16::from_be_bytes([received.frame[34], received.frame[35]]);
        *ports.entry(port).or_insert(0u64) += 1;
    }
    assert_eq!(ports.keys().next(), Some(&4096));
    assert!(ports.len() > 95);
    // The sum of 1/k up to 100 is 5.187.
    assert_near(ports[&4096], 1928, 60);
    assert_near(ports[&4097], 964, 100);
}

#[test]
fn requests_are_answered_at_an_open_rate() {
    let mut rack = star(2);
    let kind = load(
        &REQUEST,
        &[("interval", Value::Time(us(100))), ("answer", Value::Number(1200)), ("port", Value::Number(53))],
    );
    rack.workloads = vec![workload("ask", kind, 1, 2, 5000, 64)];
    let report = run(&rack);
    let ask = &report.workloads[0];
    assert_eq!((ask.sent, ask.received, ask.corrupted), (5000, 5000, 0));
    // (64 + 42 + 24) bytes there and (1200 + 42 + 24) back, twice each, four links and two passes of the device.
    let least = Duration::from_ns((130 + 1266) * 8 * 2) + us(10) * 4 + us(1) * 2;
    assert_eq!(ask.latency.unwrap().min_ps, least.as_ps());
    assert_near(report.duration_ps / 1_000_000, 500_000, 40);
    // Lost frames are missed, and nothing else: requests do not wait for answers.
    rack.links[0].loss = Probability::parse("10%").unwrap();
    let lossy = run(&rack);
    assert_eq!(lossy.workloads[0].sent, 5000);
    assert_near(lossy.workloads[0].lost, 950, 120);
}

#[test]
fn a_store_answers_each_request_and_nothing_else_is_right() {
    let mut rack = star(2);
    let ask = |verb: &str| {
        let verb = ("verb", Value::Text(verb.to_string()));
        load(&MEMCACHED, &[verb, ("keys", Value::Number(50)), ("interval", Value::Time(us(100)))])
    };
    rack.workloads =
        vec![workload("get", ask("get"), 1, 2, 2000, 400), workload("set", ask("set"), 1, 2, 500, 400)];
    let report = run(&rack);
    for (workload, sent) in report.workloads.iter().zip([2000, 500]) {
        assert_eq!((workload.sent, workload.received, workload.corrupted), (sent, sent, 0), "{workload:?}");
        assert_eq!((workload.duplicated, workload.reordered), (0, 0));
    }
    // `get KEY` is 30 bytes of payload, its answer 445; both with 42 of headers and 24 on the wire, the first padded.
    let least = Duration::from_ns((96 + 511) * 8 * 2) + us(10) * 4 + us(1) * 2;
    assert_eq!(report.workloads[0].latency.unwrap().min_ps, least.as_ps());
    // Lost frames are missed; a changed frame is not taken for an answer.
    rack.links[0].loss = Probability::parse("10%").unwrap();
    rack.links[0].corrupt = Probability::parse("1%").unwrap();
    let lossy = run(&rack);
    let get = &lossy.workloads[0];
    assert!(get.corrupted > 0 && get.received + get.lost == 2000, "{get:?}");
    assert_near(get.lost, 416, 150);
}

fn transfers(count: u64, size: u32, interval: Duration) -> rack_model::Workload {
    workload("copy", load(&TCP, &[("interval", Value::Time(interval))]), 1, 2, count, size)
}

#[test]
fn a_tcp_transfer_uses_the_link() {
    let mut rack = star(2);
    rack.links[1].rate = "100Mbit/s".parse().unwrap();
    rack.links[1].queue = 256;
    rack.workloads = vec![transfers(1, 10_000_000, us(1))];
    let report = run(&rack);
    let copy = &report.workloads[0];
    assert_eq!((copy.sent, copy.received, copy.corrupted), (1, 1, 0));
    // 1460 of 1538 bytes on the wire are payload.
    assert_near(copy.goodput_bits_per_s.unwrap(), 94_900_000, 20);
    let seconds = copy.latency.unwrap().max_ps / 1_000_000;
    assert_near(seconds, 843_000, 20);
}

#[test]
fn tcp_gets_everything_through_a_bad_link() {
    let mut rack = star(2);
    let share = |text| Probability::parse(text).unwrap();
    rack.links[1].loss = share("1%");
    rack.links[1].corrupt = share("0.5%");
    rack.links[1].duplicate = share("0.5%");
    rack.links[1].reorder = share("0.5%");
    rack.workloads = vec![transfers(20, 100_000, Duration::from_ms(1))];
    let report = run(&rack);
    let copy = &report.workloads[0];
    assert_eq!((copy.sent, copy.received), (20, 20));
    let checksums = ["wrong IPv4 header checksum", "wrong TCP checksum"];
    assert!(copy.corrupted_by.keys().all(|why| checksums.contains(&why.as_str())), "{copy:?}");
    let link = &report.links[3];
    assert!([link.lost, link.corrupted, link.duplicated, link.reordered].iter().all(|n| *n > 0), "{link:?}");
    assert_eq!(report.packets.in_flight, 0);
}

#[test]
fn a_tcp_transfer_to_nowhere_is_given_up() {
    let mut rack = star(2);
    rack.links[1].loss = Probability::ONE;
    rack.workloads = vec![transfers(2, 1000, us(10))];
    let report = run(&rack);
    assert_eq!((report.workloads[0].sent, report.workloads[0].received), (2, 0));
    assert!(report.duration_ps < Duration::from_s(20).as_ps());
}

fn paced(count: u64, size: u32, rate: &str) -> rack_model::Workload {
    let keys = [("interval", Value::Time(us(100))), ("rate", Value::Rate(rate.parse().unwrap()))];
    workload("paced", load(&RCP, &keys), 1, 2, count, size)
}

#[test]
fn rcp_sends_at_the_rate_that_comes_back() {
    let mut rack = star(2);
    rack.workloads = vec![paced(1, 1_000_000, "200Mbit/s")];
    let report = run(&rack);
    let paced = &report.workloads[0];
    assert_eq!((paced.sent, paced.received, paced.corrupted, report.packets.dropped), (1, 1, 0, 0));
    // No switch has lowered the wish: 1444 of 1514 bytes are data.
    assert_near(paced.goodput_bits_per_s.unwrap(), 190_750_000, 5);
}

#[test]
fn rcp_gets_everything_through_a_bad_link() {
    let mut rack = star(2);
    let share = |text| Probability::parse(text).unwrap();
    rack.links[1].loss = share("1%");
    rack.links[1].corrupt = share("0.5%");
    rack.links[1].duplicate = share("0.5%");
    rack.links[1].reorder = share("0.5%");
    rack.workloads = vec![paced(40, 100_000, "500Mbit/s")];
    let report = run(&rack);
    let paced = &report.workloads[0];
    assert_eq!((paced.sent, paced.received), (40, 40), "{paced:?}");
    let link = &report.links[3];
    assert!([link.lost, link.corrupted, link.duplicated, link.reordered].iter().all(|n| *n > 0), "{link:?}");
    assert!(paced.corrupted_by.contains_key("payload changed"), "{paced:?}");
    assert_eq!(report.packets.in_flight, 0);
}

#[test]
fn rcp_counts_a_piece_once_that_comes_twice() {
    let mut rack = star(2);
    rack.links[1].duplicate = Probability::ONE;
    rack.workloads = vec![paced(1, 1_000_000, "200Mbit/s")];
    let report = run(&rack);
    let paced = &report.workloads[0];
    assert_eq!((paced.sent, paced.received), (1, 1));
    assert_near(paced.goodput_bits_per_s.unwrap(), 190_750_000, 5);
}

#[test]
fn a_pair_has_at_most_1024_transfers_by_rcp() {
    let mut rack = star(2);
    rack.links[1].loss = Probability::ONE;
    rack.workloads = vec![paced(1030, 1000, "1Gbit/s")];
    rack.until = Some(Time::ZERO + Duration::from_s(1));
    assert_eq!(run(&rack).workloads[0].measures["given up"], 6);
}

#[test]
fn rcp_to_nowhere_is_given_up() {
    let mut rack = star(2);
    rack.links[1].loss = Probability::ONE;
    rack.workloads = vec![paced(2, 1000, "1Gbit/s")];
    let report = run(&rack);
    assert_eq!((report.workloads[0].sent, report.workloads[0].received), (2, 0));
    assert!(report.duration_ps < Duration::from_s(20).as_ps());
}

fn with_capture(rack: &Rack, toy: Toy, frames: Vec<(Duration, Vec<u8>)>) -> RunReport {
    let device = RackDevice {
        name: "dev".to_string(),
        engine: "toy".to_string(),
        device: Box::new(toy),
        spent: Spent::default(),
    };
    let captures = Captures::from([("trace.pcap".to_string(), frames)]);
    let mut emulator = Emulator::with_captures(rack, vec![device], captures).unwrap();
    emulator.run().unwrap();
    emulator.report()
}

#[test]
fn captures_are_replayed_at_their_pace() {
    let mut rack = star(2);
    let kind = load(&PCAP, &[("file", Value::Text("trace.pcap".to_string())), ("speed", Value::Number(2))]);
    rack.workloads = vec![workload("replay", kind, 1, 2, u64::MAX >> 40, 100)];
    let frames: Vec<(Duration, Vec<u8>)> = (0..50).map(|n| (us(20) * n, vec![n as u8; 1226])).collect();
    let report = with_capture(&rack, Toy::new(wire), frames.clone());
    let replay = &report.workloads[0];
    assert_eq!((replay.sent, replay.received, report.packets.dropped), (50, 50, 0));
    // 1226 bytes every 10 us.
    assert_eq!(replay.goodput_bits_per_s, Some(980_800_000));
    assert_eq!(Time::from_ps(report.duration_ps), at_us(490 + 41) + Duration::from_ns(0));
    let dropping = with_capture(&rack, Toy::new(dropper), frames);
    assert_eq!(dropping.workloads[0].lost, 5);
    assert!(Emulator::new(&rack, vec![]).is_err());
}

#[test]
fn pairs_of_many_hosts_are_one_workload() {
    let mut rack = star(4);
    let all: Vec<HostId> = (0..4).map(HostId).collect();
    rack.workloads = vec![ping(1, 2, 3, us(1000))];
    rack.workloads[0].from = all.clone().into();
    rack.workloads[0].to = all.into();
    rack.workloads[0].load.stagger = us(1);
    let mut toy = Toy::new(hub);
    toy.ports = vec![1, 2, 3, 4];
    let mut emulator = emulator(&rack, toy);
    emulator.run().unwrap();
    let report = emulator.report();
    let pings = &report.workloads[0];
    assert_eq!((pings.pairs, pings.sent, pings.received, pings.lost), (12, 36, 36, 0));
    assert_eq!((pings.from.as_str(), report.workloads.len()), ("4 hosts", 1));
}
