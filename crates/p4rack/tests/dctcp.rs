//! `examples/dctcp`: each mark beside the rule, and the queue of long transfers beside the one that DCTCP's authors derive.

use crate::support::{both_engines, example, ns_3_times, sharing_codes};
use base_diag::{SourceMap, Span};
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, QueueRecord};
use host_programs::Value;
use p4rack::{Racked, rack, up};
use rack_emulator::{LinkReport, RunReport};
use rack_model::Rack;
use std::path::Path;

/// The threshold of the receiver's port, in packets.
const MARK_FROM: u32 = 20;
/// The port and the link of the receiver.
const RECEIVER: usize = 9;

/// Sets the checksum of an IPv4 header (RFC 791): the complement of the ones' complement sum.
fn set_checksum(frame: &mut [u8], words: u8) {
    frame[24..26].fill(0);
    let header = &frame[14..14 + 4 * usize::from(words)];
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(folded + (folded >> 16)) as u16).to_be_bytes());
}

/// An IPv4 packet to a host, with a header of so many words.
fn frame(to: u8, words: u8, ecn: u8, rng: &mut Rng) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 1, 8, 0, 0x40 | words];
    frame.extend((0..59).map(|_| rng.below(256) as u8));
    frame[15] = frame[15] & 0xfc | ecn;
    set_checksum(&mut frame, words);
    frame
}

#[test]
fn a_packet_is_marked_if_it_found_a_long_queue_and_understands_ecn() {
    let mut devices = both_engines(&example("dctcp"));
    let mut rng = Rng::new(4);
    let mut marked = [0; 2];
    for _ in 0..20_000 {
        let (to, words, ecn) = (1 + rng.below(9) as u8, 5 + rng.below(2) as u8, rng.below(4) as u8);
        let depth = rng.below(40) as u32;
        let sent = frame(to, words, ecn, &mut rng);
        let mut wanted = sent.clone();
        if to == 9 && words == 5 && ecn != 0 && depth >= MARK_FROM {
            wanted[15] |= 3;
            set_checksum(&mut wanted, words);
        }
        marked[usize::from(wanted != sent)] += 1;
        for device in &mut devices {
            let queued = device.ingress(1, sent.clone(), Time::ZERO).pop().unwrap();
            let record = QueueRecord { enqueued: Time::ZERO, depth_at_enqueue: depth, depth_at_dequeue: 7 };
            let output = device.egress(queued, record, Time::ZERO).output.unwrap();
            assert_eq!(output.frame, wanted, "to {to}, {words} words, ECN {ecn}, depth {depth}");
        }
    }
    assert!(marked[0] > 1000 && marked[1] > 200, "{marked:?}");
}

/// A rack of the examples, changed.
fn changed(file: &str, change: impl Fn(&mut Rack)) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
    let racked = rack::load_as(&path, &[], &mut SourceMap::new(), &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

fn run(racked: &Racked) -> RunReport {
    up::bring_up(racked).unwrap().run().unwrap()
}

/// The receiver's direction of its link.
fn to_receiver(report: &RunReport) -> &LinkReport {
    &report.links[2 * (RECEIVER - 1) + 1]
}

#[test]
fn long_transfers_use_the_link_with_a_short_queue() {
    let [dctcp, cubic] = ["dctcp/RACK.toml", "dctcp/cubic.toml"].map(|file| run(&example(file)));
    let [queue, filled] = [&dctcp, &cubic].map(to_receiver);
    // 1,460 bytes of 1,538 on the wire are 949 Mbit/s.
    let goodput = dctcp.workloads[0].goodput_bits_per_s.unwrap();
    assert!(goodput > 940_000_000, "{goodput}");
    // A transfer that begins doubles its window until the first marks come back.
    assert!(queue.longest_queue < 160 && queue.refused == 0, "{queue:?}");
    assert!(filled.longest_queue == 256 && filled.refused > 1000, "{filled:?}");
}

/// With transfers that have begun long ago, the queue is between the threshold and the threshold and a packet for each transfer (Alizadeh et al., section
/// 3.3: K + N at most), as far as delayed acknowledgements, of two segments, let it; pings wait for it.
#[test]
fn the_queue_stays_near_the_threshold() {
    let long = |rack: &mut Rack| {
        rack.workloads[0].load.size = 20_000_000;
        let pings = &mut rack.workloads[1].load;
        (pings.start, pings.count) = (Time::ZERO + Duration::from_ms(400), 600);
    };
    let report = run(&changed("dctcp/RACK.toml", long));
    // Without a queue 8 * 40 us on cables, and 4 us; a packet in the queue takes 12.3 us.
    let base = 164_000.0;
    let latency = report.workloads[1].latency.unwrap();
    let packets =
        [latency.min_ps, latency.median_ps, latency.max_ps].map(|ps| (ps as f64 / 1e3 - base) / 12_304.0);
    let threshold = f64::from(MARK_FROM);
    assert!(packets[1] > 0.5 * threshold && packets[2] < threshold + 2.0 * 8.0 + 1.0, "{packets:?}");
}

#[test]
fn without_marks_the_queue_fills() {
    let plain = |rack: &mut Rack| rack.apps[0].entries = Some("../rcp/hosts.stf".to_string().into());
    let report = run(&changed("dctcp/RACK.toml", plain));
    assert_eq!(report.workloads[0].measures["echoes"], 0);
    assert!(to_receiver(&report).longest_queue == 256 && to_receiver(&report).refused > 1000);
}

/// By ECN, CUBIC and Reno reduce their windows before packets are lost, by more than DCTCP.
#[test]
fn classic_senders_understand_marks() {
    for congestion in ["cubic", "reno"] {
        let classic = |rack: &mut Rack| {
            let load = &mut rack.workloads[0].load;
            load.set("congestion", Value::Text(congestion.into()), Span::NONE);
            load.set("ecn", Value::Text("on".into()), Span::NONE);
        };
        let report = run(&changed("dctcp/RACK.toml", classic));
        let (queue, measures) = (to_receiver(&report), &report.workloads[0].measures);
        assert!(queue.refused == 0 && measures["reductions"] > 50, "{congestion}: {queue:?} {measures:?}");
        assert!(report.workloads[0].goodput_bits_per_s.unwrap() > 850_000_000, "{congestion}");
    }
}

/// TCP of ns-3 beside the hosts' own: transfers from 2 kB to 5 MB, one after the other. `ns3/test` builds the programs and runs this with their folder in
/// `P4RACK_NS3`.
#[test]
#[allow(clippy::disallowed_methods)]
fn ns_3_s_tcp_needs_the_same_times() {
    let Ok(place) = std::env::var("P4RACK_NS3") else { return };
    let sizes: [u32; 7] = [2_000, 10_000, 30_000, 100_000, 500_000, 2_000_000, 5_000_000];
    let apart = Duration::from_ms(100);
    for (file, congestion, control) in [
        ("dctcp/cubic.toml", "reno", "TcpLinuxReno"),
        ("dctcp/cubic.toml", "cubic", "TcpCubic"),
        ("dctcp/RACK.toml", "dctcp", "TcpDctcp"),
    ] {
        let one_by_one = |rack: &mut Rack| {
            let first = rack.workloads[0].clone();
            rack.workloads = sizes
                .into_iter()
                .zip(0u16..)
                .map(|(size, at)| {
                    let mut one = first.clone();
                    one.name = format!("transfer-{at}").into();
                    one.from.value.truncate(1);
                    (one.load.size, one.load.start) = (size, Time::ZERO + apart * u64::from(at));
                    one.load.set("port", Value::Number(5001 + u32::from(at)), Span::NONE);
                    one.load.set("congestion", Value::Text(congestion.into()), Span::NONE);
                    one
                })
                .collect();
        };
        let mut running = up::bring_up(&changed(file, one_by_one)).unwrap();
        running.emulator.keep_samples(true);
        running.run().unwrap();
        let mut samples = running.emulator.take_samples();
        samples.sort_by_key(|sample| sample.workload);
        let mut args = vec![control.to_string()];
        if congestion == "dctcp" {
            let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dctcp");
            args.extend(["dctcp.p4", "entries.stf"].map(|file| format!("{examples}/{file}")));
        }
        let transfers: Vec<(usize, u64, u32)> =
            sizes.into_iter().zip(0..).map(|(size, at)| (0, (apart * at).as_ns(), size)).collect();
        let wanted = ns_3_times(&Path::new(&place).join("tcp"), &args, &transfers);
        assert_eq!((samples.len(), wanted.len()), (sizes.len(), sizes.len()));
        for ((sample, wanted), size) in samples.iter().zip(&wanted).zip(sizes) {
            let ms = sample.received.since(sample.sent).as_ns() as f64 / 1e6;
            let off = (ms / wanted - 1.0).abs();
            let most = if size < 100_000 { 0.04 } else { 0.02 };
            assert!(off < most, "{congestion}, {size} bytes: {ms} and {wanted} ms");
        }
    }
}
