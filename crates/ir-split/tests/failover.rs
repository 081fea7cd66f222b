//! The P4 of the policy `failover` beside the state machines of the crate `failover`: the same events, the same decisions, the same
//! registers.

use base_bits::Bits;
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use control_writes::Match;
use dataplane_api::{Emitter, ExternError, FrameExtern};
use device::{Options, Switch};
use failover::{Allowed, Receiver, Report, Sender, Sent, Stamp, Targets, Thresholds, Verdict};
use ir_value::Value;
use p4_arch::Texts;
use std::sync::Arc;

const EDGE: &str = include_str!("../src/policy/failover/edge.p4");

/// A frame says what happens, and comes back with what became of it.
const DRIVER: &str = r#"
#include <core.p4>
#include <v1model.p4>
#define TARGETS 3
#define LEAVING 2
#define ARRIVING 2
#define REGION_BITS 8
#define ADDRESS_BITS 48
#define PORT_BITS 9
#define EDGES_OF 64
#define PORTS 64
#define EDGES_FROM 64
header event_t {
    bit<8> arrives;
    bit<2> kind;
    bit<1> ask;
    bit<5> padding;
    bit<32> generation;
    bit<32> sequence;
    bit<16> gaps;
    bit<8> region;
    bit<48> sender;
    bit<16> decision;
    bit<16> port;
}
struct headers { event_t event; }
struct metadata {}
"#;

const PIPELINE: &str = r#"
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.event); transition accept; }
}
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Leave() leave;
    Arrive() arrive;
    apply {
        bit<1> one = 0;
        bit<2> verdict = 0;
        bit<9> port = 0;
        if (h.event.arrives == 1) {
            arrive.apply(h.event.ask, h.event.generation, h.event.sequence, h.event.gaps, h.event.region, h.event.sender, verdict, one);
        } else {
            leave.apply(h.event.kind, h.event.ask, h.event.generation, h.event.sequence, h.event.gaps, h.event.region, s.ingress_global_timestamp, one, port);
        }
        h.event.decision = (bit<16>) verdict << 8 | (bit<16>) one;
        h.event.port = (bit<16>) port;
        s.egress_spec = 1;
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Checksum(inout headers h, inout metadata m) { apply {} }
control D(packet_out p, in headers h) { apply { p.emit(h.event); } }
V1Switch(P(), Checksum(), In(), Out(), Checksum(), D()) main;
"#;

fn switch(source: &str) -> Switch {
    let mut map = SourceMap::default();
    let (texts, options) = ([("edge.p4", source)], p4_syntax::Options::default());
    let program = ir_elaborate::program("edge.p4", &Texts(&texts), &options, &mut map);
    let program = Arc::new(program.unwrap_or_else(|found| panic!("{found:#?}")));
    ir_interp::switch(program, Options::default()).expect("a device")
}

/// The edges 0 and 1 lead from regions 5 and 6, with three targets each.
const REGIONS: [u8; 2] = [5, 6];
const SENDER: u64 = 0x0252_4143_4b01;

fn bits(width: u32, value: u64) -> Bits {
    Bits::new(width, u128::from(value))
}

fn exact(width: u32, value: u64) -> Match {
    Match::Exact(bits(width, value))
}

/// The program's registers and the machines', with the same thresholds.
struct Pair {
    switch: Switch,
    limits: Thresholds,
    senders: [Sender; 2],
    allowed: [Allowed; 2],
    receivers: [Receiver; 2],
    now: u64,
}

impl Pair {
    fn new(source: &str, limits: Thresholds) -> Pair {
        let mut switch = switch(source);
        for (edge, region) in (0..).zip(REGIONS) {
            let key = exact(8, region.into());
            let args = [
                bits(32, edge),
                bits(3, 7),
                bits(32, limits.ask_every.into()),
                bits(48, limits.ask_after),
                bits(48, limits.patience),
                bits(8, limits.most_missed.into()),
                bits(16, limits.most_gaps.into()),
                bits(32, u64::from(limits.window) - 1),
            ];
            let leave = "In.leave";
            switch
                .table_add(
                    &format!("{leave}.edge_of"),
                    std::slice::from_ref(&key),
                    &format!("{leave}.use"),
                    &args,
                    None,
                )
                .unwrap();
            for target in 0..3 {
                let keys = [exact(32, edge), exact(3, 1 << target)];
                let port = [bits(9, 10 * (edge + 1) + target)];
                switch
                    .table_add(&format!("{leave}.port_of"), &keys, &format!("{leave}.forward"), &port, None)
                    .unwrap();
            }
            let tolerance = u64::from(limits.tolerance);
            let args = [bits(32, edge), bits(8, tolerance), bits(32, (1 << tolerance) - 1)];
            let (table, from) = ("In.arrive.edge_of", "In.arrive.from");
            switch.table_add(table, &[key, exact(48, SENDER)], from, &args, None).unwrap();
        }
        Pair {
            switch,
            limits,
            senders: [Sender::default(); 2],
            allowed: [Allowed::default(); 2],
            receivers: [Receiver::default(); 2],
            now: 1,
        }
    }

    /// Results of the program for an event: kind, stamp, gaps, decision, port.
    fn run(
        &mut self,
        arrives: bool,
        kind: u8,
        stamp: Stamp,
        gaps: u16,
        region: u8,
    ) -> (u8, Stamp, u16, u16, u16) {
        let mut frame = vec![arrives.into(), kind << 6 | u8::from(stamp.ask) << 5];
        frame.extend(stamp.generation.to_be_bytes());
        frame.extend(stamp.sequence.to_be_bytes());
        frame.extend(gaps.to_be_bytes());
        frame.push(region);
        frame.extend(&SENDER.to_be_bytes()[2..]);
        frame.extend([0; 4]);
        let now = Time::ZERO + Duration::from_us(self.now);
        let out = self.switch.process(0, &frame, now).remove(0).frame;
        let number = |at: usize| u32::from_be_bytes(out[at..at + 4].try_into().unwrap());
        let short = |at: usize| u16::from_be_bytes(out[at..at + 2].try_into().unwrap());
        let stamp = Stamp { generation: number(2), sequence: number(6), ask: out[1] & 0x20 != 0 };
        (out[1] >> 6, stamp, short(10), short(19), short(21))
    }

    fn leave(&mut self, edge: usize, kind: u8) {
        let all = Targets::first(3);
        let (now, allowed, limits) = (self.now, self.allowed[edge], self.limits);
        let sent = match kind {
            0 => self.senders[edge].send(now, all, allowed, &limits),
            _ => self.senders[edge].tick(now, all, allowed, &limits),
        };
        let garbage = Stamp { generation: 77, sequence: 88, ask: true };
        let (kind_out, stamp, gaps, leaves, port) = self.run(false, kind, garbage, 99, REGIONS[edge]);
        let expected = sent.map(|Sent { target, stamp }| {
            let kind = if kind == 3 { 1 } else { 0 };
            (kind, stamp, 0, 1, 10 * (edge as u16 + 1) + u16::from(target.0))
        });
        match expected {
            Some(expected) => assert_eq!((kind_out, stamp, gaps, leaves, port), expected),
            None => assert_eq!((leaves, port), (0, 0)),
        }
    }

    fn hear(&mut self, edge: usize, report: Report) {
        let all = Targets::first(3);
        self.senders[edge].hear(report, all, self.allowed[edge], &self.limits);
        let stamp = Stamp { generation: report.generation, sequence: report.sequence, ask: false };
        let (.., leaves, port) = self.run(false, 2, stamp, report.gaps, REGIONS[edge]);
        assert_eq!((leaves, port), (0, 0));
    }

    fn arrive(&mut self, edge: usize, stamp: Stamp) -> Option<Report> {
        let received = self.receivers[edge].receive(stamp, &self.limits);
        let (_, back, gaps, decision, _) = self.run(true, 0, stamp, 0, REGIONS[edge]);
        let verdict = match received.verdict {
            Verdict::Fresh => 0,
            Verdict::Again => 1,
            Verdict::Stale => 2,
        };
        assert_eq!(decision, verdict << 8 | u16::from(received.report.is_some()), "{stamp:?}");
        if let Some(Report { generation, sequence, gaps: missing }) = received.report {
            assert_eq!((back.generation, back.sequence, gaps), (generation, sequence, missing));
        }
        received.report
    }

    fn allow(&mut self, edge: usize, allowed: Allowed) {
        self.allowed[edge] = allowed;
        let Allowed { forgiven, barred, down } = allowed;
        for (name, targets) in [("forgiven", forgiven), ("barred", barred), ("down", down)] {
            let name = format!("In.leave.{name}");
            self.switch.register_write(&name, edge as u64, &bits(3, targets.0.into())).unwrap();
        }
    }

    /// All registers are the machines'.
    fn compare(&self) {
        let read =
            |name: &str, edge: usize| match self.switch.register_value(&format!("In.{name}"), edge as u64) {
                Ok(Value::Bits(bits)) => bits.to_u64().unwrap(),
                other => panic!("{name}: {other:?}"),
            };
        for edge in 0..2 {
            let s = &self.senders[edge];
            let expected = [
                ("leave.failed", s.failed.0.into()),
                ("leave.left", s.left.0.into()),
                ("leave.used", s.used.0.into()),
                ("leave.generations", s.generation.into()),
                ("leave.sequences", s.sequence.into()),
                ("leave.waiting", s.waiting.into()),
                ("leave.asked", s.asked.into()),
                ("leave.asked_at", s.asked_at),
                ("leave.missed", s.missed.into()),
                ("leave.acked", s.acked.into()),
                ("leave.gaps_seen", s.gaps_seen.into()),
                ("leave.gaps_now", s.gaps.into()),
                ("arrive.generations", self.receivers[edge].generation.into()),
                ("arrive.highest", self.receivers[edge].highest.into()),
                ("arrive.seen", self.receivers[edge].seen.into()),
                ("arrive.gaps_now", self.receivers[edge].gaps.into()),
            ];
            for (name, value) in expected {
                assert_eq!(read(name, edge), value, "{name} of edge {edge} at {} us", self.now);
            }
        }
    }
}

/// Runs events of all kinds; gives how often a target failed.
fn run(source: &str, limits: Thresholds, seed: u64, events: u32) -> u32 {
    let mut rng = Rng::new(seed);
    let mut pair = Pair::new(source, limits);
    let mut failures = 0;
    for _ in 0..events {
        let edge = rng.index(2);
        let before = pair.senders[edge].failed;
        let near = |rng: &mut Rng, n: u32, reach: u64| {
            let far = if rng.chance(1, 20) { 40_000 } else { reach };
            n.wrapping_add(rng.below(far) as u32).wrapping_sub(rng.below(far) as u32)
        };
        match rng.below(10) {
            0..=1 => pair.now += rng.below(limits.patience + 2),
            2 => pair.leave(edge, 0),
            3 => pair.leave(edge, 3),
            4 => {
                let s = pair.senders[edge];
                let generation =
                    if rng.chance(1, 8) { near(&mut rng, s.generation, 3) } else { s.generation };
                let sequence = near(&mut rng, s.sequence, 4);
                let gaps = near(&mut rng, s.gaps_seen.into(), 3) as u16;
                pair.hear(edge, Report { generation, sequence, gaps });
            }
            5..=6 => {
                let r = pair.receivers[edge];
                let generation =
                    if rng.chance(1, 16) { near(&mut rng, r.generation, 2) } else { r.generation };
                let sequence = near(&mut rng, r.highest, 40);
                let ask = rng.next_bool();
                pair.arrive(edge, Stamp { generation: generation.max(1), sequence, ask });
            }
            7..=8 => {
                let turned = Targets(1 << rng.below(3));
                let allowed = pair.allowed[edge];
                pair.allow(edge, Allowed { down: allowed.down ^ turned, ..allowed });
                pair.leave(edge, 0);
            }
            _ if rng.chance(1, 3) => {
                let forgiven = Targets(rng.below(8) as u32);
                let barred = Targets(rng.below(8) as u32 & rng.below(8) as u32);
                let down = Targets(rng.below(8) as u32 & rng.below(8) as u32);
                pair.allow(edge, Allowed { forgiven, barred, down });
            }
            _ => pair.leave(edge, 0),
        }
        failures += u32::from(pair.senders[edge].failed != before);
        pair.compare();
    }
    failures
}

fn source() -> String {
    [DRIVER, EDGE, PIPELINE].concat()
}

const LIMITS: Thresholds = Thresholds {
    ask_every: 3,
    ask_after: 5,
    patience: 7,
    most_missed: 2,
    tolerance: 4,
    most_gaps: 3,
    window: 8,
};

#[test]
fn the_program_does_what_the_machines_do() {
    assert!(run(&source(), LIMITS, 1, 3000) > 50);
    let patient = Thresholds { most_missed: 200, ask_after: 100, tolerance: 31, most_gaps: 1, ..LIMITS };
    assert!(run(&source(), patient, 2, 1500) > 0);
    run(&source(), Thresholds { tolerance: 1, ..Thresholds::default() }, 3, 1500);
}

/// A hand-over of a region without an edge, or of a sender without one, changes nothing and goes nowhere.
#[test]
fn unknown_edges_are_refused() {
    let mut pair = Pair::new(&source(), LIMITS);
    let stamp = Stamp { generation: 1, sequence: 1, ask: true };
    let (.., leaves, _) = pair.run(false, 0, stamp, 0, 9);
    assert_eq!(leaves, 0);
    let (.., decision, _) = pair.run(true, 0, stamp, 0, 9);
    assert_eq!(decision, 3 << 8);
}

/// Faults in the program are noticed.
#[test]
fn each_mutant_is_noticed() {
    let mutants = [
        ("missing >= most_gaps", "missing > most_gaps"),
        ("misses >= most_missed", "misses > most_missed"),
        ("now - last_asked_at > patience", "now - last_asked_at >= patience"),
        ("usable & (0 - usable)", "usable"),
        ("generation == of_now && is_used != 0", "is_used != 0"),
        ("has_failed ^ (is_used & usable)", "has_failed ^ is_used"),
        ("usable = usable & ~is_used;", ""),
        ("(last & window) == 0", "(last & window) == 1"),
        ("reached = sequence;", ""),
        ("seen = gaps;", ""),
        ("up = all & ~is_barred & ~is_down", "up = all & ~is_barred"),
        ("up = all & ~is_barred & ~is_down", "up = all & ~is_down"),
        ("(usable | (up & is_left)) != 0", "true"),
        ("(usable | (up & is_left)) != 0", "usable != 0"),
        ("has_failed = has_failed ^ gone;", ""),
        ("~is_barred & is_down & ~(has_failed ^ is_forgiven)", "is_down & ~(has_failed ^ is_forgiven)"),
        ("is_left = is_left & (has_failed ^ is_forgiven);", ""),
        ("is_left = is_left | gone;", ""),
        ("is_left & ~(is_used & up)", "is_left & ~is_used"),
        ("is_left = is_left & ~(is_used & up);", ""),
        ("usable = up & is_left;", ""),
        ("usable = is_used;", ""),
        ("age >= 32", "age >= 31"),
        ("lost = step - bears;", ""),
        ("passed & 0x3f", "passed & 1"),
        ("if (step >= 32)", "if (step >= 100000)"),
    ];
    let source = source();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<_> = mutants
        .iter()
        .filter(|(right, wrong)| {
            assert!(source.contains(right), "{right}");
            let broken = source.replacen(right, wrong, 1);
            std::panic::catch_unwind(|| run(&broken, LIMITS, 1, 3000)).is_ok()
        })
        .collect();
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "{missed:?}");
}

/// A switch, a helper and its spare, joined by links that may be cut: frames arrive at once.
mod rack {
    use super::{Keeper, Options, Switch, Texts, bits, exact};
    use base_diag::SourceMap;
    use base_time::{Duration, Time};
    use dataplane_api::Registry;
    use device::Session;
    use ir_split::{DeviceIndex, Edge, Placement, Policy, SentEdge, Site};
    use std::collections::{BTreeSet, VecDeque};
    use std::sync::Arc;

    pub struct Rack {
        pub switches: Vec<Switch>,
        placement: Placement,
        /// Devices that are down.
        pub down: BTreeSet<usize>,
        /// Frames that were lost at them.
        pub lost: u32,
        /// Frames to helpers come twice.
        pub doubles: bool,
        /// Ticks of the switch's edges.
        pub ticks: Vec<Vec<u8>>,
        /// Helpers that frames have come to.
        pub ran: Vec<usize>,
        /// Reports that have come to the switch.
        pub reports: Vec<Vec<u8>>,
        pub now: u64,
    }

    impl Rack {
        /// A region at a device with a spare.
        pub fn new(source: &str) -> Rack {
            let site = Site::at([1, 2].map(DeviceIndex).to_vec(), Policy::Failover);
            let (rack, edges) = Rack::at(source, site);
            let [edge] = edges.as_slice() else { panic!("{edges:?}") };
            assert_eq!((&*edge.control, edge.number), ("In.p4rack_leave", 0));
            assert_eq!(edge.targets, [(DeviceIndex(1), 11), (DeviceIndex(2), 12)]);
            assert_eq!(edge.regions, ["R"]);
            rack
        }

        /// A region at three devices that divide the flows, each shard with two replicas.
        pub fn sharded(source: &str) -> Rack {
            let site = Site::at([1, 2, 3].map(DeviceIndex).to_vec(), Policy::Shard);
            let (rack, edges) = Rack::at(source, Site { replicas: 2, ..site });
            let targets = |edge: &Edge| edge.targets.iter().map(|(to, _)| to.0).collect::<Vec<_>>();
            let lists: Vec<_> = edges.iter().map(targets).collect();
            assert_eq!(lists, [[1, 2], [2, 3], [3, 1], [1, 3], [2, 1], [3, 2]]);
            rack
        }

        /// The region at the devices of its site, each with a link to the switch; and the edges.
        fn at(source: &str, site: Site) -> (Rack, Vec<Edge>) {
            let mut map = SourceMap::default();
            let options = p4_syntax::Options::default();
            let program =
                ir_elaborate::program("rack.p4", &Texts(&[("rack.p4", source)]), &options, &mut map);
            let tor = DeviceIndex(0);
            let helpers = site.devices.clone();
            let links = helpers
                .iter()
                .flat_map(|&nic| [((tor, nic), u64::from(10 + nic.0)), ((nic, tor), u64::from(20 + nic.0))]);
            let placement = Placement {
                devices: (0..=helpers.len()).map(|n| format!("device{n}").into()).collect(),
                ports: links.collect(),
                sites: [("R".into(), site)].into(),
                ..Placement::whole("tor")
            };
            let split = ir_split::split(&program.expect("a program"), &placement).expect("a split");
            let edges = split.devices.iter().flatten().flat_map(|part| &part.linkage.edges);
            let edges: Vec<Edge> = edges.cloned().collect();
            let parts = split.devices.iter().flatten();
            let sent: Vec<_> = parts.flat_map(|part| SentEdge::of_program(&part.program)).collect();
            assert_eq!((sent.len(), sent[0].tick_us), (edges.len(), 100));
            assert_eq!(sent[0].ports, [11, 12]);
            let switches = split.devices.iter().flatten().map(|part| {
                let mut registry = Registry::default();
                registry.add("beacon", Arc::new(|_| Ok(Box::new(Keeper::default()))));
                let options = Options { registry, ..Options::default() };
                let mut switch =
                    ir_interp::switch(Arc::new(part.program.clone()), options).expect("a device");
                for (set, members) in &part.linkage.value_sets {
                    members.iter().for_each(|port| switch.value_set_add(set, &[exact(9, *port)]).unwrap());
                }
                for entry in &part.linkage.entries {
                    let keys: Vec<_> = entry.keys.iter().map(|key| exact(64, *key)).collect();
                    let args: Vec<_> = entry.args.iter().map(|arg| bits(64, *arg)).collect();
                    switch.table_add(&entry.table, &keys, &entry.action, &args, None).unwrap();
                }
                for (session, port) in &part.linkage.sessions {
                    let to = Session { port: Some(*port as u32), ..Session::default() };
                    switch.clone_session_set(*session, Some(to));
                }
                switch
            });
            let rack = Rack {
                switches: switches.collect(),
                ticks: sent.into_iter().map(|sent| sent.tick).collect(),
                placement,
                down: BTreeSet::new(),
                doubles: false,
                lost: 0,
                reports: vec![],
                ran: vec![],
                now: 1,
            };
            (rack, edges)
        }

        /// Frames that leave the rack.
        pub fn send(&mut self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
            let mut left = vec![];
            let mut open = VecDeque::from([(0, port, frame.to_vec())]);
            while let Some((device, port, frame)) = open.pop_front() {
                if self.down.contains(&device) {
                    self.lost += 1;
                    continue;
                }
                if device == 0 && port != 0 && frame[17] >> 6 == 2 {
                    self.reports.push(frame.clone());
                }
                if device != 0 {
                    self.ran.push(device);
                }
                let now = Time::ZERO + Duration::from_us(self.now);
                for out in self.switches[device].process(port, &frame, now) {
                    let index = DeviceIndex(device as u32);
                    let to = self
                        .placement
                        .ports
                        .iter()
                        .find(|((from, _), p)| *from == index && **p == u64::from(out.port));
                    match to {
                        Some(((_, to), _)) => {
                            let port = self.placement.ports[&(*to, index)] as u32;
                            let times = if self.doubles && to.0 != 0 { 2 } else { 1 };
                            (0..times).for_each(|_| open.push_back((to.0 as usize, port, out.frame.clone())));
                        }
                        None => left.push((out.port, out.frame)),
                    }
                }
            }
            left
        }
    }
}

/// The generated programs: the switch hands over to the helper, goes over to the spare when the helper is silent, and packets lose nothing
/// but time.
#[test]
fn a_switch_goes_over_to_the_spare() {
    let mut rack = rack::Rack::new(include_str!("../testdata/split/spares.p4"));
    let mut packet = vec![1, 2];
    packet.extend([9; 60]);
    let mut expected = packet.clone();
    expected[1] = 7;
    for _ in 0..100 {
        rack.now += 8;
        assert_eq!(rack.send(0, &packet), [(2, expected.clone())]);
    }
    let used = |rack: &rack::Rack| rack.switches[0].register_value("In.p4rack_leave.used", 0).unwrap();
    assert_eq!(used(&rack), Value::Bits(bits(2, 1)));
    let asked = rack.switches[0].register_value("In.p4rack_leave.acked", 0).unwrap();
    assert_ne!(asked, Value::Bits(bits(32, 0)), "reports arrive");
    rack.down.insert(1);
    let left: Vec<_> = (0..100)
        .map(|_| {
            rack.now += 8;
            rack.send(0, &packet).len()
        })
        .collect();
    let lost = left.iter().filter(|count| **count == 0).count();
    assert!((8..=12).contains(&lost), "{lost} packets are lost");
    assert_eq!(left[lost..], vec![1; 100 - lost]);
    assert_eq!(used(&rack), Value::Bits(bits(2, 2)));
    // The spare fails, too: nothing is left, and packets are dropped.
    rack.down.insert(2);
    for _ in 0..30 {
        rack.now += 8;
        rack.send(0, &packet);
    }
    assert_eq!(used(&rack), Value::Bits(bits(2, 0)));
    let lost = rack.lost;
    rack.send(0, &packet);
    assert_eq!(rack.lost, lost);
    // The controller forgives the spare.
    rack.down.remove(&2);
    rack.switches[0].register_write("In.p4rack_leave.forgiven", 0, &bits(2, 2)).unwrap();
    assert_eq!(rack.send(0, &packet), [(2, expected)]);
}

/// Reports consist of the common header alone. A duplicate is counted and not processed.
#[test]
fn what_comes_twice_is_processed_once() {
    let mut rack = rack::Rack::new(include_str!("../testdata/split/spares.p4"));
    rack.doubles = true;
    let packet = [3; 62];
    for _ in 0..20 {
        rack.now += 8;
        assert_eq!(rack.send(0, &packet).len(), 1);
    }
    assert!(!rack.reports.is_empty());
    assert!(rack.reports.iter().all(|report| report.len() == 224 / 8), "{:?}", rack.reports);
    let gaps = rack.switches[0].register_value("In.p4rack_leave.gaps_now", 0).unwrap();
    assert_eq!(gaps, Value::Bits(bits(16, 0)));
    let dropped = rack.switches[1].counter_read("In.p4rack_drops", 4).unwrap();
    assert_eq!(dropped.packets, 20);
}

/// Without packets, ticks are enough: they leave as probes, and a helper that dies is left.
#[test]
fn an_idle_edge_is_probed() {
    let mut rack = rack::Rack::new(include_str!("../testdata/split/spares.p4"));
    rack.send(0, &[3; 62]);
    let mut like = rack.reports.pop().expect("the first hand-over asks");
    let tick = rack.ticks[0].clone();
    (like[11], like[17]) = (tick[11], like[17] | 0xc0);
    assert_eq!(tick[..18], like[..18], "addresses, EtherType, plan, region and kind");
    for _ in 0..10 {
        rack.now += 20;
        assert_eq!(rack.send(11, &tick), [], "a probe leaves nothing");
    }
    assert_eq!(rack.reports.len(), 10);
    rack.down.insert(1);
    for _ in 0..8 {
        rack.now += 20;
        rack.send(11, &tick);
    }
    let used = rack.switches[0].register_value("In.p4rack_leave.used", 0).unwrap();
    assert_eq!(used, Value::Bits(bits(2, 2)));
}

/// The program with the number of a packet's shard as its first byte.
fn numbered() -> String {
    let source = include_str!("../testdata/split/sharded_replicas.p4");
    let hash = "hash(meta.shard, HashAlgorithm.crc32, 8w0, { hdr.h.a }, 8w6);";
    assert!(source.contains(hash));
    source.replace(hash, "meta.shard = hdr.h.a;")
}

/// Sends one packet of each shard, and gives the shards whose packets have left the rack, and the helper of each.
fn of_shards(rack: &mut rack::Rack, shards: u8) -> (Vec<u8>, Vec<usize>) {
    rack.now += 8;
    rack.ran.clear();
    let sent = |shard: &u8| {
        let packet = [[*shard, 2].as_slice(), &[9; 60]].concat();
        !rack.send(0, &packet).is_empty()
    };
    let left = (0..shards).filter(sent).collect();
    (left, std::mem::take(&mut rack.ran))
}

/// Each shard goes over to its backup, and to nothing else: the others share the load of the helper that has failed.
#[test]
fn shards_go_over_to_their_backups() {
    let mut rack = rack::Rack::sharded(&numbered());
    let all: Vec<u8> = (0..6).collect();
    for _ in 0..50 {
        assert_eq!(of_shards(&mut rack, 6), (all.clone(), vec![1, 2, 3, 1, 2, 3]));
    }
    rack.down.insert(1);
    let mut lost = 0;
    loop {
        let (left, _) = of_shards(&mut rack, 6);
        if left == all {
            break;
        }
        lost += 1;
        assert_eq!(left, [1, 2, 4, 5], "only the shards of the helper that fails lose packets");
    }
    assert!((8..=12).contains(&lost), "{lost} of each shard");
    assert_eq!(of_shards(&mut rack, 6), (all.clone(), vec![2, 2, 3, 3, 2, 3]), "3 shards each");
    // The second failure leaves the two shards of the pair without a helper.
    rack.down.insert(2);
    for _ in 0..30 {
        of_shards(&mut rack, 6);
    }
    assert_eq!(of_shards(&mut rack, 6), (vec![1, 2, 3, 5], vec![3, 3, 3, 3]));
    // The controller forgives the first helper where it backs up shard 4.
    rack.down.remove(&1);
    rack.switches[0].register_write("In.p4rack_leave.forgiven", 4, &bits(2, 2)).unwrap();
    assert_eq!(of_shards(&mut rack, 6), (vec![1, 2, 3, 4, 5], vec![3, 3, 3, 1, 3]));
}

/// A shard without an edge is a counted drop, and no edge notices.
#[test]
fn a_number_that_is_no_shard_is_dropped() {
    let mut rack = rack::Rack::sharded(&numbered());
    for _ in 0..20 {
        assert_eq!(of_shards(&mut rack, 9), ((0..6).collect(), vec![1, 2, 3, 1, 2, 3]));
    }
    let generation = rack.switches[0].register_value("In.p4rack_leave.generations", 0).unwrap();
    assert_eq!(generation, Value::Bits(bits(32, 1)));
    let dropped: u64 = (0..5)
        .map(|n| rack.switches[0].counter_read("In.p4rack_drops", n).map_or(0, |count| count.packets))
        .sum();
    assert_eq!(dropped, 60);
}

/// Each edge of shards is probed by its own ticks.
#[test]
fn idle_edges_of_shards_are_probed() {
    let mut rack = rack::Rack::sharded(&numbered());
    let ticks = rack.ticks.clone();
    let pass = |rack: &mut rack::Rack| {
        rack.now += 20;
        rack.ran.clear();
        ticks.iter().for_each(|tick| assert_eq!(rack.send(11, tick), []));
        rack.ran.clone()
    };
    assert_eq!(pass(&mut rack), [1, 2, 3, 1, 2, 3]);
    rack.down.insert(3);
    for _ in 0..8 {
        pass(&mut rack);
    }
    assert_eq!(pass(&mut rack), [1, 2, 1, 1, 2, 2]);
    assert_eq!(of_shards(&mut rack, 6).0, [0, 1, 2, 3, 4, 5]);
}

/// Keeps each packet whose first byte is odd, as a cache that answers itself, and puts the number of calls in the others.
#[derive(Default)]
struct Keeper(u8);

impl FrameExtern for Keeper {
    fn call(&mut self, _: &str, _: &[Bits], frame: &[u8], _: Time, out: &mut Emitter) {
        self.0 += 1;
        if frame[0].is_multiple_of(2) {
            out.carry_on([&[frame[0], self.0], &frame[2..]].concat());
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn tick(&mut self, _: Time, _: &mut Emitter) {}

    fn snapshot(&self) -> Vec<u8> {
        vec![self.0]
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        self.0 = snapshot.first().copied().unwrap_or_default();
        Ok(())
    }
}

/// A device is not taken for dead because its function keeps every packet. Each packet is processed once, with its values.
#[test]
fn a_function_that_keeps_packets_is_no_failure() {
    let mut rack = rack::Rack::new(include_str!("../testdata/split/spares_frames.p4"));
    let used = |rack: &rack::Rack| rack.switches[0].register_value("In.p4rack_leave.used", 0).unwrap();
    for round in 0..200 {
        rack.now += 8;
        assert_eq!(rack.send(0, &[[1, 2].as_slice(), &[9; 60]].concat()), [], "round {round} is kept");
    }
    assert!(rack.reports.len() > 3, "{} reports", rack.reports.len());
    assert_eq!(used(&rack), Value::Bits(bits(2, 1)));
    // Every hand-over is asked about: each passes twice, and is counted once.
    for round in 0..10 {
        rack.now += 100;
        let out = rack.send(0, &[[4, round].as_slice(), &[9; 60]].concat());
        assert_eq!(out, [(2, [[4, round + 7].as_slice(), &[9; 60]].concat())]);
    }
    let calls = rack.switches[1].memory("In.cache");
    assert_eq!(calls, Ok(vec![210]));
    rack.down.insert(1);
    for _ in 0..20 {
        rack.now += 8;
        rack.send(0, &[4; 62]);
    }
    assert_eq!(used(&rack), Value::Bits(bits(2, 2)), "a dead device is left");
}

/// Only a frame from a link to a target can be a report.
#[test]
fn feedback_by_another_port_is_a_packet_of_the_program() {
    let source = include_str!("../testdata/split/spares.p4");
    let used = |rack: &rack::Rack| rack.switches[0].register_value("In.p4rack_leave.used", 0).unwrap();
    let [preferred, spare] = [1, 2].map(|target| Value::Bits(bits(2, target)));
    let mut lossy = rack::Rack::new(source);
    let mut count = 0;
    while count < 200 && (count == 0 || used(&lossy) == preferred) {
        if (1..60).contains(&count) {
            lossy.down.insert(1);
        } else {
            lossy.down.remove(&1);
        }
        lossy.send(0, &[3; 62]);
        count += 1;
    }
    let report = lossy.reports.pop().expect("too many are missing");
    let mut rack = rack::Rack::new(source);
    (0..count).for_each(|_| drop(rack.send(0, &[3; 62])));
    assert_eq!(used(&rack), preferred);
    rack.send(0, &report);
    assert_eq!(used(&rack), preferred, "port 0 leads to a host");
    rack.send(11, &report);
    rack.send(0, &[3; 62]);
    assert_eq!(used(&rack), spare);
}
