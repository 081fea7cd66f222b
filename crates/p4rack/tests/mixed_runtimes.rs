//! Hand-overs with a header to one device and without one to another, in one program.

use crate::headerless::{WHOLE, changed, placement, program, runs};
use crate::support;

use base_diag::SourceMap;
use base_time::Time;
use device::{Options, Switch};
use ir_prove::{Case, Effort, prove};
use ir_split::{DeviceIndex, Placement, RuntimeName};
use p4rack::up;
use std::sync::Arc;
use support::{case, compile_text};

const TOR: usize = 0;
const FPGA: DeviceIndex = DeviceIndex(2);

/// `R` and `T` at `nic` without a header, `S` at `fpga` with one.
fn mixed(source: &str, runtime: RuntimeName, links: u64) -> Case {
    let mut map = SourceMap::new();
    let whole = compile_text(source, &mut map);
    let bare = placement(runtime, links);
    let mut placement = Placement { with_header: [FPGA].into(), ..bare };
    placement.sites.insert("T".into(), DeviceIndex(1).into());
    placement.sites.retain(|region, _| source.contains(&format!("@region(\"{region}\")")));
    case(whole, placement)
}

fn effort() -> Effort {
    Effort { packets: 400, ..Effort::default() }
}

fn proved(case: &Case) {
    match prove(case, &effort()) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

/// Proves a split, and that no mutant of it lives but two: headers carry the length for short packets, of which the proof has none, and a
/// value that the parser writes again on the device without a header.
fn check(source: &str, runtime: RuntimeName, links: u64) {
    let case = mixed(source, runtime, links);
    proved(&case);
    let mutants = ir_prove::mutants::mutants(&case.parts);
    let is_same = |name: &str| name.contains("packet_length") || name.ends_with(".to");
    let wanted = mutants.into_iter().filter(|mutant| !is_same(&mutant.name));
    let mut count = 0;
    for mutant in wanted {
        count += 1;
        let broken = Case { parts: mutant.parts, ..case.clone() };
        assert!(prove(&broken, &effort()).is_err(), "lived: {}", mutant.name);
    }
    assert!(count > 0, "no mutants");
}

const BOTH: [RuntimeName; 2] = [RuntimeName::Headerless, RuntimeName::HeaderlessIpv4];

/// A value for `S`, which the packet does not have.
fn in_turn(regions: [&str; 3]) -> String {
    let code = |name: &&str| match *name {
        "R" => "@region(\"R\") { hdr.ipv4.tos = hdr.ipv4.tos + meta.to[7:0]; }".to_string(),
        "S" => "meta.x = hdr.ipv4.tos; hdr.ipv4.tos = 3;
                @region(\"S\") { hdr.ipv4.ttl = hdr.ipv4.ttl ^ meta.x; meta.x = hdr.ipv4.ttl + 1; }
                hdr.ipv4.tos = meta.x;"
            .to_string(),
        _ => "@region(\"T\") { hdr.ipv4.id = hdr.ipv4.id + 5; }".to_string(),
    };
    let regions: Vec<String> = regions.iter().map(code).collect();
    let ingress =
        format!("if ({WHOLE}) {{ {} }} std.egress_spec = (bit<9>)hdr.ipv4.ttl[1:0];", regions.join("\n"));
    program("", &ingress, "hdr.ethernet.src[31:0] = std.packet_length;")
}

#[test]
fn a_header_before_and_after_hand_overs_without_one() {
    for runtime in BOTH {
        for regions in [["R", "S", "T"], ["S", "R", "T"], ["R", "T", "S"]] {
            proved(&mixed(&in_turn(regions), runtime, 2));
        }
    }
}

/// From the device without a header straight on to the one with it, and back.
#[test]
fn from_helper_to_helper() {
    let ingress = format!(
        "if ({WHOLE}) {{
            @region(\"R\") {{ hdr.ipv4.tos = hdr.ipv4.tos + 1; meta.x = hdr.ipv4.tos; }}
            @region(\"S\") {{ hdr.ipv4.ttl = hdr.ipv4.ttl ^ meta.x; }}
            @region(\"T\") {{ hdr.ipv4.id = hdr.ipv4.id + 5; }}
        }}
        std.egress_spec = (bit<9>)hdr.ipv4.ttl[1:0];"
    );
    for runtime in BOTH {
        check(&program("", &ingress, ""), runtime, 1);
    }
}

/// A section of the switch that packets come to in both forms.
#[test]
fn one_section_entered_with_and_without_a_header() {
    let ingress = format!(
        "std.egress_spec = 3;
        if ({WHOLE}) {{
            if (hdr.ipv4.tos[0:0] == 1) {{
                @region(\"R\") {{ hdr.ipv4.id = hdr.ipv4.id + 5; }}
            }} else {{
                meta.x = hdr.ipv4.tos;
                hdr.ipv4.tos = 0;
                @region(\"S\") {{ hdr.ipv4.ttl = hdr.ipv4.ttl ^ meta.x; std.egress_spec = 4; }}
            }}
        }}
        hdr.ipv4.tos = hdr.ipv4.tos + (bit<8>)std.egress_spec;"
    );
    for runtime in BOTH {
        check(&program("", &ingress, ""), runtime, 1);
    }
}

fn device(case: &Case, device: usize) -> Switch {
    let part = case.parts[device].clone().expect("a part");
    let mut switch = ir_interp::switch(Arc::clone(&part.program), Options::default()).expect("a program");
    ir_prove::link(&mut switch, &part.linkage).expect("entries of the runtime");
    switch
}

/// A short frame travels in a header and back; without one it would be padded, so it is dropped and counted then.
#[test]
fn a_frame_that_a_link_would_pad_is_not_handed_over_after_a_header() {
    let case = mixed(&in_turn(["S", "R", "T"]), RuntimeName::Headerless, 2);
    let ports = &case.placement.ports;
    let (to, back) = (ports[&(DeviceIndex(0), FPGA)], ports[&(FPGA, DeviceIndex(0))]);
    for (bytes, comes) in [(59, 0), (60, 1)] {
        let (mut tor, mut fpga) = (device(&case, TOR), device(&case, 2));
        let mut frame = vec![0; bytes];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        let first = tor.process(1, &frame, Time::ZERO);
        assert_eq!(first.iter().map(|out| u64::from(out.port)).collect::<Vec<_>>(), [to]);
        let second = fpga.process(back as u32, &first[0].frame, Time::ZERO);
        assert_eq!(second.len(), 1);
        let third = tor.process(to as u32, &second[0].frame, Time::ZERO);
        assert_eq!(third.len(), comes, "{bytes} bytes");
        let short = tor.counter_read("I.p4rack_drops", 5).map(|count| count.packets);
        assert_eq!(short, Ok(1 - comes as u64), "{bytes} bytes");
    }
}

/// Frames with a header count only on links to devices with a header, and those without one only on the others.
#[test]
fn each_link_has_one_form() {
    let case = mixed(&in_turn(["R", "S", "T"]), RuntimeName::Headerless, 2);
    let [with, bare] =
        [FPGA, DeviceIndex(1)].map(|other| case.placement.ports[&(DeviceIndex(0), other)] as u32);
    let mut tor = device(&case, TOR);
    let mut frame = vec![0; 60];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    // Back from `nic` in its first position: handed over to `fpga` next, with a header.
    let sent = tor.process(bare, &frame, Time::ZERO);
    let [out] = sent.as_slice() else { panic!("no hand-over") };
    assert_eq!((out.port, &out.frame[12..14]), (with, &[0x88, 0xb5][..]));
    // The same packet from `fpga` is none of the program's hand-overs: it starts anew, at `nic`.
    let sent = tor.process(with, &frame, Time::ZERO);
    assert_eq!((sent.len(), sent[0].port, sent[0].frame.len()), (1, bare, 60));
}

/// The example with a mark at a second helper, which needs a value that the packet does not have, and a spare for the helper.
fn marked(name: &str, keys: &str) -> p4rack::Racked {
    let mark = "meta.mark = hdr.ipv4.ttl; @region(\"Mark\") { hdr.ipv4.identification = hdr.ipv4.identification ^ (bit<16>)meta.mark; }";
    let device = |name: &str| format!("[device.{name}]\nclass = \"smartnic\"\nservice = \"1us\"\n\n");
    let link = |port: u32, name: &str| {
        format!("[[link]]\nends = [\"tor:{port}\", \"{name}:1\"]\nrate = \"10Gbit/s\"\n\n")
    };
    let (devices, links) = (device("fpga") + &device("fpga2"), link(5, "fpga") + &link(6, "fpga2"));
    changed(name, |_, text| {
        text.replace("struct metadata_t {}", "struct metadata_t { bit<8> mark; }")
            .replace(
                "                routes.apply();",
                &format!("                {mark}\n                routes.apply();"),
            )
            .replacen("[host.h1]", &format!("{devices}[host.h1]"), 1)
            .replacen("[[app]]", &format!("{links}[[app]]"), 1)
            .replace("map = { Wall = \"nic\" }\nruntime = \"headerless\"", keys)
    })
}

const MAP: &str = "map = { Wall = \"nic\", Mark = \"fpga\" }\n";

/// Only the device that needs a header has one; where the first has too few links, the position is in the offset.
#[test]
fn the_devices_that_need_a_header_are_found() {
    let auto = marked("mixed-auto", &format!("{MAP}runtime = \"auto\""));
    let placement = &auto.apps[0].placement;
    assert_eq!((placement.runtime, &placement.with_header), (RuntimeName::Headerless, &[FPGA].into()));
    runs(&auto);
    let named = marked("mixed-named", &format!("{MAP}runtime = \"headerless\"\nwith_header = [\"fpga\"]"));
    assert_eq!(auto.apps[0].texts, named.apps[0].texts);
    let offset =
        marked("mixed-offset", &format!("{MAP}runtime = \"headerless-ipv4\"\nwith_header = [\"fpga\"]"));
    runs(&offset);
}

/// A device with a header may have a spare, beside one without a header.
#[test]
fn a_device_with_a_header_fails_over() {
    let keys = "map = { Wall = \"nic\", Mark = { device = \"fpga\", spares = [\"fpga2\"] } }\nruntime = \"headerless\"\nwith_header = [\"fpga\"]\n
        [[fault]]\nkind = \"device-down\"\ndevice = \"fpga\"\nat = \"20ms\"\n";
    let racked = marked("mixed-spares", keys);
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    let counts: Vec<_> = report.workloads.iter().map(|w| (w.received, w.corrupted, w.duplicated)).collect();
    let [up, down, forbidden] = counts.as_slice() else { panic!("{counts:?}") };
    assert!((480..500).contains(&up.0) && (480..=500).contains(&down.0), "{counts:?}, {:#?}", report.drops);
    assert_eq!((up.1, up.2, down.1, down.2, *forbidden), (0, 0, 0, 0, (0, 0, 0)));
    let [edge] = report.edges.as_slice() else { panic!("{:?}", report.edges) };
    assert_eq!((edge.used.as_deref(), edge.changes), (Some("fpga2"), 1));
}
