//! `examples/xcp`: the coefficients of each packet beside XCP's equations, and transfers that obey them.

use crate::rcp::{steps_of, with_controlled_ports};
use crate::support::{Both, both_engines, on_tofino, sharing_codes};
use base_diag::{SourceMap, Span};
use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use device::Switch;
use host_programs::Value;
use host_programs::flow_list::FlowList;
use p4rack::{Racked, rack, up};
use protocol_trials::rcp::Port;
use protocol_trials::statistics::{Length, distance, mean};
use protocol_trials::xcp::{Feedback, Packet};
use rack_emulator::{RunReport, Sample};
use rack_model::{LinkId, Rack};
use std::path::Path;

/// The port of the receiver, as `entries.stf` has it.
const PORT: Port = Port { interval_us: 256, capacity: 31_500.0, drain: 31_500.0, least: 0.0 };
/// Data in a full packet of 1,500 bytes.
const PIECE: u32 = 1440;
/// Place of the receiver's link.
const SINK: LinkId = LinkId(8);

fn racked(form: &str, change: impl Fn(&mut Rack)) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/xcp/RACK.toml");
    let defines: Vec<String> = form.split_whitespace().map(str::to_string).collect();
    let racked = rack::load_as(&path, &defines, &mut SourceMap::new(), &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

/// A datagram to the receiver with XCP's header.
fn frame(port: u16, flags: u8, inverse: u32, payload: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45];
    frame.resize(42, 0);
    frame[23] = 17;
    // The checksum of these fields.
    frame[24..26].copy_from_slice(&[0xba, 0xee]);
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    for word in [u32::from(flags) << 24 | 170, inverse, u32::MAX, 0] {
        frame.extend(word.to_be_bytes());
    }
    frame.resize(58 + payload, 0);
    frame
}

fn word(frame: &[u8], at: usize) -> u32 {
    frame[at..at + 4].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// The largest and the mean difference of coefficients from the equations, relative to them, and the number of coefficients.
fn compare(form: &str) -> (f64, f64, usize) {
    compare_with(both_engines(&racked(form, |_| ())), 1000, 0, 12.0, false)
}

/// The same of devices whose microsecond has so many nanoseconds, without the packets before a time. Small coefficients differ by less than `small`.
/// Others may get as many packets by another port, whose coefficients are not looked at.
fn compare_with(
    devices: [Switch; 2],
    unit_ns: u64,
    from: u64,
    small: f64,
    has_others: bool,
) -> (f64, f64, usize) {
    let mut devices = Both::new(devices, 10_000);
    let mut feedback = Feedback::new(PORT);
    let (mut rng, mut others) = (Rng::new(7), Rng::new(8));
    let (mut now, mut off, mut shuffled) = (1_000u64, vec![], 0);
    for _ in 0..30_000 {
        // Within 32 ms: too much, little, then near the capacity with a short queue, acknowledgements alone, silence.
        let phase = now >> 10 & 31;
        let gap = match phase {
            0 => 7,
            1..4 | 31 => 40,
            4..21 => 15,
            30 => 1500,
            _ => 14,
        };
        now += rng.below(gap);
        let payload = rng.index(1443);
        // The first packet says something: it stands for an interval.
        let begins = off.is_empty();
        let is_answer = !begins && (phase == 29 || rng.chance(1, 10));
        let (port, flags) =
            (if !begins && rng.chance(1, 20) { 9300 } else { 9301 }, if is_answer { 8 } else { 4 });
        let inverse = if !begins && rng.chance(1, 50) { 0 } else { 1 + rng.below(100 << 8) as u32 };
        let asks = port == 9301 && flags == 4 && inverse != 0;
        let sent = frame(port, flags, inverse, payload);
        let inverse_us = asks.then_some(f64::from(inverse) / 256.0);
        let wanted = feedback.packet(Packet { at_us: now, bytes: sent.len() as u32, inverse_us });
        let at = Time::ZERO + Duration::from_ns(unit_ns * now);
        if has_others {
            let mut other = frame(9301, 4, 1 + others.below(100 << 8) as u32, others.index(1443));
            other[5] = 1 + others.below(3) as u8;
            devices.each(|device| assert_eq!(device.ingress(9, other.clone(), at).len(), 1));
        }
        let found = devices.each(|device| {
            let queued = device.ingress(1, sent.clone(), at).pop().unwrap();
            device.egress(queued, Default::default(), at).output.unwrap().frame
        });
        if now < from {
            continue;
        }
        if !asks {
            assert_eq!(found, sent);
            continue;
        }
        shuffled += u32::from(wanted.positive > 0.0 && wanted.negative > 0.0);
        for (at, wanted) in [(50, wanted.positive), (54, wanted.negative)] {
            // With 24 bits after the point.
            let wanted = wanted * f64::from(1 << 24);
            let found = f64::from(word(&found, at));
            // Below this, one unit is a large part.
            if wanted > 1000.0 {
                off.push((found / wanted - 1.0).abs());
            } else {
                assert!((found - wanted).abs() < small, "{found} {wanted}");
            }
        }
    }
    assert!(shuffled > 2000, "{shuffled}");
    (off.iter().copied().fold(0.0, f64::max), mean(&off), off.len())
}

#[test]
fn every_packet_has_the_coefficients_that_the_equations_give() {
    for (form, most, average) in [("EXACT", 0.002, 0.0001), ("", 0.02, 0.003)] {
        let off = compare(form);
        assert!(off.0 < most && off.1 < average && off.2 > 10_000, "{form}: {off:?}");
    }
}

/// Each controlled port has sums of its own, in the forms of four ports and of 64.
#[test]
fn packets_for_other_ports_change_no_coefficients() {
    let ports = [(1, 1), (2, 2), (3, 3)];
    let entries = with_controlled_ports("xcp", "capacity:31500, drain:31500", &ports);
    for form in ["", "FABRIC"] {
        let controlled =
            racked(form, |rack| rack.apps[0].entries = Some(entries.display().to_string().into()));
        let off = compare_with(both_engines(&controlled), 1000, 0, 12.0, true);
        assert!(off.0 < 0.02 && off.1 < 0.003 && off.2 > 10_000, "{form}: {off:?}");
    }
    std::fs::remove_file(entries).unwrap();
}

/// The form for a Tofino, which counts units of 1,024 ns; coefficients are 0 until an interval has ended.
#[test]
fn a_tofino_gives_the_same_coefficients_within_the_error_of_the_block_divide() {
    let links = "BaselineEgress.protocol.links";
    let off = compare_with(
        on_tofino("XCP", &[(links, &[(9, 9)], "control_rate", &[(32, 63_000), (32, 31_500)])]),
        1024,
        1280,
        40.0,
        false,
    );
    assert!(off.0 < 0.06 && off.1 < 0.015 && off.2 > 10_000, "{off:?}");
}

/// Each transfer that ended, and the report.
fn run(racked: &Racked) -> (Vec<Sample>, RunReport) {
    let mut running = up::bring_up(racked).unwrap();
    running.emulator.keep_samples(true);
    let report = running.run().unwrap();
    let mut samples = running.emulator.take_samples();
    samples.sort_by_key(|sample| (sample.from, sample.sequence));
    (samples, report)
}

/// Milliseconds that transfers took.
fn times(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.received.since(sample.sent).as_ns() as f64 / 1e6).collect()
}

#[test]
fn the_approximation_takes_as_long_as_its_exact_twin() {
    let more = |rack: &mut Rack| rack.workloads[0].load.count = 400;
    let racks = ["EXACT", ""].map(|form| racked(form, more));
    let load = &racks[0].rack.workloads[0].load;
    let bytes: Vec<u32> = (0..8).flat_map(|host| FlowList::new(load, host).map(|flow| flow.bytes)).collect();
    let [exact, approximate] = racks.map(|racked| times(&run(&racked).0));
    assert_eq!((exact.len(), approximate.len()), (bytes.len(), bytes.len()));
    let means = mean(&approximate) / mean(&exact);
    assert!((means - 1.0).abs() < 0.03, "{means}");
    for class in Length::ALL {
        let of = |times: &[f64]| -> Vec<f64> {
            let all = bytes.iter().zip(times);
            all.filter(|(bytes, _)| Length::of(**bytes, PIECE) == class).map(|(_, time)| *time).collect()
        };
        let (exact, approximate) = (of(&exact), of(&approximate));
        // Of few transfers, one is a large step of the distribution.
        let most = f64::max(0.03, 2.5 / exact.len() as f64);
        let distance = distance(&exact, &approximate);
        assert!(distance <= most, "{class:?}: {distance} of {} transfers", exact.len());
    }
}

/// Eight transfers that begin one after the other.
fn long(rack: &mut Rack) {
    let load = &mut rack.workloads[0].load;
    (load.count, load.size, load.stagger) = (1, 5_000_000, Duration::from_ms(3));
    load.set("list", Value::Number(0), Span::NONE);
}

#[test]
fn transfers_share_the_link_equally_and_the_queue_is_short() {
    for form in ["EXACT", ""] {
        let (samples, report) = run(&racked(form, long));
        let link = &report.links[17];
        let times = times(&samples);
        // 40 MB in frames of 1,498 bytes take 345 ms.
        let goodput = report.workloads[0].goodput_bits_per_s.unwrap();
        assert!(goodput > 900_000_000 && link.refused == 0 && link.longest_queue < 32, "{goodput} {link:?}");
        // The later ones have as much of the link as the earlier ones.
        let (least, most) =
            times.iter().fold((f64::MAX, 0f64), |(least, most), time| (least.min(*time), most.max(*time)));
        assert!(most < 1.15 * least, "{form}: {times:?}");
    }
}

#[test]
fn with_plain_forwarding_headers_stay_as_they_are_and_windows_do_not_grow() {
    let plain = |rack: &mut Rack| {
        long(rack);
        rack.workloads[0].load.size = 500_000;
        rack.apps[0].program.value = "../rcp/forward.p4".to_string();
        rack.apps[0].entries = Some("../rcp/hosts.stf".to_string().into());
    };
    let plain = racked("", plain);
    let mut running = up::bring_up(&plain).unwrap();
    running.emulator.record(SINK);
    running.run().unwrap();
    let recording = running.emulator.take_recording(SINK).unwrap();
    let mut reader = base_pcap::Reader::new(recording.as_slice()).unwrap();
    let mut packets = 0;
    while let Some(frame) = reader.read(|frame| frame.bytes.to_vec()).unwrap() {
        if frame[36..38] == 9301u16.to_be_bytes() {
            packets += 1;
            assert_eq!((word(&frame, 50), word(&frame, 54)), (u32::MAX, 0));
        }
    }
    assert!(packets > 2000);
    let short = |rack: &mut Rack| {
        long(rack);
        rack.workloads[0].load.size = 500_000;
    };
    let [without, with] = [plain, racked("", short)].map(|racked| mean(&times(&run(&racked).0)));
    assert!(without > 1.4 * with, "{without} {with}");
}

/// Results of steps; rates in Mbit/s.
#[derive(Debug)]
struct Steps {
    /// Rates of all transfers together: before the step, between the steps, and after the second.
    rates: [f64; 3],
    /// Milliseconds from the end of the last of 31 transfers until the remaining one has 900 Mbit/s for a millisecond.
    back_ms: f64,
    /// The slowest of the 31 in shares of the fastest.
    fairness: f64,
    queue: u32,
    refused: u64,
}

/// A transfer alone, 31 more from 20 ms on, and alone again; with a change of the program's text.
fn stepped(form: &str, change: (&str, &str)) -> Steps {
    let racked = steps_of("xcp", (PORT.capacity, PORT.drain), "", form, change);
    let sink = LinkId(0);
    let mut running = up::bring_up(&racked).unwrap();
    running.emulator.keep_samples(true);
    running.emulator.record(sink);
    let report = running.run().unwrap();
    let recording = running.emulator.take_recording(sink).unwrap();
    let mut reader = base_pcap::Reader::new(recording.as_slice()).unwrap();
    // Bytes to the receiver by tenths of a millisecond.
    let mut bytes = vec![0f64; 20_000];
    while let Some((ns, length, to)) =
        reader.read(|frame| (frame.nanos, frame.bytes.len(), frame.bytes[5])).unwrap()
    {
        if let Some(slot) = bytes.get_mut(ns as usize / 100_000).filter(|_| to == 0) {
            *slot += length as f64;
        }
    }
    let rate =
        |from: usize, to: usize| bytes[from..to].iter().sum::<f64>() * 8.0 / (to - from) as f64 / 100.0;
    let samples = running.emulator.take_samples();
    let tenth = |sample: &Sample| sample.received.as_ns() as usize / 100_000;
    let more: Vec<&Sample> = samples.iter().filter(|sample| sample.workload == 1).collect();
    assert_eq!(more.len(), 31);
    let last = more.iter().map(|sample| tenth(sample)).max().unwrap();
    let took = |sample: &&Sample| sample.received.since(sample.sent).as_ns() as f64;
    let (least, most) =
        more.iter().map(took).fold((f64::MAX, 0f64), |(a, b), took| (a.min(took), b.max(took)));
    let back = (last..bytes.len() - 10).find(|at| rate(*at, at + 10) > 900.0).unwrap();
    Steps {
        rates: [rate(50, 200), rate(600, 1000), rate(last + 50, last + 250)],
        back_ms: (back - last) as f64 / 10.0,
        fairness: least / most,
        queue: report.links[1].longest_queue,
        refused: report.links[1].refused,
    }
}

#[test]
fn a_step_settles() {
    for form in ["EXACT", ""] {
        let steps = stepped(form, ("", ""));
        assert!(steps.rates.iter().all(|rate| *rate > 970.0), "{form}: {steps:?}");
        assert!(steps.back_ms < 2.0 && steps.fairness > 0.8, "{form}: {steps:?}");
        assert!(steps.queue < 64 && steps.refused == 0, "{form}: {steps:?}");
    }
}

/// Gains that are wrong by 2 and 4: phi is.
#[test]
fn a_step_settles_with_wrong_gains() {
    let by = "bit<32> by = falls == 1 ? used - room : room - used;";
    for wrong in ["<< 1", "<< 2", ">> 1", ">> 2"] {
        let to = format!("bit<32> by = (falls == 1 ? used - room : room - used) {wrong};");
        let steps = stepped("", (by, &to));
        assert!(steps.rates.iter().all(|rate| *rate > 950.0), "{wrong}: {steps:?}");
        assert!(steps.back_ms < 6.0 && steps.fairness > 0.6, "{wrong}: {steps:?}");
        assert!(steps.queue < 256 && steps.refused == 0, "{wrong}: {steps:?}");
    }
}
