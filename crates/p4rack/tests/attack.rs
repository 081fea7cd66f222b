//! Programs whose split differed, panicked, or was refused without a message that a user can act upon.
//!
//! Each must be split and proved equal, or refused with a diagnostic about the user's own source. A program that fails
//! is ignored, with the cause.

use crate::support;

use base_diag::SourceMap;
use base_time::{Duration, Time};
use dataplane_api::Device;
use ir_prove::generate::Setup;
use ir_prove::{Answers, Conditions, Effort, prove};
use ir_split::{Placement, split};
use support::{case, compile_text, placement, small_program, text};

const NO_CODE: &str = "apply { }";
const EMIT: &str = "apply { packet.emit(hdr.h); packet.emit(hdr.g); }";
const START: &str = "state start { packet.extract(hdr.h); transition accept; }";

/// A v1model program made of these bodies, its parameters named as in `small_program`.
fn program(
    types: &str,
    parser: &str,
    verify: &str,
    bodies: [&str; 2],
    compute: &str,
    deparser: &str,
) -> String {
    let [ingress, egress] = bodies;
    format!(
        "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; }}
{types}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{ {parser} }}
control V(inout headers hdr, inout metadata meta) {{ {verify} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ {ingress} }}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ {egress} }}
control C(inout headers hdr, inout metadata meta) {{ {compute} }}
control D(packet_out packet, in headers hdr) {{ {deparser} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

const TYPES: &str = "struct headers { h_t h; h_t g; } struct metadata { bit<8> x; bit<8> y; h_t held; }";

/// Region `R` on `nic` is refused with a message about the user's program, or nothing differs.
fn equal_or_refused(source: &str) {
    equal_or_refused_at(source, placement(&["R"]));
}

fn equal_or_refused_at(source: &str, placement: Placement) {
    let mut map = SourceMap::new();
    let whole = compile_text(source, &mut map);
    if let Err(found) = split(&whole, &placement) {
        let said = text(&found, &map);
        assert!(said.contains("test.p4") || said.contains("P4R05"), "{said}");
        return;
    }
    let effort = Effort { packets: 300, ..Effort::default() };
    if let Err(failure) = prove(&case(whole, placement), &effort) {
        panic!("{}", failure.describe());
    }
}

fn small(declarations: &str, ingress: &str, egress: &str) {
    equal_or_refused(&small_program(declarations, ingress, egress));
}

/// [`small`] with declarations in front of the parser.
fn small_with(top: &str, declarations: &str, ingress: &str) {
    let source = small_program(declarations, ingress, "");
    equal_or_refused(&source.replace("parser P(", &format!("{top}\nparser P(")));
}

// Values.

#[test]
fn an_out_argument_that_the_action_reads_too() {
    small(
        "action a(out bit<8> p) { p = meta.x + 1; }",
        "meta.x = hdr.h.a; @region(\"R\") { meta.y = 1; } a(meta.x); if (hdr.h.isValid()) { hdr.h.b = meta.x; }",
        "",
    );
}

#[test]
fn a_local_headers_validity() {
    small(
        "h_t l;",
        "if (hdr.h.a > 100) { l.setValid(); } @region(\"R\") { meta.y = 1; } if (l.isValid()) { meta.x = 77; } if (hdr.h.isValid()) { hdr.h.b = meta.x; }",
        "",
    );
}

#[test]
fn a_local_header_copied_back() {
    small("", "h_t l; l = { 1, 2 }; @region(\"R\") { meta.y = 1; } hdr.g = l;", "");
}

#[test]
fn a_local_header_stack() {
    small(
        "h_t[2] s;",
        "if (hdr.h.a > 9) { s[1].setValid(); } @region(\"R\") { meta.x = 1; } if (s[1].isValid()) { meta.y = 99; } if (hdr.h.isValid()) { hdr.h.b = meta.y; }",
        "",
    );
}

#[test]
fn a_local_header_union() {
    small_with(
        "header_union u_t { h_t x; h_t y; }",
        "u_t u;",
        "if (hdr.h.a > 9) { u.x.setValid(); } @region(\"R\") { meta.x = 1; } if (u.x.isValid()) { meta.y = 99; } if (hdr.h.isValid()) { hdr.h.b = meta.y; }",
    );
}

#[test]
fn a_header_in_the_metadata() {
    let ingress = "apply { if (hdr.h.isValid() && hdr.h.a > 4) { meta.held.setValid(); } @region(\"R\") { meta.y = 1; } if (meta.held.isValid() && hdr.h.isValid()) { hdr.h.b = 7; } }";
    equal_or_refused(&program(TYPES, START, NO_CODE, [ingress, NO_CODE], NO_CODE, EMIT));
}

#[test]
fn the_parser_extracts_into_metadata() {
    let parser = "state start { packet.extract(meta.held); packet.extract(hdr.h); transition accept; }";
    let ingress = "apply { @region(\"R\") { meta.y = 1; } if (hdr.h.isValid()) { hdr.h.b = meta.held.a; } }";
    equal_or_refused(&program(TYPES, parser, NO_CODE, [ingress, NO_CODE], NO_CODE, EMIT));
}

#[test]
fn the_parser_makes_a_header_invalid() {
    let parser = "state start { packet.extract(hdr.h); transition second; } state second { hdr.h.setInvalid(); packet.extract(hdr.g); transition accept; }";
    let ingress = "apply { if (hdr.g.isValid()) { @region(\"R\") { meta.y = 1; } meta.x = hdr.h.a; hdr.g.a = meta.x; } }";
    equal_or_refused(&program(TYPES, parser, NO_CODE, [ingress, NO_CODE], NO_CODE, EMIT));
}

#[test]
fn a_packet_length_of_more_than_16_bits() {
    small(
        "",
        "std.packet_length = 0x70000; @region(\"R\") { meta.y = 1; } if (hdr.h.isValid()) { hdr.h.b = std.packet_length[23:16]; }",
        "",
    );
}

#[test]
fn the_metadata_struct_as_data_of_a_hash() {
    small(
        "bit<16> o;",
        "@region(\"R\") { meta.x = 1; } hash(o, HashAlgorithm.crc16, 16w0, { meta }, 32w65536); if (hdr.h.isValid()) { hdr.h.b = o[7:0]; }",
        "",
    );
}

#[test]
fn the_metadata_struct_is_assigned_a_list() {
    small("", "@region(\"R\") { meta.y = hdr.h.isValid() ? hdr.h.a : 0; } meta = { 1, meta.y, true };", "");
}

#[test]
fn a_copy_of_the_metadata() {
    small(
        "metadata saved;",
        "meta.x = 4; saved = meta; @region(\"R\") { meta.x = 3; } meta = saved; if (hdr.h.isValid()) { hdr.h.b = meta.x; }",
        "",
    );
}

#[test]
fn a_copy_of_the_headers() {
    small("headers saved;", "saved = hdr; @region(\"R\") { meta.x = 3; } hdr = saved;", "");
}

#[test]
fn a_local_of_a_newtype() {
    small_with(
        "type bit<8> N;",
        "N n;",
        "n = (N)hdr.h.a; @region(\"R\") { meta.x = 1; } meta.y = (bit<8>)n;",
    );
}

#[test]
fn a_local_of_a_serializable_enum() {
    small_with(
        "enum bit<4> K { A = 3, B = 5 }",
        "K e;",
        "e = K.B; @region(\"R\") { meta.x = 1; } if (e == K.A) { meta.y = 9; }",
    );
}

// The egress port.

#[test]
fn a_metadata_field_named_egress_port() {
    let types = "struct headers { h_t h; h_t g; } struct metadata { bit<9> egress_port; }";
    let ingress = "apply { std.egress_spec = 3; meta.egress_port = 9; }";
    let egress = "apply { @region(\"R\") { hdr.g.setInvalid(); } if (meta.egress_port == 9 && hdr.h.isValid()) { hdr.h.a = 3; } }";
    equal_or_refused(&program(types, START, NO_CODE, [ingress, egress], NO_CODE, EMIT));
}

#[test]
fn egress_port_overwritten_behind_the_cut() {
    small(
        "",
        "std.egress_spec = 3; meta.x = 9;",
        "@region(\"R\") { meta.y = meta.x; } std.egress_port = 7; if (hdr.h.isValid()) { hdr.h.b = meta.y; }",
    );
}

#[test]
fn egress_port_overwritten_in_the_region() {
    small("", "std.egress_spec = 1;", "@region(\"R\") { std.egress_port = 5; }");
}

// Other stages.

#[test]
fn statements_in_verify_checksum() {
    let verify = "apply { hdr.h.b = hdr.h.b + 1; }";
    let ingress = "apply { @region(\"R\") { meta.y = 1; } }";
    equal_or_refused(&program(TYPES, START, verify, [ingress, NO_CODE], NO_CODE, EMIT));
}

#[test]
fn statements_in_compute_checksum() {
    let compute = "apply { hdr.g.setValid(); hdr.g.a = 1; hdr.g.b = 3; }";
    let ingress = "apply { @region(\"R\") { meta.y = 1; } }";
    equal_or_refused(&program(TYPES, START, NO_CODE, [ingress, NO_CODE], compute, EMIT));
}

#[test]
fn the_deparser_emits_the_whole_struct() {
    let ingress = "apply { @region(\"R\") { meta.y = 1; } }";
    let deparser = "apply { packet.emit(hdr); }";
    equal_or_refused(&program(TYPES, START, NO_CODE, [ingress, NO_CODE], NO_CODE, deparser));
}

#[test]
fn the_deparser_emits_a_header_of_its_own() {
    let ingress = "apply { @region(\"R\") { meta.y = 1; } }";
    let deparser = "h_t x; apply { x.setValid(); x.a = 1; x.b = 2; packet.emit(x); packet.emit(hdr.h); }";
    equal_or_refused(&program(TYPES, START, NO_CODE, [ingress, NO_CODE], NO_CODE, deparser));
}

// Functions and top-level state.

#[test]
fn a_function_that_truncates() {
    small_with("void f() { truncate(1); }", "", "@region(\"R\") { f(); }");
}

#[test]
fn a_function_that_uses_a_register() {
    small_with(
        "register<bit<8>, bit<32>>(4) top; bit<8> f() { bit<8> v; top.read(v, 0); top.write(0, v + 1); return v; }",
        "",
        "meta.x = f(); @region(\"R\") { meta.y = f(); } if (hdr.h.isValid()) { hdr.h.a = meta.x; hdr.h.b = meta.y; }",
    );
}

#[test]
fn a_parser_that_writes_a_register() {
    let types =
        "register<bit<8>, bit<32>>(4) top; struct headers { h_t h; h_t g; } struct metadata { bit<8> x; }";
    let parser = "state start { packet.extract(hdr.h); top.write(0, hdr.h.a); transition accept; }";
    let ingress =
        "apply { @region(\"R\") { top.read(meta.x, 0); } if (hdr.h.isValid()) { hdr.h.b = meta.x; } }";
    equal_or_refused(&program(types, parser, NO_CODE, [ingress, NO_CODE], NO_CODE, EMIT));
}

#[test]
fn a_loop_in_an_egress_region() {
    small(
        "",
        "std.egress_spec = 3;",
        "bit<8> m = 1; @region(\"R\") { for (bit<8> i = 0; i < 3; i = i + 1) { m = m + i; } } if (hdr.h.isValid()) { hdr.h.a = m; }",
    );
}

// Names.

#[test]
fn actions_named_like_the_runtimes() {
    small(
        "action p4rack_send() { meta.x = 3; }",
        "@region(\"R\") { meta.y = 1; } p4rack_send(); if (hdr.h.isValid()) { hdr.h.b = meta.x; }",
        "",
    );
}

#[test]
fn a_register_named_like_the_drop_counter() {
    small(
        "register<bit<8>, bit<32>>(4) p4rack_drops;",
        "@region(\"R\") { meta.y = 1; } p4rack_drops.write(0, 1);",
        "",
    );
}

#[test]
fn a_register_named_p4rack() {
    small("register<bit<8>, bit<32>>(4) p4rack_x;", "@region(\"R\") { p4rack_x.write(0, 4); }", "");
}

#[test]
fn a_table_named_like_the_runtimes() {
    small(
        "action n() { meta.x = 9; } table p4rack_direct { key = { meta.y : exact; } actions = { n; NoAction; } default_action = n(); }",
        "@region(\"R\") { meta.y = 1; } p4rack_direct.apply();",
        "",
    );
}

#[test]
fn a_live_value_named_padding() {
    small("bit<3> padding = 3;", "@region(\"R\") { meta.y = 1; } if (padding == 3) { meta.x = 1; }", "");
}

#[test]
fn nested_headers_whose_joined_names_meet() {
    let types = "struct in_t { h_t h; } struct headers { in_t s; h_t s_h; h_t h; h_t g; } struct metadata { bit<8> y; }";
    let ingress = "apply { @region(\"R\") { meta.y = 1; } }";
    equal_or_refused(&program(types, START, NO_CODE, [ingress, NO_CODE], NO_CODE, EMIT));
}

#[test]
fn a_region_name_that_is_no_identifier() {
    let source = small_program("", "@region(\"a/é\") { meta.x = 1; }", "");
    equal_or_refused_at(&source, placement(&["a/é"]));
}

// Ports of links.

/// Ports between devices belong to the runtime: the origin drops packets that the program sends there, and counts them.
#[test]
fn a_user_packet_for_a_linked_port() {
    let mut map = SourceMap::new();
    let source = small_program("", "@region(\"R\") { meta.y = 1; } std.egress_spec = 300;", "");
    let case = case(compile_text(&source, &mut map), placement(&["R"]));
    let mut network = case.split_run(&Setup::default(), &Conditions::ideal()).expect("set up");
    network.inject(0, 7, &[2, 2, 3, 4], Time::ZERO, false);
    network.settle(1000).expect("comes to rest");
    assert!(network.take_records().iter().all(|r| r.outputs.is_empty()));
    let drops = network.with_switch(0, |tor| tor.counter_read("I.p4rack_drops", 3).map(|c| c.packets));
    assert_eq!(drops, Some(Ok(1)));
}

#[test]
fn a_user_packet_that_looks_like_a_hand_over() {
    let mut map = SourceMap::new();
    let source = small_program(
        "register<bit<8>, bit<32>>(1) r;",
        "if (hdr.h.a == 2) { std.egress_spec = 300; } else { @region(\"R\") { r.write(0, 1); } }",
        "",
    );
    let case = case(compile_text(&source, &mut map), placement(&["R"]));
    let mut frame = vec![0x02, 0x52, 0x41, 0x43, 0x4b, 0, 0x02, 0x52, 0x41, 0x43, 0x4b, 1, 0x88, 0xb5];
    // Version 1, app 1, epoch 1, region 1, no headers.
    frame.extend([0x10, 0x10, 0x12]);
    frame.extend([0; 24]);
    let mut whole = case.whole(&Setup::default(), &Answers::default()).expect("set up");
    whole.frame(7, &frame, Time::ZERO);
    let mut network = case.split_run(&Setup::default(), &Conditions::ideal()).expect("set up");
    network.inject(0, 7, &frame, Time::ZERO, false);
    network.settle(1000).expect("comes to rest");
    assert_eq!(whole.switch.state(), network.state());
}

// The proof itself.

#[test]
fn egress_timestamps_behind_an_ingress_cut() {
    small(
        "",
        "@region(\"R\") { meta.y = 1; } std.egress_spec = 2;",
        "if (hdr.h.isValid()) { hdr.h.b = std.egress_global_timestamp[7:0]; }",
    );
}

/// `prove` sets no multicast groups.
#[test]
fn copies_of_a_group_keep_their_rid_over_an_egress_cut() {
    let mut map = SourceMap::new();
    let source = small_program(
        "",
        "std.mcast_grp = 1;",
        "if (hdr.h.isValid()) { @region(\"R\") { hdr.h.a = (bit<8>)std.egress_rid; } hdr.h.b = (bit<8>)std.egress_rid + (bit<8>)std.egress_port + (bit<8>)std.instance_type; }",
    );
    let case = case(compile_text(&source, &mut map), placement(&["R"]));
    let frame = [9, 9, 1, 2, 3];
    let members = vec![(3, 1), (4, 2), (3, 5)];
    let mut whole = case.whole(&Setup::default(), &Answers::default()).expect("set up");
    whole.switch.multicast_group_set(1, members.clone());
    let mut expected = whole.frame(7, &frame, Time::ZERO).expect("nothing for the link");
    let mut network = case.split_run(&Setup::default(), &Conditions::ideal()).expect("set up");
    network.with_switch(0, |tor| tor.multicast_group_set(1, members)).expect("the origin");
    network.inject(0, 7, &frame, Time::ZERO, false);
    network.run_until(Time::ZERO + Duration::from_us(1), 1000).expect("comes to rest");
    let mut found = network.take_records().remove(0).outputs;
    found.sort();
    expected.sort();
    assert_eq!(found.len(), 3);
    assert_eq!(found, expected);
}
