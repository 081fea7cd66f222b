//! Statements, expressions and calls.

use crate::support;

use expect_test::expect;
use support::{excerpt, ingress, lines, refusal};

#[test]
fn statements_keep_their_structure() {
    let apply = "bit<8> n = 0;
        if (hdr.h.a == 0) @region(\"one\") { n = 1; } else if (hdr.h.a == 1) { n = 2; }
        switch (hdr.h.b) { 1: 2: { n = 3; } default: { n = 4; return; } }
        @atomic { n |= hdr.h.a << 1; n[3:0] = 5; }
        for (bit<8> i = 0; i < 3; i = i + 1) { if (i == 1) { continue; } n = n + i; }
        for (bit<8> i in 0 .. 3) { n = n + i; break; }
        hdr.s.push_front(1); hdr.s.pop_front(2);
        hdr.h.setInvalid();
        hdr.s[1] = hdr.h; hdr.s[meta.x].a = n;
        exit;";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local bit<8> n;
                local bit<8> i;
                local bit<8> i;
            }
            apply {
                var n = 8w0x0;
                if (hdr.h.a == 8w0x0) @region("one") {
                    n = 8w0x1;
                } else if (hdr.h.a == 8w0x1) {
                    n = 8w0x2;
                }
                switch (hdr.h.b) {
                    case 8w0x1, 8w0x2: {
                        n = 8w0x3;
                    }
                    case default: {
                        n = 8w0x4;
                        return;
                    }
                }
                @atomic {
                    n |= hdr.h.a << 32w0x1;
                    n[3:0] = 4w0x5;
                }
                for {
                    var i#4 = 8w0x0;
                } while (i#4 < 8w0x3) step {
                    i#4 = i#4 + 8w0x1;
                } do {
                    if (i#4 == 8w0x1) {
                        continue;
                    }
                    n = n + i#4;
                }
                for (i#5 in 8w0x0 .. 8w0x3) {
                    n = n + i#5;
                    break;
                }
                hdr.s.$push_front(1);
                hdr.s.$pop_front(2);
                hdr.h.$setInvalid();
                hdr.s[32w0x1] = hdr.h;
                hdr.s[meta.x].a = n;
                exit;
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress("", "", apply), &["control In"]));
}

#[test]
fn switching_on_an_action_names_its_place_in_the_table() {
    let locals = "action a() { } action b() { } table t { actions = { a; b; NoAction; } }";
    let apply = "switch (t.apply().action_run) { b: { hdr.h.a = 1; } NoAction: a: { } default: { } }
        if (!t.apply().hit || t.apply().miss) { a(); }";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
            }
            action a() "In.a" { }
            action b() "In.b" { }
            @noWarn("unused") action NoAction() "NoAction" top_level { }
            table t "In.t" {
                actions {
                    a();
                    b();
                    NoAction();
                }
                default NoAction();
            }
            apply {
                switch (apply t) {
                    case action b: {
                        hdr.h.a = 8w0x1;
                    }
                    case action NoAction, action a: { }
                    case default: { }
                }
                if (!$hit(t) || $miss(t)) {
                    action a();
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress("", locals, apply), &["control In"]));
}

#[test]
fn aggregates_have_all_their_parts() {
    let declarations = "struct s_t { bit<8> a; bool b; } const s_t ONE = { a = 1, b = true };
        header_union u_t { h_t x; h_t y; }";
    let apply = "s_t s = { 2, false }; s = ONE; s = { b = true, ... };
        hdr.h = { 1, 2, 3, 4 }; hdr.h = (h_t){#};
        tuple<bit<8>, bool> t = { s.a, s.b }; s.a = t[0];
        if (s == ONE) { meta.flag = t[1]; }";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local s_t s;
                local tuple<bit<8>, bool> t;
            }
            apply {
                var s = ({8w0x2, false} : s_t);
                s = ({8w0x1, true} : s_t);
                s = ({8w0x0, true} : s_t);
                hdr.h = ({8w0x1, 8w0x2, 16w0x3, 32w0x4} : h_t);
                hdr.h = ({#} : h_t);
                var t = {s.a, s.b};
                s.a = t.0;
                if (s == ({8w0x1, true} : s_t)) {
                    meta.flag = t.1;
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress(declarations, "", apply), &["control In"]));
}

#[test]
fn numbers_without_width_are_gone() {
    let declarations = "const int N = 3; const bit<8> WIDE = (bit<8>)(N * 100 - 45);";
    let apply =
        "hdr.h.a = hdr.h.a << N; hdr.h.b = WIDE; hdr.s[N - 2].a = (bit<8>)N; hdr.h.c = 8w1 ++ hdr.h.a;";
    expect![[r#"
        $extract(packet, hdr.h);
        hdr.h.a = hdr.h.a << 32w0x3;
        hdr.h.b = 8w0xff;
        hdr.s[32w0x1].a = 8w0x3;
        hdr.h.c = 8w0x1 ++ hdr.h.a;
    "#]]
    .assert_eq(&lines(&ingress(declarations, "", apply), &["hdr."]));
}

#[test]
fn unwanted_results_go_to_a_variable_nobody_reads() {
    let declarations = "bit<8> both(in bit<8> x, out bit<8> y) { y = x; return x; }";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local bit<8> unused;
            }
            apply {
                var unused;
                hdr.h.a = function both(8w0x1, unused);
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress(declarations, "", "hdr.h.a = both(1, _);"), &["control In"]));
}

#[test]
fn named_arguments_are_evaluated_as_written() {
    let declarations = "bit<8> next(inout bit<8> n) { n = n + 1; return n; }
        bit<8> sub(in bit<8> x, in bit<8> y) { return x - y; }";
    let apply = "sub(y = next(meta.x), x = next(meta.x)); hdr.h.a = sub(y = hdr.h.a, x = 1);";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local bit<8> argument;
                local bit<8> argument;
            }
            apply {
                var argument#3 = function next(meta.x);
                var argument#4 = function next(meta.x);
                function sub(argument#4, argument#3);
                hdr.h.a = function sub(8w0x1, hdr.h.a);
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress(declarations, "", apply), &["control In"]));
    let apply = "hdr.h.a = sub(y = next(meta.x), x = next(meta.x));";
    expect![[r#"
        P4R0301: named arguments in another order whose values call something: not supported yet
          `sub(y = next(meta.x), x = next(meta.x))`: used here
    "#]]
    .assert_eq(&refusal(&ingress(declarations, "", apply)));
}

#[test]
fn extern_objects_pass_as_arguments() {
    let log = "extern logger<T> { logger(); void write(in T x); }
        control Inner(logger<bit<8>> l) { apply { l.write(1); } }";
    let source = ingress(
        log,
        "logger<bit<8>>() a; logger<bit<8>>() b; Inner() inner;",
        "inner.apply(a); inner.apply(b);",
    );
    expect![[r#"
        control Inner(l) "In.inner" {
            vars {
                param extern logger<bit<8>> l;
            }
            apply {
                param l.write(8w0x1);
            }
        }
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
            }
            instances a, b;
            apply {
                control Inner(($instance(a) : extern logger<bit<8>>));
                control Inner(($instance(b) : extern logger<bit<8>>));
            }
        }
    "#]]
    .assert_eq(&excerpt(&source, &["control Inner", "control In("]));
}

#[test]
fn members_of_a_tuple_are_places() {
    let apply = "tuple<bit<8>, bool> t = { 1, true }; t[0] = 2;";
    expect![[r#"
        t.0 = 8w0x2;
    "#]]
    .assert_eq(&lines(&ingress("", "", apply), &["t.0"]));
}

#[test]
fn an_optional_parameter_of_a_block_that_is_left_out_is_a_variable() {
    let inner = "control Inner(inout bit<8> x, @optional inout bit<8> y) { apply { y = x; } }";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local bit<8> unused;
            }
            apply {
                var unused;
                control Inner(meta.x, unused);
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress(inner, "Inner() inner;", "inner.apply(meta.x);"), &["control In("]));
}

#[test]
fn a_header_union_is_made_in_a_variable() {
    let declarations = "header_union u_t { h_t x; h_t y; }";
    let apply = "u_t u = (u_t){ y = hdr.h }; u.y.setInvalid(); if (u.isValid()) { hdr.h = u.y; }";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local u_t made;
                local u_t u;
            }
            apply {
                var made;
                made.y = hdr.h;
                var u = made;
                u.y.$setInvalid();
                if (u.$isValid) {
                    hdr.h = u.y;
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress(declarations, "", apply), &["control In"]));
}

#[test]
fn deep_trees_do_not_overflow() {
    for terms in [100, 1000, 10_000] {
        let sum = vec!["hdr.h.a"; terms].join(" + ");
        let nested = format!("{}hdr.h.a{}", "(1 + ".repeat(terms), ")".repeat(terms));
        let blocks = format!("{}{}", "{ ".repeat(terms), "} ".repeat(terms));
        for apply in [format!("hdr.h.a = {sum};"), format!("hdr.h.a = {nested};"), blocks] {
            let (program, diagnostics, _) = support::compile(&ingress("", "", &apply));
            assert_ne!(program.is_some(), !diagnostics.is_empty());
        }
    }
}

#[test]
fn long_chains_of_calls_are_refused_not_overflowed() {
    let mut chain = String::from("bit<8> f0(in bit<8> x) { return x; }\n");
    for n in 1..500 {
        chain.push_str(&format!("bit<8> f{n}(in bit<8> x) {{ return f{}(x); }}\n", n - 1));
    }
    expect![[r#"
        P4R0306: calls or instances are nested too deeply
          `f400(x)`: this one is one too many
    "#]]
    .assert_eq(&refusal(&ingress(&chain, "", "hdr.h.a = f499(1);")));
}
