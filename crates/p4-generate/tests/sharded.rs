//! Pinned programs on a switch and helpers that divide the flows: the parts do what the pinned program does, whatever entries there are.

use ir::Program;
use ir_pin::{Affinity, Request, Resident, Shards, pin};
use ir_prove::{Case, Effort, Tried, prove};
use ir_split::{DeviceIndex, Part, Placement, Policy, Site};
use p4_generate::merged::program;
use std::sync::Arc;

use crate::support;

use support::with_stack;

/// A switch with so many helpers that share the flows, so many of which have each shard.
fn star((helpers, replicas): (u32, u32)) -> Placement {
    let (switch, all) = (DeviceIndex(0), 1..=helpers);
    let links = all.clone().flat_map(|n| {
        let helper = DeviceIndex(n);
        [((switch, helper), u64::from(300 + n)), ((helper, switch), 1)]
    });
    let site = Site { replicas, ..Site::at(all.clone().map(DeviceIndex).collect(), Policy::Shard) };
    Placement {
        devices: std::iter::once("edge".into()).chain(all.map(|n| format!("nic{n}").into())).collect(),
        sites: [("external".into(), site)].into(),
        ports: links.collect(),
        ..Placement::whole("edge")
    }
}

/// The parts of a program, printed and compiled again.
fn case(whole: Program, placement: Placement) -> Case {
    let split = ir_split::split(&whole, &placement).unwrap_or_else(|found| panic!("{found:#?}"));
    let mut parts = vec![];
    for device in &split.devices {
        parts.push(device.as_ref().map(|device| {
            let compiled = program(&target_p4::print(&device.program)).unwrap_or_else(|why| panic!("{why}"));
            Part { program: Arc::new(compiled), linkage: device.linkage.clone() }
        }));
    }
    Case { whole: Arc::new(whole), parts, placement, registry: Default::default() }
}

const INGRESS: &str = "all.count(hdr.h.a); if (t.apply().miss) { u.apply(); }
    if (meta.x == 7) { mark_to_drop(std); exit; } std.egress_spec = 2;";

/// A program with counters, whose packets may come around.
fn counting() -> Program {
    let source = format!(
        "#include <core.p4>
        #define V1MODEL_VERSION 20200408
        #include <v1model.p4>
        header h_t {{ bit<8> a; bit<8> b; }}
        struct headers {{ h_t h; h_t g; }}
        struct metadata {{ bit<8> x; }}
        parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            state start {{ packet.extract(hdr.h); transition select(hdr.h.a) {{ 1: second; default: accept; }} }}
            state second {{ packet.extract(hdr.g); transition accept; }}
        }}
        control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            counter<bit<8>>(256, CounterType.packets_and_bytes) all;
            direct_counter(CounterType.packets) hits;
            action to(bit<8> x) {{ hdr.h.b = x; meta.x = x; }}
            table t {{ key = {{ hdr.h.a: exact; }} actions = {{ to; NoAction; }} counters = hits; default_action = to(3); size = 64; }}
            table u {{ key = {{ hdr.h.b: ternary; }} actions = {{ to; NoAction; }} default_action = NoAction(); size = 16; }}
            apply {{ {INGRESS} }}
        }}
        control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            apply {{
                hdr.h.a = meta.x;
                if (hdr.h.b == 9) {{ hdr.h.b = 1; recirculate_preserving_field_list(1); }}
            }}
        }}
        control D(packet_out packet, in headers hdr) {{ apply {{ packet.emit(hdr.h); packet.emit(hdr.g); }} }}
        V1Switch(P(), C(), I(), E(), C(), D()) main;"
    );
    program(&source).expect("a program")
}

fn request(affinity: Affinity) -> Request {
    Request {
        affinity,
        region: "external".into(),
        key: vec!["hdr.h.a".into(), "hdr.h.b".into()],
        shards: Some(Shards { count: 6, parts: vec![0, 1], pairs: vec![(0, 1)] }),
        flows: 64,
        resident: if affinity == Affinity::Low {
            [].into()
        } else {
            [("I.t".into(), Resident::Most(16))].into()
        },
    }
}

fn proved(request: &Request, helpers: (u32, u32), change: &dyn Fn(&mut Case)) -> Result<Tried, String> {
    let pinned = pin(&counting(), request).unwrap_or_else(|found| panic!("{found:#?}"));
    let mut case = case(pinned.program, star(helpers));
    change(&mut case);
    prove(&case, &Effort { packets: 300, ..Effort::default() }).map_err(|failure| failure.describe())
}

#[test]
fn the_parts_do_what_the_pinned_program_does() {
    with_stack(|| {
        for (affinity, helpers) in [
            (Affinity::Medium, (1, 1)),
            (Affinity::Medium, (2, 1)),
            (Affinity::Medium, (3, 1)),
            (Affinity::Low, (2, 1)),
            (Affinity::Medium, (3, 2)),
            (Affinity::Low, (2, 2)),
        ] {
            match proved(&request(affinity), helpers, &|_| ()) {
                Ok(tried) => {
                    println!("{affinity:?}, {helpers:?} helpers: {tried:?}");
                    assert!(tried.hops > 100 && tried.outputs > 100, "{tried:?}");
                }
                Err(why) => panic!("{affinity:?}, {helpers:?} helpers: {why}"),
            }
        }
    });
}

/// A shard without a device is dropped, which shows; so does a device without the program's entries.
#[test]
fn what_is_wrong_with_shards_is_noticed() {
    type Fault = (&'static str, u32, fn(&mut Case));
    let faults: [Fault; 6] = [
        ("a shard has no device", 1, |case| {
            let entries = &mut case.parts[0].as_mut().expect("the switch").linkage.entries;
            entries.retain(|entry| !(entry.table == "I.p4rack_shard.map" && entry.keys[1] == 1));
        }),
        ("a device has no port", 1, |case| {
            let entries = &mut case.parts[0].as_mut().expect("the switch").linkage.entries;
            entries.retain(|entry| !(entry.table == "I.p4rack_shard.port_of" && entry.keys[1] == 2));
        }),
        ("a shard is at a device without the region", 1, |case| {
            let entries = &mut case.parts[0].as_mut().expect("the switch").linkage.entries;
            for entry in entries.iter_mut().filter(|entry| entry.table == "I.p4rack_shard.port_of") {
                entry.args[0] = 5;
            }
        }),
        ("a shard has no edge", 2, |case| {
            let entries = &mut case.parts[0].as_mut().expect("the switch").linkage.entries;
            entries.retain(|entry| !(entry.table == "I.p4rack_leave.map" && entry.keys[1] == 1));
        }),
        ("a replica has no port", 2, |case| {
            let entries = &mut case.parts[0].as_mut().expect("the switch").linkage.entries;
            entries.retain(|entry| !(entry.table == "I.p4rack_leave.port_of" && entry.keys == [1, 1]));
        }),
        ("a receiver does not know an edge", 2, |case| {
            let entries = &mut case.parts[1].as_mut().expect("a helper").linkage.entries;
            entries.retain(|entry| !(entry.table == "I.p4rack_arrive.edge_of" && entry.keys[2] == 1));
        }),
    ];
    with_stack(move || {
        for (fault, replicas, change) in faults {
            let found = proved(&request(Affinity::Medium), (2, replicas), &change);
            assert!(found.is_err(), "nothing notices that {fault}");
        }
    });
}
