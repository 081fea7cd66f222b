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
