//! `examples/spares`: a region whose device fails while traffic passes. The switch goes over to the spare by itself; the controller
//! decides when a device is used again.

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use ir_prove::{Effort, prove};
use p4rack::{Racked, proof, rack, up};
use rack_emulator::{Emulator, RunReport};
use rack_model::{DeviceId, Fault, FaultKind, HostId, LinkId, NodeId, Probability, Rack, Replace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TOR: DeviceId = DeviceId(0);
const NIC1: DeviceId = DeviceId(1);
const NIC2: DeviceId = DeviceId(2);

/// Links from `tor` to `nic1`, `nic2` and `nic3`.
const TO_NIC1: LinkId = LinkId(2);
const TO_NIC2: LinkId = LinkId(3);
const TO_NIC3: LinkId = LinkId(4);

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/spares")
}

/// The rack of the example with these faults.
fn racked(faults: Vec<Fault>) -> Racked {
    let mut racked =
        rack::load(&example(), &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.faults = faults;
    racked
}

/// The rack of the example with other thresholds, no workloads and no controller.
fn with_thresholds(name: &str, keys: &str) -> Racked {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spares-{name}"));
    std::fs::create_dir_all(&directory).unwrap();
    for file in ["wall.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(example().join(file)).unwrap();
        let text = text.replace("failover = { hold_down = \"10ms\" }", &format!("failover = {{ {keys} }}"));
        std::fs::write(directory.join(file), text).unwrap();
    }
    let mut racked =
        rack::load(&directory, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.workloads.clear();
    racked.rack.faults = vec![no_controller()];
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

/// The firewall of Figure 7 fails: its spare knows no connections, and the report says so.
#[test]
fn what_a_spare_lacks_is_reported() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fat-tree/figure-7/RACK.toml");
    let mut racked =
        rack::load(&file, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let wall = racked.rack.apps.iter().position(|app| app.name.value == "firewall-p1e1").unwrap();
    let proved = prove(&proof::case(&racked.apps[wall]), &Effort { packets: 300, ..Effort::default() });
    assert!(proved.unwrap_or_else(|failure| panic!("{}", failure.describe())).accesses > 100);
    racked.rack.workloads.retain(|workload| workload.name.value == "through");
    let report = run(&racked);
    assert_eq!(
        notes(&report)[..2],
        [
            "`edge-1-1` hands over to `edge-1-1-wall2` instead of `edge-1-1-wall`: `Wall`",
            "`edge-1-1-wall2` lacks what `edge-1-1-wall` held in `FirewallIngress.opened`, `FirewallIngress.opened_too` (`@soft`)",
        ]
    );
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
    let unplugged = || fault(FaultKind::LinkDown(TO_NIC1), 10_000, Some(5_000));
    let check = |faults: Vec<Fault>, device: &str, changes: u64| {
        let report = run(&racked(faults));
        let lost = lost(&report);
        assert!(lost <= 6 * changes, "{lost}: what was under way");
        assert_eq!(used(&report), (Some(device), changes));
    };
    check(vec![no_controller(), unplugged()], "nic2", 1);
    // The cable is plugged in again, and the controller lets the device back.
    check(vec![unplugged()], "nic1", 2);
}

/// The first cable is plugged in again and then the last one left: the device behind it needs no controller.
#[test]
fn the_last_device_whose_port_is_up_is_used() {
    let unplugged = |link, at, lasts| fault(FaultKind::LinkDown(link), at, lasts);
    let report = run(&racked(vec![
        no_controller(),
        unplugged(TO_NIC1, 10_000, Some(5_000)),
        unplugged(TO_NIC2, 20_000, None),
        unplugged(TO_NIC3, 30_000, Some(5_000)),
    ]));
    let lost = lost(&report);
    assert!(lost <= 18, "{lost}: what was under way");
    assert_eq!(used(&report), (Some("nic1"), 3));
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

/// A device that keeps failing is used more and more rarely.
#[test]
fn a_link_that_loses_frames_for_long_waits_longer_each_time() {
    let loss = FaultKind::Loss { link: TO_NIC1, from: None, share: Probability::from_ppb(300_000_000) };
    let mut racked = racked(vec![fault(loss, 1_000, None)]);
    racked.rack.workloads.truncate(1);
    racked.rack.workloads[0].load.count = 20_000;
    let report = run(&racked);
    let back: Vec<u64> = report
        .notes
        .iter()
        .filter(|note| note.what.contains("to `nic1`"))
        .map(|note| note.at_ps / 1_000_000_000)
        .collect();
    println!("{back:?}");
    let waits: Vec<u64> = back.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.len() >= 3 && waits.windows(2).all(|pair| pair[1] > pair[0]), "{waits:?}");
    assert!(waits[waits.len() - 1] > 2 * waits[0], "{waits:?}");
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

/// The switch restarts while the cable of `nic1` is out: it uses the next device as soon as it runs again.
#[test]
fn a_switch_that_restarts_knows_which_ports_are_down() {
    for out_at in [5_000, 11_000] {
        let faults = vec![
            fault(FaultKind::LinkDown(TO_NIC1), out_at, None),
            fault(FaultKind::DeviceDown(TOR), 10_000, Some(2_000)),
        ];
        let report = run(&racked(faults));
        lost(&report);
        assert_eq!(used(&report).0, Some("nic2"));
        // Drops in ingress are requests of the edge, which the device has answered.
        let there = report.drops.iter().filter(|drop| drop.place.contains("nic1"));
        let lost: u64 =
            there.filter(|drop| drop.reason != "dropped in ingress").map(|drop| drop.packets).sum();
        assert!(lost <= 6, "{lost} packets were sent towards `nic1`: more than was under way");
    }
}

/// Frames that come while it has no program are counted once, however often that is.
#[test]
fn a_switch_that_restarts_twice_counts_each_frame_once() {
    let down = |at| fault(FaultKind::DeviceDown(TOR), at, Some(2_000));
    let report = run(&racked(vec![down(5_000), down(20_000)]));
    lost(&report);
    let [up, ..] = report.workloads.as_slice() else { panic!() };
    assert!(up.received > 3_000, "{up:?}");
}

/// In a partition, the switch sees only its own ports.
#[test]
fn the_same_seed_gives_the_same_run() {
    let faults = || vec![fault(FaultKind::Partition(vec![NodeId::Device(NIC1)]), 9_000, Some(7_000))];
    let [one, other] = [run(&racked(faults())), run(&racked(faults()))];
    assert_eq!(one, other);
    assert_eq!(used(&one).0, Some("nic1"));
}

/// Racks that one controller cannot keep equal are refused before they run.
#[test]
fn racks_that_are_not_one_switch_are_refused() {
    let refused = |change: &dyn Fn(&mut Rack)| {
        let mut racked = racked(vec![]);
        change(&mut racked.rack);
        let Err(found) = up::bring_up(&racked) else { panic!("it runs") };
        found
            .into_iter()
            .map(|found| format!("{}: {}", found.code, found.title))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let reported = refused(&|rack| {
        let map = vec![];
        rack.replaces.push(Replace { at: Time::ZERO, map, span: Default::default() });
    });
    assert!(
        reported.contains("P4R0611: regions at several devices cannot be moved while they run"),
        "{reported}"
    );
    let mut apart = racked(vec![]);
    let entries = apart.apps[0].entries.clone();
    apart.own_entries.insert((0, 1), entries);
    let Err(found) = up::bring_up(&apart) else { panic!("it runs") };
    assert_eq!(found[0].title, "regions at several devices need a rack that is one switch");
}

/// Frames of each host.
const FRAMES: u32 = 600;

/// Frame `number` of host 1 or 2 for the other one.
fn frame(host: u8, number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, host, 2, 0, 0, 0, host, 1, 8, 0];
    let mut ip = vec![0x45, 0, 0, 48, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, host, 1, 10, 0, 3 - host, 1];
    let words = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend([0x1b, 0x57, 0x1b, 0x58, 0, 28, 0, 0]);
    frame.extend(number.to_be_bytes());
    frame.extend([host; 16]);
    frame
}

type Arrivals = BTreeMap<(u32, Vec<u8>), u64>;

fn arrivals(emulator: &mut Emulator) -> Arrivals {
    let mut arrivals = Arrivals::new();
    for host in [0, 1] {
        for received in emulator.take_received(HostId(host)) {
            *arrivals.entry((host, received.frame)).or_default() += 1;
        }
    }
    arrivals
}

fn send_all(emulator: &mut Emulator) {
    for host in [1, 2] {
        emulator.listen(HostId(host - 1));
        for number in 0..FRAMES {
            let at = Time::ZERO + Duration::from_us(u64::from(40 * number + 20 * host));
            assert!(emulator.send(HostId(host - 1), frame(host as u8, number), at));
        }
    }
}

/// A frame there and back between `tor` and a `nic`, service included: less than this.
const ROUND_TRIP: u64 = 8;

/// Time from the failure of `nic1`, at `down` microseconds, until hand-overs go to the next device, with a frame every `step` microseconds.
fn noticed_after(mut racked: Racked, down: u64, step: u64) -> u64 {
    racked.rack.faults.push(fault(FaultKind::DeviceDown(NIC1), down, None));
    let mut running = up::bring_up(&racked).unwrap();
    let sent_at = |number: u32| 5_000 + step * u64::from(number);
    let count = (5_000 / step + 2_000 / step + 20) as u32;
    running.emulator.listen(HostId(1));
    for number in 0..count {
        assert!(running.emulator.send(
            HostId(0),
            frame(1, number),
            Time::ZERO + Duration::from_us(sent_at(number))
        ));
    }
    let report = running.run().unwrap();
    assert_eq!(used(&report), (Some("nic2"), 1));
    let received = running.emulator.take_received(HostId(1));
    let arrived: Vec<Vec<u8>> =
        received.into_iter().map(|received| received.frame[42..46].to_vec()).collect();
    let mut lost = (0..count).filter(|number| !arrived.contains(&number.to_be_bytes().to_vec()));
    let last = lost.next_back().expect("frames under way are lost");
    // The next frame was not lost.
    (sent_at(last) + step).saturating_sub(down)
}

/// Within the threshold and two round trips, whatever the rate; not before the threshold.
#[test]
fn a_busy_edge_notices_a_failure_in_time() {
    let thresholds = racked(vec![]).apps[0].placement.thresholds;
    let silence = thresholds.ask_after + u64::from(thresholds.most_missed) * thresholds.patience;
    for step in [2, 5, 8, 20] {
        for down in [10_000, 10_003, 10_011] {
            let after = noticed_after(with_thresholds("busy", "hold_down = \"10ms\""), down, step);
            let most = thresholds.detection(step) + 2 * ROUND_TRIP;
            println!("a frame every {step} us, failure at {down}: {after} us, of {most} at most");
            assert!((silence - thresholds.ask_after..=most).contains(&after), "{step} {down}: {after}");
        }
    }
}

#[test]
fn thresholds_of_the_file_are_those_of_the_edge() {
    let keys = "patience = \"200us\", ask_after = \"30us\"";
    let after = noticed_after(with_thresholds("patient", keys), 10_000, 8);
    let most = 30 + 8 + 3 * (200 + 8);
    assert!((600..=most + 2 * ROUND_TRIP).contains(&after), "{after} of {most}");
}

/// Without packets: by the ticks, within the time that they are configured for. It shows at the tick after.
#[test]
fn an_idle_edge_notices_a_failure_in_time() {
    for (keys, tick) in [("hold_down = \"10ms\"", 100), ("tick = \"1ms\"", 1_000)] {
        for down in [10_000, 10_037, 10_099, 10_420] {
            let mut racked = with_thresholds(&format!("idle-{tick}"), keys);
            racked.rack.faults.push(fault(FaultKind::DeviceDown(NIC1), down, None));
            let mut running = up::bring_up(&racked).unwrap();
            running.emulator.send(HostId(0), frame(1, 0), Time::ZERO + Duration::from_us(5_000));
            // The run goes on until the last frame.
            running.emulator.send(HostId(0), frame(1, 1), Time::ZERO + Duration::from_us(30_000));
            let report = running.run().unwrap();
            let [note] = report.notes.as_slice() else { panic!("{:?}", report.notes) };
            assert_eq!(note.what, "`tor` hands over to `nic2` instead of `nic1`: `Wall`");
            let after = note.at_ps / 1_000_000 - down;
            let most = 10 + tick + 3 * (20 + tick) + tick;
            println!("a tick every {tick} us, failure at {down}: {after} us, of {most} at most");
            assert!((3 * tick..=most).contains(&after), "{tick} {down}: {after} of {most}");
        }
    }
}

/// Probes and reports of an idle edge go back and forth for seconds, with the same bytes: they are no loop.
#[test]
fn an_idle_edge_is_no_loop() {
    let racked = with_thresholds("loop", "tick = \"10us\", ask_after = \"10us\"");
    let mut running = up::bring_up(&racked).unwrap();
    // A packet now and then, so that the run goes on.
    for at in 0..60 {
        running.emulator.send(
            HostId(0),
            frame(1, at),
            Time::ZERO + Duration::from_ms(1 + 25 * u64::from(at)),
        );
    }
    let report = running.run().unwrap();
    let carried: u64 = report.links.iter().map(|link| link.frames).sum();
    assert!(carried > 150_000, "{carried} frames on links");
    assert!(report.loops.is_empty(), "{:?}", report.loops);
}

/// The faults of a seed. The first one leads to a fail-over: the switch is there to see it, and restarts only when it has gone over.
fn draw_all(rng: &mut Rng) -> Vec<Fault> {
    let first = draw(rng, true);
    let seen = first.at + Duration::from_ms(1);
    let mut faults = vec![first];
    for _ in 0..rng.below(4) {
        let fault = draw(rng, false);
        let is_unseen = matches!(fault.kind, FaultKind::DeviceDown(TOR)) && fault.at < seen;
        faults.push(if is_unseen { Fault { at: seen, ..fault } } else { fault });
    }
    faults
}

/// A failure of the preferred device or its link, or any other fault.
fn draw(rng: &mut Rng, is_first: bool) -> Fault {
    let nic = if is_first { 1 } else { 1 + rng.below(3) as u32 };
    let (device, link) = (DeviceId(nic), LinkId(nic + 1));
    let share = |percent: u64| Probability::from_ppb(percent as u32 * 10_000_000);
    let kind = match if is_first { rng.below(3) } else { rng.below(7) } {
        0 => FaultKind::DeviceDown(device),
        1 => FaultKind::LinkDown(link),
        2 => FaultKind::Loss { link, from: None, share: share(rng.between(40, 90)) },
        3 => FaultKind::DeviceDown(TOR),
        4 => FaultKind::Delay { link, by: Duration::from_us(rng.between(1, 20)) },
        5 => FaultKind::Slow { device, factor: rng.between(2, 10) as u32 },
        _ => FaultKind::ControlLoss {
            device: rng.next_bool().then_some(device),
            share: share(rng.between(1, 90)),
        },
    };
    let at = Time::ZERO + Duration::from_us(rng.between(1_000, if is_first { 5_000 } else { 20_000 }));
    let lasts = rng.chance(3, 4).then(|| Duration::from_us(rng.between(500, 10_000)));
    let lasts = if is_first { lasts.map(|lasts| lasts + Duration::from_ms(2)) } else { lasts };
    Fault { kind, at, lasts, span: Default::default() }
}

/// Whatever fails: what comes out is what comes out without faults, nothing comes twice, and all that is lost is counted.
#[test]
fn what_comes_is_what_would_have_come() {
    let seeds = features::seeds(4, 1000);
    let tried = seeds.end - seeds.start;
    let mut racked = racked(vec![]);
    racked.rack.workloads.clear();
    racked.rack.apps[0].failover.hold_down = Duration::from_ms(2);
    for link in &mut racked.rack.links[2..] {
        (link.reorder, link.reorder_delay) = (Probability::from_ppb(20_000_000), Duration::from_us(5));
    }
    let mut calm = up::bring_up(&racked).unwrap();
    send_all(&mut calm.emulator);
    calm.run().unwrap();
    let wanted = arrivals(&mut calm.emulator);
    assert_eq!(wanted.len() as u32, 2 * FRAMES, "without faults everything comes");
    let (mut lost, mut changes) = (0, 0);
    for seed in seeds {
        let mut rng = Rng::new(seed).split("faults");
        racked.rack.seed = seed;
        racked.rack.faults = draw_all(&mut rng);
        let mut running = up::bring_up(&racked).unwrap();
        send_all(&mut running.emulator);
        let report =
            running.run().unwrap_or_else(|found| panic!("seed {seed}: {:?}, {found:#?}", racked.rack.faults));
        let found = arrivals(&mut running.emulator);
        for ((host, frame), times) in &found {
            let is_wanted = wanted.contains_key(&(*host, frame.clone()));
            assert!(*times == 1 && is_wanted, "seed {seed}: {frame:x?} came {times} times");
        }
        let balance = running.emulator.balance();
        let counted: u64 = report.drops.iter().map(|drop| drop.packets).sum();
        assert_eq!((balance.delivered, balance.dropped), (found.len() as u64, counted), "seed {seed}");
        let missing = wanted.len() - found.len();
        let (_, changed) = used(&report);
        assert!(changed > 0, "seed {seed}: {:#?}", racked.rack.faults);
        lost += missing;
        changes += changed;
    }
    println!("{tried} seeds: {changes} changes, {lost} of {} packets lost", tried * u64::from(2 * FRAMES));
    assert!(changes > tried && lost > 0);
}

/// The parts together are the whole program, with the preferred device in use.
#[test]
fn the_split_program_is_the_whole_one() {
    let racked = racked(vec![]);
    let case = proof::case(&racked.apps[0]);
    let effort = Effort { packets: 300, ..Effort::default() };
    let tried = prove(&case, &effort).unwrap_or_else(|failure| panic!("{}", failure.describe()));
    assert!(tried.outputs > 50, "{tried:?}");
}
