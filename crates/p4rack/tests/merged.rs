//! Merged registers in an emulated rack: copies at the switch and at two helpers, over a control network that loses, doubles and reorders.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{DeviceId, Fault, FaultKind, Probability};
use std::path::PathBuf;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t { bit<64> more; bit<8> ttl; bit<8> protocol; bit<16> sum; bit<32> src; bit<32> dst; }
header udp_t { bit<16> src; bit<16> dst; }
struct headers { ethernet_t ethernet; ipv4_t ipv4; udp_t udp; }
struct metadata { @shard("Count", 6) bit<16> shard; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ip; default: accept; }
    }
    state ip {
        pkt.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) { 17: udp; default: accept; }
    }
    state udp { pkt.extract(hdr.udp); transition accept; }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    @merge("add") register<bit<32>>(8) seen;
    apply {
        bit<32> n;
        if (std.ingress_port == 1) {
            std.egress_spec = 4;
            hdr.ethernet.dst = 0x020000000401;
        } else {
            std.egress_spec = 1;
            hdr.ethernet.dst = 0x020000000101;
        }
        hash(meta.shard, HashAlgorithm.crc16, 16w0, { hdr.udp.dst }, 16w6);
        if (hdr.udp.isValid()) {
            if (hdr.udp.dst == 5000) {
                seen.read(n, (bit<32>)hdr.udp.dst[2:0]);
                n = n + 1;
                seen.write((bit<32>)hdr.udp.dst[2:0], n);
            } else {
                @region("Count") {
                    seen.read(n, (bit<32>)hdr.udp.dst[2:0]);
                    n = n + 1;
                    seen.write((bit<32>)hdr.udp.dst[2:0], n);
                }
            }
        }
    }
}
control O(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), I(), O(), C(), D()) main;
"#;

const RACK: &str = r#"
[rack]
name = "merged"
seed = 1
[control]
merge = "1ms"
duplicate = "20%"
jitter = "2ms"
[device.edge]
class = "switch"
[device.nic1]
class = "smartnic"
[device.nic2]
class = "smartnic"
[host.campus]
mac = "02:00:00:00:01:01"
ip = "10.1.0.1/16"
gateway = "02:00:00:00:00:01"
[host.net]
mac = "02:00:00:00:04:01"
ip = "198.51.100.1/24"
gateway = "02:00:00:00:00:04"
[[link]]
ends = ["campus", "edge:1"]
rate = "1Gbit/s"
delay = "1us"
[[link]]
ends = ["net", "edge:4"]
rate = "1Gbit/s"
delay = "1us"
[[link]]
ends = ["nic1:1", "edge:5"]
rate = "10Gbit/s"
delay = "500ns"
mtu = 2000
[[link]]
ends = ["nic2:1", "edge:6"]
rate = "10Gbit/s"
delay = "500ns"
mtu = 2000
[[app]]
program = "count.p4"
origin = "edge"
map = { Count = { devices = ["nic1", "nic2"], policy = "shard" } }
"#;

/// The rack, with 200 packets to each of four ports; control messages get lost from the beginning.
fn racked(test: &str) -> Racked {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let workload = |port: u32| {
        format!(
            "[[workload]]\nkind = \"udp\"\nname = \"to{port}\"\nfrom = \"campus\"\nto = \"net\"\ncount = 200\nrate = \"8Mbit/s\"\nsize = 200\nport = {port}\n"
        )
    };
    let workloads: String = (5000..5004).map(workload).collect();
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("count.p4"), PROGRAM).unwrap();
    std::fs::write(directory.join("RACK.toml"), RACK.to_string() + &workloads).unwrap();
    let mut racked =
        rack::load(&directory, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let share = Probability::parse("20%").unwrap();
    racked.rack.faults = vec![fault(FaultKind::ControlLoss { device: None, share }, 0, None)];
    racked
}

fn fault(kind: FaultKind, ms: u64, lasts: Option<Duration>) -> Fault {
    Fault { kind, at: Time::ZERO + Duration::from_ms(ms), lasts, span: Default::default() }
}

/// Final sum of all cells at each device, and the report.
fn run(racked: &Racked) -> (Vec<u64>, RunReport) {
    let mut running = up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}"));
    let report = running.run().unwrap();
    let shown = |device: u32| {
        let device = running.emulator.device(DeviceId(device)).unwrap();
        (0..8).map(|cell| device.register_read("I.seen", cell).unwrap().to_u64().unwrap()).sum()
    };
    ((0..3).map(shown).collect(), report)
}

fn notes(report: &RunReport) -> Vec<&str> {
    report.notes.iter().map(|note| note.what.as_str()).collect()
}

#[test]
fn every_device_shows_what_all_have_counted() {
    let (shown, report) = run(&racked("merged"));
    assert_eq!(report.packets.dropped, 0, "{:?}", report.drops);
    assert_eq!(shown, [800; 3]);
    let [note] = notes(&report)[..] else { panic!("{:?}", report.notes) };
    assert!(note.starts_with("copies of objects were merged in "), "{note}");
}

#[test]
fn what_a_device_had_counted_when_it_died_is_kept_but_for_the_last() {
    let mut racked = racked("merged-restarts");
    racked.rack.faults.push(fault(FaultKind::DeviceDown(DeviceId(1)), 20, Some(Duration::from_ms(3))));
    racked.rack.faults.push(fault(FaultKind::DeviceDown(DeviceId(2)), 30, Some(Duration::from_ms(3))));
    for seed in 0..5 {
        racked.rack.seed = seed;
        let (shown, report) = run(&racked);
        assert!(shown.iter().all(|other| *other == shown[0]), "seed {seed}: {shown:?}");
        let through = report.packets.delivered;
        assert!(shown[0] > 100 && shown[0] <= 800, "seed {seed}: {shown:?}");
        // A message lost in a row of five is rare: a few milliseconds' packets at most were not pushed.
        assert!(shown[0] + 100 >= through, "seed {seed}: {shown:?} of {through}");
        let restarted = notes(&report).iter().filter(|note| note.contains("has restarted")).count();
        assert_eq!(restarted, 2, "seed {seed}: {:?}", notes(&report));
        if shown[0] < through {
            assert!(notes(&report).iter().any(|note| note.ends_with("of `I.seen` are lost")), "{seed}");
        }
    }
}
