//! Shards as hashes of inputs, and the tables that fix them.

use base_diag::SourceMap;
use expect_test::{Expect, expect};
use ir_keys::{Choice, Hashed, Test, shardings};
use p4_arch::Texts;
use p4_syntax::Options;
use std::fmt::Write;

/// A program whose ingress computes the shards of the region `R`.
fn program(tables: &str, ingress: &str) -> ir::Program {
    let source = format!(
        r#"#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header h_t {{ bit<8> a; bit<16> b; int<8> sign; }}
header other_t {{ bit<8> c; int<8> sign; }}
struct headers {{ h_t h; other_t other; }}
struct inner_t {{ @shard("R", 6) bit<16> shard; }}
struct metadata {{ bit<8> m; inner_t inner; bit<16> x; bit<16> y; }}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.h); p.extract(hdr.other); transition accept; }}
}}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    action set(bit<8> m) {{ meta.m = m; }}
    action hashed() {{ hash(meta.inner.shard, HashAlgorithm.crc16, 16w0, {{ hdr.h.a }}, 16w6); }}
    {tables}
    apply {{ {ingress} }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;"#
    );
    let texts = [("test.p4", source.as_str())];
    let program =
        ir_elaborate::program("test.p4", &Texts(&texts), &Options::default(), &mut SourceMap::new());
    program.unwrap_or_else(|found| panic!("{found:#?}"))
}

const TABLES: &str = "
    table flows { key = { hdr.h.a: exact; hdr.h.b: exact; hdr.other.c: exact; } actions = { set; NoAction; } }
    table same { key = { hdr.h.b: exact; meta.m: exact; } actions = { set; NoAction; } }
    table users { key = { hdr.h.b: exact; } actions = { set; NoAction; } }
    table wide { key = { hdr.h.b: exact; hdr.h.a: lpm; } actions = { set; NoAction; } }";

const APPLIED: &str = r#"@region("R") { flows.apply(); users.apply(); wide.apply(); }"#;

fn text(test: &Test) -> String {
    match test {
        Test::Const(value) => value.to_string(),
        Test::Less(a, b) => format!("{a} < {b}"),
        Test::Equal(a, b) => format!("{a} == {b}"),
        Test::And(a, b) => format!("({} && {})", text(a), text(b)),
        Test::Or(a, b) => format!("({} || {})", text(a), text(b)),
    }
}

fn check(tables: &str, ingress: &str, expected: Expect) {
    let mut out = String::new();
    for of in shardings(&program(tables, ingress)) {
        let _ =
            writeln!(out, "{}: {} + {} % {}", of.region, of.number.base, of.number.algorithm, of.number.max);
        for part in &of.number.parts {
            let from = if part.is_of_header { "header " } else { "" };
            let value = match &part.value {
                Hashed::Input(input) => input.to_string(),
                Hashed::Choice(Choice { test, yes, no }) => format!("{} ? {yes} : {no}", text(test)),
            };
            let _ = writeln!(out, "  {from}{value}");
        }
        for (table, keys) in &of.tables {
            let keys: Vec<String> = keys.iter().map(|(input, key)| format!("{input} by {key}")).collect();
            let _ = writeln!(out, "  fixed by {table}: {}", keys.join(", "));
        }
    }
    expected.assert_eq(&out);
}

fn nothing(tables: &str, ingress: &str) {
    check(tables, ingress, expect![""]);
}

#[test]
fn tables_with_all_inputs_as_exact_keys_fix_the_shard() {
    let ingress = format!(
        "meta.m = hdr.h.a;
        hash(meta.inner.shard, HashAlgorithm.crc32, 16w1, {{ meta.m, hdr.h.b }}, 16w5);
        same.apply();
        {APPLIED}"
    );
    check(
        TABLES,
        &ingress,
        expect![[r#"
        R: 1 + crc32 % 5
          hdr.h.a
          header hdr.h.b
          fixed by I.flows: hdr.h.a by hdr.h.a, hdr.h.b by hdr.h.b
          fixed by I.same: hdr.h.a by meta.m, hdr.h.b by hdr.h.b
    "#]],
    );
}

#[test]
fn pairs_may_change_places() {
    let ingress = format!(
        "bit<16> one = hdr.h.b;
        bit<8> two = hdr.h.a;
        if (hdr.h.a > hdr.other.c || hdr.h.a == hdr.other.c && false) {{ two = hdr.other.c; }}
        hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, {{ one, two }}, 16w6);
        {APPLIED}"
    );
    check(
        TABLES,
        &ingress,
        expect![[r#"
        R: 0 + crc32 % 6
          hdr.h.b
          (hdr.other.c < hdr.h.a || (hdr.h.a == hdr.other.c && false)) ? hdr.other.c : hdr.h.a
          fixed by I.flows: hdr.h.a by hdr.h.a, hdr.h.b by hdr.h.b, hdr.other.c by hdr.other.c
    "#]],
    );
}

#[test]
fn what_is_no_hash_of_the_packet_is_not_known() {
    let hash = "hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { hdr.h.a }, 16w6);";
    for before in [
        // No hash at all.
        "meta.inner.shard = (bit<16>)hdr.h.a;",
        // Two different ones.
        &format!(
            "{hash} if (hdr.h.b == 1) {{ hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, {{ hdr.h.b }}, 16w6); }}"
        ),
        &format!("{hash} if (hdr.h.b == 1) {{ meta.inner.shard = 3; }}"),
        &format!("{hash} meta.inner.shard = meta.inner.shard + 1;"),
        // By an entry, or of something that an entry writes.
        "calls.apply();",
        "users.apply(); hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { hdr.h.a, meta.m }, 16w6);",
        // Of a sum.
        "meta.x = hdr.h.b + 1; hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { meta.x }, 16w6);",
        // Signed numbers are compared in another way.
        "bit<8> one = hdr.h.a; if (hdr.h.sign < hdr.other.sign) { one = hdr.other.c; } hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { one }, 16w6);",
        // Of the lesser of two numbers, or of the greater one.
        "bit<8> one = hdr.h.a;
        if (hdr.h.b != 1) { if (hdr.h.a > hdr.other.c) { one = hdr.other.c; } } else { if (hdr.h.a < hdr.other.c) { one = hdr.other.c; } }
        hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { one }, 16w6);",
        // Of the length of the packet.
        "hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { hdr.h.a, std.packet_length }, 16w6);",
        // As many as the packet says.
        "hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { hdr.h.a }, hdr.h.b);",
    ] {
        let tables = format!(
            "{TABLES} table calls {{ key = {{ hdr.h.a: exact; }} actions = {{ hashed; NoAction; }} }}"
        );
        let found = shardings(&program(&tables, &format!("{before} {APPLIED}")));
        assert_eq!(found, [], "{before}");
    }
    nothing(TABLES, APPLIED);
}

/// The key is not what was hashed.
#[test]
fn a_field_that_changes_after_the_hash_is_another_one() {
    let hash = "hash(meta.inner.shard, HashAlgorithm.crc32, 16w0, { hdr.h.b }, 16w6);";
    let found = |ingress: &str| {
        let found = shardings(&program(TABLES, ingress));
        let [of] = found.as_slice() else { panic!("{found:#?}") };
        of.tables.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(&format!("{hash} {APPLIED}")), ["I.flows", "I.users", "I.wide"]);
    assert!(found(&format!("{hash} hdr.h.b = 7; {APPLIED}")).is_empty());
    assert!(
        found(&format!("{hash} {APPLIED} hdr.h.b = 7; users.apply();"))
            .iter()
            .all(|table| table != "I.users")
    );
}
