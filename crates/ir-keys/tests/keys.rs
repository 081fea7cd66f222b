//! Keys of small programs, as text. Each file of `programs` has its expected text beside it.

use base_diag::{SourceMap, Style, render};
use expect_test::{expect, expect_file};
use ir_keys::{Keys, Part, ShardKey, Source, Step, keys};
use p4_arch::Texts;
use p4_syntax::Options;
use std::fmt::Write;

const FRAME: &str = include_str!("programs/frame.p4");

fn compiled(source: &str) -> (ir::Program, SourceMap) {
    let mut map = SourceMap::new();
    let texts = [("program.p4", source), ("frame.p4", FRAME)];
    let program = ir_elaborate::program("program.p4", &Texts(&texts), &Options::default(), &mut map);
    (program.unwrap_or_else(|found| panic!("{found:#?}")), map)
}

fn shown(source: &str) -> String {
    let (program, map) = compiled(source);
    let keys = keys(&program);
    let mut out = keys.to_string();
    for refusal in keys.refusals() {
        let _ = write!(out, "\n{}", render(&refusal, &map, Style::Plain));
    }
    out
}

macro_rules! programs {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let source = include_str!(concat!("programs/", stringify!($name), ".p4"));
            expect_file![concat!("programs/", stringify!($name), ".txt")].assert_eq(&shown(source));
        }
    )*};
}

programs!(nat firewall state obstacles paths again unwrapped);

/// A program with one table, and annotations of `main` and of the table.
fn annotated(of_main: &str, of_table: &str) -> String {
    format!(
        r#"#include "frame.p4"
INGRESS {{
    {of_table} table flows {{ key = {{ hdr.ipv4.src: exact; hdr.ipv4.dst: exact; std.ingress_port: ternary; }} actions = {{ NoAction; }} }}
    apply {{ flows.apply(); }}
}}
NO_EGRESS
{of_main} SWITCH"#
    )
}

fn found(of_main: &str, of_table: &str) -> Keys {
    keys(&compiled(&annotated(of_main, of_table)).0)
}

#[test]
fn a_union_key_may_be_finer_than_what_keys_need() {
    let keys = found("@union_key(hdr.ipv4.src, hdr.ipv4.dst, ingress_port, hdr.ethernet.src)", "");
    assert_eq!(keys.refusals(), []);
    expect![[r#"
        union key  hdr.ethernet.src, hdr.ipv4.dst, hdr.ipv4.src, standard_metadata.ingress_port (121 bits) (declared)
        shard key  none
        conditions also depend on hdr.ethernet.type, hdr.ipv4.protocol, hdr.labels.last
          I.flows  replicated  there is no shard key
                     hdr.ipv4.src
                     hdr.ipv4.dst
                     std.ingress_port: standard_metadata.ingress_port
    "#]]
    .assert_eq(&keys.to_string());
}

#[test]
fn parts_have_places_and_widths() {
    let keys = found("@union_key(hdr.ipv4.src, hdr.ipv4.dst, ingress_port, hdr.labels.value)", "");
    let field = |name: &str, steps: &[Step], width| Part {
        name: name.into(),
        source: Source::Field(steps.to_vec()),
        width,
    };
    use Step::{Element, Field};
    let port = Part { name: "standard_metadata.ingress_port".into(), source: Source::Port, width: 9 };
    let expected = [
        field("hdr.ipv4.dst", &[Field(2), Field(3)], 32),
        field("hdr.ipv4.src", &[Field(2), Field(2)], 32),
        field("hdr.labels[0].value", &[Field(1), Element(0), Field(0)], 20),
        field("hdr.labels[1].value", &[Field(1), Element(1), Field(0)], 20),
        port,
    ];
    assert_eq!(keys.key.parts, expected);
}

#[test]
fn wrong_annotations_are_refused() {
    let mut out = String::new();
    for (of_main, of_table) in [
        ("@union_key(hdr.ipv4.src)", ""),
        ("@union_key(hdr.ipv4.sorc)", ""),
        ("@union_key()", ""),
        ("@shard_key(hdr.ethernet.src)", ""),
        ("@shard_key(hdr.ipv4.src, hdr.ipv4.src)", ""),
        ("@shard_key(symmetric, hdr.ipv4.src)", ""),
        ("@shard_key(symmetric, hdr.ipv4.src, ingress_port)", ""),
        ("@affinity(\"most\")", ""),
        ("", "@union_key(hdr.ipv4.src)"),
        ("", "@replicated_max(none)"),
        ("", "@replicated_max(0)"),
        ("", "@replicated_max(10)"),
        ("@replicated_max(10)", ""),
    ] {
        let refusals = found(of_main, of_table).refusals();
        let _ = writeln!(out, "{of_main}{of_table}");
        for refusal in refusals {
            let _ = writeln!(
                out,
                "    {} {}: {}; {}",
                refusal.code,
                refusal.title,
                refusal.notes.join("; "),
                refusal.help.join("; ")
            );
        }
    }
    expect![[r#"
        @union_key(hdr.ipv4.src)
            P4R1202 `@union_key` lacks what a key depends on: which entry of `I.flows` a packet uses depends on standard_metadata.ingress_port, hdr.ipv4.dst; add standard_metadata.ingress_port, hdr.ipv4.dst to the annotation, or leave it out
        @union_key(hdr.ipv4.sorc)
            P4R1202 `hdr.ipv4.sorc` is no field of the packet: `@union_key` names it; did you mean `hdr.ipv4.src`?
        @union_key()
            P4R1202 `@union_key` names no field: ; write `@union_key(hdr.ipv4.src, hdr.ipv4.dst)`
        @shard_key(hdr.ethernet.src)
            P4R1202 `hdr.ethernet.src` is not in the union key: the union key is standard_metadata.ingress_port, hdr.ipv4.dst, hdr.ipv4.src; a shard key is made of parts of the union key: remove it from `@shard_key`
        @shard_key(hdr.ipv4.src, hdr.ipv4.src)
            P4R1202 `hdr.ipv4.src` is named twice: in `@shard_key`; 
        @shard_key(symmetric, hdr.ipv4.src)
            P4R1202 a symmetric key needs two ends: ; write `@shard_key(symmetric, hdr.ipv4.src, hdr.ipv4.dst)`
        @shard_key(symmetric, hdr.ipv4.src, ingress_port)
            P4R1202 two ends of a connection have different widths: `hdr.ipv4.src` and `standard_metadata.ingress_port` are a pair; a symmetric key lists source and destination of each kind after each other
        @affinity("most")
            P4R1202 `@affinity` has no value "most": ; write `@affinity("high")`, `@affinity("medium")` or `@affinity("low")`
        @union_key(hdr.ipv4.src)
            P4R1202 `@union_key` is not allowed here: ; write it before the declaration of `main`
        @replicated_max(none)
            P4R1202 `@replicated_max` needs a number of entries: ; write `@replicated_max(4096)`
        @replicated_max(0)
            P4R1202 `@replicated_max` needs a number of entries: ; write `@replicated_max(4096)`
        @replicated_max(10)
        @replicated_max(10)
            P4R1202 `@replicated_max` is not allowed here: ; write it before a table
    "#]].assert_eq(&out);
}

#[test]
fn a_program_that_calls_more_and_more_is_given_up() {
    let mut source = "#include \"frame.p4\"\nbit<32> f0(in bit<32> x) { return x + 1; }\n".to_string();
    for level in 1..30 {
        let below = level - 1;
        let _ = writeln!(source, "bit<32> f{level}(in bit<32> x) {{ return f{below}(f{below}(x)); }}");
    }
    source.push_str(
        "INGRESS { table t { key = { meta.a: exact; } actions = { NoAction; } }
        apply { meta.a = f29(hdr.ipv4.src); t.apply(); } } NO_EGRESS SWITCH",
    );
    let (program, _) = compiled(&source);
    let refusals = keys(&program).refusals();
    assert_eq!(refusals.len(), 1);
    assert!(refusals[0].labels[0].text.contains("too long"), "{refusals:#?}");
}

#[test]
fn both_directions_have_one_shard_key() {
    let shard = ShardKey { parts: vec![1, 0, 3, 2, 4], pairs: vec![(0, 1), (2, 3)] };
    let key = |src: u32, dst: u32, src_port: u32, dst_port: u32| [dst, src, dst_port, src_port, 6];
    let there = shard.values(&key(10, 20, 1000, 80));
    assert_eq!(there, [10, 20, 1000, 80, 6]);
    assert_eq!(shard.values(&key(20, 10, 80, 1000)), there);
    // Of equal addresses, the ports decide.
    assert_eq!(shard.values(&key(7, 7, 2, 1)), shard.values(&key(7, 7, 1, 2)));
    assert_ne!(shard.values(&key(10, 20, 80, 1000)), there);
}
