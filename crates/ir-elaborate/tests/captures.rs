//! Implementations of abstract methods that read the block around them.

use crate::support;

use expect_test::expect;
use support::{excerpt, lines, refusal};

/// The program of `tna.p4` with this `apply` of its register action, and these locals and statements of ingress.
fn program(locals: &str, action: &str, statements: &str) -> String {
    let source = include_str!("tna.p4");
    let (before, rest) =
        source.split_once("            value = value + 1;\n            result = value;").unwrap();
    let (middle, rest) = rest.split_once("    apply {\n").unwrap();
    let (before, own) = before.split_once("    Register<").unwrap();
    format!(
        "{before}{locals}\n    Register<{own}{action}{middle}    apply {{\n{statements}\n{rest}
        Pipeline(IP(), I(), ID(), EP(), E(), ED()) one;\nSwitch(one) main;"
    )
}

#[test]
fn each_value_is_a_parameter_that_calls_give() {
    let source = program(
        "bit<32> local = 7;",
        "if (hdr.h.isValid()) { value = value + (bit<32>)hdr.h.a; } else { value = local; }
         result = (bit<32>)(hdr.h.a ++ meta.x[3:0]);",
        "local = 9;",
    );
    expect![[r#"
        function I_bump_apply(value, result, h, a, local, x) -> void {
            vars {
                inout bit<32> value;
                out bit<32> result;
                in bool h;
                in bit<8> a;
                in bit<32> local;
                in bit<4> x;
            }
            body {
                if (h) {
                    value = value + $cast<bit<32>>(a);
                } else {
                    value = local;
                }
                result = $cast<bit<32>>(a ++ x);
            }
        }
    "#]]
    .assert_eq(&excerpt(&source, &["function I_bump_apply"]));
    expect![[r#"
        instance bump: RegisterAction<bit<32>, bit<8>, bit<32>>(($instance(counts) : extern Register<bit<32>, bit<8>>)) "I.bump" in control I {
        apply = I_bump_apply;
        function I_bump_apply(value, result, h, a, local, x) -> void {
        instances counts, bump;
        if (method bump.execute(hdr.h.a, hdr.h.$isValid, hdr.h.a, local, meta.x[3:0]) > 32w0xa) {
    "#]].assert_eq(&lines(&source, &["bump"]));
}

#[test]
fn a_result_that_is_left_out_stands_before_captured_values() {
    let source =
        program("", "value = (bit<32>)meta.x; result = value;", "").replace(", out bit<32> result", "");
    let source = source.replace("; result = value;", ";");
    expect![[r#"
        function I_bump_apply(value, rv, x) -> void {
            vars {
                inout bit<32> value;
                out bit<32> rv;
                in bit<8> x;
            }
            body {
                value = $cast<bit<32>>(x);
            }
        }
    "#]]
    .assert_eq(&excerpt(&source, &["function I_bump_apply"]));
}

#[test]
fn the_block_is_not_written() {
    let written =
        ["meta.x = 1;", "meta.x[3:0] = 1;", "hdr.h.setInvalid();", "meta.x += 1;", "local = value;"];
    for statement in written {
        let found = refusal(&program("bit<32> local;", &format!("{statement} result = 0;"), ""));
        let place = statement.split([' ', '.']).next().unwrap();
        let wanted = "P4R0301: a method's implementation cannot write variables of the block around it";
        assert_eq!(found, format!("{wanted}\n  `{place}`: written here\n"), "{statement}");
    }
}

#[test]
fn another_block_does_not_call_it() {
    let inner = "control Inner(inout metadata_t meta)(RegisterAction<bit<32>, bit<8>, bit<32>> given) {
        apply { given.execute(meta.x); }
    }
    control I(";
    let source = program("", "value = (bit<32>)meta.x; result = value;", "inner.apply(meta);");
    let source = source.replacen("control I(", inner, 1).replacen(
        "    apply {\ninner",
        "    Inner(bump) inner;\n    apply {\ninner",
        1,
    );
    expect![[r#"
        P4R0301: a method whose implementation reads variables of another block: not supported yet
          `given.execute(meta.x)`: used here
    "#]]
    .assert_eq(&refusal(&source));
}
