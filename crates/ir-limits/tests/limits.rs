//! Programs for a limited switch: what is refused, and what is not.

use base_diag::{SourceMap, Style, render};
use device_classes::DeviceClass;
use expect_test::{Expect, expect};
use p4_arch::Texts;
use p4_syntax::Options;

/// A program whose ingress is `ingress`, with registers `a`, `b` and `c` and a table `t` that sets `meta.result` by `meta.key`.
fn program(ingress: &str, egress: &str) -> String {
    format!(
        "#include <v1model.p4>
header flow_h {{ bit<32> left; bit<32> right; bit<32> x; bit<32> y; }}
struct headers_t {{ flow_h flow; }}
struct metadata_t {{ bit<32> key; bit<32> result; bit<32> v; bit<32> w; }}
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ p.extract(hdr.flow); transition accept; }}
}}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{}} }}
register<bit<32>>(64) a;
register<bit<32>>(64) b;
control Twice(inout bit<32> v, in bit<32> i) {{ apply {{ a.read(v, i); v = v + 1; a.write(i, v); }} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    action set(bit<32> to) {{ meta.result = to; }}
    table t {{ key = {{ meta.key: exact; }} actions = {{ set; NoAction; }} }}
    Twice() twice;
    apply {{
{ingress}
    }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{ apply {{ {egress} }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.flow); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    )
}

fn said(source: &str, class: DeviceClass) -> String {
    let mut map = SourceMap::new();
    let texts = Texts(&[("limits.p4", source)]);
    let program = ir_elaborate::program("limits.p4", &texts, &Options::default(), &mut map);
    let program = program.unwrap_or_else(|found| {
        panic!("{}", found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>())
    });
    let found = ir_limits::check(&program, class);
    found.iter().map(|diagnostic| render(diagnostic, &map, Style::Plain)).collect()
}

fn check(ingress: &str, expected: Expect) {
    expected.assert_eq(&said(&program(ingress, ""), DeviceClass::FlexSwitch));
}

/// No complaint.
fn fits(ingress: &str) {
    let said = said(&program(ingress, ""), DeviceClass::FlexSwitch);
    assert_eq!(said, "", "{ingress}");
}

#[test]
fn products_shifts_by_variables_and_loops_are_refused() {
    check(
        "        meta.v = hdr.flow.x * hdr.flow.y;
        meta.w = hdr.flow.x << hdr.flow.y;
        meta.v = hdr.flow.x * 8;
        meta.w = hdr.flow.x >> 3;
        for (bit<32> i in 1..hdr.flow.x) { meta.v = meta.v + i; }",
        expect![[r#"
            error[P4R1001]: `flexswitch` cannot execute a multiplication
              --> limits.p4:17:18
               |
            17 |         meta.v = hdr.flow.x * hdr.flow.y;
               |                  ^^^^^^^^^^^^^^^^^^^^^^^ no factor is a power of two
               |
               = help: include a block: `multiply` or `multiply-normalised` of `p4rack block list`; a product with a constant is a sum of shifts
            error[P4R1001]: `flexswitch` cannot execute a shift by a variable
              --> limits.p4:18:18
               |
            18 |         meta.w = hdr.flow.x << hdr.flow.y;
               |                  ^^^^^^^^^^^^^^^^^^^^^^^^ the distance is not a constant
               |
               = help: look the distance up in a table with one action for each distance
            error[P4R1001]: `flexswitch` cannot execute a loop
              --> limits.p4:21:9
               |
            21 |         for (bit<32> i in 1..hdr.flow.x) { meta.v = meta.v + i; }
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a stage runs once for each packet
               |
               = help: write the rounds one after the other
        "#]],
    );
}

#[test]
fn a_cell_is_read_and_written_at_once() {
    fits("a.read(meta.v, hdr.flow.left); meta.v = meta.v + hdr.flow.x; a.write(hdr.flow.left, meta.v);");
    fits("a.read(meta.v, hdr.flow.left); if (meta.v < hdr.flow.x) { a.write(hdr.flow.left, hdr.flow.x); }");
}

#[test]
fn paths_that_exclude_each_other_are_one_access() {
    fits("if (hdr.flow.x == 0) { a.read(meta.v, 0); } else { a.write(1, 7); }");
    fits("if (hdr.flow.x == 0) { a.read(meta.v, 0); return; } a.read(meta.v, 1);");
    fits("if (hdr.flow.x == 0) { twice.apply(meta.v, 0); exit; } twice.apply(meta.v, 1);");
    fits("switch (hdr.flow.x) { 1: { a.read(meta.v, 0); } 2: { a.read(meta.v, 1); } }");
}

#[test]
fn a_second_access_is_refused() {
    check(
        "        a.read(meta.v, hdr.flow.left);\n        a.read(meta.w, hdr.flow.right);",
        expect![[r#"
        error[P4R1002]: `a` is accessed twice in one pass
          --> limits.p4:18:9
           |
        17 |         a.read(meta.v, hdr.flow.left);
           |         ----------------------------- the first
        18 |         a.read(meta.w, hdr.flow.right);
           |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the second access
           |
           = note: a `flexswitch` has each register array in one stage, and a packet passes a stage once; to read a cell and then write the same cell is one access
           = help: keep a copy of the array for the second access, or move the accesses into branches that exclude each other
    "#]],
    );
    check(
        "        a.read(meta.v, hdr.flow.left);\n        a.write(hdr.flow.right, meta.v);",
        expect![[r#"
        error[P4R1002]: `a` is accessed twice in one pass
          --> limits.p4:18:9
           |
        17 |         a.read(meta.v, hdr.flow.left);
           |         ----------------------------- the first
        18 |         a.write(hdr.flow.right, meta.v);
           |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the second access
           |
           = note: a `flexswitch` has each register array in one stage, and a packet passes a stage once; to read a cell and then write the same cell is one access
           = help: keep a copy of the array for the second access, or move the accesses into branches that exclude each other
    "#]],
    );
    // Between the two, the index is another one.
    check(
        "        a.read(meta.v, hdr.flow.left);\n        hdr.flow.left = 3;\n        a.write(hdr.flow.left, meta.v);",
        expect![[r#"
            error[P4R1002]: `a` is accessed twice in one pass
              --> limits.p4:19:9
               |
            17 |         a.read(meta.v, hdr.flow.left);
               |         ----------------------------- the first
            18 |         hdr.flow.left = 3;
            19 |         a.write(hdr.flow.left, meta.v);
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the second access
               |
               = note: a `flexswitch` has each register array in one stage, and a packet passes a stage once; to read a cell and then write the same cell is one access
               = help: keep a copy of the array for the second access, or move the accesses into branches that exclude each other
        "#]],
    );
    check(
        "        if (hdr.flow.x == 0) { a.read(meta.v, 0); }\n        if (hdr.flow.x != 0) { a.read(meta.v, 1); }",
        expect![[r#"
            error[P4R1002]: `a` is accessed twice in one pass
              --> limits.p4:18:32
               |
            17 |         if (hdr.flow.x == 0) { a.read(meta.v, 0); }
               |                                ----------------- the first
            18 |         if (hdr.flow.x != 0) { a.read(meta.v, 1); }
               |                                ^^^^^^^^^^^^^^^^^ the second access
               |
               = note: a `flexswitch` has each register array in one stage, and a packet passes a stage once; to read a cell and then write the same cell is one access
               = help: keep a copy of the array for the second access, or move the accesses into branches that exclude each other
        "#]],
    );
    check(
        "        twice.apply(meta.v, 0);\n        twice.apply(meta.w, 1);",
        expect![[r#"
        error[P4R1002]: `a` is accessed twice in one pass
          --> limits.p4:11:56
           |
        11 | control Twice(inout bit<32> v, in bit<32> i) { apply { a.read(v, i); v = v + 1; a.write(i, v); } }
           |                                                        ^^^^^^^^^^^^ the second access
           |
           = note: a `flexswitch` has each register array in one stage, and a packet passes a stage once; to read a cell and then write the same cell is one access
           = help: keep a copy of the array for the second access, or move the accesses into branches that exclude each other
    "#]],
    );
}

#[test]
fn ingress_and_egress_are_one_pass() {
    let said = said(&program("a.read(meta.v, 0);", "bit<32> v; a.read(v, 0);"), DeviceClass::FlexSwitch);
    assert!(said.contains("error[P4R1002]: `a` is accessed twice in one pass"), "{said}");
}

#[test]
fn what_is_written_must_not_need_what_needs_the_cell() {
    check(
        "        a.read(meta.v, hdr.flow.left);
        b.read(meta.w, hdr.flow.right);
        a.write(hdr.flow.left, hdr.flow.x - meta.w);
        b.write(hdr.flow.right, hdr.flow.x - meta.v);",
        expect![[r#"
            error[P4R1003]: register `a` would have to be in two stages
              --> limits.p4:19:9
               |
            19 |         a.write(hdr.flow.left, hdr.flow.x - meta.w);
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a result of register `b`
            20 |         b.write(hdr.flow.right, hdr.flow.x - meta.v);
               |         -------------------------------------------- register `b` needs a result of register `a`
               |
               = note: a `flexswitch` reads and writes a cell in one stage; needed, in turn: register `a`, register `b`, register `a`
               = help: order the arrays: compute what is written to the first without results of the later ones
        "#]],
    );
    check(
        "        a.read(meta.key, hdr.flow.left);
        t.apply();
        a.write(hdr.flow.left, meta.result);",
        expect![[r#"
            error[P4R1003]: register `a` would have to be in two stages
              --> limits.p4:19:9
               |
            14 |     table t { key = { meta.key: exact; } actions = { set; NoAction; } }
               |     ------------------------------------------------------------------- table `I.t` needs a result of register `a`
            ...
            19 |         a.write(hdr.flow.left, meta.result);
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a result of table `I.t`
               |
               = note: a `flexswitch` reads and writes a cell in one stage; needed, in turn: register `a`, table `I.t`, register `a`
               = help: order the arrays: compute what is written to the first without results of the later ones
        "#]],
    );
    check(
        "        a.read(meta.v, hdr.flow.left);
        hash(meta.w, HashAlgorithm.crc32, 32w0, { meta.v }, 32w64);
        a.write(hdr.flow.left, meta.w);",
        expect![[r#"
            error[P4R1003]: register `a` would have to be in two stages
              --> limits.p4:19:9
               |
            18 |         hash(meta.w, HashAlgorithm.crc32, 32w0, { meta.v }, 32w64);
               |         ---------------------------------------------------------- a call of an extern needs a result of register `a`
            19 |         a.write(hdr.flow.left, meta.w);
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a result of a call of an extern
               |
               = note: a `flexswitch` reads and writes a cell in one stage; needed, in turn: register `a`, a call of an extern, register `a`
               = help: order the arrays: compute what is written to the first without results of the later ones
        "#]],
    );
    // In one direction it is an order of stages.
    fits(
        "a.read(meta.v, hdr.flow.left);
        a.write(hdr.flow.left, hdr.flow.x);
        b.read(meta.w, hdr.flow.right);
        b.write(hdr.flow.right, hdr.flow.x - meta.v);
        meta.key = meta.w;
        t.apply();",
    );
}

#[test]
fn other_classes_have_no_such_limits() {
    let source = program("a.read(meta.v, 0); a.read(meta.w, 1); meta.v = meta.v * meta.w;", "");
    assert_eq!(said(&source, DeviceClass::Cpu), "");
    assert!(said(&source, DeviceClass::Tofino1).contains("P4R1002"));
}

/// A TNA program with two `RegisterAction`s of one register.
fn tna(apply: &str) -> String {
    format!(
        "#include <core.p4>
#include <tna.p4>
header flow_h {{ bit<32> left; bit<32> right; }}
struct headers_t {{ flow_h flow; }}
struct metadata_t {{ bit<32> v; }}
parser IP(packet_in p, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig) {{
    state start {{ p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(hdr.flow); transition accept; }}
}}
control I(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig,
          in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
          inout ingress_intrinsic_metadata_for_tm_t tm) {{
    Register<bit<32>, bit<8>>(256) sums;
    RegisterAction<bit<32>, bit<8>, bit<32>>(sums) add = {{
        void apply(inout bit<32> value, out bit<32> result) {{ value = value + hdr.flow.left; result = value; }}
    }};
    RegisterAction<bit<32>, bit<8>, bit<32>>(sums) clear = {{
        void apply(inout bit<32> value) {{ value = 0; }}
    }};
    apply {{ {apply} }}
}}
control ID(packet_out p, inout headers_t hdr, in metadata_t meta,
           in ingress_intrinsic_metadata_for_deparser_t dprsr) {{ apply {{ p.emit(hdr); }} }}
parser EP(packet_in p, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg) {{
    state start {{ p.extract(eg); transition accept; }}
}}
control E(inout headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t eg,
          in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
          inout egress_intrinsic_metadata_for_output_port_t oport) {{ apply {{ }} }}
control ED(packet_out p, inout headers_t hdr, in metadata_t meta,
           in egress_intrinsic_metadata_for_deparser_t dprsr) {{ apply {{ p.emit(hdr); }} }}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"
    )
}

#[test]
fn actions_of_a_register_are_accesses_to_it() {
    let refused = said(&tna("meta.v = add.execute(1); clear.execute(2);"), DeviceClass::Tofino1);
    assert!(refused.contains("error[P4R1002]: `I.sums` is accessed twice in one pass"), "{refused}");
    let branches = "if (hdr.flow.right == 0) { meta.v = add.execute(1); } else { clear.execute(1); }";
    assert_eq!(said(&tna(branches), DeviceClass::Tofino1), "");
}

/// Wherever expressions stand: in assignments with an operator, select expressions, keys and actions.
#[test]
fn operations_are_found_in_every_place() {
    let refused = |source: &str| {
        let said = said(source, DeviceClass::FlexSwitch);
        assert_eq!(said.matches("error[P4R1001]").count(), 1, "{said}");
        assert!(said.contains("cannot execute a multiplication"), "{said}");
    };
    refused(&program("meta.v *= hdr.flow.y; meta.v *= 4;", ""));
    let whole = program("t.apply();", "");
    assert_eq!(said(&whole, DeviceClass::FlexSwitch), "");
    for (text, with) in [
        ("transition accept;", "transition select(hdr.flow.x * hdr.flow.y) { 0: accept; default: reject; }"),
        ("meta.key: exact;", "meta.v * meta.w: exact @name(\"key\");"),
        ("meta.result = to;", "meta.result = to * meta.v;"),
    ] {
        assert!(whole.contains(text), "{text}");
        refused(&whole.replace(text, with));
    }
}

#[test]
fn a_switch_without_a_default_may_do_nothing() {
    let twice =
        "switch (hdr.flow.x) { 1: { a.read(meta.v, 0); return; } } a.read(meta.v, 1); a.read(meta.w, 2);";
    let said = said(&program(twice, ""), DeviceClass::FlexSwitch);
    assert!(said.contains("error[P4R1002]: `a` is accessed twice in one pass"), "{said}");
}

#[test]
fn statements_after_a_return_need_its_condition() {
    let after = |condition: &str| {
        let text = format!(
            "a.read(meta.v, hdr.flow.left); if ({condition}) {{ return; }}
            b.read(meta.w, hdr.flow.right); a.write(hdr.flow.left, meta.w);"
        );
        said(&program(&text, ""), DeviceClass::FlexSwitch)
    };
    assert_eq!(after("hdr.flow.x == 0"), "");
    let refused = after("meta.v == 0");
    assert!(refused.contains("error[P4R1003]: register `a` would have to be in two stages"), "{refused}");
}
