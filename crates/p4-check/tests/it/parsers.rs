//! Parsers, states, `select`, value sets (P4-16 §13).

use expect_test::expect;

use crate::support::check;

#[test]
fn a_parser_starts_and_ends() {
    check(expect![[r#"
        parser b() { state start { transition start; } }
               ^ error: parser `b` never ends -- no path leads to `accept` or `reject`
        parser d() { state start { transition next; } state next { transition select(1w1) { 0: start; _: next; } } }
               ^ error: parser `d` never ends -- no path leads to `accept` or `reject`
        parser e() { state start { transition select(1w1) { 0: start; } } }
    "#]]);
}

#[test]
fn states_have_their_names() {
    check(expect![[r#"
        parser a() { state first { transition accept; } }
               ^ error: parser `a` has no state `start`
        parser c() { state start { transition accept; } state accept { transition reject; } }
                                                              ^^^^^^ error: state `accept` is built in -- it cannot be declared
    "#]]);
}

#[test]
fn transitions_name_states() {
    check(expect![[r#"
        parser a(in bit<8> x) {
            bit<8> local = x;
            state start { transition nxt; }
                                     ^^^ error: unknown state `nxt`
            state next { transition local; }
                                    ^^^^^ error: `local` is not a state -- this is a variable
            state other { transition select(x) { 1: nex; _: reject; } }
                                                    ^^^ error: unknown state `nex`
            state start { transition accept; }
                  ^^^^^ error: `start` is declared twice -- declared again here
        }
    "#]]);
}

#[test]
fn keys_are_single_values() {
    check(expect![[r#"
        header h { bit<8> x; }
        error { E1 }
        enum e { a }
        parser a(in h k, in varbit<8> v, in error r, in e m, in bool b, in tuple<bit<8>, bool> t) {
            state start { transition select(k) { _: s1; } }
                                            ^ error: `select` cannot test header h -- only numbers, enums, errors and `bool` can be matched
            state s1 { transition select(v) { _: s2; } }
                                         ^ error: `select` cannot test varbit<8> -- only numbers, enums, errors and `bool` can be matched
            state s2 { transition select(r, m, b) { (error.E1, e.a, true): s3; } }
            state s3 { transition select(1) { _: s4; } }
                                         ^ error: `select` cannot test int -- give it a width: `8w1`
            state s4 { transition select(t[0], t[1]) { (1, true): accept; } }
        }
    "#]]);
}

#[test]
fn sets_fit_their_keys() {
    check(expect![[r#"
        enum bit<8> e { a = 1 }
        parser a(in bit<8> x, in int<4> y, in e z, in bool b) {
            state start {
                transition select(x, y) {
                           ^^^^^^ error: wrong number of sets for `select` -- this has 2 keys
                                  ^ error: `bit<16>` cannot match a key of `bit<8>` -- this is `bit<8>`
                                  ^ error: `bool` cannot match a key of `bit<8>` -- this is `bit<8>`
                    (1, -1): accept; (1 &&& 3, 0 .. 3): accept; (_, default): accept; default: accept;
                    (1, 2, 3): accept;
                    1: accept;
                    (16w1, 1): accept;
                    (1 &&& 16w3, 1): accept;
                    (true, 1): accept;
                }
            }
            state other {
                transition select(z, b) { (e.a, true): accept; (e.a &&& 1, _): accept; (1, true): accept; (_, true &&& true): accept; }
                                  ^ error: `int` cannot match a key of `e` -- this is `e`
                                                                                                              ^^^^^^^^^^^^^ error: `&&&` cannot match a `bool` -- only numbers have masks and ranges
            }
        }
    "#]]);
}

#[test]
fn masks_and_ranges_are_known() {
    check(expect![[r#"
        parser a(in bit<8> x) {
            state start { transition select(x) { x: accept; x &&& 1: accept; 1 .. x: accept; 1 .. 2w3: reject; } }
                                            ^ error: `bit<2>` cannot match a key of `bit<8>` -- this is `bit<8>`
                                                            ^ error: masks and ranges must be known at compile time -- its value depends on the packet
                                                                                  ^ error: masks and ranges must be known at compile time -- its value depends on the packet
        }
    "#]]);
}

#[test]
fn value_sets_are_keys() {
    check(expect![[r#"
        struct pair { bit<8> a; bit<16> b; }
        parser p(in bit<8> x, in bit<16> y)(bit<8> n) {
            value_set<bit<8>>(4) one;
            value_set<tuple<bit<8>, bit<16>>>(n) two;
            value_set<pair>(4) three;
            value_set<int>(4) four;
                      ^^^ error: a value set cannot hold `int`
            value_set<bit<8>>(x) five;
                              ^ error: the size of a value set must be a constant
            state start { transition select(x) { one: accept; two: accept; } }
                                                              ^^^ error: a value set of `tuple<bit<8>, bit<16>>` does not fit the keys
            state next { transition select(x, y) { two: accept; three: accept; (one, 1): accept; one: accept; } }
                                                                                                 ^^^ error: a value set of `bit<8>` does not fit the keys
        }
    "#]]);
}
