//! Cuts of what real programs do beside their tables: clones of packets whose parser decides on more than the headers, and
//! lengths that egress reads while headers come and go in ways that v1model does not count.

use crate::support;

use base_diag::SourceMap;
use expect_test::expect;
use ir::TypeKind;
use ir_prove::{Effort, prove};
use ir_split::split;
use p4_arch::v1model;
use std::sync::Arc;
use support::{case, compile_text, placement, small_program};

/// Region `R` runs on `nic`; what comes out must be equal. `least` frames must come out for 300 packets.
fn check(source: &str, least: usize) {
    let mut map = SourceMap::new();
    let whole = compile_text(source, &mut map);
    let effort = Effort { packets: 300, ..Effort::default() };
    match prove(&case(whole, placement(&["R"])), &effort) {
        Ok(tried) => assert!(tried.outputs > least && tried.hops > 300, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

fn refused(source: &str) -> String {
    let mut map = SourceMap::new();
    let found = split(&compile_text(source, &mut map), &placement(&["R"])).map(drop).unwrap_err();
    found.iter().map(|d| d.labels.first().map_or("", |l| l.text.as_str())).collect::<Vec<_>>().join("\n")
}

/// The region requests a clone of each packet; clones are marked in egress.
const CLONES: (&str, &str) = (
    "@region(\"R\") { hdr.h.b = meta.x + 9; hdr.g.setInvalid(); clone(CloneType.I2E, 5); } std.egress_spec = 3;",
    "if (std.instance_type == 1) { hdr.h.a = hdr.h.a ^ 0x55; if (hdr.g.isValid()) { hdr.g.b = hdr.g.b + 1; } }",
);

/// The program with another start state.
fn clones_after(start: &str) -> String {
    let (ingress, egress) = CLONES;
    small_program("", ingress, egress).replace(
        "packet.extract(hdr.h);\n        transition select(hdr.h.a) { 1: second; default: accept; }",
        start,
    )
}

/// Sessions truncate clones within and after the headers of the frame as received, also where the cloned frame is a hand-over.
#[test]
fn clones_are_truncated_as_those_of_the_whole_program() {
    for (egress, regions) in [
        (CLONES.1, &["R"][..]),
        ("hdr.h.b = (bit<8>)std.packet_length;", &["R"]),
        ("@region(\"S\") { hdr.h.b = meta.x; } hdr.h.a = hdr.h.a + 1;", &["R", "S"]),
    ] {
        let mut map = SourceMap::new();
        let whole = compile_text(&small_program("", CLONES.0, egress), &mut map);
        let case = case(whole, placement(regions));
        assert!(case.truncates_clones());
        let effort = Effort { packets: 300, ..Effort::default() };
        let tried = prove(&case, &effort).unwrap_or_else(|failure| panic!("{}", failure.describe()));
        assert!(tried.outputs > 500 && tried.hops > 300, "{tried:?}");
        // A part that does not know which headers were received truncates other bytes.
        let mut forgetful = case.clone();
        for part in forgetful.parts.iter_mut().flatten() {
            let mut program = part.program.as_ref().clone();
            for ty in &mut program.types {
                if let TypeKind::Struct(fields) = &mut ty.kind {
                    fields
                        .iter_mut()
                        .for_each(|field| field.annotations.retain(|a| a.name != v1model::ORIGINAL));
                }
            }
            part.program = Arc::new(program);
        }
        assert!(prove(&forgetful, &effort).is_err(), "{egress}");
    }
}

/// Sessions cannot truncate clones if the received frame is not known, or if egress reads the tracked length.
#[test]
fn clones_that_cannot_be_truncated_exactly() {
    let by_port =
        "packet.extract(hdr.h); transition select(std.ingress_port) { 3: second; default: accept; }";
    let deciding = "packet.extract(hdr.h); if (hdr.h.a > 100) { packet.extract(hdr.g); } transition accept;";
    let of_egress = small_program(
        "",
        "@region(\"R\") { hdr.h.b = meta.x; } std.egress_spec = 3;",
        "if (std.instance_type == 0) { clone(CloneType.E2E, 6); }",
    );
    for (source, truncates) in [
        (clones_after(by_port), false),
        (clones_after(deciding), false),
        (of_egress, false),
        (small_program("", &format!("hdr.g = hdr.h; {}", CLONES.0), SHOW), false),
        // The frames that are cloned are those that were received.
        (
            small_program(
                "",
                "std.egress_spec = 3; clone(CloneType.I2E, 5);",
                "@region(\"R\") { hdr.h.b = 1; }",
            ),
            true,
        ),
    ] {
        let mut map = SourceMap::new();
        let whole = compile_text(&source, &mut map);
        assert_eq!(case(whole, placement(&["R"])).truncates_clones(), truncates, "{source}");
    }
}

#[test]
fn the_port_decides_in_the_parser_before_a_clone() {
    check(
        &clones_after(
            "packet.extract(hdr.h); transition select(std.ingress_port) { 3: second; 5: second; default: accept; }",
        ),
        700,
    );
}

#[test]
fn the_parser_notes_what_a_clone_does_not_have() {
    check(
        &clones_after(
            "if (std.instance_type == 4) { meta.x = 1; } else { meta.x = (bit<8>)std.ingress_port; }
        packet.extract(hdr.h); transition select(hdr.h.a) { 1: second; default: accept; }",
        ),
        700,
    );
}

#[test]
fn a_parser_state_decides_before_a_clone() {
    check(
        &clones_after(
            "packet.extract(hdr.h); if (hdr.h.a > 100) { packet.extract(hdr.g); meta.x = hdr.g.a; } transition accept;",
        ),
        700,
    );
}

#[test]
fn the_parser_makes_and_changes_headers_before_a_clone() {
    check(
        &clones_after(
            "packet.extract(hdr.h); hdr.h.b = hdr.h.b + 1;
        if (hdr.h.a > 100) { hdr.g.setValid(); hdr.g.a = hdr.h.b; hdr.g.b = 7; } transition accept;",
        ),
        700,
    );
}

#[test]
fn what_is_not_the_same_for_a_clone_decides_in_the_parser() {
    expect!["the parser reads `std.instance_type`, and ingress clones packets after a cut: the original packet is not known"]
        .assert_eq(&refused(&clones_after(
            "packet.extract(hdr.h); transition select(std.instance_type) { 0: second; default: accept; }",
        )));
    expect!["the parser depends on values that differ for a clone, and ingress clones packets after a cut: the original packet is not known"]
        .assert_eq(&refused(&clones_after(
            "packet.extract(hdr.h); if (std.instance_type == 0) { packet.extract(hdr.g); } transition accept;",
        )));
    // By way of metadata.
    expect!["the parser reads `meta.x`, and ingress clones packets after a cut: the original packet is not known"]
        .assert_eq(&refused(&clones_after(
            "if (std.instance_type == 0) { meta.x = 1; } packet.extract(hdr.h); transition select(meta.x) { 1: second; default: accept; }",
        )));
    // A field that the parser writes while the header is invalid would be lost.
    let stale = clones_after("packet.extract(hdr.h); hdr.g.a = hdr.h.b; transition accept;")
        .replace("if (hdr.g.isValid()) {", "hdr.h.b = hdr.g.a; if (hdr.g.isValid()) {");
    expect!["the parser may leave values in `g` while it is not valid, egress reads them, and ingress clones packets after a cut"]
        .assert_eq(&refused(&stale));
}

/// Egress shows the length, and in `meta.flag` packets of egress' clones.
const SHOW: &str = "hdr.h.b = (bit<8>)std.packet_length; if (hdr.h.a == 255) { hdr.h.a = (bit<8>)(std.packet_length >> 8); }";

#[test]
fn a_header_assigned_as_a_whole_is_not_counted() {
    let body = "meta.y = hdr.h.b; @region(\"R\") { if (hdr.h.a > 50) { hdr.g = hdr.h; } hdr.h.b = meta.y; } hdr.h.a = hdr.h.a + 1;";
    check(&small_program("", body, SHOW), 250);
    // Made invalid, it is counted all the same: more goes than there was.
    let body = "hdr.g = hdr.h; @region(\"R\") { hdr.g.setInvalid(); hdr.g = hdr.h; hdr.g.setInvalid(); hdr.g = { 1, 2 }; hdr.g.setInvalid(); } hdr.h.setValid();";
    check(&small_program("", body, SHOW), 250);
}

#[test]
fn a_moved_stack_and_a_union_are_not_counted() {
    let stack = small_program(
        "",
        "hdr.s.push_front(1); hdr.s[0].setValid(); @region(\"R\") { hdr.s.pop_front(2); hdr.s[1].setValid(); } meta.x = hdr.s[0].a;",
        SHOW,
    )
    .replace("h_t h; h_t g;", "h_t h; h_t g; h_t[3] s;")
    .replace("packet.extract(hdr.g);", "packet.extract(hdr.s.next); packet.extract(hdr.s.next);");
    check(&stack, 250);
    let union = small_program(
        "",
        "@region(\"R\") { hdr.u.two.setValid(); hdr.u.two.c = 3; } if (hdr.h.a > 9) { hdr.u.two.setInvalid(); }",
        SHOW,
    )
    .replace("struct headers { h_t h;", "header o_t { bit<24> c; } header_union u_t { h_t one; o_t two; } struct headers { h_t h; u_t u;")
    .replace("packet.extract(hdr.g);", "packet.extract(hdr.u.one);");
    check(&union, 250);
}

#[test]
fn a_header_outside_of_the_packet_is_counted() {
    let body = "h_t own; @region(\"R\") { own.setValid(); own.a = hdr.h.a; hdr.g = own; } own.setInvalid(); hdr.g.b = 3;";
    check(&small_program("", body, SHOW), 250);
}

#[test]
fn clones_have_the_length_of_what_they_are_clones_of() {
    let ingress = "hdr.g = hdr.h; @region(\"R\") { hdr.h.setInvalid(); clone(CloneType.I2E, 5); } std.egress_spec = 3; hdr.h.setValid();";
    check(&small_program("", ingress, SHOW), 600);
    let egress = "@region(\"R\") { meta.x = hdr.h.a; hdr.g = hdr.h; hdr.g.setInvalid(); if (std.instance_type == 0) { clone_preserving_field_list(CloneType.E2E, 6, 2); } } hdr.h.b = (bit<8>)std.packet_length;";
    check(&small_program("", "std.egress_spec = 3; hdr.g.setValid();", egress), 600);
}

#[test]
fn the_length_of_a_varbit_that_is_kept_for_clones() {
    let source = small_program(
        "",
        "meta.x = hdr.h.a; @region(\"R\") { hdr.h.b = meta.x; clone(CloneType.I2E, 5); hdr.v.setInvalid(); } std.egress_spec = 3;",
        SHOW,
    )
    .replace("struct headers { h_t h;", "header v_t { bit<8> n; varbit<32> more; } struct headers { h_t h; v_t v;")
    .replace("packet.extract(hdr.g);", "packet.extract(hdr.v, (bit<32>)hdr.h.b[1:0] * 8); packet.extract(hdr.g);")
    .replace("packet.emit(hdr.g);", "packet.emit(hdr.v); packet.emit(hdr.g);");
    check(&source, 600);
}

#[test]
fn what_is_not_tracked() {
    let parser = small_program("", "hdr.g = hdr.h; @region(\"R\") { meta.x = 1; } hdr.h.a = meta.x;", SHOW)
        .replace("packet.extract(hdr.g);", "hdr.g.setValid();");
    expect!["the parser changes which headers are valid, and egress reads `packet_length`"]
        .assert_eq(&refused(&parser));
}

/// An action of another table reads the colour that a hit in the meter's own table gave.
#[test]
fn a_direct_meter_is_read_by_actions_of_two_tables() {
    let declarations = "direct_meter<bit<2>>(MeterType.packets) m; direct_counter(CounterType.packets) c;
    bit<2> colour = 0;
    action read(bit<8> by) { m.read(colour); c.count(); hdr.h.a = hdr.h.a + by; }
    action drop() { std.egress_spec = 511; }
    action count() { c.count(); }
    table own { key = { hdr.h.a : exact; } actions = { read; count; @defaultonly drop; } default_action = drop(); meters = m; counters = c; }
    table other { key = { hdr.h.b : exact; } actions = { read; count; NoAction; } default_action = NoAction; }";
    let shown = "hdr.h.b = hdr.h.b ^ (bit<8>)colour ^ meta.x;";
    for ingress in [
        "@region(\"R\") { own.apply(); } other.apply();",
        "own.apply(); @region(\"R\") { other.apply(); }",
        "own.apply(); @region(\"R\") { meta.x = hdr.h.a + 1; } other.apply();",
        "@region(\"R\") { if (hdr.h.b > 9) { own.apply(); } meta.x = hdr.h.a + 1; } other.apply();",
        "other.apply(); if (hdr.h.b > 40) { @region(\"R\") { own.apply(); } } other2.apply();",
    ] {
        let more = "table other2 { key = { hdr.h.a : exact; } actions = { read; NoAction; } default_action = NoAction; }";
        let declarations = format!("{declarations} {more}");
        check(&small_program(&declarations, &format!("std.egress_spec = 4; {ingress} {shown}"), ""), 60);
    }
}

/// An action with whole headers as its argument: the varbit in them keeps its length.
#[test]
fn an_action_is_given_all_headers() {
    let source = small_program(
        "action undo(inout headers all, inout metadata m) { all.v.setInvalid(); all.h.b = m.x; inner(all); }
    action set(bit<8> x) { meta.x = x; }
    table t { key = { hdr.h.a : exact; } actions = { undo(hdr, meta); set; NoAction; } default_action = NoAction; }",
        "meta.x = hdr.h.a; @region(\"R\") { t.apply(); meta.y = meta.x; } hdr.h.a = meta.y;",
        "",
    )
    .replace(
        "control I(",
        "action inner(inout headers all) { all.g.a = all.g.a + 1; } control I(",
    )
    .replace("struct headers { h_t h;", "header v_t { bit<8> n; varbit<32> more; } struct headers { h_t h; v_t v;")
    .replace("packet.extract(hdr.g);", "packet.extract(hdr.v, (bit<32>)hdr.h.b[1:0] * 8); packet.extract(hdr.g);")
    .replace("packet.emit(hdr.g);", "packet.emit(hdr.v); packet.emit(hdr.g);");
    check(&source, 250);
    // The called action changes the headers themselves instead of the caller's copy, which is refused.
    let apart = source
        .replace("inner(all); }", "direct(); }")
        .replace("action undo(", "action direct() { hdr.h.b = 77; } action undo(");
    expect!["a varbit is set by other means than its extraction: its length is not known"]
        .assert_eq(&refused(&apart));
}

/// Packets that do not run the region pass by its device: no one overtakes another between the registers.
#[test]
fn all_packets_pass_by_a_region_between_two_registers() {
    let two = "register<bit<8>, bit<32>>(4) r; register<bit<8>, bit<32>>(4) q;";
    let count = |name: &str| {
        format!("{name}.read(meta.y, 0); meta.x = meta.x * 3 + meta.y; {name}.write(0, meta.x);")
    };
    let (r, q) = (count("r"), count("q"));
    for between in [
        "if (hdr.h.a > 90) { @region(\"R\") { meta.x = meta.x + 1; } }",
        "if (hdr.h.a > 90) { if (hdr.h.b > 20) { @region(\"R\") { meta.x = meta.x + 1; } } else { meta.x = 9; } } else { meta.x = 3; }",
        "switch (hdr.h.a) { 1: { @region(\"R\") { meta.x = meta.x + 1; } } 2: { meta.x = 7; } }",
    ] {
        let ingress = format!("meta.x = hdr.h.a; {r} {between} {q} hdr.h.b = meta.x; std.egress_spec = 4;");
        check(&small_program(two, &ingress, ""), 250);
    }
}
