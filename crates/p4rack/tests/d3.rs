//! `examples/d3`: each grant beside D3's algorithm, and the share of deadlines that transfers meet, beside RCP and without the program.

use crate::support::{Both, both_engines, sharing_codes};
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use host_programs::explicit::{D3, Deadlines};
use host_programs::{Load, Value};
use p4rack::{Racked, rack, up};
use protocol_trials::d3::{Port, Request, Step};
use rack_emulator::{RunReport, Sample};
use rack_model::{HostId, LinkId, Rack};
use std::path::Path;

/// The port of the receiver, as `entries.stf` has it, and the base rate, as the program has it, in kbit/s.
const CAPACITY: f64 = 950_000.0;
const BASE: f64 = 1000.0;
/// The rate that senders wish.
const WISH: u32 = 1_000_000;
/// Place of the receiver's link.
const SINK: LinkId = LinkId(8);
/// Flags of the header.
const SYN: u8 = 1;
const REF: u8 = 2;
const END: u8 = SYN | REF;
const DATA: u8 = 4;
const ACK: u8 = 8;
const DATA_REF: u8 = DATA | REF;

fn racked(file: &str, form: &str, change: impl Fn(&mut Rack)) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/d3").join(file);
    let defines: Vec<String> =
        Some(form).filter(|form| !form.is_empty()).map(str::to_string).into_iter().collect();
    let racked = rack::load_as(&path, &defines, &mut SourceMap::new(), &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{found:#?}")))
}

/// A datagram to the receiver with D3's header.
fn frame(port: u16, flags: u8, words: [u32; 4], payload: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45];
    frame.resize(42, 0);
    frame[23] = 17;
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame.extend((u32::from(flags) << 24 | 170).to_be_bytes());
    words.iter().for_each(|word| frame.extend(word.to_be_bytes()));
    frame.resize(62 + payload, 0);
    frame
}

fn word(frame: &[u8], at: usize) -> u32 {
    frame[at..at + 4].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// Differences of grants from the algorithm, as shares of the capacity: the largest, the mean, and their number.
fn compare(form: &str) -> (f64, f64, usize) {
    let mut devices = Both::new(both_engines(&racked("RACK.toml", form, |_| ())), 8_000);
    let mut port = Port::new(CAPACITY, BASE);
    let mut rng = Rng::new(7);
    // Desired and granted rate of each open transfer.
    let mut open: Vec<[u32; 2]> = vec![];
    let (mut now, mut off, mut at_base, mut whole) = (1_000u64, vec![], 0, 0);
    for round in 0..30_000 {
        // Silence after which the port forgets, now and then.
        now += if rng.chance(1, 1000) { 20_000 } else { rng.below(40) };
        let at = Time::ZERO + Duration::from_us(now);
        let mut send = |sent: &[u8]| {
            devices.each(|device| {
                let queued = device.ingress(1, sent.to_vec(), at).pop().unwrap();
                device.egress(queued, Default::default(), at).output.unwrap().frame
            })
        };
        // The first packet is a request.
        if round > 0 && rng.chance(1, 3) {
            let flags = *rng.pick(&[DATA, ACK | DATA, ACK | SYN, REF]).unwrap();
            let to = if flags == REF { 9303 } else { 9304 };
            let sent = frame(to, flags, [WISH, rng.below(WISH.into()) as u32, 0, 0], rng.index(1400));
            assert_eq!(send(&sent), sent);
            continue;
        }
        let at = rng.index(open.len() + 1);
        let (step, past) = match open.get(at) {
            // From 1 to 60 transfers are open.
            Some(_) if open.len() < 60 && rng.chance(1, 9) => (Step::Begins, [0; 2]),
            Some(past) if open.len() > 1 && rng.chance(1, 10) => (Step::Ends, *past),
            Some(past) => (Step::GoesOn, *past),
            None => (Step::Begins, [0; 2]),
        };
        // By turns demands are below the capacity and above it.
        let most = if now >> 16 & 1 == 0 { 20_000 } else { 100_000 };
        let desired = if rng.chance(1, 3) { 0 } else { rng.below(most) as u32 };
        let (flags, desired, wish) = match step {
            Step::Begins => (SYN, desired, WISH),
            Step::GoesOn if rng.chance(1, 2) => (REF, desired, WISH),
            Step::GoesOn => (DATA_REF, desired, if rng.chance(1, 10) { 20_000 } else { WISH }),
            Step::Ends => (END, 0, 0),
        };
        let wanted = port.wanted(Request {
            at_us: now,
            step,
            desired: desired.into(),
            past: (past[0].into(), past[1].into()),
            wish: wish.into(),
        });
        let sent = frame(9304, flags, [wish, desired, past[0], past[1]], rng.index(1400));
        let mut found = send(&sent);
        let given = word(&found, 46);
        found[46..50].copy_from_slice(&sent[46..50]);
        assert_eq!(found, sent, "something else than the grant has changed");
        port.gave(given.into());
        // Grants are below the capacity, but for base rates.
        let most = CAPACITY + (open.len() + 1) as f64 * BASE;
        assert!(port.granted() <= most, "{} {most}", port.granted());
        off.push((f64::from(given) - wanted).abs() / CAPACITY);
        at_base += u32::from(wanted == BASE);
        whole += u32::from(wanted > f64::from(desired) + BASE);
        match step {
            Step::Begins => open.push([desired, given]),
            Step::GoesOn => open[at] = [desired, given],
            Step::Ends => {
                open.swap_remove(at);
            }
        }
    }
    assert!(at_base > 500 && whole > 500, "{at_base} {whole}");
    (off.iter().copied().fold(0.0, f64::max), off.iter().sum::<f64>() / off.len() as f64, off.len())
}

#[test]
fn every_grant_is_that_of_the_algorithm() {
    // EXACT rounds down to kbit/s.
    for (form, most, average) in [("EXACT", 0.000_002, 0.000_001), ("", 0.01, 0.0005)] {
        let off = compare(form);
        assert!(off.0 < most && off.1 < average && off.2 > 10_000, "{form}: {off:?}");
    }
}

/// Each transfer that ended, and the report.
fn run(racked: &Racked) -> (Vec<Sample>, RunReport) {
    let mut running = up::bring_up(racked).unwrap();
    running.emulator.keep_samples(true);
    let report = running.run().unwrap();
    (running.emulator.take_samples(), report)
}

/// The share of the transfers of a list that end by their deadlines, by any protocol. `load` has the deadlines.
fn met(samples: &[Sample], load: &Load) -> f64 {
    let deadlines: Vec<Vec<Duration>> =
        (0..8).map(|host| Deadlines::new(load, host).take(load.count as usize).collect()).collect();
    let is_met = |sample: &&Sample| {
        let after = deadlines[sample.from.0 as usize][sample.sequence as usize];
        sample.received.since(sample.sent) <= after
    };
    samples.iter().filter(is_met).count() as f64 / (8 * load.count) as f64
}

#[test]
fn more_deadlines_are_met_than_by_equal_shares() {
    let rack = racked("RACK.toml", "", |_| ());
    let load = rack.rack.workloads[0].load.clone();
    let (samples, report) = run(&rack);
    let share = met(&samples, &load);
    // The hosts count the same.
    let measures = &report.workloads[0].measures;
    assert_eq!((measures["deadlines"], measures["given up"]), (800, 0));
    assert_eq!(measures["met"], (share * 800.0).round() as u64);
    let refused: u64 = report.links.iter().map(|link| link.refused).sum();
    assert!(samples.len() == 800 && refused == 0, "{} {refused}", samples.len());
    let (by_rcp, _) = run(&racked("rcp.toml", "", |_| ()));
    let shared = met(&by_rcp, &load);
    assert!(by_rcp.len() == 800 && share > 0.75 && share > shared + 0.1, "{share} {shared}");
    // The approximation meets as many as its exact twin.
    let exact = met(&run(&racked("RACK.toml", "EXACT", |_| ())).0, &load);
    assert!((share - exact).abs() < 0.02, "{share} {exact}");
}

#[test]
fn with_plain_forwarding_headers_stay_as_they_are_and_the_advantage_is_gone() {
    let short = |rack: &mut Rack| rack.links[SINK.0 as usize].queue = 64;
    let with = racked("RACK.toml", "", short);
    let load = with.rack.workloads[0].load.clone();
    let plain = racked("RACK.toml", "", |rack| {
        short(rack);
        rack.apps[0].program.value = "../rcp/forward.p4".to_string();
        rack.apps[0].entries = Some("../rcp/hosts.stf".to_string().into());
    });
    let mut running = up::bring_up(&plain).unwrap();
    running.emulator.record(SINK);
    running.emulator.keep_samples(true);
    let report = running.run().unwrap();
    let recording = running.emulator.take_recording(SINK).unwrap();
    let mut reader = base_pcap::Reader::new(recording.as_slice()).unwrap();
    let mut requests = 0;
    let mut count = |frame: &[u8]| {
        if frame[23] == 17
            && frame[36..38] == 9304u16.to_be_bytes()
            && matches!(frame[42], SYN | REF | DATA_REF)
        {
            assert_eq!(word(frame, 46), WISH);
            requests += 1;
        }
    };
    while reader.read(|frame| count(frame.bytes)).unwrap().is_some() {}
    let without = met(&running.emulator.take_samples(), &load);
    let (samples, kept) = run(&with);
    let share = met(&samples, &load);
    let [lost, kept] = [report, kept].map(|report| report.links.iter().map(|link| link.refused).sum::<u64>());
    assert!(requests > 1000 && lost > 500 && kept == 0, "{requests} {lost} {kept}");
    assert!(share > without + 0.1, "{share} {without}");
}

/// A transfer with a deadline beside one that can wait: the first has the rate that it needs and half of the rest.
#[test]
fn a_transfer_that_can_wait_gives_way() {
    let two = |rack: &mut Rack| {
        let mut patient = rack.workloads[0].clone();
        let rate = patient.load.value("rate").unwrap().0.clone();
        patient.name = "patient".into();
        patient.from.value = vec![HostId(1)];
        patient.load = Load::new(&D3, 1, 1_000_000).with("rate", rate).with("port", Value::Number(9304));
        rack.workloads[0].from.value = vec![HostId(0)];
        let deadline = Value::Time(Duration::from_ms(12));
        rack.workloads[0].load = patient.load.clone().with("deadline", deadline);
        rack.workloads.push(patient);
    };
    let (samples, report) = run(&racked("RACK.toml", "", two));
    let times = [0, 1].map(|workload| {
        let sample = samples.iter().find(|sample| sample.workload == workload).unwrap();
        sample.received.since(sample.sent).as_us() as f64 / 1000.0
    });
    // Alone, 1 MB takes 9 ms. The first needs 700 Mbit/s, and is given 825 at the beginning.
    assert!((9.0..12.0).contains(&times[0]) && (16.5..20.0).contains(&times[1]), "{times:?}");
    // Transfers without a deadline do not count.
    let measures = [0, 1].map(|at| &report.workloads[at].measures);
    assert_eq!(measures.map(|measures| (measures["met"], measures["deadlines"])), [(1, 1), (0, 0)]);
}
