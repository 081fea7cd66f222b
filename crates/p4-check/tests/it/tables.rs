//! Tables: keys, actions, default actions, properties (P4-16 §14.2).

use expect_test::expect;

use crate::support::{check, ok};

#[test]
fn keys_are_single_values_with_names() {
    check(expect![[r##"
        #include <core.p4>
        header h { bit<8> x; }
        struct s { h a; h[2] b; bit<8> y; varbit<8> v; }
        control c(inout s v, in int<4> i) {
            action a() {}
            table t {
                key = {
                    v.y: exact; v.a.isValid(): exact; v.b[1].x: lpm; v.y[3:0]: ternary; i: exact; v.y & 15: exact;
                    v.y + 1: exact @name("sum"); 8w5: exact;
                    v.y + 1: exact;
                    ^^^^^^^ error: this key needs a name -- the key has no control-plane name
                    v.a: exact;
                    ^^^ error: a key cannot be header h -- only single values can be matched
                    v: exact;
                    ^ error: a key cannot be struct s -- only single values can be matched
                    1: exact;
                    ^ error: a key cannot be int -- it has no width
                    v.y: exat;
                         ^^^^ error: unknown match kind `exat`
                    v.y: a;
                         ^ error: `a` is not a match kind -- this is an action
                }
                actions = { a; NoAction; }
            }
            apply { t.apply(); }
        }
    "##]]);
}

#[test]
fn actions_are_listed_once_and_bound() {
    check(expect![[r#"
        action global(in bit<8> p) {}
        control c(inout bit<8> x) {
            action a() {}
            action b(inout bit<8> p, bit<8> d) { p = d; }
            bit<8> n = 1;
            table t {
                actions = { a; b(x); global(n + 1); a; b; b(x, 1); n; missing; @defaultonly .global(1); }
                                                    ^ error: action `a` is listed twice
                                                       ^ error: action `b` is listed twice
                                                          ^ error: action `b` is listed twice
                                                                   ^ error: `n` is not an action -- this is a variable
                                                                      ^^^^^^^ error: unknown action `missing` -- not declared before this use
                                                                                            ^^^^^^^ error: action `global` is listed twice
                default_action = a;
            }
            apply { t.apply(); }
        }
    "#]]);
}

#[test]
fn the_default_action_is_one_of_the_list() {
    check(expect![[r#"
        control c(inout bit<8> x) {
            action a(bit<8> d) { x = d; }
            action b(inout bit<8> p, bit<8> d) { p = d; }
            action e() {}
            action f() {}
            bit<8> y = 2;
            table t1 { actions = { a; b(x); e; } default_action = a(1); }
            table t2 { actions = { a; b(x); e; } default_action = b(x, 1); }
            table t3 { actions = { a; b(x); e; } const default_action = e; }
            table t4 { actions = { a; b(x); e; } default_action = f; }
                                                                  ^ error: `f` is not in the action list of `t4`
            table t5 { actions = { a; b(x); e; } default_action = a; }
                                                                  ^ error: no argument for parameter `d` -- `a` wants 1 argument
            table t6 { actions = { a; b(x); e; } default_action = b(y, 1); }
                                                                    ^ error: this differs from the action list -- the list binds another value
            table t7 { actions = { a; b(x); e; } default_action = a(x); }
                                                                    ^ error: an action's data must be known at compile time -- its value depends on the packet
            table t8 { actions = { a; @tableonly e; } default_action = e; }
                                                                       ^ error: a `@tableonly` action cannot be the default
            table t9 { actions = { a; e; } default_action = 5; }
                                                            ^ error: the default action must be an action
            table t10 { default_action = e; actions = { a; e; } }
                  ^^^ error: `default_action` precedes `actions`
            apply { t1.apply(); t2.apply(); t3.apply(); t4.apply(); t5.apply(); t6.apply(); t7.apply(); t8.apply(); t9.apply(); t10.apply(); }
        }
    "#]]);
}

#[test]
fn no_action_is_the_default() {
    check(expect![[r#"
        control c() {
            action a() {}
            table t { actions = { a; } }
                  ^ error: action `NoAction` is not declared -- this table has no `default_action`, so it is `NoAction`
            apply { t.apply(); }
        }
    "#]]);
}

#[test]
fn no_action_takes_nothing() {
    check(expect![[r#"
        action NoAction(in bit<8> x) {}
               ^^^^^^^^ error: `NoAction` is not an action without parameters -- the default action of tables that name none
        control c() {
            action a() {}
            table t { actions = { a; } }
            apply { t.apply(); }
        }
    "#]]);
}

#[test]
fn properties_stand_once() {
    check(expect![[r#"
        control c() {
            action a() {}
            table t { actions = { a; } default_action = a; size = 1; size = 2; }
                                                                     ^^^^ error: `size` is declared twice -- declared again here
            table u { key = {} }
                  ^ error: table `u` has no actions -- add `actions = { ... }`
            apply { t.apply(); u.apply(); }
        }
    "#]]);
}

#[test]
fn the_size_is_a_known_number() {
    check(expect![[r#"
        control c(in bit<8> x)(bit<32> n) {
            action a() {}
            table t { actions = { a; } default_action = a; size = n * 2; }
            table u { actions = { a; } default_action = a; size = true; }
                                                                  ^^^^ error: the size of a table must be a constant
            table v { actions = { a; } default_action = a; size = x; }
                                                                  ^ error: the size of a table must be a constant
            apply { t.apply(); u.apply(); v.apply(); }
        }
    "#]]);
}

#[test]
fn other_properties_are_values() {
    check(expect![[r#"
        extern profile { profile(bit<32> n); }
        control c() {
            action a() {}
            profile(4) shared;
            table t { actions = { a; } default_action = a; implementation = shared; other = profile(8); flag = true; bad = missing; }
                                                                                                                           ^^^^^^^ error: unknown name `missing` -- not declared before this use
            apply { t.apply(); }
        }
    "#]]);
}

#[test]
fn switch_on_the_action_that_ran() {
    check(expect![[r#"
        control c(inout bit<8> x) {
            action a() {}
            action b() {}
            action d() {}
            table t { actions = { a; b; } default_action = a; }
            apply {
                switch (t.apply().action_run) { a: { x = 1; } b: default: { x = 2; } }
                switch (t.apply().action_run) { d: {} e: {} 1: {} a: {} a: {} }
                                                ^ error: `d` is not an action of table `t`
                                                      ^ error: unknown action `e` -- not declared before this use
                                                            ^ error: the label must be the name of an action
                                                                        ^ error: the same label twice
                if (t.apply().miss) { x = 3; }
                bool h = t.apply().hit;
                if (h) {}
                    x = t.apply();
                        ^^^^^^^^^ error: expected `bit<8>`, found `apply result`
                bool k = t.apply().action_run == t.apply().action_run;
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error: values of action_run cannot be compared
                k = k;
            }
        }
    "#]]);
}

#[test]
fn properties_of_architectures_may_list_instances() {
    ok("
#include <core.p4>
        extern Cell { Cell(); }
        control c(inout bit<8> x) {
            Cell() a;
            Cell() b;
            table t { key = { x: exact; } actions = { NoAction; } cells = { a, b }; cell = a; }
            apply { t.apply(); }
        }
        control C(inout bit<8> x);
        package P(C c);
        P(c()) main;");
}

/// PSA's `psa_empty_group_action` is one.
#[test]
fn a_property_may_be_an_action_of_the_table() {
    check(expect![[r#"
        #include <core.p4>
        control c(inout bit<8> x) {
            action a(bit<8> v) { x = v; }
            action b() {}
            table t {
                actions = { a; NoAction; }
                const on_empty = NoAction;
                on_loop = a(5);
                on_other = b;
                           ^ error: `b` is not in the action list of `t`
                on_more = a(true);
                            ^^^^ error: expected `bit<8>`, found `bool`
                on_less = c;
                          ^ error: unknown name `c` -- not declared before this use
            }
            apply { t.apply(); }
        }
    "#]]);
}
