//! Shards with replicas: `examples/spares` with the flows of the access list divided among its three helpers. Where a helper fails, the
//! switch goes over to the backup of each of its shards by itself; with one replica, the packets are lost.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, LinkId, Probability};
use std::path::Path;

const NIC1: DeviceId = DeviceId(1);
const NIC2: DeviceId = DeviceId(2);
const NIC3: DeviceId = DeviceId(3);

/// The link from `tor` to `nic1`.
const TO_NIC1: LinkId = LinkId(2);

/// Packets of a millisecond, in each direction.
const EACH_MS: f64 = 62.5;

/// A text in which one is replaced.
fn replaced(text: String, was: &str, is: &str) -> String {
    assert!(text.contains(was), "{was}");
    text.replace(was, is)
}

/// The example with the flows of its access list at three helpers, so many of which have each shard.
pub(crate) fn racked(replicas: u32, faults: Vec<Fault>) -> Racked {
    changed("shards", replicas, faults, |wall, file| {
        (wall, replaced(file, "kind = \"udp\"", "kind = \"zipf\"\nflows = 64"))
    })
}

/// The same with one TCP transfer from `h1` to `h2`, which takes 26 ms, and no other traffic.
fn with_tcp(replicas: u32, faults: Vec<Fault>) -> Racked {
    changed("shards-tcp", replicas, faults, |wall, file| {
        let wall =
            replaced(wall, "17: udp;", "17: udp;\n            6: udp;  // The ports are at the same place.");
        let (rack, _) = file.split_once("# 62,500 packets").unwrap();
        let transfer =
            "[[workload]]\nkind = \"tcp\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1\nsize = 3000000\n";
        (wall, format!("{rack}{transfer}"))
    })
}

/// The example with shards, with this change of its program and its rack.
fn changed(
    name: &str,
    replicas: u32,
    faults: Vec<Fault>,
    change: impl Fn(String, String) -> (String, String),
) -> Racked {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/spares");
    // Tests that run at the same time have racks of the same name.
    let alone = format!("{name}-{replicas}-{}-{:?}", std::process::id(), std::thread::current().id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(alone);
    std::fs::create_dir_all(&directory).unwrap();
    let read = |file: &str| std::fs::read_to_string(example.join(file)).unwrap();
    let wall = replaced(
        read("wall.p4"),
        "bit<1> is_denied;",
        "bit<1> is_denied; @shard(\"Wall\", 6) bit<16> shard;",
    );
    let hash = "hash(meta.shard, HashAlgorithm.crc32, 16w0,
                { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.udp.src_port, hdr.udp.dst_port }, 16w6);";
    let wall = replaced(wall, "@region(\"Wall\")", &format!("{hash}\n            @region(\"Wall\")"));
    let file = replaced(
        read("RACK.toml"),
        "{ device = \"nic1\", spares = [\"nic2\", \"nic3\"] }",
        &format!("{{ devices = [\"nic1\", \"nic2\", \"nic3\"], policy = \"shard\", replicas = {replicas} }}"),
    );
    let (wall, file) = change(wall, file);
    for (name, text) in [("wall.p4", wall), ("RACK.toml", file), ("entries.stf", read("entries.stf"))] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let loaded = rack::load(&directory, &[], &mut SourceMap::new());
    std::fs::remove_dir_all(&directory).unwrap();
    let mut racked = loaded.unwrap_or_else(|found| panic!("{found:#?}"));
    racked.rack.faults = faults;
    racked
}

fn fault(kind: FaultKind, at_us: u64, lasts: Option<u64>) -> Fault {
    let at = Time::ZERO + Duration::from_us(at_us);
    Fault { kind, at, lasts: lasts.map(Duration::from_us), span: Default::default() }
}

fn down(device: DeviceId, at_us: u64, lasts: Option<u64>) -> Fault {
    fault(FaultKind::DeviceDown(device), at_us, lasts)
}

/// From the beginning on, no message between controller and devices arrives.
fn no_controller() -> Fault {
    fault(FaultKind::ControlLoss { device: None, share: Probability::from_ppb(1_000_000_000) }, 0, None)
}

/// All frames on the link to `nic1` are lost, and no port goes down.
fn hangs(at_us: u64) -> Fault {
    let share = Probability::from_ppb(1_000_000_000);
    fault(FaultKind::Loss { link: TO_NIC1, from: None, share }, at_us, None)
}

fn run(racked: &Racked) -> RunReport {
    let report = up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let [up, down, forbidden] = report.workloads.as_slice() else { panic!("{report:#?}") };
    assert_eq!(forbidden.received, 0, "each helper has the access list");
    assert_eq!((up.duplicated, down.duplicated, up.corrupted), (0, 0, 0));
    report
}

/// Lost packets of both directions.
fn lost(report: &RunReport) -> u64 {
    let [up, down, ..] = report.workloads.as_slice() else { panic!("{report:#?}") };
    println!("{} and {} lost; {:#?}", up.lost, down.lost, report.notes);
    up.lost + down.lost
}

/// For each edge: its helpers, and the one in use with the number of changes.
fn edges(report: &RunReport) -> Vec<(Vec<&str>, Option<&str>, u64)> {
    let edge = |edge: &rack_emulator::EdgeReport| {
        assert_eq!(edge.regions, ["Wall"]);
    };
    report.edges.iter().for_each(edge);
    let all = report.edges.iter();
    all.map(|edge| (edge.targets.iter().map(String::as_str).collect(), edge.used.as_deref(), edge.changes))
        .collect()
}

/// Helpers in use, in the order of the edges: `nic1` and `nic2`, `nic2` and `nic3`, `nic3` and `nic1`, and so on.
fn used(report: &RunReport) -> Vec<&str> {
    edges(report).into_iter().map(|(_, used, _)| used.unwrap_or("none")).collect()
}

const ALL: [&str; 6] = ["nic1", "nic2", "nic3", "nic1", "nic2", "nic3"];

fn notes(report: &RunReport) -> Vec<&str> {
    report.notes.iter().map(|note| note.what.as_str()).collect()
}

#[test]
fn without_faults_nothing_is_lost_and_each_helper_has_flows() {
    for replicas in [1, 2, 3] {
        let report = run(&racked(replicas, vec![]));
        assert_eq!(lost(&report), 0);
        for helper in ["nic1", "nic2", "nic3"] {
            let device = report.devices.iter().find(|device| device.name == helper).unwrap();
            assert!(device.received > 1_000, "{helper}: {device:#?}");
        }
        let [expected, count] = if replicas == 1 { [0, 0] } else { [6, replicas as usize] };
        assert_eq!(report.edges.len(), expected);
        assert!(edges(&report).iter().all(|(targets, _, changes)| targets.len() == count && *changes == 0));
    }
}

/// The trial that shows what replicas are for.
#[test]
fn with_one_replica_packets_are_lost_for_ever() {
    let report = run(&racked(1, vec![down(NIC1, 10_000, None)]));
    let lost = lost(&report);
    // A third of the flows; of 10,000 packets, 1,250 come before.
    assert!((1_500..=4_500).contains(&lost), "{lost}");
}

#[test]
fn with_two_replicas_a_helper_dies_without_a_controller() {
    let report = run(&racked(2, vec![no_controller(), down(NIC1, 10_000, None)]));
    let lost = lost(&report);
    assert_eq!(
        used(&report),
        ["nic2", "nic2", "nic3", "nic3", "nic2", "nic3"],
        "each other helper gets one of two"
    );
    assert!((1..=60).contains(&lost), "{lost}");
}

#[test]
fn a_port_that_goes_down_costs_what_is_under_way() {
    let report = run(&racked(2, vec![no_controller(), fault(FaultKind::LinkDown(TO_NIC1), 10_000, None)]));
    let lost = lost(&report);
    assert_eq!(used(&report), ["nic2", "nic2", "nic3", "nic3", "nic2", "nic3"]);
    assert!(lost <= 5, "{lost}");
}

/// No port goes down: only requests without answers show it.
#[test]
fn a_helper_that_hangs_is_left_within_30_ms() {
    let report = run(&racked(2, vec![no_controller(), hangs(10_000)]));
    let lost = lost(&report);
    assert_eq!(used(&report), ["nic2", "nic2", "nic3", "nic3", "nic2", "nic3"]);
    assert!(lost as f64 <= 2.0 * EACH_MS * 30.0, "{lost}");
    let left = report.notes.iter().filter(|note| note.what.contains("instead of `nic1`"));
    let after: Vec<u64> = left.map(|note| note.at_ps / 1_000_000 - 10_000).collect();
    assert!(after.len() == 2 && after.iter().all(|us| *us <= 30_000), "{after:?} us");
    let one = run(&racked(1, vec![no_controller(), hangs(10_000)]));
    assert!(self::lost(&one) > 1_500, "and with one replica, packets are lost until the end");
}

/// The helper gets all writes at once, and serves after its entries are right for the hold-down.
#[test]
fn a_helper_that_comes_back_serves_after_its_entries_are_right() {
    let report = run(&racked(2, vec![down(NIC1, 10_000, Some(10_000))]));
    let lost = lost(&report);
    assert!((1..=60).contains(&lost), "{lost}");
    assert_eq!(used(&report), ALL);
    let expected = [
        "`tor` hands over to `nic2` instead of `nic1`: `Wall`",
        "`tor` hands over to `nic3` instead of `nic1`: `Wall`",
        "`nic1` has restarted",
        "`nic1` is in sync again",
        "`tor` hands over to `nic1` instead of `nic2`: `Wall`",
        "`tor` hands over to `nic1` instead of `nic3`: `Wall`",
    ];
    let mut noted = notes(&report);
    // The edges change independently of each other.
    noted[..2].sort_unstable();
    noted[4..].sort_unstable();
    assert_eq!(noted, expected);
    let at = |what: &str| report.notes.iter().find(|note| note.what == what).unwrap().at_ps / 1_000_000;
    let waited = at(expected[4]) - at(expected[3]);
    assert!((10_000..40_000).contains(&waited), "{waited} us");
}

/// A run with the transfer, and how long the transfer takes, in milliseconds; `None` if it is not completed.
fn transfer(replicas: u32, faults: Vec<Fault>) -> (RunReport, Option<f64>) {
    let racked = with_tcp(replicas, faults);
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let [transfer] = report.workloads.as_slice() else { panic!("{report:#?}") };
    let latency = transfer.latency.filter(|_| transfer.received == 1);
    let took = latency.map(|latency| latency.max_ps as f64 / 1e9);
    (report, took)
}

/// A TCP transfer whose segments pass a helper that fails takes at most 200 ms longer, the paper's bound for hosts.
#[test]
fn a_transfer_through_a_helper_that_fails_goes_on() {
    const AT_US: u64 = 10_000;
    let (report, whole) = transfer(2, vec![no_controller()]);
    let whole = whole.unwrap();
    assert!(whole > 25.0 && notes(&report).is_empty(), "{whole} ms, {:?}", report.notes);
    // Idle edges send probes; the most frames are segments of the transfer.
    let mut helpers = [("nic1", LinkId(2)), ("nic2", LinkId(3)), ("nic3", LinkId(4))];
    let received = |name: &str| report.devices.iter().find(|device| device.name == name).unwrap().received;
    helpers.sort_by_key(|(name, _)| std::cmp::Reverse(received(name)));
    let (_, link) = helpers[0];
    let loses_all = FaultKind::Loss { link, from: None, share: Probability::from_ppb(1_000_000_000) };
    for (kind, within_us) in [(FaultKind::LinkDown(link), 1_000), (loses_all, 30_000)] {
        let (report, took) = transfer(2, vec![no_controller(), fault(kind.clone(), AT_US, None)]);
        let left = report.notes.iter().filter(|note| note.what.contains(" instead of "));
        let after: Vec<u64> = left.map(|note| note.at_ps / 1_000_000 - AT_US).collect();
        println!("{kind:?}: {took:?} ms instead of {whole}, left after {after:?} us");
        let longer = took.expect("it is completed") - whole;
        assert!(longer < 200.0, "{kind:?}: {longer} ms");
        assert!(after.len() == 2 && after.iter().all(|us| *us <= within_us), "{kind:?}: {after:?} us");
    }
}

/// The shards of a pair are dropped while both are down, and counted; all others go on.
#[test]
fn two_failures_cost_the_shards_of_the_pair() {
    let faults = vec![no_controller(), down(NIC1, 10_000, None), down(NIC2, 20_000, None)];
    let report = run(&racked(2, faults));
    lost(&report);
    assert_eq!(used(&report), ["none", "nic3", "nic3", "nic3", "none", "nic3"]);
    let dropped = report.drops.iter().filter(|drop| drop.place.contains("tor"));
    let dropped: u64 = dropped.map(|drop| drop.packets).sum();
    assert!(dropped > 500, "{:#?}", report.drops);
    let three = run(&racked(3, vec![no_controller(), down(NIC1, 10_000, None), down(NIC2, 20_000, None)]));
    assert_eq!(used(&three), ["nic3"; 6]);
    assert!(self::lost(&three) <= 120);
}

/// One failure after the other, with a repair between them: nothing but what was under way is lost.
#[test]
fn two_failures_with_a_repair_between_are_survived() {
    let faults =
        vec![down(NIC1, 5_000, Some(2_000)), down(NIC2, 45_000, Some(2_000)), down(NIC3, 70_000, None)];
    let report = run(&racked(2, faults));
    let lost = lost(&report);
    assert!((3..=150).contains(&lost), "{lost}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let faults = || vec![down(NIC3, 9_000, Some(7_000)), hangs(12_000)];
    assert_eq!(run(&racked(2, faults())), run(&racked(2, faults())));
}
