//! Pinned programs on a switch and its helpers: the parts do what the pinned program does, whatever entries there are.

mod support;

use base_diag::SourceMap;
use ir::Program;
use ir_pin::{Affinity, Request, Resident, Shards, pin};
use ir_prove::{Effort, prove};
use ir_split::{DeviceIndex, Placement, Policy, Site};
use p4rack::{rack, up};
use std::path::Path;
use std::sync::Arc;
use support::{case, compile_text, small_program};

/// A switch with so many helpers that share the flows.
fn star(helpers: u32) -> Placement {
    let (switch, all) = (DeviceIndex(0), 1..=helpers);
    let links = all.clone().flat_map(|n| {
        let helper = DeviceIndex(n);
        [((switch, helper), u64::from(300 + n)), ((helper, switch), 1)]
    });
    let site = Site { devices: all.clone().map(DeviceIndex).collect(), policy: Policy::Shard };
    Placement {
        devices: std::iter::once("edge".into()).chain(all.map(|n| format!("nic{n}").into())).collect(),
        sites: [("external".into(), site)].into(),
        ports: links.collect(),
        ..Placement::whole("edge")
    }
}

fn request(affinity: Affinity, key: &[&str], shards: Shards) -> Request {
    Request {
        affinity,
        region: "external".into(),
        key: key.iter().map(|part| (*part).into()).collect(),
        shards: Some(shards),
        flows: 64,
        resident: [("I.t".into(), Resident::Most(16))].into(),
    }
}

fn proved(program: &Program, request: &Request, helpers: u32) {
    let pinned = pin(program, request).unwrap_or_else(|found| panic!("{found:#?}"));
    let tried =
        prove(&case(Arc::new(pinned.program), star(helpers)), &Effort { packets: 300, ..Effort::default() });
    match tried {
        Ok(tried) => assert!(tried.hops > 100 && tried.outputs > 100, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

const DECLARATIONS: &str = "counter<bit<8>>(256, CounterType.packets_and_bytes) all;
    direct_counter(CounterType.packets) hits;
    action to(bit<8> x) { hdr.h.b = x; meta.x = x; }
    table t { key = { hdr.h.a: exact; } actions = { to; NoAction; } counters = hits; default_action = to(3); size = 64; }
    table u { key = { hdr.h.b: ternary; } actions = { to; NoAction; } default_action = NoAction(); size = 16; }";

const INGRESS: &str = "all.count(hdr.h.a); if (t.apply().miss) { u.apply(); }
    if (meta.x == 7) { mark_to_drop(std); exit; } std.egress_spec = 2;";

const EGRESS: &str =
    "hdr.h.a = meta.x; if (hdr.h.b == 9) { hdr.h.b = 1; recirculate_preserving_field_list(1); }";

#[test]
fn resident_flows_are_at_the_switch_and_others_at_the_helper_of_their_shard() {
    let program = compile_text(&small_program(DECLARATIONS, INGRESS, EGRESS), &mut SourceMap::new());
    let shards = Shards { count: 6, parts: vec![0, 1], pairs: vec![(0, 1)] };
    for helpers in [1, 2, 3] {
        proved(&program, &request(Affinity::Medium, &["hdr.h.a", "hdr.h.b"], shards.clone()), helpers);
    }
}

#[test]
fn all_flows_are_at_the_helpers() {
    let program = compile_text(&small_program(DECLARATIONS, INGRESS, EGRESS), &mut SourceMap::new());
    let shards = Shards { count: 2, parts: vec![0], pairs: vec![] };
    let low = Request { resident: [].into(), ..request(Affinity::Low, &["hdr.h.a"], shards) };
    proved(&program, &low, 2);
}

#[test]
fn the_report_of_the_example_shows_the_share_of_the_switch() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pinned");
    let racked = rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run");
    let received: Vec<(&str, u64)> =
        report.workloads.iter().map(|load| (load.name.as_str(), load.received)).collect();
    assert_eq!(received, [("call", 800), ("query", 150), ("time", 50), ("scan", 0)]);
    let [pinned] = report.pinned.as_slice() else { panic!("{:?}", report.pinned) };
    assert_eq!((pinned.packets, pinned.at_switch), (1100, 800));
    assert!(pinned.helpers.iter().all(|(_, frames)| *frames > 0), "{pinned:?}");
}
