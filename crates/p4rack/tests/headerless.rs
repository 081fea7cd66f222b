//! Cuts without a header: split, printed, compiled again, and proved equal, with the position in the link or in the fragment offset.

use crate::support;

use base_diag::SourceMap;
use base_time::Time;
use device::Options;
use ir_prove::{Case, Effort, prove};
use ir_split::{DeviceIndex, Placement, RuntimeName};
use p4rack::{Racked, rack, up};
use rack_model::{Rack, Runtime};
use std::path::Path;
use std::sync::Arc;
use support::{case, compile_text};

/// Ethernet, IPv4 with options, TCP or UDP; the parser keeps the destination port.
pub(crate) fn program(declarations: &str, ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}}
header options_t {{ varbit<320> data; }}
header ports_t {{ bit<16> src; bit<16> dst; }}
struct headers {{ ethernet_t ethernet; ipv4_t ipv4; options_t options; ports_t tcp; ports_t udp; }}
struct metadata {{ bit<16> to; bit<8> x; }}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {{ 0x800: ipv4; default: accept; }}
    }}
    state ipv4 {{
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl) {{ 0x5: next; 0x6 &&& 0xe: options; 0x8 &&& 0x8: options; default: accept; }}
    }}
    state options {{
        packet.extract(hdr.options, ((bit<32>)hdr.ipv4.ihl << 5) - 160);
        transition next;
    }}
    state next {{
        transition select(hdr.ipv4.protocol) {{ 6: tcp; 17: udp; default: accept; }}
    }}
    state tcp {{ packet.extract(hdr.tcp); meta.to = hdr.tcp.dst; transition accept; }}
    state udp {{ packet.extract(hdr.udp); meta.to = hdr.udp.dst; transition accept; }}
}}
control V(inout headers hdr, inout metadata meta) {{
    apply {{
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, {{
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
            hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
        }}, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }}
}}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{declarations}
    apply {{
{ingress}
    }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    apply {{
{egress}
    }}
}}
control C(inout headers hdr, inout metadata meta) {{
    apply {{
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, {{
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
            hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
        }}, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }}
}}
control D(packet_out packet, in headers hdr) {{
    apply {{
        packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); packet.emit(hdr.options); packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }}
}}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// `tor`, `nic` and `fpga`, with so many links between each two, and `R` at `nic`, `S` at `fpga`.
pub(crate) fn placement(runtime: RuntimeName, links: u64) -> Placement {
    let devices: Vec<DeviceIndex> = (0..3).map(DeviceIndex).collect();
    let pairs = devices.iter().flat_map(|a| devices.iter().map(|b| (*a, *b))).filter(|(a, b)| a != b);
    let port = |(a, b): (DeviceIndex, DeviceIndex), n: u64| u64::from(300 + 20 * a.0 + 50 * b.0) + n;
    let ports: Vec<_> =
        pairs.map(|pair| (pair, (0..links).map(|n| port(pair, n)).collect::<Vec<_>>())).collect();
    Placement {
        devices: ["tor", "nic", "fpga"].map(Into::into).to_vec(),
        sites: [("R".into(), devices[1].into()), ("S".into(), devices[2].into())].into(),
        ports: ports.iter().map(|(pair, all)| (*pair, all[0])).collect(),
        more_ports: ports.into_iter().collect(),
        runtime,
        ..Placement::whole("tor")
    }
}

fn case_of(source: &str, runtime: RuntimeName, links: u64) -> Case {
    let mut map = SourceMap::new();
    let whole = compile_text(source, &mut map);
    let mut placement = placement(runtime, links);
    placement.sites.retain(|region, _| source.contains(&format!("@region(\"{region}\")")));
    case(whole, placement)
}

/// Proves a split, and that no mutant of it lives but for those with a name that holds one of `same`.
fn check(source: &str, runtime: RuntimeName, links: u64, same: &[&str]) {
    let case = case_of(source, runtime, links);
    let effort = Effort { packets: 400, ..Effort::default() };
    match prove(&case, &effort) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
    let mut count = 0;
    for mutant in ir_prove::mutants::mutants(&case.parts) {
        if same.iter().any(|s| mutant.name.contains(s)) {
            continue;
        }
        count += 1;
        let broken = Case { parts: mutant.parts, ..case.clone() };
        assert!(prove(&broken, &effort).is_err(), "lived: {}", mutant.name);
    }
    assert!(count > 0, "no mutants");
}

const BOTH: [RuntimeName; 2] = [RuntimeName::Headerless, RuntimeName::HeaderlessIpv4];

/// The packets that `headerless-ipv4` can hand over.
pub(crate) const WHOLE: &str = "hdr.ipv4.isValid() && hdr.ipv4.offset == 0";

#[test]
fn a_region_reads_and_writes_the_packet() {
    let ingress = format!(
        "if ({WHOLE}) {{ @region(\"R\") {{ hdr.ipv4.ttl = hdr.ipv4.ttl - 1; hdr.ipv4.tos = meta.to[7:0]; }} }}
        std.egress_spec = (bit<9>)hdr.ipv4.ttl[1:0];"
    );
    for runtime in BOTH {
        check(&program("", &ingress, "hdr.ethernet.src[31:0] = std.packet_length;"), runtime, 1, &[]);
    }
}

const STATE: &str =
    "counter<bit<32>>(16, CounterType.packets_and_bytes) sizes; register<bit<32>, bit<32>>(16) seen;
    action drop() { mark_to_drop(std); } action pass() {}
    table acl { key = { hdr.ipv4.src: ternary; meta.to: ternary; } actions = { drop; pass; } size = 64; }
    action forward(bit<9> port) { std.egress_spec = port; hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }
    table route { key = { hdr.ipv4.dst: lpm; } actions = { forward; drop; } size = 64; }";

#[test]
fn a_region_that_drops_takes_a_second_link() {
    let ingress = format!(
        "std.egress_spec = 3; if ({WHOLE}) {{ @region(\"R\") {{ acl.apply(); sizes.count((bit<32>)hdr.ipv4.tos[3:0]); }} }}
        if (std.egress_spec == 3 && std.packet_length > 70) {{ std.egress_spec = 4; }}"
    );
    check(&program(STATE, &ingress, ""), RuntimeName::Headerless, 3, &[]);
    check(&program(STATE, &ingress, ""), RuntimeName::HeaderlessIpv4, 1, &[]);
}

#[test]
fn an_output_port_that_entries_choose_travels_in_the_offset() {
    let ingress = format!(
        "if ({WHOLE}) {{ route.apply(); @region(\"R\") {{ acl.apply(); bit<32> n; seen.read(n, 3); seen.write(3, n + 1); hdr.ipv4.tos = n[7:0]; }} }}"
    );
    // To read twice, or to write the same twice, changes nothing.
    let twice = &["effect done twice"];
    check(
        &program(STATE, &ingress, "hdr.ipv4.id = (bit<16>)std.packet_length;"),
        RuntimeName::HeaderlessIpv4,
        1,
        twice,
    );
}

#[test]
fn two_regions_one_after_the_other_and_a_call() {
    let ingress = format!(
        "if ({WHOLE}) {{ @region(\"R\") {{ hdr.ipv4.tos = hdr.ipv4.tos + meta.to[7:0]; }} @region(\"S\") {{ hdr.ipv4.ttl = hdr.ipv4.ttl ^ hdr.ipv4.tos; }} }}
        std.egress_spec = (bit<9>)hdr.ipv4.ttl[1:0];"
    );
    for runtime in BOTH {
        check(&program("", &ingress, ""), runtime, 1, &[]);
        let mut case = case_of(&program("", &ingress, ""), runtime, 1);
        for site in case.placement.sites.values_mut() {
            site.policy = ir_split::Policy::Call;
        }
        let case = support::case(case.whole.clone(), case.placement);
        let tried =
            prove(&case, &Effort::default()).unwrap_or_else(|failure| panic!("{}", failure.describe()));
        assert!(tried.hops > 1000, "{tried:?}");
    }
}

/// Packets that a link would pad are dropped and counted before they are handed over; others go.
#[test]
fn a_frame_that_a_link_would_pad_is_not_handed_over() {
    for runtime in BOTH {
        let ingress = format!("if ({WHOLE}) {{ @region(\"R\") {{ hdr.ipv4.ttl = 9; }} }}");
        let case = case_of(&program("", &ingress, ""), runtime, 1);
        let part = case.parts[0].clone().expect("a part at the origin");
        let mut tor = ir_interp::switch(Arc::clone(&part.program), Options::default()).expect("a program");
        ir_prove::link(&mut tor, &part.linkage).expect("entries of the runtime");
        let mut frame = vec![0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        let mut send = |frame: &[u8]| tor.process(1, frame, Time::ZERO);
        assert!(send(&frame[..59]).is_empty(), "{runtime:?}");
        let sent = send(&frame);
        let [out] = sent.as_slice() else { panic!("no hand-over") };
        assert_eq!(
            (u64::from(out.port), out.frame.len()),
            (case.placement.link_ports(DeviceIndex(0))[0], 60)
        );
        assert_eq!(tor.counter_read("I.p4rack_drops", 5).map(|count| count.packets), Ok(1));
    }
}

/// A frame on a link without a known position is dropped and counted.
#[test]
fn a_hand_over_to_nowhere_is_dropped() {
    let ingress = format!("if ({WHOLE}) {{ @region(\"R\") {{ hdr.ipv4.ttl = 9; }} }}");
    let case = case_of(&program("", &ingress, ""), RuntimeName::HeaderlessIpv4, 1);
    let part = case.parts[1].clone().expect("a part at the helper");
    let mut nic = ir_interp::switch(Arc::clone(&part.program), Options::default()).expect("a program");
    ir_prove::link(&mut nic, &part.linkage).expect("entries of the runtime");
    let mut frame = vec![0; 60];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    let port = case.placement.ports[&(DeviceIndex(1), DeviceIndex(0))] as u32;
    // No position, an unknown one, the right one; not IPv4; by a port that is no link.
    for (offset, port, leaves) in [(0, port, 0), (5, port, 0), (1, port, 1), (1, 1, 0)] {
        frame[21] = offset;
        assert_eq!(nic.process(port, &frame, Time::ZERO).len(), leaves, "offset {offset} by port {port}");
    }
    frame[12] = 9;
    assert!(nic.process(port, &frame, Time::ZERO).is_empty());
    let drops = [0, 1].map(|cell| nic.counter_read("I.p4rack_drops", cell).map(|count| count.packets));
    assert_eq!(drops, [Ok(3), Ok(1)]);
}

/// The example with a changed `RACK.toml`.
fn example(name: &str, edit: impl Fn(String) -> String) -> Racked {
    changed(name, |file, text| if file == "RACK.toml" { edit(text) } else { text })
}

/// The example with changed files.
pub(crate) fn changed(name: &str, edit: impl Fn(&str, String) -> String) -> Racked {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/headerless");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("headerless-{name}"));
    std::fs::create_dir_all(&to).expect("a directory for the test");
    for file in ["wall.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(from.join(file)).expect("a file of the example");
        let text = edit(file, text);
        std::fs::write(to.join(file), text).expect("a file of the test");
    }
    let mut map = SourceMap::new();
    rack::load(&to, &[], &mut map).unwrap_or_else(|found| panic!("{}", support::text(&found, &map)))
}

/// Permitted packets arrive, denied ones do not, and none is lost or changed on the path.
pub(crate) fn runs(racked: &Racked) {
    let report = up::bring_up(racked).unwrap().run().unwrap();
    let counts: Vec<_> =
        report.workloads.iter().map(|w| (w.name.as_str(), w.received, w.corrupted)).collect();
    assert_eq!(counts, [("up", 500, 0), ("small", 500, 0), ("forbidden", 0, 0)], "{:#?}", report.drops);
    let case = p4rack::proof::case(&racked.apps[0]);
    let tried = prove(&case, &Effort::default()).unwrap_or_else(|failure| panic!("{}", failure.describe()));
    assert!(tried.hops > 100, "{tried:?}");
}

#[test]
fn the_example_runs_with_the_position_in_the_link() {
    runs(&example("links", |text| text));
}

#[test]
fn the_example_runs_over_one_link_with_the_position_in_the_offset() {
    runs(&example("offset", |text| {
        let second =
            "[[link]]\nends = [\"tor:4\", \"nic:2\"]\nrate = \"10Gbit/s\"\ndelay = \"500ns\"\nmtu = 1500\n";
        assert!(text.contains(second));
        text.replace(second, "").replace("runtime = \"headerless\"", "runtime = \"headerless-ipv4\"")
    }));
}

/// A hand-over does not say of which plan it is, so none is inside while one plan replaces another.
#[test]
fn a_plan_is_replaced_without_a_number_in_the_packet() {
    let mut racked = example("replaced", |text| {
        let plans = "[[replace]]\nat = \"10ms\"\nmap = {}\n\n[[replace]]\nat = \"20ms\"\nmap = { Wall = \"nic\" }\n\n[[workload]]";
        text.replacen("[[workload]]", plans, 1)
    });
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    assert_eq!(report.notes.iter().filter(|n| n.what == "the other plan has taken over").count(), 2);
    let counts: Vec<_> = report.workloads.iter().map(|w| (w.received, w.corrupted)).collect();
    assert_eq!(counts, [(500, 0), (500, 0), (0, 0)], "{:#?}", report.drops);
    racked.rack.replaces.clear();
    runs(&racked);
}

/// Hand-overs are plain frames: a switch without a program forwards them by its flow rules, port by port.
#[test]
fn the_example_runs_through_a_legacy_switch() {
    let racked = example("legacy", |text| {
        let switch = "[device.old]\nclass = \"legacy\"\nextends = \"tor\"\n\n[host.h1]";
        let text = text.replacen("[host.h1]", switch, 1);
        let more = "[[link]]\nends = [\"tor:3\", \"old:13\"]\nrate = \"10Gbit/s\"\n\n[[link]]\nends = [\"tor:4\", \"old:14\"]\nrate = \"10Gbit/s\"\n\n[[app]]";
        let text = text.replace("ends = [\"tor:3\", \"nic:1\"]", "ends = [\"old:3\", \"nic:1\"]");
        let text = text.replace("ends = [\"tor:4\", \"nic:2\"]", "ends = [\"old:4\", \"nic:2\"]");
        text.replacen("[[app]]", more, 1)
    });
    assert!(racked.rack.devices.iter().any(|device| device.extends.is_some()));
    runs(&racked);
}

/// Crosspod at core-0 and core-1 of Figure 7: frames of functions go from part to part, and have the length that they have. A mutant is noticed.
#[test]
fn functions_on_frames_run_on_other_devices() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fat-tree/figure-7/RACK.toml");
    let mut map = SourceMap::new();
    let racked =
        rack::load(&file, &[], &mut map).unwrap_or_else(|found| panic!("{}", support::text(&found, &map)));
    for app in &racked.apps[..2] {
        let case = p4rack::proof::case(app);
        assert_eq!(case.placement.runtime, RuntimeName::Headerless);
        let effort = Effort { packets: 300, ..Effort::default() };
        let tried = prove(&case, &effort).unwrap_or_else(|failure| panic!("{}", failure.describe()));
        assert!(tried.outputs > 30 && tried.hops > 100, "{tried:?}");
    }
}

/// With `runtime = "auto"`, the lightest runtime that is exact and has enough links is used.
#[test]
fn the_lightest_runtime_that_carries_all_is_chosen() {
    let auto = |text: String| text.replace("runtime = \"headerless\"", "runtime = \"auto\"");
    let second =
        "[[link]]\nends = [\"tor:4\", \"nic:2\"]\nrate = \"10Gbit/s\"\ndelay = \"500ns\"\nmtu = 1500\n";
    let chosen = |racked: &Racked| racked.apps[0].placement.runtime;
    let with_links = example("auto-links", auto);
    assert_eq!(chosen(&with_links), RuntimeName::Headerless);
    runs(&with_links);
    let one_link = example("auto-link", |text| auto(text).replace(second, ""));
    assert_eq!(chosen(&one_link), RuntimeName::HeaderlessIpv4);
    runs(&one_link);
    // The links of hosts carry short frames: only a header says how long they are.
    let short = example("auto-short", |text| {
        auto(text)
            .replace("ends = [\"h1\", \"tor:1\"]\n", "ends = [\"h1\", \"tor:1\"]\npad = false\n")
            .replace("mtu = 1500", "mtu = 9000")
    });
    assert_eq!(chosen(&short), RuntimeName::Full);
    runs(&short);
}

/// A planned app may ask for the lightest runtime: the plan stays, with a header if the program needs one.
#[test]
fn a_planned_app_has_the_lightest_runtime_that_carries_all() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/crosspod/resource-saver.toml");
    let mut map = SourceMap::new();
    let load = |map: &mut SourceMap, runtime: Runtime| {
        let change = |rack: &mut Rack| rack.apps.iter_mut().for_each(|app| app.runtime = runtime);
        let made = rack::load_as(&file, &[], map, &change, &mut |_| ());
        made.unwrap_or_else(|found| panic!("{}", support::text(&found, map)))
    };
    let (full, auto) = (load(&mut map, Runtime::Full), load(&mut map, Runtime::Auto));
    for (full, auto) in full.apps.iter().zip(&auto.apps) {
        assert_eq!((&full.placement.sites, &full.texts), (&auto.placement.sites, &auto.texts));
        assert!(!auto.costs.is_empty());
    }
}
