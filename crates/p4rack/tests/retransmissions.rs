//! `examples/retransmissions` against senders that know what became of each of their segments.

use crate::groups::{self, CLIENT, NET, ms};
use crate::support::{sharing_codes, text};

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use dataplane_api::Device as _;
use device::{Options, Switch};
use ir_prove::Effort;
use p4rack::proof::{Trial, prove_app};
use p4rack::{Racked, handlers as offers, rack, up};
use rack_emulator::RunReport;
use rack_model::Rack;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/retransmissions")
}

/// The program on one device.
fn device(native: bool) -> Switch {
    let name = example().join("trd.p4").display().to_string();
    let mut map = SourceMap::new();
    let program = rack::compile_program(&name, &Default::default(), &mut map, &mut vec![]);
    let program = program.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let options = offers::Options { files: vec![example().join("trd.c")], ..offers::Options::default() };
    let offers = offers::offers(&program, &name, &options, &mut map);
    let registry = offers.unwrap_or_else(|found| panic!("{}", text(&found, &map))).registry;
    let options = Options { registry, ..Options::default() };
    match native {
        true => target_native::Engine::compile(&program, options).expect("it compiles").into_switch(),
        false => ir_interp::switch(program, options).expect("it runs"),
    }
}

const SYN: u8 = 2;
const FIN: u8 = 1;
const RST: u8 = 4;
const ACK: u8 = 16;

/// A segment of a flow inside VXLAN.
fn segment(flow: u16, seq: u32, length: usize, flags: u8) -> Vec<u8> {
    let ipv4 = |protocol: u8, length: usize, source: [u8; 4]| {
        let length = (length as u16).to_be_bytes();
        [&[0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, protocol, 0, 0][..], &source, &[10, 9, 0, 2]]
            .concat()
    };
    let tcp = [
        &(1000 + flow).to_be_bytes()[..],
        &443u16.to_be_bytes(),
        &seq.to_be_bytes(),
        &[0; 4],
        &[0x50, flags, 1, 0, 0, 0, 0, 0],
    ]
    .concat();
    let ethernet = [&[2; 12][..], &[8, 0]].concat();
    let inner = [&ethernet[..], &ipv4(6, 40 + length, [10, 9, 0, 1]), &tcp, &vec![7; length]].concat();
    let udp = [&[0x30, 0, 0x12, 0xb5][..], &((16 + inner.len()) as u16).to_be_bytes(), &[0, 0]].concat();
    let outer = ipv4(17, 36 + inner.len(), [192, 0, 2, 1]);
    [&ethernet[..], &outer, &udp, &[8, 0, 0, 0, 0, 0, 1, 0], &inner].concat()
}

/// Fate of a segment, as its sender knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Fine,
    /// The segment arrives after others that were sent later.
    Overtaken,
    /// The segment did not reach the tap; it is sent again.
    LostBefore,
    /// The segment passed the tap; it is sent again.
    LostAfter,
}

/// A segment at the tap.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_us: u64,
    flow: u16,
    seq: u32,
    length: usize,
    flags: u8,
    /// `seen`, `overtaken`, `before`: the cells of `verdicts` that a segment before the highest one counts in.
    is: u64,
}

const SEEN: u64 = 1;
const OVERTAKEN: u64 = 2;
const BEFORE: u64 = 3;

/// Segments of a flow with these fates, 0.2 ms from one to the next.
fn arrivals(flow: u16, first: u32, fates: &[Fate], rng: &mut Rng) -> Vec<Arrival> {
    let start = rng.below(1000);
    let segments: Vec<(u64, Fate)> =
        (1..).map(|number| start + number * 200).zip(fates.iter().copied()).collect();
    sent(flow, first, start, &segments, 5000, rng)
}

/// Segments of a flow that begins at `start`, with their times and fates. Lost segments are sent again after 10 ms, and at most `late` more.
fn sent(
    flow: u16,
    first: u32,
    start: u64,
    segments: &[(u64, Fate)],
    late: u64,
    rng: &mut Rng,
) -> Vec<Arrival> {
    let mut all = vec![Arrival { at_us: start, flow, seq: first, length: 0, flags: SYN, is: SEEN }];
    let mut seq = first.wrapping_add(1);
    for (at_us, fate) in segments.iter().copied() {
        let length = 1 + rng.below(1200) as usize;
        let sent = |at_us, is| Arrival { at_us, flow, seq, length: length.max(2), flags: ACK, is };
        match fate {
            Fate::Fine => all.push(sent(at_us, OVERTAKEN)),
            Fate::Overtaken => all.push(sent(at_us + 210 + rng.below(1200), OVERTAKEN)),
            Fate::LostBefore => all.push(sent(at_us + 10_000 + rng.below(late), BEFORE)),
            Fate::LostAfter => {
                all.push(sent(at_us, OVERTAKEN));
                all.push(sent(at_us + 10_000 + rng.below(late), SEEN));
            }
        }
        seq = seq.wrapping_add(length.max(2) as u32);
    }
    all
}

/// Counts of the cells of `verdicts` that are right.
fn wanted(arrivals: &[Arrival]) -> [u64; 5] {
    let mut highest = BTreeMap::new();
    let mut counts = [0; 5];
    for arrival in arrivals {
        let size = arrival.length as u32 + u32::from(arrival.flags & SYN != 0);
        let end = arrival.seq.wrapping_add(size);
        match highest.get_mut(&arrival.flow) {
            None => drop(highest.insert(arrival.flow, end)),
            Some(next) => {
                if (arrival.seq.wrapping_sub(*next) as i32) < 0 {
                    counts[arrival.is as usize] += 1;
                }
                if (end.wrapping_sub(*next) as i32) > 0 {
                    *next = end;
                }
            }
        }
    }
    counts
}

fn counted(device: &Switch) -> [u64; 5] {
    [0, 1, 2, 3, 4].map(|cell| device.counter_read("TrdIngress.verdicts", cell).expect("a cell").packets)
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// Flows with these shares of fates, in thousandths; the right counts, and those of both engines.
fn run(seed: u64, overtaken: u64, before: u64, after: u64) -> [u64; 5] {
    let mut rng = Rng::new(seed);
    let mut all = vec![];
    for flow in 0..8 {
        let fates: Vec<Fate> = (0..400)
            .map(|_| match rng.below(1000) {
                draw if draw < overtaken => Fate::Overtaken,
                draw if draw < overtaken + before => Fate::LostBefore,
                draw if draw < overtaken + before + after => Fate::LostAfter,
                _ => Fate::Fine,
            })
            .collect();
        // Half of the flows wrap around.
        let first = if flow % 2 == 0 {
            0u32.wrapping_sub(rng.below(100_000) as u32)
        } else {
            rng.below(1 << 32) as u32
        };
        all.extend(arrivals(flow, first, &fates, &mut rng));
    }
    all.sort_by_key(|arrival| arrival.at_us);
    let wanted = wanted(&all);
    for native in [false, true] {
        let mut device = device(native);
        for Arrival { at_us, flow, seq, length, flags, .. } in &all {
            let frame = segment(*flow, *seq, *length, *flags);
            let out = device.process(1, &frame, at(*at_us));
            assert!(out.len() == 1 && out[0].port == 2 && out[0].frame == frame, "a tap changes nothing");
        }
        assert_eq!(counted(&device), wanted, "seed {seed}");
        assert_eq!(device.counter_read("TrdIngress.untracked", 0).expect("a cell").packets, 0);
    }
    wanted
}

/// The oracle: no segment gets a wrong verdict, whether sequence numbers wrap around or not.
#[test]
fn every_segment_gets_the_verdict_that_its_sender_knows() {
    assert_eq!(run(1, 0, 0, 0), [0; 5], "nothing happens, and nothing is counted");
    let overtaken = run(2, 20, 0, 0);
    assert!(overtaken[2] > 30 && overtaken[1] == 0 && overtaken[3] == 0, "{overtaken:?}");
    let lost = run(3, 0, 20, 0);
    assert!(lost[3] > 30 && lost[1] == 0 && lost[2] == 0, "{lost:?}");
    let (mut all, seeds) = ([0; 5], features::seeds(1, 50));
    let count = seeds.end - seeds.start;
    for seed in seeds {
        run(4 + seed, 20, 10, 10).into_iter().zip(&mut all).for_each(|(more, sum)| *sum += more);
    }
    assert!(all[1] > 10 * count && all[2] > 20 * count && all[3] > 10 * count, "{all:?}");
}

/// Counts of a device after these segments of one flow: time in microseconds, sequence number, length, flags.
fn after(segments: &[(u64, u32, usize, u8)]) -> [u64; 5] {
    let mut device = device(true);
    for (us, seq, length, flags) in segments {
        device.process(1, &segment(5, *seq, *length, *flags), at(*us));
    }
    counted(&device)
}

#[test]
fn the_edges_of_a_flow() {
    let begin = (0, 99, 0, SYN);
    assert_eq!(
        after(&[begin, (1, 100, 10, ACK), (2, 110, 0, ACK), (3, 109, 0, ACK)]),
        [0; 5],
        "acknowledgements"
    );
    assert_eq!(after(&[begin, (1, 100, 10, ACK), (9, 109, 1, ACK)]), [0; 5], "a keep-alive");
    assert_eq!(after(&[begin, (9, 99, 0, SYN)]), [0, 1, 0, 0, 0], "a SYN again");
    assert_eq!(
        after(&[begin, (1, 100, 10, ACK), (2, 5000, 0, SYN), (3, 5001, 9, ACK)]),
        [0; 5],
        "a new connection"
    );
    assert_eq!(after(&[begin, (1, 100, 10, FIN), (9, 100, 10, FIN)]), [0, 1, 0, 0, 0], "a FIN again");
    assert_eq!(
        after(&[begin, (1, 100, 9, ACK), (2, 0, 0, RST), (9, 40, 9, RST)]),
        [0; 5],
        "a reset counts nothing"
    );
    // Half of a gap is filled in time, the rest late; a part that repeats bytes does not matter.
    let gap = [begin, (1, 100, 10, ACK), (2, 130, 10, ACK)];
    assert_eq!(after(&[&gap[..], &[(1000, 105, 15, ACK), (9000, 115, 40, ACK)]].concat()), [0, 0, 1, 1, 0]);
    assert_eq!(after(&[&gap[..], &[(1000, 110, 20, ACK), (9000, 110, 20, ACK)]].concat()), [0, 1, 1, 0, 0]);
    // A gap in the middle of a gap that is filled.
    assert_eq!(
        after(&[&gap[..], &[(10, 115, 5, ACK), (20, 110, 5, ACK), (30, 120, 10, ACK)]].concat()),
        [0, 0, 3, 0, 0]
    );
    // A gap is forgotten after a minute.
    assert_eq!(
        after(&[&gap[..], &[(59_000_000, 140, 5, ACK), (61_000_000, 110, 20, ACK)]].concat()),
        [0, 1, 0, 0, 0]
    );
}

/// More gaps than a flow may have: nothing is said that may be wrong.
#[test]
fn a_flow_with_too_many_gaps_is_not_judged() {
    let mut segments = vec![(0, 99, 0, SYN)];
    segments.extend((0..65).map(|n| (n + 1, 110 + n as u32 * 20, 10, ACK)));
    segments.push((100_000, 100, 10, ACK));
    assert_eq!(after(&segments), [0, 0, 0, 0, 1]);
    segments.remove(65);
    assert_eq!(after(&segments), [0, 0, 0, 1, 0]);
}

/// A flow whose beginning nobody saw is not followed.
#[test]
fn segments_without_a_beginning_are_counted() {
    let mut device = device(true);
    for (us, seq) in [(0, 100), (1, 110), (2, 100)] {
        device.process(1, &segment(5, seq, 10, ACK), at(us));
    }
    assert_eq!(counted(&device), [0; 5]);
    assert_eq!(device.counter_read("TrdIngress.untracked", 0).expect("a cell").packets, 3);
}

/// Switch and server are the device with all of it.
#[test]
fn a_call_over_a_cut_is_the_call_inline() {
    let mut map = SourceMap::new();
    let racked = rack::load(&example().join("RACK.toml"), &[], &mut map);
    let racked = racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    for seed in features::seeds(1, 17) {
        let effort = Effort { packets: 200, seed: 1 + seed, ..Effort::default() };
        let proved = prove_app(&racked.apps[0], &Trial { effort, lossy: false });
        match proved.unwrap_or_else(|found| panic!("{found:?}")).outcome {
            Ok(tried) => assert!(tried.outputs > 100, "{tried:?}"),
            Err(failure) => panic!("seed {seed}: {}", failure.describe()),
        }
    }
}

/// The program on a group of three servers. Each segment carries its verdict, and a flow is kept for a second after its last segment.
fn group() -> Racked {
    let place = groups::variant("retransmissions-group", "idle = \"3s\"");
    let text = std::fs::read_to_string(example().join("trd.p4")).expect("the program");
    let changes = [
        ("group = \"trd\"", "group = \"nat\""),
        (
            "keeps = \"61s\", config = \"reorder=3000 keeps=60\"",
            "keeps = \"2s\", config = \"reorder=3000 keeps=1\"",
        ),
        (
            "verdicts.count((bit<8>) r.verdict);",
            "verdicts.count((bit<8>) r.verdict); hdr.outer_ipv4.tos = (bit<8>) r.verdict;",
        ),
    ];
    let changed = |text: String, (from, to): &(&str, &str)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    std::fs::write(place.join("trd.p4"), changes.iter().fold(text, changed)).expect("a file");
    std::fs::copy(example().join("trd.c"), place.join("trd.c")).expect("a copy");
    let text = std::fs::read_to_string(place.join("RACK.toml")).expect("the rack");
    let text = text.replace("snat.p4", "trd.p4").replace("snat.c", "trd.c").replace("{ snat =", "{ trd =");
    std::fs::write(place.join("RACK.toml"), text).expect("a file");
    let change = |rack: &mut Rack| {
        rack.until = Some(ms(15_000));
        rack.workloads.clear();
    };
    let mut map = SourceMap::new();
    let racked = rack::load_as(&place, &[], &mut map, &change, &mut |_| ());
    sharing_codes(racked.unwrap_or_else(|found| panic!("{}", crate::support::text(&found, &map))))
}

/// Flows that begin at any time and pause now and then, so that their gaps meet changes of the members.
fn flows(rng: &mut Rng) -> Vec<Arrival> {
    let mut all = vec![];
    for flow in 0..60 {
        let start = rng.below(8_000_000);
        let mut at = start;
        let segments: Vec<(u64, Fate)> = (0..60)
            .map(|_| {
                let fate = match rng.below(20) {
                    0 => Fate::Overtaken,
                    1 => Fate::LostBefore,
                    2 => Fate::LostAfter,
                    _ => Fate::Fine,
                };
                at += 200;
                let segment = (at, fate);
                // After a lost segment another one shows the gap soon, long before the lost one comes again.
                if fate == Fate::Fine && rng.chance(1, 8) {
                    at += rng.below(400_000);
                }
                segment
            })
            .collect();
        all.extend(sent(flow, rng.below(1 << 32) as u32, start, &segments, 300_000, rng));
    }
    all.sort_by_key(|arrival| arrival.at_us);
    all
}

fn frame(arrival: &Arrival) -> Vec<u8> {
    segment(arrival.flow, arrival.seq, arrival.length, arrival.flags)
}

/// Frames by flow. Segments that ask no server pass those that do, so each flow's are in the order of their bytes.
fn by_flow(frames: impl IntoIterator<Item = Vec<u8>>) -> BTreeMap<u16, Vec<Vec<u8>>> {
    let mut flows = BTreeMap::<u16, Vec<Vec<u8>>>::new();
    for frame in frames {
        // Ethernet, IPv4, UDP, VXLAN, Ethernet, IPv4.
        let port = u16::from_be_bytes([frame[84], frame[85]]);
        flows.entry(port - 1000).or_default().push(frame);
    }
    flows.values_mut().for_each(|frames| frames.sort());
    flows
}

/// Outputs of one device with the handler inline.
fn whole(racked: &Racked, sent: &[Arrival]) -> BTreeMap<u16, Vec<Vec<u8>>> {
    let app = &racked.apps[0];
    let options = Options { registry: app.offers.registry.clone(), ..Options::default() };
    let mut device = ir_interp::switch(Arc::clone(&app.whole), options).expect("it runs");
    let out = sent.iter().flat_map(|arrival| {
        device.tick(at(arrival.at_us));
        device.process(1, &frame(arrival), at(arrival.at_us))
    });
    by_flow(out.map(|output| output.frame).collect::<Vec<_>>())
}

/// Outputs of the rack.
fn in_rack(racked: &Racked, sent: &[Arrival]) -> (BTreeMap<u16, Vec<Vec<u8>>>, RunReport) {
    let mut running = up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}"));
    running.emulator.listen(NET);
    for arrival in sent {
        assert!(running.emulator.send(CLIENT, frame(arrival), at(arrival.at_us)));
    }
    let report = running.run().unwrap_or_else(|found| panic!("{found:#?}"));
    let received = running.emulator.take_received(NET);
    (by_flow(received.into_iter().map(|received| received.frame)), report)
}

/// Members come and go at random while flows have gaps: each segment gets the verdict of one device, which is the one that its sender knows.
#[test]
fn a_group_that_changes_is_the_one_device() {
    let (mut racked, mut extra_hops, mut changes) = (group(), 0, 0);
    let seeds = features::seeds(1, 100);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        groups::vary(&mut racked.rack, seed, false);
        let sent = flows(&mut Rng::new(seed));
        let (came, report) = in_rack(&racked, &sent);
        let expected = whole(&racked, &sent);
        assert_eq!(came.len(), 60, "seed {seed}");
        for (flow, frames) in &expected {
            let came = &came[flow];
            assert!(
                came == frames,
                "seed {seed}: flow {flow}: {} of {} frames, or others",
                came.len(),
                frames.len()
            );
            let own: Vec<Arrival> = sent.iter().filter(|arrival| arrival.flow == *flow).copied().collect();
            let mut counts = [0; 5];
            came.iter().for_each(|frame| counts[usize::from(frame[15])] += 1);
            counts[0] = 0;
            assert_eq!(counts, wanted(&own), "seed {seed}: flow {flow}");
        }
        let [group] = report.groups.as_slice() else { panic!("seed {seed}: {:?}", report.groups) };
        assert_eq!(group.lost, 0, "seed {seed}: {group:?}");
        assert!(group.servers.iter().all(|server| server.dropped == 0), "seed {seed}: {group:?}");
        changes += group.changes;
        extra_hops += group.servers.iter().map(|server| server.extra_hops).sum::<u64>();
    }
    // Now and then, a seed has few changes.
    assert!(changes > count && 2 * extra_hops > count, "{changes} changes, {extra_hops}");
}
