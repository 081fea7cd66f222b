//! Packets of one flow leave in the order of their arrival, or the splitter warns.

use crate::support;

use base_diag::SourceMap;
use expect_test::{Expect, expect};
use ir_prove::{Difference, Effort, prove};
use ir_split::{Order, Placement, split};
use support::{case, compile_text, placement, small_program};

/// The warning's places, if there is one.
fn check(declarations: &str, ingress: &str, egress: &str, expected: Expect) {
    let mut map = SourceMap::new();
    let program = compile_text(&small_program(declarations, ingress, egress), &mut map);
    let found = split(&program, &placement(&["R"])).unwrap_or_else(|found| panic!("{found:?}"));
    let lines = found.warnings.iter().map(|w| {
        let places: Vec<_> = w.labels.iter().map(|label| map.text(label.span)).collect();
        format!("{} {}: {}", w.code, w.title, places.join(" / "))
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    let any = Placement { order: Order::Any, ..placement(&["R"]) };
    assert!(split(&program, &any).expect("it was split before").warnings.is_empty());
}

const TABLE: &str = "action set(bit<8> v) { meta.y = v; }
    table t { key = { hdr.h.b: exact; meta.x: exact; } actions = { set; NoAction; } default_action = NoAction(); }
    register<bit<8>, bit<32>>(4) r; meter<bit<32>>(4, MeterType.packets) m;";

#[test]
fn headers_and_entries_decide() {
    check(
        TABLE,
        "bool hit = t.apply().hit; if (hit || hdr.h.a > 9) { @region(\"R\") { hdr.h.b = 1; } } std.egress_spec = 2;",
        "",
        expect![""],
    );
}

#[test]
fn all_go_the_same_way() {
    check(TABLE, "r.read(meta.x, 0); @region(\"R\") { if (meta.x > 3) { hdr.h.b = 1; } }", "", expect![""]);
    check(
        TABLE,
        "random(meta.x, 0, 9); if (meta.x > 3) { hdr.h.b = 2; } @region(\"R\") { hdr.h.b = 1; }",
        "",
        expect![""],
    );
}

#[test]
fn a_register_decides() {
    check(
        TABLE,
        "r.read(meta.x, 0); if (meta.x > 3) { @region(\"R\") { hdr.h.b = 1; } }",
        "",
        expect!["P4R0512 packets of one flow may overtake one another: meta.x > 3"],
    );
}

#[test]
fn what_a_register_decides_decides() {
    check(
        TABLE,
        "bit<8> way = 0; r.read(meta.x, 0); t.apply(); if (meta.y == 2) { way = 1; } switch (way) { 1: { @region(\"R\") { hdr.h.b = 1; } } }",
        "",
        expect!["P4R0512 packets of one flow may overtake one another: way"],
    );
}

#[test]
fn meters_lengths_and_clocks_decide() {
    let expected = |what: &str| format!("P4R0512 packets of one flow may overtake one another: {what}");
    for (before, what) in [
        ("bit<32> k; m.execute_meter(1, k);", "k == 2"),
        ("bit<32> n = std.packet_length;", "n < 90"),
        ("", "std.ingress_global_timestamp[0:0] == 1"),
    ] {
        let mut map = SourceMap::new();
        let body = format!("{before} if ({what}) {{ @region(\"R\") {{ hdr.h.b = 1; }} }}");
        let program = compile_text(&small_program(TABLE, &body, ""), &mut map);
        let found = split(&program, &placement(&["R"])).expect("it can be split").warnings;
        let place = map.text(found[0].labels[0].span);
        assert_eq!(format!("{} {}: {place}", found[0].code, found[0].title), expected(what));
    }
}

#[test]
fn the_proof_sees_packets_overtake() {
    let source = small_program(
        "",
        "random(meta.x, 0, 1); if (meta.x == 1) { @region(\"R\") { meta.y = 1; } } std.egress_spec = 2;",
        "",
    );
    let mut case = case(compile_text(&source, &mut SourceMap::new()), placement(&["R"]));
    let effort = Effort { packets: 300, ..Effort::default() };
    assert!(prove(&case, &effort).is_ok());
    let origin = case.parts[0].as_mut().expect("the origin has a part");
    assert!(!origin.linkage.keeps_order);
    origin.linkage.keeps_order = true;
    let failure = prove(&case, &effort).expect_err("some overtake");
    assert!(matches!(failure.difference, Difference::Overtaken { .. }), "{}", failure.describe());
}
