//! Implicit conversions and casts (P4-16 §8.12).

use expect_test::expect;

use crate::support::{check, run};

#[test]
fn numbers_get_the_type_wanted() {
    check(expect![[r#"
        type bit<8> n;
        action a(out bit<8> x, out int<8> y, out n z, out bool b) { x = 1; y = -1; z = 1; b = 1; }
                                                                                              ^ error: expected `bool`, found `int`
    "#]]);
}

#[test]
fn widths_and_signs_do_not_change_by_themselves() {
    check(expect![[r#"
        action a(in bit<8> x, in int<8> y, in bit<16> z, in bit<1> w, in bool b) {
            bit<8> p = z;
                       ^ error: expected `bit<8>`, found `bit<16>`
            bit<8> q = y;
                       ^ error: expected `bit<8>`, found `int<8>`
            bool r = w;
                     ^ error: expected `bool`, found `bit<1>`
            bit<1> s = b;
                       ^ error: expected `bit<1>`, found `bool`
            p = x; q = x; r = b; s = w;
        }
    "#]]);
}

#[test]
fn serializable_enums_become_their_number() {
    check(expect![[r#"
        enum bit<8> e { a = 1 }
        enum f { a }
        action x(in e v, in f w, out bit<8> y, out bit<16> z, out e u) {
            y = v; y = v + 1; y = e.a; u = e.a; u = (e) 1;
            z = v;
                ^ error: expected `bit<16>`, found `e`
            y = w;
                ^ error: expected `bit<8>`, found `f`
            u = 1;
                ^ error: expected `e`, found `int`
            u = y;
                ^ error: expected `e`, found `bit<8>`
        }
    "#]]);
}

#[test]
fn new_types_convert_by_casts() {
    check(expect![[r#"
        type bit<8> n;
        type n m;
        action x(in n v, in bit<8> y, out n u, out m w) {
            u = (n) y; u = v; w = (m) v; u = (n) 5;
            u = y;
                ^ error: expected `n`, found `bit<8>`
            y = v;
            ^ error: this cannot be assigned to -- `y` is an `in` parameter
            w = (m) y;
                ^^^^^ error: `bit<8>` cannot be cast to `m`
        }
    "#]]);
}

#[test]
fn casts_change_width_or_sign() {
    check(expect![[r#"
        enum bit<8> e { a = 1 }
        action x(in bit<8> v, in int<8> y, in bool b, in e u) {
            bit<16> p = (bit<16>) v; int<8> q = (int<8>) v; bit<1> r = (bit<1>) b; bool s = (bool) 1w1; bit<8> t = (bit<8>) u;
            e w = (e) v; bit<4> k = (bit<4>) u;
            int<16> i = (int<16>) v;
                        ^^^^^^^^^^^ error: `bit<8>` cannot be cast to `int<16>`
            bool j = (bool) v;
                     ^^^^^^^^ error: `bit<8>` cannot be cast to `bool`
            int<1> l = (int<1>) b;
                       ^^^^^^^^^^ error: `bool` cannot be cast to `int<1>`
            bool m = (bool) 2;
                     ^^^^^^^^ error: only 0 and 1 can be cast to `bool` -- this is 2
            p = p; q = q; r = r; s = s; t = t; w = w; k = k;
        }
    "#]]);
}

#[test]
fn nothing_else_is_cast() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { bit<8> x; }
        action x(in h v, out s w) { w = (s) v; w = (s) { 1 }; w = (s) { x = 1 }; bit<8> y = (bit<8>) v; y = (bit<8>) "a"; y = (string) 1; }
                                        ^^^^^ error: `h` cannot be cast to `s`
                                                                                            ^^^^^^^^^^ error: `h` cannot be cast to `bit<8>`
                                                                                                            ^^^^^^^^^^^^ error: `string` cannot be cast to `bit<8>`
                                                                                                                              ^^^^^^^^^^ error: `int` cannot be cast to `string`
    "#]]);
}

#[test]
fn numbers_keep_their_value_as_int() {
    check(expect![[r#"
        const bit<8> a = 200;
        const int b = (int) a + 100;
        const bit<16> c = b;
        const int d = 8w5;
    "#]]);
}

/// Notes and help of the first error of a program.
fn advice(source: &str) -> Vec<String> {
    let (_, diagnostics, _) = run(source);
    diagnostics.first().map(|d| d.notes.iter().chain(&d.help).cloned().collect()).unwrap_or_default()
}

#[test]
fn a_mismatch_says_what_to_write() {
    let types = "enum bit<8> e { a = 1 } type bit<8> t; struct s { bit<8> x; bool y; }
        control c(in bit<8> b, in t n) { apply { ";
    let advice_of = |statement: &str| advice(&format!("{types}{statement} }} }}"));
    assert_eq!(advice_of("e x = b;"), ["write `(e)` before it, or name a member"]);
    assert_eq!(advice_of("t x = b;"), ["`t` is a type of its own: write `(t)` before it"]);
    assert_eq!(advice_of("bit<8> x = n;"), ["`t` is a type of its own: write `(bit<8>)` before it"]);
    assert_eq!(advice_of("s x = 1;"), ["write a value for each field: `{ x = ..., y = ... }`"]);
    assert_eq!(advice_of("bool x = b;"), ["compare it: `... != 0`"]);
}

#[test]
fn blocks_of_another_kind_are_named() {
    let source = "extern packet_in { packet_in(); } control C(); package K(C c);
        parser p(packet_in b) { state start { transition accept; } } K(p()) main;";
    assert_eq!(advice(source), ["`p` is a parser, `C` is a control"]);
}
