//! What the splitter refuses: one small program for each code.

mod support;

use base_diag::SourceMap;
use expect_test::{Expect, expect};
use ir_split::{Placement, split};
use support::{compile_text, placement, small_program};

/// Splits with region `R` on `nic` and compares `code title | label` of each diagnostic.
fn check(declarations: &str, ingress: &str, egress: &str, expected: Expect) {
    check_placed(declarations, ingress, egress, placement(&["R"]), expected);
}

fn check_placed(declarations: &str, ingress: &str, egress: &str, placement: Placement, expected: Expect) {
    let mut map = SourceMap::new();
    let program = compile_text(&small_program(declarations, ingress, egress), &mut map);
    let lines = match split(&program, &placement) {
        Ok(_) => "split".to_string(),
        Err(found) => {
            let line = |d: &base_diag::Diagnostic| {
                let label = d.labels.first().map(|l| l.text.as_str()).unwrap_or_default();
                format!("{} {} | {label}", d.code, d.title)
            };
            found.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    };
    expected.assert_eq(&lines);
}

#[test]
fn a_plain_region_is_split() {
    check("", "@region(\"R\") { meta.x = hdr.h.a; } std.egress_spec = (bit<9>)meta.x;", "", expect!["split"]);
}

#[test]
fn clone_digest_and_others_are_not_split_yet() {
    check(
        "",
        "clone(CloneType.I2E, 1); @region(\"R\") { meta.x = 1; }",
        "",
        expect!["P4R0501 this program cannot be split yet | `clone` is called"],
    );
    check(
        "",
        "@region(\"R\") { meta.x = 1; } truncate(20);",
        "",
        expect!["P4R0501 this program cannot be split yet | `truncate` is called"],
    );
    check(
        "",
        "@region(\"R\") { meta.x = 1; } exit;",
        "",
        expect!["P4R0501 this program cannot be split yet | `exit` ends the program on all devices"],
    );
    check(
        "",
        "@region(\"R\") { meta.x = 1; } if (meta.x == 1) { return; }",
        "",
        expect!["P4R0501 this program cannot be split yet | `return` skips regions of other devices"],
    );
    check(
        "counter<bit<32>>(8, CounterType.bytes) c;",
        "@region(\"R\") { c.count(0); }",
        "",
        expect!["P4R0501 this program cannot be split yet | a counter is used"],
    );
}

#[test]
fn an_unsupported_program_runs_whole() {
    check_placed(
        "",
        "clone(CloneType.I2E, 1); @region(\"R\") { meta.x = 1; }",
        "",
        placement(&[]),
        expect!["split"],
    );
}

#[test]
fn an_unknown_region_is_named() {
    check_placed(
        "",
        "@region(\"R\") { meta.x = 1; }",
        "",
        placement(&["Q"]),
        expect!["P4R0502 the program has no region `Q` | "],
    );
}

#[test]
fn regions_are_marked_once_and_in_bodies() {
    check(
        "",
        "@region(\"R\") { meta.x = 1; } @region(\"R\") { meta.y = 1; }",
        "",
        expect!["P4R0503 region `R` is marked twice | a second region of that name"],
    );
    check(
        "action a() { @region(\"R\") { meta.x = 1; } }",
        "a();",
        "",
        expect!["P4R0504 a region cannot be marked here | an action runs on one device"],
    );
    check(
        "",
        "for (bit<8> i = 0; i < 3; i = i + 1) { @region(\"R\") { meta.x = i; } }",
        "",
        expect!["P4R0504 a region cannot be marked here | a loop runs on one device"],
    );
}

const REGISTER: &str = "register<bit<8>, bit<32>>(4) r;";

#[test]
fn state_stays_on_one_side_of_a_cut() {
    check(
        REGISTER,
        "r.read(meta.x, 0); @region(\"R\") { r.write(0, meta.x + 1); }",
        "",
        expect!["P4R0505 `I.r` is used across a cut | it would have to be on `tor` and on `nic`"],
    );
    check(
        REGISTER,
        "r.read(meta.x, 0); @region(\"R\") { meta.x = meta.x + 1; } r.write(0, meta.x);",
        "",
        expect!["P4R0505 `I.r` is used across a cut | a packet leaves `tor` between the two uses"],
    );
    check(
        REGISTER,
        "@region(\"R\") { r.read(meta.x, 0); r.write(0, meta.x + 1); } std.egress_spec = (bit<9>)meta.x;",
        "",
        expect!["split"],
    );
    // Either use, never both: no packet passes the cut between them.
    check(
        REGISTER,
        "if (hdr.h.a == 1) { r.write(0, 1); } else { @region(\"R\") { meta.x = 1; } }",
        "",
        expect!["split"],
    );
}

#[test]
fn devices_must_be_linked() {
    let apart = Placement { ports: Default::default(), ..placement(&["R"]) };
    check_placed(
        "",
        "@region(\"R\") { meta.x = 1; }",
        "",
        apart,
        expect![[r#"
            P4R0508 no link from `tor` to `nic` | 
            P4R0508 no link from `nic` to `tor` | "#]],
    );
}
