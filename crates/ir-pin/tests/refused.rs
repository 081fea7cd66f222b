//! Programs that cannot be pinned, each with the name of the obstacle.

use base_diag::{Diagnostic, SourceMap};
use ir::{Name, Program};
use ir_pin::{Affinity, Pinned, Request, Resident, Shards, pin};
use p4_arch::Texts;
use p4_syntax::Options;

fn program(metadata: &str, declarations: &str, ingress: &str, egress: &str) -> Program {
    let source = format!(
        "#include <core.p4>
        #define V1MODEL_VERSION 20200408
        #include <v1model.p4>
        header h_t {{ bit<8> a; bit<8> b; varbit<32> more; int<8> sign; }}
        struct headers {{ h_t h; h_t[2] s; }}
        struct metadata {{ {metadata} }}
        parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            state start {{ p.extract(hdr.h, 8); transition accept; }}
        }}
        control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
        register<bit<8>, bit<32>>(4) everywhere;
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            {declarations}
            apply {{ {ingress} }}
        }}
        control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ {egress} }} }}
        control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); }} }}
        V1Switch(P(), C(), I(), E(), C(), D()) main;"
    );
    let texts = [("test.p4", source.as_str())];
    let program =
        ir_elaborate::program("test.p4", &Texts(&texts), &Options::default(), &mut SourceMap::new());
    program.unwrap_or_else(|found| panic!("{found:#?}"))
}

fn request(key: &[&str]) -> Request {
    Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key: key.iter().map(|part| Name::from(*part)).collect(),
        shards: None,
        flows: 64,
        resident: [].into(),
    }
}

/// Code and title of each refusal.
fn refused(found: Result<Pinned, Vec<Diagnostic>>) -> Vec<String> {
    let found = found.err().unwrap_or_default();
    found.iter().map(|d| format!("{} {}", d.code, d.title)).collect()
}

fn of_ingress(declarations: &str, ingress: &str) -> Vec<String> {
    refused(pin(&program("", declarations, ingress, ""), &request(&["hdr.h.a"])))
}

#[test]
fn objects_that_both_places_would_need() {
    let found = of_ingress(
        "register<bit<8>, bit<32>>(4) kept; @sharded register<bit<8>, bit<32>>(4) of_flows; meter<bit<32>>(4, MeterType.packets) rates; direct_meter<bit<2>>(MeterType.packets) each;
         @soft register<bit<8>, bit<32>>(4) lost; counter<bit<8>>(4, CounterType.packets) counted; bit<2> colour;
         action a() { each.read(colour); }
         table t { key = { hdr.h.a: exact; } actions = { a; NoAction; } meters = each; default_action = NoAction(); }",
        "bit<8> x; kept.read(x, 0); of_flows.write(0, x); lost.write(0, x); counted.count(0); t.apply(); rates.execute_meter(0, x);",
    );
    let names = ["`I.kept`", "`I.of_flows`", "`I.rates`", "`I.each`"];
    let expected = names.map(|name| format!("P4R1301 {name} cannot be at the switch and at helpers"));
    assert_eq!(found, expected);
}

#[test]
fn objects_that_egress_uses_too() {
    let made = program("", "", "everywhere.write(0, hdr.h.a);", "everywhere.write(1, hdr.h.a);");
    let found = refused(pin(&made, &request(&["hdr.h.a"])));
    assert_eq!(found, ["P4R1301 `everywhere` cannot be at the switch and at helpers"]);
}

#[test]
fn values_of_a_merged_register_that_show() {
    let seen = "@merge(\"add\") register<bit<8>, bit<32>>(4) seen;";
    assert_eq!(of_ingress(seen, "bit<8> n; seen.read(n, 0); n = n + 1; seen.write(0, n);"), [""; 0]);
    let shows = ["P4R1301 packets show what they read from `I.seen`"];
    assert_eq!(of_ingress(seen, "bit<8> n; seen.read(n, 0); if (n > 9) { mark_to_drop(std); }"), shows);
    assert_eq!(of_ingress(seen, "bit<8> n; seen.read(n, 0); hdr.h.b = n;"), shows);
    assert_eq!(of_ingress(seen, "bit<8> n; seen.read(n, 0); seen.write((bit<32>)n, 1);"), shows);
    assert_eq!(of_ingress(seen, "seen.read(hdr.h.b, 0);"), shows);
}

#[test]
fn tables_with_profiles() {
    let found = of_ingress(
        "action_selector(HashAlgorithm.crc16, 8, 8) chosen; action a() { }
         table t { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { a; } implementation = chosen; }",
        "t.apply();",
    );
    assert_eq!(found, ["P4R1301 `I.t` cannot have a copy at the switch"]);
}

#[test]
fn keys_that_a_packet_does_not_bring() {
    let made = program("bit<8> m;", "", "", "");
    let of = |key: &[&str]| refused(pin(&made, &request(key))).len();
    assert_eq!(of(&["hdr.h.a", "hdr.s[1].b", "std.ingress_port"]), 0);
    let wrong = [
        "meta.m",
        "std.egress_spec",
        "hdr.h",
        "hdr.h.c",
        "hdr.h.more",
        "hdr.h.sign",
        "hdr.s[2].a",
        "hdr.s[x].a",
        "hdr.h[0]",
        "packet.a",
        "",
    ];
    assert_eq!(of(&wrong), wrong.len());
    assert_eq!(of(&["hdr.h.a", "hdr.h.a"]), 1);
    assert_eq!(refused(pin(&made, &request(&[]))), ["P4R1302 a flow's key has no parts"]);
}

#[test]
fn packets_that_would_be_looked_up_again() {
    let lists = "resubmit_preserving_field_list(3);";
    assert_eq!(of_ingress("", lists), [""; 0]);
    let unknown = "P4R1301 a packet that comes to ingress again could change its place";
    assert_eq!(of_ingress("action a(bit<8> x) { hdr.h.b = x; }", "resubmit(meta);")[..1], [unknown]);
}

#[test]
fn metadata_that_is_one_value() {
    let made = program("bit<8> m;", "", "metadata saved = meta; meta.m = 1; meta = saved;", "");
    assert_eq!(refused(pin(&made, &request(&["hdr.h.a"]))), ["P4R1301 `metadata` is used as one value"]);
}

#[test]
fn sizes_of_tables_that_are_not_there_and_shards_without_a_key() {
    let made = program("", "", "", "");
    let sized = Request { resident: [("I.t".into(), Resident::Whole)].into(), ..request(&["hdr.h.a"]) };
    assert_eq!(refused(pin(&made, &sized)), ["P4R1301 ingress has no table `I.t`"]);
    let shards = |parts: &[usize], pairs: &[(usize, usize)]| {
        let shards = Shards { count: 2, parts: parts.to_vec(), pairs: pairs.to_vec() };
        refused(pin(&made, &Request { shards: Some(shards), ..request(&["hdr.h.a"]) }))
    };
    assert_eq!(shards(&[0], &[]), [""; 0]);
    assert_eq!(shards(&[], &[]), ["P4R1303 flows cannot be divided among helpers"]);
    let beyond = ["P4R1303 a shard key names parts that the flow's key does not have"];
    assert_eq!(shards(&[1], &[]), beyond);
    assert_eq!(shards(&[0], &[(0, 1)]), beyond);
}
