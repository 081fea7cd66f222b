//! Entries of tables (P4-16 §14.2.1.4).

use expect_test::expect;

use crate::support::check;

#[test]
fn entries_fit_keys_and_actions() {
    check(expect![[r#"
        #include <core.p4>
        control c(in bit<8> x, in bool b, inout bit<8> y) {
            action a(bit<8> d) { y = d; }
            action e() {}
            action f() {}
            table t {
                key = { x: exact; b: exact; }
                actions = { a; e; @defaultonly NoAction; }
                const entries = {
                    (1, true): a(1); (2, false): e; (3, _): e(); _: e; { 4, true }: e;
                    (1, true): e;
                    1: e;
                    ^ error: wrong number of sets in an entry -- expected 2 sets, found 1
                    (1, 1): e;
                        ^ error: `int` cannot match a key of `bool` -- this is `int`
                    (1, true): f;
                               ^ error: `f` is not in the action list of `t`
                    (1, true): NoAction;
                               ^^^^^^^^ error: a `@defaultonly` action cannot be used in an entry
                    (1, true): a;
                               ^ error: no argument for parameter `d` -- `a` wants 1 argument
                    (x, true): a(1);
                     ^ error: a key of an entry must be known at compile time
                    (1, true): a(x);
                                 ^ error: an action's data must be known at compile time -- its value depends on the packet
                    (7, true): missing;
                               ^^^^^^^ error: unknown action `missing` -- not declared before this use
                }
            }
            apply { t.apply(); }
        }
    "#]]);
}

#[test]
fn without_mistakes_doubles_are_found() {
    check(expect![[r#"
        #include <core.p4>
        control c(in bit<8> x, in bool b) {
            action e() {}
            table t {
                key = { x: exact; b: exact; }
                actions = { e; }
                const entries = { (1, true): e; (1, false): e; (0x1, true): e; }
                                                               ^^^^^^^^^^^^^^^ error: two entries have the same key -- this one can never match
            }
            apply { t.apply(); }
        }
    "#]]);
}

#[test]
fn sets_fit_their_match_kind() {
    check(expect![[r#"
        #include <core.p4>
        match_kind { range, optional }
        control c(in bit<8> x) {
            action e() {}
            table t1 { key = { x: lpm; } actions = { e; } const entries = { 0x10 &&& 0xf0: e; 1: e; _: e; 0x10 &&& 0x90: e; } }
                                                                                                          ^^^^^^^^^^^^^ entry-mask: the mask of an `lpm` key is not a prefix -- not ones followed by zeros
            table t2 { key = { x: optional; } actions = { e; } const entries = { 1: e; _: e; 1 &&& 1: e; } }
                                                                                             ^^^^^^^ entry-mask: a key of kind `optional` with a mask -- this key matches single values
            table t3 { key = { x: range; } actions = { e; } const entries = { 1 .. 2: e; 3: e; _: e; } }
            table t4 { key = { x: exact; } actions = { e; } const entries = { 1 .. 2: e; 1 &&& 3: e; _: e; } }
                                                                              ^^^^^^ error: this set does not fit a key of kind `exact` -- this key does not match ranges
                                                                                         ^^^^^^^ entry-mask: a key of kind `exact` with a mask -- this key matches single values
            table t5 { key = { x: ternary; } actions = { e; } const entries = { 1 .. 2: e; 1 &&& 5: e; } }
                                                                                ^^^^^^ error: this set does not fit a key of kind `ternary` -- this key does not match ranges
            table t6 { key = { x: range; } actions = { e; } const entries = { 1 &&& 3: e; } }
                                                                              ^^^^^^^ entry-mask: a `range` key with a mask -- not a range
            apply { t1.apply(); t2.apply(); t3.apply(); t4.apply(); t5.apply(); t6.apply(); }
        }
    "#]]);
}

#[test]
fn entries_come_after_the_key() {
    check(expect![[r#"
        #include <core.p4>
        control c(in bit<8> x) {
            action e() {}
            table t { actions = { e; } const entries = { 1: e; } }
                  ^ error: table `t` has entries and no key -- without a key nothing can be looked up
            table u { actions = { e; } const entries = { 1: e; } key = { x: exact; } }
                                             ^^^^^^^ error: `entries` precedes `key` -- it must come after
            table v { actions = { e; } entries = {} }
            apply { t.apply(); u.apply(); v.apply(); }
        }
    "#]]);
}

#[test]
fn priorities_are_for_overlapping_keys() {
    check(expect![[r#"
        #include <core.p4>
        control c(in bit<8> x) {
            action e() {}
            table t1 { key = { x: exact; } actions = { e; } entries = { priority = 1: 1: e; } }
                               ^^^^^^^^^ error: entries of this table have no priorities -- its keys cannot overlap
            table t2 { key = { x: ternary; } actions = { e; } entries = { 1: e; priority = 1: 2: e; } }
                                                                          ^^^^^ error: the first entry needs a priority
            table t3 { key = { x: ternary; } actions = { e; } priority_delta = 10; entries = { priority = 5: 1: e; 2: e; } }
                  ^^ error: an entry of `t3` gets a negative priority
            apply { t1.apply(); t2.apply(); t3.apply(); }
        }
    "#]]);
}

#[test]
fn priorities_are_known_naturals() {
    check(expect![[r#"
        #include <core.p4>
        control c(in bit<8> x) {
            action e() {}
            table t { key = { x: ternary; } actions = { e; } entries = { priority = (true): 1: e; priority = (-1): 2: e; } }
                                                                                    ^^^^^^ error: a priority must be a compile-time constant -- this is a `bool`
                                                                                                  ^^^^^^^^^^^^^^^^^^^^^^ error: a priority cannot be negative
            apply { t.apply(); }
        }
    "#]]);
}
