//! State objects on a line of devices: packets join and leave the line anywhere, and none overtakes another on it.

use crate::support;

use base_diag::SourceMap;
use ir_prove::{Effort, prove};
use ir_split::{DeviceIndex, Placement, split};
use support::{case, compile_text, placement, small_program};

const STATE: &str =
    "register<bit<8>, bit<32>>(4) r; register<bit<8>, bit<32>>(4) s; register<bit<8>, bit<32>>(4) t;";

/// A region that updates a register in a way that depends on the order of packets.
fn region(name: &str, register: &str) -> String {
    format!(
        "@region(\"{name}\") {{ {register}.read(meta.y, 0); meta.x = meta.x * 3 + meta.y; {register}.write(0, meta.x); }}"
    )
}

/// Three helpers, all joined, each with a region.
fn helpers() -> Placement {
    let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b);
    Placement {
        devices: ["tor", "nic", "fpga", "cpu"].map(Into::into).to_vec(),
        sites: [("R", 1), ("S", 2), ("T", 3)]
            .map(|(region, at)| (region.into(), DeviceIndex(at).into()))
            .into(),
        ports: pairs.map(|(a, b)| ((DeviceIndex(a), DeviceIndex(b)), 300 + u64::from(b))).collect(),
        ..placement(&[])
    }
}

#[test]
fn packets_join_and_leave_a_line() {
    let [r, s, t] = [("R", "r"), ("S", "s"), ("T", "t")].map(|(name, register)| region(name, register));
    for ingress in [
        // Some come to the last one straight.
        format!("if (hdr.h.b > 60) {{ {r} {s} }} {t}"),
        // Some leave in front of the last one, and some never come.
        format!("if (hdr.h.b > 60) {{ {r} {s} if (hdr.h.b < 200) {{ {t} }} }}"),
    ] {
        let ingress = format!("meta.x = hdr.h.a; {ingress} hdr.h.b = meta.x; std.egress_spec = 2;");
        let whole = compile_text(&small_program(STATE, &ingress, ""), &mut SourceMap::new());
        match prove(&case(whole, helpers()), &Effort { packets: 600, ..Effort::default() }) {
            Ok(tried) => assert!(tried.hops > 300 && tried.accesses > 300, "{tried:?}"),
            Err(failure) => panic!("{ingress}: {}", failure.describe()),
        }
    }
}

#[test]
fn nobody_takes_a_short_cut() {
    let [r, s, t] = [("R", "r"), ("S", "s"), ("T", "t")].map(|(name, register)| region(name, register));
    let ingress = format!("{r} if (hdr.h.b > 60) {{ {s} }} {t} std.egress_spec = 2;");
    let program = compile_text(&small_program(STATE, &ingress, ""), &mut SourceMap::new());
    let straight = Placement { detours: false, ..helpers() };
    let refused = split(&program, &straight).expect_err("some go past `S`");
    assert_eq!(refused.iter().map(|found| found.code.to_string()).collect::<Vec<_>>(), ["P4R0510"]);
    // Those pass by its device.
    let split = split(&program, &helpers()).expect("all go one way");
    assert_eq!(split.sections.iter().filter(|section| section.region == "S").count(), 2);
    match prove(&case(program, helpers()), &Effort { packets: 600, ..Effort::default() }) {
        Ok(tried) => assert!(tried.hops > 1500 && tried.accesses > 300, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}
