//! Contexts of calls and statements (P4-16 §12.7, appendix F).

use expect_test::expect;

use crate::support::check;

#[test]
fn tables_are_applied_in_apply_blocks() {
    check(expect![[r#"
        control c(inout bit<8> x) {
            action a() {}
            table t { key = { t.apply().hit: exact; } actions = { a; } default_action = a; }
                              ^^^^^^^^^ error: table `t` applied in its own declaration
                              ^^^^^^^^^^^^^ error: this key needs a name -- the key has no control-plane name
                                             ^^^^^ error: unknown match kind `exact`
            table u { actions = { a; } default_action = a; }
            action b() { u.apply(); }
                         ^^^^^^^^^ error: table applied in an action -- tables are applied in `apply` blocks
            bool hit = u.apply().hit;
                       ^^^^^^^^^ error: table applied here -- tables are applied in `apply` blocks
            apply { u.apply(); if (u.apply().hit) { b(); } hit = hit; }
        }
    "#]]);
}

#[test]
fn parsers_and_controls_are_applied_where_they_live() {
    check(expect![[r#"
        parser q() { state start { transition accept; } }
        control d() { apply {} }
        parser p() {
            q() i;
            state start { i.apply(); q.apply(); d.apply(); transition accept; }
                                                ^^^^^^^^^ error: control applied here -- controls are applied in `apply` blocks of controls
        }
        control c() {
            d() i;
            action a() { i.apply(); }
                         ^^^^^^^^^ error: control applied in an action -- controls are applied in `apply` blocks
            apply { i.apply(); d.apply(); q.apply(); a(); }
                                          ^^^^^^^^^ error: parser applied here -- parsers are applied in states of parsers
        }
    "#]]);
}

#[test]
fn actions_are_called_from_controls_and_actions() {
    check(expect![[r#"
        action a() {}
        void f() { a(); }
                   ^^^ error: action called in a function -- actions are called from controls and actions
        parser p() { state start { a(); transition accept; } }
                                   ^^^ error: action called in a parser -- actions are called from controls and actions
        control c() { action b() { a(); } apply { a(); b(); } }
    "#]]);
}

#[test]
fn verify_is_for_parsers() {
    check(expect![[r#"
        #include <core.p4>
        parser p(in bit<8> x) { state start { verify(x == 1, error.NoMatch); transition accept; } }
        control c(in bit<8> x) { apply { verify(x == 1, error.NoMatch); } }
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error: `verify` outside a parser -- only parsers can fail
    "#]]);
}

#[test]
fn statements_know_their_place() {
    check(expect![[r#"
        parser p(inout bit<8> x) {
            state start { if (x == 1) { x = 2; } transition accept; }
        }
        bit<8> f() { exit; return 1; }
                     ^^^^^ error: `exit` in a function -- use `return`
        void g() { return 1; }
                          ^ error: `return` with a value -- nothing is returned here
        bit<8> h() { return; }
                     ^^^^^^^ error: `return` without a value -- a `bit<8>` is to be returned
        action a() { return; }
        action b() { return 1; }
                            ^ error: `return` with a value -- nothing is returned here
        action c() { exit; break; continue; for (bit<8> i in 1 .. 3) { break; continue; } }
                           ^^^^^^ error: `break` outside a loop
                                  ^^^^^^^^^ error: `continue` outside a loop
    "#]]);
}

#[test]
fn instances_are_declared_outside_of_statements() {
    check(expect![[r#"
        extern E { E(); }
        control c() { apply { E() e; e.f(); } }
                                  ^ error: instance `e` declared in an `apply` block -- declare it outside, before the statements
        action a() { E() e; }
                         ^ error: instance `e` declared in an action -- declare it outside, before the statements
        bit<8> f() { E() e; return 1; }
                         ^ error: instance `e` declared in a function -- declare it outside, before the statements
    "#]]);
}

#[test]
fn this_is_for_implementations() {
    check(expect![[r#"
        extern E { E(); bit<8> g(); abstract bit<8> f(); }
        control c(out bit<8> x) {
            E() e = { bit<8> f() { return this.g(); } };
            apply { x = e.f(); x = this.g(); }
                                   ^^^^ error: `this` outside the methods of an instance -- only an abstract method's implementation has `this`
        }
    "#]]);
}

#[test]
fn keysets_call_nothing() {
    check(expect![[r#"
        bit<8> f() { return 1; }
        parser p(in bit<8> x) { state start { transition select(x) { f(): accept; } } }
                                                                     ^^^ error: a call in a keyset -- no calls are allowed here
    "#]]);
}
