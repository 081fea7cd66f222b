//! Small programs that try one thing about cuts each: split, printed, compiled again, and proved equal.

use crate::support;

use base_diag::SourceMap;
use ir_prove::{Case, Effort, prove};
use std::sync::Arc;
use support::{case, compile_text, placement, small_program};

/// No mutant of this split may live, but for those that change nothing that can be seen: their names hold one of `same`.
fn check_mutants(source: &str, same: &[&str]) {
    let mut map = SourceMap::new();
    let case = case(compile_text(source, &mut map), placement(&["R"]));
    let effort = Effort { packets: 300, ..Effort::default() };
    let mut count = 0;
    for mutant in ir_prove::mutants::mutants(&case.parts) {
        if same.iter().any(|s| mutant.name.contains(s)) {
            continue;
        }
        count += 1;
        let broken = Case { parts: mutant.parts, ..case.clone() };
        assert!(prove(&broken, &effort).is_err(), "lived: {}", mutant.name);
    }
    assert!(count > 5, "only {count} mutants");
}

/// Region `R` runs on `nic`; what comes out must be equal, and something must come out.
fn check(declarations: &str, ingress: &str, egress: &str) {
    check_source(&small_program(declarations, ingress, egress));
}

/// [`check`] for a whole program.
fn check_source(source: &str) {
    let mut map = SourceMap::new();
    let whole = compile_text(source, &mut map);
    let effort = Effort { packets: 300, ..Effort::default() };
    match prove(&case(whole, placement(&["R"])), &effort) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
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

/// The changed packet would lead the parser to a second header, or to none.
#[test]
fn a_parser_would_read_the_packet_differently_behind_the_cut() {
    check(
        "",
        "if (hdr.h.a == 1) { hdr.h.a = 7; } else { hdr.h.a = 1; } @region(\"R\") { meta.x = hdr.h.b; } if (hdr.g.isValid()) { hdr.g.a = meta.x; } else { hdr.h.b = meta.x + 1; }",
        "",
    );
}

#[test]
fn headers_are_rewritten_before_the_cut_and_in_the_region() {
    check(
        "",
        "hdr.h.b = hdr.h.b ^ 0x55; hdr.g.a = hdr.h.b; @region(\"R\") { hdr.h.b = hdr.h.b + hdr.h.a; hdr.g.b = 3; } hdr.h.a = hdr.h.b;",
        "",
    );
}

#[test]
fn an_egress_region_with_queue_metadata_and_one_without() {
    check(
        "",
        "std.egress_spec = 3;",
        "@region(\"R\") { hdr.h.b = hdr.h.b + std.enq_qdepth[7:0] + std.deq_timedelta[7:0]; } hdr.h.a = std.deq_qdepth[7:0];",
    );
    check("", "std.egress_spec = 3;", "@region(\"R\") { hdr.h.b = hdr.h.b + 1; } hdr.h.a = hdr.h.b;");
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

// Headers of all kinds.

#[test]
fn a_field_of_an_invalid_header_is_read_behind_the_cut() {
    check(
        "",
        "hdr.g.a = hdr.h.b; hdr.g.setInvalid(); @region(\"R\") { meta.y = hdr.g.a; } hdr.h.b = hdr.g.a + meta.y;",
        "",
    );
}

/// The second header is not always there; what an action writes to it is read all the same.
#[test]
fn a_table_writes_to_an_argument_of_its_action() {
    check(
        "action put(inout bit<8> p, bit<8> v) { p = v; } table t { actions = { put(hdr.g.a); } }",
        "@region(\"R\") { t.apply(); } if (hdr.g.a > 3) { hdr.h.b = 1; }",
        "",
    );
}

/// Copies of a group are whole, whatever ingress has said of their packet.
#[test]
fn copies_of_a_group_forget_what_ingress_truncates() {
    check(
        "",
        "std.mcast_grp = 1; truncate(20);",
        "@region(\"R\") { hdr.h.b = 1; } if (std.egress_port == 2) { truncate(30); }",
    );
}

/// The least of all lengths counts, in whatever order they are asked for.
#[test]
fn a_packet_is_truncated_several_times() {
    check(
        "",
        "truncate(20); std.egress_spec = 1;",
        "truncate(49); @region(\"R\") { hdr.h.b = 1; truncate(30); }",
    );
    check("", "truncate(9); @region(\"R\") { truncate(20); } truncate(30); std.egress_spec = 1;", "");
}

#[test]
fn an_error_and_an_enum_travel() {
    check(
        "error e; HashAlgorithm k;",
        "e = std.parser_error; if (hdr.h.a > 9) { k = HashAlgorithm.crc16; } @region(\"R\") { meta.y = 1; } if (e != error.NoError || k == HashAlgorithm.crc16) { hdr.h.b = 7; }",
        "",
    );
}

/// A program with the given headers struct, metadata fields and parser states.
fn with_headers(top: &str, headers: &str, parser: &str, ingress: &str, egress: &str, emits: &str) -> String {
    small_program("", ingress, egress)
        .replace("struct headers { h_t h; h_t g; }", &format!("{top} struct headers {{ h_t h; {headers} }}"))
        .replace(
            "transition select(hdr.h.a) { 1: second; default: accept; }\n    }\n    state second { packet.extract(hdr.g); transition accept; }",
            &format!("transition next;\n    }}\n{parser}"),
        )
        .replace("packet.emit(hdr.g);", emits)
}

const STACK: &str = "state next { transition select(hdr.h.a[1:0]) { 0: accept; default: more; } }
    state more { packet.extract(hdr.s.next); transition select(hdr.s.last.a[7:7]) { 1: accept; default: more; } }";

#[test]
fn a_stack_is_pushed_and_popped_around_a_cut() {
    check_source(&with_headers(
        "",
        "h_t[3] s;",
        STACK,
        "hdr.s.push_front(1); hdr.s[0].setValid(); hdr.s[0].a = 5; @region(\"R\") { if (hdr.s[2].isValid()) { meta.x = hdr.s[2].b; hdr.s.pop_front(2); } else { hdr.s[1].setInvalid(); } } hdr.h.b = meta.x + hdr.s[0].b;",
        "",
        "packet.emit(hdr.s);",
    ));
}

#[test]
fn an_element_with_an_index_known_at_run_time() {
    check_source(&with_headers(
        "",
        "h_t[3] s;",
        STACK,
        "@region(\"R\") { bit<32> i = (bit<32>)hdr.h.b[1:0]; hdr.s[i].a = 9; meta.x = hdr.s[i].b; } hdr.h.b = meta.x;",
        "",
        "packet.emit(hdr.s);",
    ));
}

const UNION: &str = "state next { transition select(hdr.h.a[0:0]) { 0: one; default: two; } }
    state one { packet.extract(hdr.u.one); transition accept; }
    state two { packet.extract(hdr.u.two); transition accept; }";

#[test]
fn a_union_changes_its_member_in_the_region() {
    check_source(&with_headers(
        "header o_t { bit<16> c; } header_union u_t { h_t one; o_t two; }",
        "u_t u;",
        UNION,
        "meta.x = hdr.h.b; @region(\"R\") { if (hdr.u.one.isValid()) { meta.y = hdr.u.one.b; hdr.u.two.setValid(); hdr.u.two.c = 300; } } if (hdr.u.two.isValid()) { hdr.h.b = hdr.u.two.c[7:0] + meta.y; } else { hdr.h.b = meta.x; }",
        "",
        "packet.emit(hdr.u);",
    ));
}

const VARBIT: &str = "state next { packet.extract(hdr.v, (bit<32>)hdr.h.a[1:0] * 8); transition rest; }
    state rest { packet.extract(hdr.g); transition accept; }";

#[test]
fn a_varbit_keeps_its_length() {
    check_source(&with_headers(
        "header v_t { bit<8> n; varbit<32> more; }",
        "v_t v; h_t g;",
        VARBIT,
        "meta.x = hdr.h.b; @region(\"R\") { meta.y = meta.x; hdr.v.n = meta.x; } hdr.h.a = meta.y;",
        "hdr.h.b = 3;",
        "packet.emit(hdr.v); packet.emit(hdr.g);",
    ));
}

#[test]
fn a_varbit_is_copied_and_made_anew() {
    check_source(&with_headers(
        "header v_t { bit<8> n; varbit<32> more; }",
        "v_t v; h_t g; v_t w;",
        VARBIT,
        "hdr.w = hdr.v; if (hdr.h.b > 100) { hdr.v.setInvalid(); hdr.v.setValid(); } @region(\"R\") { meta.y = 1; } hdr.h.a = meta.y;",
        "",
        "packet.emit(hdr.v); packet.emit(hdr.g); packet.emit(hdr.w);",
    ));
}

// Headers outside of the packet, and whole structs.

#[test]
fn a_local_header_lives_across() {
    check(
        "h_t l; h_t[2] s;",
        "if (hdr.h.a > 100) { l.setValid(); l.a = hdr.h.b; s[1] = l; } @region(\"R\") { if (l.isValid()) { meta.y = l.a; l.b = 8; } else { l.b = 9; } } if (s[1].isValid()) { hdr.h.a = s[1].a + l.b + meta.y; }",
        "",
    );
}

/// The header keeps its fields.
#[test]
fn a_valid_header_of_a_variable_is_made_valid_in_the_region() {
    check(
        "h_t copy;",
        "if (hdr.h.a > 99) { copy = hdr.h; } @region(\"R\") { copy.setValid(); copy.a = copy.a + 1; } hdr.h = copy;",
        "",
    );
}

#[test]
fn copies_of_the_metadata_and_the_headers() {
    check(
        "metadata saved; headers old;",
        "meta.x = hdr.h.a; saved = meta; old = hdr; @region(\"R\") { meta.x = 3; hdr.h.a = 4; } meta = saved; if (hdr.h.b > 9) { hdr = old; } hdr.h.b = meta.x;",
        "",
    );
}

#[test]
fn names_that_begin_like_the_runtimes() {
    check(
        "action p4rack_send() { meta.x = hdr.h.a + 3; }",
        "@region(\"R\") { meta.y = hdr.h.b; } p4rack_send(); hdr.h.b = meta.x + meta.y;",
        "",
    );
}

#[test]
fn checksum_blocks_with_other_statements() {
    let source = small_program(
        "",
        "meta.x = hdr.h.a; @region(\"R\") { meta.y = meta.x; } hdr.h.a = meta.y;",
        "",
    )
    .replace(
        "control V(inout headers hdr, inout metadata meta) { apply { } }",
        "control V(inout headers hdr, inout metadata meta) { apply { hdr.h.b = hdr.h.b + 1; } }",
    )
    .replace(
        "control C(inout headers hdr, inout metadata meta) { apply { } }",
        "control C(inout headers hdr, inout metadata meta) { apply { hdr.g.setValid(); hdr.g.a = meta.y; } }",
    );
    check_source(&source);
}

#[test]
fn a_deparser_that_decides() {
    let source = small_program("", "@region(\"R\") { meta.y = hdr.h.b; } hdr.h.a = meta.y;", "").replace(
        "apply { packet.emit(hdr.h); packet.emit(hdr.g); }",
        "h_t own; apply { if (hdr.h.a > 100) { packet.emit(hdr.h); } own.setValid(); own.a = hdr.h.b; packet.emit(own); packet.emit(hdr.g); }",
    );
    check_source(&source);
}

#[test]
fn a_function_in_a_key_sets_metadata() {
    let source = small_program(
        "table t { key = { f(hdr.h.a, meta.x): exact @name(\"f\"); } actions = { NoAction; } }",
        "t.apply(); @region(\"R\") { meta.y = hdr.h.b; } hdr.h.b = meta.x ^ meta.y;",
        "",
    )
    .replace("parser P(", "bit<8> f(in bit<8> a, out bit<8> b) { b = a + 1; return a; } parser P(");
    check_source(&source);
}

/// The third element is not extracted, and keeps the value that the parser writes.
#[test]
fn the_parser_writes_an_element_that_is_not_valid() {
    let source = small_program("", "@region(\"R\") { meta.y = hdr.h.b; } hdr.h.b = hdr.s[2].b ^ meta.y;", "")
        .replace("struct headers {", "struct headers { h_t[4] s;")
        .replace(
            "packet.extract(hdr.h);",
            "packet.extract(hdr.h); packet.extract(hdr.s.next); hdr.s[2].b = hdr.h.a;",
        );
    check_source(&source);
}

/// Another member takes its place, by being extracted or made valid; its fields stay as they are.
#[test]
fn the_parser_leaves_a_member_of_a_union_behind() {
    for step in ["hdr.u.other.setValid();", "packet.extract(hdr.u.other);"] {
        let source =
            small_program("", "@region(\"R\") { meta.y = hdr.h.b; } hdr.h.b = hdr.u.one.b ^ meta.y;", "")
                .replace(
                    "struct headers {",
                    "header_union u_t { h_t one; h_t other; } struct headers { u_t u;",
                )
                .replace(
                    "packet.extract(hdr.h);",
                    &format!("packet.extract(hdr.h); packet.extract(hdr.u.one); {step}"),
                );
        check_source(&source);
    }
}

/// At the helper, where the digest has not been sent yet: `simple_switch` ends there, and no document defines anything else.
#[test]
fn a_digest_before_an_assertion() {
    check(
        "",
        "digest<bit<8>>(1, hdr.h.a); @region(\"R\") { assert(hdr.h.b != 77); meta.x = hdr.h.b; } hdr.h.a = meta.x;",
        "",
    );
}

// Orders to the traffic manager, and messages to the control plane.

/// Small programs with fields that clones and packets sent around keep.
fn check_kept(ingress: &str, egress: &str) {
    let source = small_program("", ingress, egress)
        .replace("bit<8> x; bit<8> y;", "@field_list(1, 2) bit<8> x; @field_list(2) bit<8> y; bit<8> z;");
    check_source(&source);
}

#[test]
fn a_clone_ordered_before_a_cut_of_ingress() {
    check_kept(
        "meta.x = hdr.h.b; clone_preserving_field_list(CloneType.I2E, 5, 1); @region(\"R\") { hdr.h.a = 7; meta.x = meta.x + 1; hdr.g.setInvalid(); }",
        "if (std.instance_type == 1) { hdr.h.b = meta.x; } else { hdr.h.b = 2; }",
    );
}

#[test]
fn a_clone_ordered_in_the_region_or_behind_it() {
    check_kept(
        "@region(\"R\") { meta.y = hdr.h.a; hdr.h.b = 9; if (hdr.h.a > 100) { clone(CloneType.I2E, 5); } } if (hdr.h.a < 50) { clone_preserving_field_list(CloneType.I2E, 6, 2); } hdr.g.setValid();",
        "if (std.instance_type == 1) { hdr.h.b = hdr.h.b + meta.y; }",
    );
}

#[test]
fn a_clone_sees_the_length_that_came_in() {
    check_kept(
        "@region(\"R\") { clone(CloneType.I2E, 5); hdr.h.setInvalid(); }",
        "hdr.g.setValid(); hdr.g.a = std.packet_length[7:0]; hdr.g.b = std.packet_length[15:8];",
    );
}

#[test]
fn a_clone_whose_egress_is_cut() {
    check_kept(
        "meta.x = hdr.h.a; clone_preserving_field_list(CloneType.I2E, 5, 1); hdr.h.b = 3;",
        "@region(\"R\") { hdr.h.b = hdr.h.b + meta.x; } hdr.h.a = (bit<8>)std.instance_type;",
    );
}

#[test]
fn a_clone_of_egress_behind_a_cut_of_egress() {
    check_kept(
        "meta.x = hdr.h.a; std.egress_spec = 3;",
        "@region(\"R\") { if (std.instance_type == 0) { meta.y = meta.x + 1; hdr.h.b = 8; clone_preserving_field_list(CloneType.E2E, 5, 2); } else { hdr.h.a = meta.y; } } hdr.g.setInvalid();",
    );
}

#[test]
fn a_packet_resubmitted_behind_a_cut() {
    check_kept(
        "meta.z = (bit<8>)std.instance_type; @region(\"R\") { if (std.instance_type != 6 && hdr.h.a > 90) { meta.x = hdr.h.b + 1; hdr.h.b = 0; resubmit_preserving_field_list(1); } else { hdr.h.b = meta.x; } } hdr.h.a = meta.z;",
        "",
    );
}

#[test]
fn a_packet_resubmitted_and_cloned_behind_a_cut() {
    check_kept(
        "@region(\"R\") { if (std.instance_type == 0) { meta.x = hdr.h.b; hdr.h.setInvalid(); resubmit_preserving_field_list(2); clone_preserving_field_list(CloneType.I2E, 5, 1); truncate(1); } } if (std.instance_type == 6) { hdr.h.b = meta.x; }",
        "if (std.instance_type == 1) { hdr.h.a = meta.x; }",
    );
}

/// Clones of recirculated packets are parsed with the port of the link; some are shorter than a hand-over.
#[test]
fn a_packet_that_came_back_is_cloned() {
    let source = small_program(
        "",
        "clone_preserving_field_list(CloneType.I2E, 5, 1); std.egress_spec = 3;",
        "@region(\"R\") { if (meta.x < 2) { meta.x = meta.x + 1; recirculate_preserving_field_list(1); } }",
    )
    .replace("bit<8> x; bit<8> y;", "@field_list(1) bit<8> x; bit<8> y;")
    .replace("bit<8> a; bit<8> b;", "bit<8> a; bit<8> b; bit<96> more;")
    .replace("packet.emit(hdr.h);", "");
    check_source(&source);
}

#[test]
fn a_packet_recirculated_behind_a_cut_of_egress() {
    check_kept(
        "if (std.instance_type == 4) { hdr.h.b = meta.y + std.ingress_port[7:0]; meta.z = 1; } std.egress_spec = 3;",
        "@region(\"R\") { if (meta.z == 0 && hdr.h.a != 1) { meta.y = hdr.h.a; recirculate_preserving_field_list(2); } } hdr.h.a = hdr.h.a + 1;",
    );
}

#[test]
fn a_packet_recirculated_behind_a_cut_of_ingress() {
    check_kept(
        "@region(\"R\") { meta.x = hdr.h.b + meta.y; } if (std.instance_type != 4) { meta.y = 40; } else { meta.y = 41; } hdr.h.b = meta.x;",
        "if (meta.y == 40) { recirculate_preserving_field_list(2); }",
    );
}

#[test]
fn truncation_ordered_in_both_halves() {
    check_kept(
        "@region(\"R\") { if (hdr.h.a > 90) { truncate(20); } } std.egress_spec = 3;",
        "if (hdr.h.b > 90) { truncate(9); }",
    );
    check_kept(
        "if (hdr.h.a > 90) { truncate(20); } std.egress_spec = 3;",
        "@region(\"R\") { if (hdr.h.b > 90) { truncate(9); } }",
    );
}

#[test]
fn a_group_chosen_in_the_region() {
    check_kept(
        "meta.x = 3; @region(\"R\") { std.mcast_grp = (bit<16>)hdr.h.a[1:0]; }",
        "hdr.h.b = (bit<8>)std.egress_rid + meta.x; hdr.h.a = std.egress_port[7:0];",
    );
}

#[test]
fn copies_of_a_group_visit_a_helper_in_egress() {
    check_kept(
        "std.mcast_grp = (bit<16>)hdr.h.a[1:0]; std.egress_spec = 2;",
        "@region(\"R\") { hdr.h.b = (bit<8>)std.egress_rid + (bit<8>)std.instance_type; } hdr.h.a = std.egress_port[7:0];",
    );
}

#[test]
fn digests_reported_by_both_devices() {
    let top = "struct told_t { bit<8> a; bit<9> port; }";
    let source = small_program(
        "action tell() { digest<told_t>(1, { hdr.h.b, std.ingress_port }); } table t { key = { hdr.h.a: exact; } actions = { tell; NoAction; } }",
        "if (hdr.h.b > 50) { digest<bit<8>>(1, hdr.h.a); } @region(\"R\") { t.apply(); hdr.h.b = 4; } if (hdr.h.a > 50) { digest<told_t>(1, { hdr.h.b, 5 }); }",
        "",
    );
    check_source(&source.replace("parser P(", &format!("{top}\nparser P(")));
}

#[test]
fn random_numbers_are_those_that_were_drawn() {
    check(
        "",
        "random(meta.x, 0, 200); @region(\"R\") { random(meta.y, meta.x, 255); } hdr.h.a = meta.x; hdr.h.b = meta.y;",
        "",
    );
}

/// The random numbers of a helper are drawn after those of the origin, whichever copy comes first.
#[test]
fn copies_draw_random_numbers_on_two_devices() {
    check_kept(
        "std.mcast_grp = 1;",
        "if (std.egress_rid[0:0] == 1) { @region(\"R\") { random(hdr.h.b, 0, 255); } } else { random(hdr.h.b, 0, 255); }",
    );
}

/// The whole program's device stops it by its passes, which parts do not count together.
#[test]
fn a_packet_that_comes_back_for_ever_says_nothing() {
    check_kept(
        "@region(\"R\") { hdr.h.b = hdr.h.b + 1; } std.egress_spec = 3;",
        "if (hdr.h.a == 77) { recirculate_preserving_field_list(1); }",
    );
}

// Several switches.

/// Each switch has its own register; the counts of the helper add up.
#[test]
fn a_helper_is_shared_by_two_switches() {
    let source = small_program(
        "register<bit<8>, bit<32>>(1) r; counter<bit<8>>(256, CounterType.packets) c;
         action set(bit<8> v) { meta.y = v; c.count(v); }
         table t { key = { hdr.h.b: ternary; } actions = { set; NoAction; } default_action = NoAction(); }",
        "r.read(meta.x, 0); r.write(0, meta.x + 1); if (hdr.h.a > 9) { @region(\"R\") { t.apply(); hdr.g.setValid(); } } hdr.h.a = meta.x; std.egress_spec = 2;",
        "@region(\"Out\") { hdr.h.b = hdr.h.b + meta.y; }",
    );
    let whole = compile_text(&source, &mut SourceMap::new());
    let effort = Effort { packets: 300, ..Effort::default() };
    match prove(&case(Arc::clone(&whole), two_switches(&["R", "Out"])), &effort) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

/// A way back that is the same for all is noticed.
#[test]
fn a_helper_that_returns_all_to_one_switch_is_noticed() {
    let source = small_program("", "@region(\"R\") { hdr.h.b = hdr.h.b + 1; } std.egress_spec = 2;", "");
    let mut case = case(compile_text(&source, &mut SourceMap::new()), two_switches(&["R"]));
    let mut returns = 0;
    for entry in &mut case.parts[1].as_mut().expect("a part").linkage.entries {
        (entry.args, returns) = (vec![301], returns + 1);
    }
    assert_eq!(returns, 2);
    assert!(prove(&case, &Effort { packets: 100, ..Effort::default() }).is_err());
}

/// `tor` and `tor2` with `nic` between them.
fn two_switches(on_nic: &[&str]) -> ir_split::Placement {
    let [tor, nic, tor2] = [0, 1, 2].map(ir_split::DeviceIndex);
    ir_split::Placement {
        devices: vec!["tor".into(), "nic".into(), "tor2".into()],
        home: vec![tor, tor2],
        ports: [((tor, nic), 300), ((nic, tor), 301), ((tor2, nic), 300), ((nic, tor2), 302)].into(),
        ..placement(on_nic)
    }
}

// Objects.

#[test]
fn counters_and_meters_of_packets() {
    check(
        "counter<bit<32>>(8, CounterType.packets) c; meter<bit<32>>(8, MeterType.packets) m; direct_counter(CounterType.packets) d; action a(bit<8> v) { meta.y = v; d.count(); } table t { key = { hdr.h.a: exact; } actions = { a; NoAction; } counters = d; }",
        "@region(\"R\") { c.count((bit<32>)hdr.h.a[2:0]); m.execute_meter((bit<32>)hdr.h.b[2:0], meta.x); t.apply(); } hdr.h.a = meta.x + meta.y; ",
        "",
    );
}

/// A hash leaves out fields of invalid headers: whether one is valid travels with its fields.
#[test]
fn a_field_of_a_header_outside_of_the_packet_is_hashed() {
    check(
        "h_t l;",
        "l = hdr.g; @region(\"R\") { meta.x = 1; } hash(meta.y, HashAlgorithm.csum16, 8w0, { l.b, hdr.h.b }, 8w200); hdr.h.a = meta.y;",
        "",
    );
}

#[test]
fn an_action_profile_and_a_selector() {
    check(
        "action_profile(32) p; action_selector(HashAlgorithm.crc16, 32, 8) s; action a(bit<8> v) { meta.y = v; } action b(bit<8> v) { meta.x = v; } table t { key = { hdr.h.a: exact; } actions = { a; NoAction; } implementation = p; } table u { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { b; NoAction; } implementation = s; }",
        "@region(\"R\") { t.apply(); u.apply(); } hdr.h.a = meta.x + meta.y;",
        "",
    );
}

#[test]
fn egress_port_and_packet_length_are_overwritten() {
    check(
        "",
        "std.egress_spec = 1;",
        "std.egress_port = 7; @region(\"R\") { std.egress_port = std.egress_port + 5; } hdr.h.b = std.egress_port[7:0];",
    );
    check(
        "",
        "std.packet_length = std.packet_length + 0x70000; @region(\"R\") { meta.y = std.packet_length[23:16]; } hdr.h.b = std.packet_length[23:16] + meta.y;",
        "",
    );
}

// Jumps and calls.

#[test]
fn exit_and_return_around_a_cut() {
    check(
        "action stop() { exit; } table t { key = { hdr.h.a: exact; } actions = { stop; NoAction; } }",
        "meta.x = hdr.h.b; t.apply(); if (hdr.h.a > 200) { return; } @region(\"R\") { if (hdr.h.b > 100) { hdr.h.a = 1; exit; } meta.y = meta.x; } hdr.h.b = meta.y + 1;",
        "hdr.h.a = hdr.h.a + 1;",
    );
}

#[test]
fn a_control_is_applied_around_the_cut() {
    let source = small_program("Inner() inner;", "inner.apply(hdr, meta.x); @region(\"R\") { meta.y = meta.x; } hdr.h.b = meta.y;", "")
        .replace("control I(", "control Inner(inout headers hdr, out bit<8> o) { action a(bit<8> v) { o = v; } table t { key = { hdr.h.a: exact; } actions = { a; NoAction; } } apply { o = hdr.h.b; if (hdr.h.a > 20) { t.apply(); return; } o = o + 1; } }\ncontrol I(");
    check_source(&source);
}

#[test]
fn a_function_with_a_register() {
    let source = small_program("", "meta.x = f(hdr.h.a); @region(\"R\") { meta.y = meta.x; } hdr.h.b = meta.y;", "")
        .replace("parser P(", "register<bit<8>, bit<32>>(4) top; bit<8> f(in bit<8> a) { bit<8> v; top.read(v, 0); top.write(0, v + a); return v; }\nparser P(");
    check_source(&source);
}

#[test]
fn a_function_sets_metadata_in_an_expression_of_the_parser() {
    let program = || small_program("", "@region(\"R\") { hdr.h.b = meta.x; } hdr.h.a = meta.y;", "");
    let with = |source: String| {
        source.replace("parser P(", "bit<8> f(out bit<8> a) { a = 255; return 1; }\nparser P(")
    };
    check_source(&with(
        program().replace("packet.extract(hdr.h);", "packet.extract(hdr.h); meta.y = f(meta.x);"),
    ));
    check_source(&with(program().replace("select(hdr.h.a)", "select(f(meta.x))")));
}

#[test]
fn an_object_leaves_a_result_alone() {
    let declarations = "register<bit<8>, bit<32>>(4) cells; meter<bit<32>>(4, MeterType.packets) rate; bit<8> l = 32; bit<8> k = 33;";
    check(
        declarations,
        "@region(\"R\") { cells.read(l, (bit<32>)hdr.h.a); rate.execute_meter((bit<32>)hdr.h.b, k); } hdr.h.a = l; hdr.h.b = k;",
        "",
    );
}

#[test]
fn the_parser_uses_a_register() {
    let source = small_program("", "@region(\"R\") { meta.y = hdr.h.a; } hdr.h.b = meta.y + meta.x;", "")
        .replace("parser P(", "register<bit<8>, bit<32>>(4) top;\nparser P(")
        .replace(
            "packet.extract(hdr.h);",
            "packet.extract(hdr.h); top.read(meta.x, 0); top.write(0, hdr.h.a);",
        );
    check_source(&source);
}

// The proof notices where one of these is broken.

#[test]
fn mutants_of_a_clone_behind_a_cut_are_caught() {
    let source = small_program(
        "",
        "meta.x = hdr.h.b + 1; @region(\"R\") { clone_preserving_field_list(CloneType.I2E, 5, 1); hdr.h.a = hdr.h.a + 7; hdr.g.b = 3; } hdr.h.b = meta.x + hdr.h.a;",
        "if (std.instance_type == 1) { hdr.h.b = meta.x; hdr.g.a = hdr.g.a + 9; }",
    )
    .replace("bit<8> x; bit<8> y;", "@field_list(1) bit<8> x; bit<8> y;");
    check_mutants(&source, &[]);
}

#[test]
fn mutants_of_values_of_new_kinds_are_caught() {
    let source = small_program(
        "h_t l; error e;",
        "if (hdr.h.a > 100) { l.setValid(); l.a = hdr.h.b; } e = std.parser_error; hdr.g.b = hdr.h.b; hdr.g.setInvalid(); @region(\"R\") { if (l.isValid()) { meta.y = l.a; } else { meta.y = hdr.g.b + 1; } if (e != error.NoError) { meta.y = 77; } if (hdr.h.b > 200) { truncate(3); } } hdr.h.b = meta.y; if (l.isValid()) { hdr.h.a = 1; }",
        "",
    );
    // The second header is never valid where it would be sent.
    check_mutants(&source, &["sent_g"]);
}

#[test]
fn mutants_of_a_digest_are_caught() {
    let source = small_program(
        "",
        "@region(\"R\") { if (hdr.h.a > 50) { digest<bit<8>>(1, hdr.h.b); } hdr.h.b = 4; }",
        "",
    );
    check_mutants(&source, &[]);
}

#[test]
fn the_headers_as_a_value_of_their_own() {
    let source =
        small_program("", "hdr.h.a = first({ { 3, 4 }, { 5, 6 } }); @region(\"R\") { meta.x = 1; }", "");
    check_source(&source.replace("parser P", "bit<8> first(headers all) { return all.g.b; }\nparser P"));
}

#[test]
fn a_top_level_action_that_exits() {
    let table = "table t { key = { hdr.h.a: exact; } actions = { leave(); } }";
    let source = small_program(
        table,
        "bit<8> v = (hdr.h.b == 1 || t.apply().hit) ? 8w2 : 8w3; @region(\"R\") { hdr.h.b = v; }",
        "",
    );
    check_source(&source.replace("parser P", "action leave() { exit; }\nparser P"));
}

/// The control plane may write the table all the same.
#[test]
fn a_table_that_only_dead_code_applies() {
    let table = "action a() { exit; } table t { key = { hdr.h.a: exact; } actions = { a(); } }";
    check(table, "hdr.h.b = false ? (t.apply().hit ? 8w1 : 8w2) : 8w3; @region(\"R\") { meta.x = 1; }", "");
}

#[test]
fn a_table_that_nothing_applies_with_a_counter_of_the_region() {
    check(
        "counter<bit<8>>(4, CounterType.packets) c; action a(bit<8> v) { c.count(v); } action b() { c.count(1); }
         table t { key = { hdr.h.a: exact; } actions = { a; b; NoAction; } }",
        "@region(\"R\") { c.count(0); meta.x = 1; b(); } hdr.h.a = 1;",
        "",
    );
}

#[test]
fn a_counter_that_nobody_uses_stays_at_the_origin() {
    check("counter<bit<8>>(4, CounterType.packets) c;", "@region(\"R\") { hdr.h.a = 1; }", "");
}

#[test]
fn a_loop_of_an_action_has_variables_of_its_own() {
    check(
        "action a() { for (bit<8> i = 0; i < 3; i = i + 1) { hdr.h.a = hdr.h.a + i; } }",
        "@region(\"R\") { meta.x = 1; } a();",
        "",
    );
}

/// In a pass through egress that only takes a hand-over on, the program reads no queue.
#[test]
fn queues_are_read_in_each_of_several_passes() {
    check(
        "",
        "",
        "if (hdr.h.isValid() && hdr.h.a < 128) { hdr.h.a = hdr.h.a + 128; recirculate_preserving_field_list(1); } hdr.h.b = hdr.h.b + std.enq_qdepth[7:0]; @region(\"R\") { hdr.h.b = hdr.h.b ^ std.deq_qdepth[7:0]; }",
    );
}

/// Only the control plane reads a counter: each device counts its part.
const COUNT_BYTES: &str = "counter<bit<8>>(256, CounterType.bytes) c; direct_counter(CounterType.packets_and_bytes) d;
    meter<bit<32>>(4, MeterType.bytes) m;
    action set(bit<8> v) { meta.y = v; }
    table t { key = { hdr.h.b: ternary; } actions = { set; NoAction; } default_action = NoAction(); counters = d; }";

/// Every byte that a packet had counts, wherever it is counted, and no other.
#[test]
fn bytes_are_counted_behind_a_cut() {
    check(
        COUNT_BYTES,
        "if (hdr.h.a > 9) { @region(\"R\") { c.count(hdr.h.a); t.apply(); bit<32> k; m.execute_meter(1, k); hdr.h.a = (bit<8>)k; \
         hdr.g.setValid(); } } c.count(hdr.h.b);",
        "if (meta.y == 3) { hdr.h.b = 1; }",
    );
}

#[test]
fn bytes_are_counted_in_egress_behind_a_cut() {
    let of_egress = |body: &str| {
        small_program("", "if (hdr.h.a > 9) { @region(\"R\") { hdr.h.b = hdr.h.b + 1; } } std.egress_spec = 2;", body)
            .replace("control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {", &format!("control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ {COUNT_BYTES}"))
    };
    check_source(&of_egress("t.apply(); c.count(hdr.h.a);"));
    check_source(&of_egress("@region(\"R2\") { t.apply(); } c.count(hdr.h.a);"));
}

/// A clone counts the length of the cloned packet; a resubmitted or recirculated packet counts its own.
#[test]
fn clones_and_what_starts_again_count_their_bytes() {
    let body = |ingress: &str, egress: &str| {
        let egress = format!("c.count((bit<8>)std.instance_type); {egress}");
        small_program("", &format!("std.egress_spec = 2; @region(\"R\") {{ hdr.h.b = hdr.h.b + 1; hdr.g.setValid(); }} {ingress}"), &egress)
            .replace("bool flag;", "@field_list(1) bit<1> again; bool flag;")
            .replace("control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {", &format!("control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ {COUNT_BYTES}"))
    };
    let once = "if (meta.again == 0 && hdr.h.a < 100) { meta.again = 1;";
    check_source(&body("clone(CloneType.I2E, 5);", ""));
    check_source(&body("clone_preserving_field_list(CloneType.I2E, 5, 1);", ""));
    check_source(&body("", "if (std.instance_type == 0) { clone(CloneType.E2E, 5); }"));
    check_source(&body(&format!("{once} resubmit_preserving_field_list(1); }}"), ""));
    check_source(&body("", &format!("{once} recirculate_preserving_field_list(1); }}")));
    check_source(&body("std.mcast_grp = 1;", ""));
}

#[test]
fn a_counter_on_both_sides_of_a_cut() {
    check(
        "counter<bit<8>>(4, CounterType.packets) c;",
        "c.count(hdr.h.a & 3); @region(\"R\") { c.count(hdr.h.b & 3); meta.x = 1; } c.count(1);",
        "",
    );
}
