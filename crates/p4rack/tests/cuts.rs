//! Small programs that try one thing about cuts each: split, printed, compiled again, and proved equal.

mod support;

use base_diag::SourceMap;
use ir_prove::{Effort, prove};
use support::{case, compile_text, placement, small_program};

/// Region `R` runs on `nic`; what comes out must be equal, and something must come out.
fn check(declarations: &str, ingress: &str, egress: &str) {
    let mut map = SourceMap::new();
    let whole = compile_text(&small_program(declarations, ingress, egress), &mut map);
    let effort = Effort { packets: 300, ..Effort::default() };
    match prove(&case(whole, placement(&["R"])), &effort) {
        Ok(tried) => assert!(tried.outputs > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

#[test]
fn a_local_variable_lives_across() {
    check("", "bit<8> t = hdr.h.a + 1; @region(\"R\") { meta.x = t; } hdr.h.b = meta.x ^ t;", "");
}

#[test]
fn a_bool_and_a_signed_number_travel() {
    check(
        "int<7> n;",
        "meta.flag = hdr.h.a > 100; n = (int<7>)(bit<7>)hdr.h.b[6:0]; @region(\"R\") { meta.y = 3; } if (meta.flag || n < 0) { hdr.h.b = meta.y; }",
        "",
    );
}

#[test]
fn headers_are_added_and_removed_before_the_cut() {
    check(
        "",
        "if (hdr.g.isValid()) { hdr.h.setInvalid(); } else { hdr.g.setValid(); hdr.g.a = 7; hdr.g.b = hdr.h.a; } @region(\"R\") { meta.x = 1; }",
        "hdr.g.b = hdr.g.b + 1;",
    );
}

#[test]
fn headers_are_added_and_removed_in_the_region() {
    check(
        "",
        "@region(\"R\") { if (hdr.g.isValid()) { hdr.g.setInvalid(); } else { hdr.g.setValid(); hdr.g.a = 7; hdr.g.b = hdr.h.a; } } if (hdr.g.isValid()) { hdr.h.b = hdr.g.b; }",
        "",
    );
}

#[test]
fn a_cut_in_both_arms_and_a_join() {
    check(
        "",
        "if (hdr.h.a > 128) { meta.x = 1; @region(\"R\") { meta.y = meta.x + hdr.h.b; } } else { meta.y = 9; } hdr.h.b = meta.y;",
        "",
    );
}

#[test]
fn a_cut_in_a_switch() {
    check(
        "",
        "switch (hdr.h.a) { 1: { @region(\"R\") { meta.y = 5; } hdr.h.b = 1; } 2: { meta.y = 6; } } hdr.h.a = meta.y;",
        "",
    );
}

#[test]
fn a_drop_in_the_region_and_its_undoing() {
    check(
        "",
        "@region(\"R\") { if (hdr.h.b > 200) { mark_to_drop(std); } } if (hdr.h.b > 240) { std.egress_spec = 4; }",
        "",
    );
}

#[test]
fn a_drop_in_an_egress_region() {
    check(
        "",
        "std.egress_spec = 3;",
        "@region(\"R\") { if (hdr.h.b > 128) { mark_to_drop(std); } } hdr.h.a = 1;",
    );
}

#[test]
fn the_egress_port_is_known_in_an_egress_region() {
    check(
        "",
        "std.egress_spec = hdr.h.b[7:7] ++ hdr.h.a;",
        "@region(\"R\") { hdr.h.b = (bit<8>)std.egress_port; }",
    );
}

#[test]
fn cuts_on_both_sides_of_the_traffic_manager() {
    check(
        "",
        "std.egress_spec = 3; @region(\"R\") { meta.x = hdr.h.a; } meta.y = meta.x + 1;",
        "bit<8> z = meta.y; hdr.h.a = z;",
    );
}

#[test]
fn a_table_applied_in_the_region_with_its_hit() {
    check(
        "action set(bit<8> v) { meta.x = v; } table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = NoAction(); }",
        "bool hit = false; @region(\"R\") { if (t.apply().hit) { hit = true; } } if (hit) { hdr.h.b = meta.x; }",
        "",
    );
}

#[test]
fn the_length_and_the_ingress_port_are_those_of_the_packet() {
    check(
        "",
        "@region(\"R\") { meta.x = 1; } hdr.h.a = std.packet_length[7:0]; hdr.h.b = std.ingress_port[7:0];",
        "hdr.h.a = hdr.h.a + std.packet_length[7:0];",
    );
}

#[test]
fn a_register_counts_in_order() {
    check(
        "register<bit<8>, bit<32>>(2) r;",
        "@region(\"R\") { r.read(meta.x, 0); meta.x = meta.x + 1; r.write(0, meta.x); } hdr.h.a = meta.x;",
        "",
    );
}

#[test]
fn the_whole_body_is_the_region() {
    check("", "@region(\"R\") { hdr.h.a = hdr.h.b; }", "");
}

#[test]
fn an_empty_region() {
    check("", "hdr.h.a = 1; @region(\"R\") { }", "");
}
