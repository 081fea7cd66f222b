//! Checks of whole bodies and of the whole program (P4-16 §10, §18).

use expect_test::expect;

use crate::support::{check, ok};

#[test]
fn functions_return_on_every_path() {
    check(expect![[r#"
        bit<8> a(in bool b) { if (b) { return 1; } else { return 2; } }
        bit<8> b(in bit<8> x) { switch (x) { 1: { return 1; } default: { return 2; } } }
        bit<8> c(in bool b) { if (b) { return 1; } }
               ^ error: function `c` may end without a result -- it returns `bit<8>`
        bit<8> d(in bit<8> x) { switch (x) { 1: { return 1; } } }
               ^ error: function `d` may end without a result -- it returns `bit<8>`
        bit<8> e() { for (bit<8> i in 1 .. 2) { return i; } }
               ^ error: function `e` may end without a result -- it returns `bit<8>`
        void f() {}
        bit<8> g() { { return 1; } }
    "#]]);
}

#[test]
fn methods_do_not_call_themselves() {
    check(expect![[r#"
        extern E { E(); abstract void f(); abstract void g(); abstract void h(); }
        control c() {
            E() e = { void f() { this.g(); } void g() { this.f(); } void h() { this.f(); } };
                                                        ^^^^^^^^ error: `f` calls itself -- P4 has no recursion
            apply { e.f(); e.g(); e.h(); }
        }
    "#]]);
}

#[test]
fn data_planes_do_not_divide() {
    check(expect![[r#"
        control c(inout bit<8> x, in bit<8> y) {
            action used() { x %= y; }
                            ^^^^^^^ error: division at run time -- its operands are not known at compile time
            action unused() { x = x / y; }
            apply { x = x / y; x = x / 3; x = x % 4; x = 0 / x; used(); }
                        ^^^^^ error: division at run time -- its operands are not known at compile time
                                   ^^^^^ error: division at run time -- its operands are not known at compile time
        }
    "#]]);
}

/// Nothing had tried a division under a condition.
#[test]
fn branches_that_are_never_taken_may_divide() {
    check(expect![[r#"
        const bool ON = true;
        const bit<8> VERSION = 2;
        control c(inout bit<8> x, in bit<8> y) {
            apply {
                if (!ON) { x = x / y; } else { x = 1; }
                if (VERSION == 2) { x = y; } else if (y == 1) { x = x % y; }
                x = VERSION > 1 ? y : x / y;
                if (ON && y == 1) { x = x / y; }
                                        ^^^^^ error: division at run time -- its operands are not known at compile time
            }
        }
    "#]]);
}

#[test]
fn constructor_arguments_are_divided() {
    ok("control c(inout bit<8> x)(bit<8> n) { apply { x = x + 64 / n + (bit<8>)(7 % n); } }
        const bit<8> m = 6; control d(inout bit<8> x) { c(m) i; apply { i.apply(x); } }");
    check(expect![[r#"
        control c(inout bit<8> x)(bit<8> n) { apply { x = x / n; } }
                                                          ^^^^^ error: division at run time -- its operands are not known at compile time
    "#]]);
}

#[test]
fn main_is_a_package() {
    check(expect![[r#"
        extern main { }
               ^^^^ error: `main` is not a package -- the program starts with the package instance of this name
    "#]]);
}

#[test]
fn control_plane_names_are_unique() {
    check(expect![[r#"
        control C(inout bit<8> x);
        package top(C a, C b);
        action global() {}
        control inner(inout bit<8> x) {
            @name("same") action a() {}
            @name("same") action b() {}
                                 ^ error: two actions have the control-plane name `outer.i.same`
                                 ^ error: two actions have the control-plane name `outer.j.same`
            table t { key = {} actions = { a; b; global; } default_action = a; }
            @name(".t") table u { actions = { a; global; } default_action = a; }
                              ^ error: two tables have the control-plane name `t`
            apply { t.apply(); u.apply(); }
        }
        control outer(inout bit<8> x) {
            inner() i;
            inner() j;
            apply { i.apply(x); j.apply(x); }
        }
        control other(inout bit<8> x) { apply {} }
        top(outer(), other()) main;
    "#]]);
}

/// Each test of names before had both actions in one table.
#[test]
fn actions_of_different_tables_may_share_a_name() {
    check(expect![[r#"
        control C(inout bit<8> x);
        package top(C a);
        control first(inout bit<8> x) {
            @name(".nop") action nop() {}
            table t { key = {} actions = { nop; } default_action = nop; }
            apply { t.apply(); }
        }
        control second(inout bit<8> x) {
            @name(".nop") action nop() {}
                                 ^^^ control-name: two actions have the control-plane name `nop`
            @noWarn("control-name") @name(".nop") action nop_1() {}
            table t { key = {} actions = { nop; } default_action = nop; }
            table u { key = {} actions = { nop_1; } default_action = nop_1; }
            apply { t.apply(); u.apply(); }
        }
        control both(inout bit<8> x) {
            first() f;
            second() s;
            apply { f.apply(x); s.apply(x); }
        }
        top(both()) main;
    "#]]);
}

#[test]
fn errors_are_one_set_wherever_they_are_declared() {
    check(expect![[r#"
        control c(inout bit<8> x, in error e) {
            apply { if (e == error.Late) { x = 1; } else if (e == error.Never) { x = 2; } }
                                                                        ^^^^^ error: error has no member `Never`
        }
        error { Early }
        error { Late, Early }
                      ^^^^^ error: `Early` is declared twice -- declared again here
    "#]]);
}
