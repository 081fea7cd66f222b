//! Names: declared before use, once in a scope, hidden by inner ones (P4-16 §6.8).

use expect_test::expect;

use crate::support::check;

#[test]
fn unknown_names_are_reported_with_the_nearest_known() {
    check(expect![[r#"
        header ethernet_t { bit<48> dst; }
        struct headers { etherent_t eth; }
                         ^^^^^^^^^^ error: unknown type `etherent_t` -- not declared before this use
        const bit<8> limit = 3;
        action a(out bit<8> x) { x = limti; y = 1; .limit2 = 1; }
                                     ^^^^^ error: unknown name `limti` -- not declared before this use
                                            ^ error: unknown name `y` -- not declared before this use
                                                   ^^^^^^^ error: unknown name `limit2` -- not declared before this use
    "#]]);
}

#[test]
fn a_name_is_unknown_before_its_declaration() {
    check(expect![[r#"
        const bit<8> a = b;
                         ^ error: unknown name `b` -- not declared before this use
        const bit<8> b = 1;
    "#]]);
}

#[test]
fn a_name_is_unknown_in_its_own_initializer() {
    check(expect![[r#"
        action a() { bit<8> x = x + 1; }
                                ^ error: unknown name `x` -- not declared before this use
    "#]]);
}

#[test]
fn one_scope_holds_a_name_once() {
    check(expect![[r#"
        const bit<8> x = 1;
        const bit<8> x = 2;
                     ^ error: `x` is declared twice -- declared again here
        header h { bit<8> f; bit<16> f; }
                                     ^ error: `f` is declared twice -- declared again here
        enum e { a, b, a }
                       ^ error: `a` is declared twice -- declared again here
        extern void g(in bit<8> p, in bit<8> p);
                                             ^ error: `p` is declared twice -- declared again here
        action a(bit<8> v) { bit<8> w; bit<8> w; { bit<8> w; w = 1; } w = v; }
                                              ^ error: `w` is declared twice -- declared again here
                                                          ^ shadow: `w` hides another declaration -- this one
        struct t<T, T> { T f; }
                    ^ error: `T` is declared twice -- declared again here
    "#]]);
}

#[test]
fn type_and_value_parameters_share_a_scope() {
    check(expect![[r#"
        control c<p>(inout bit<8> p)(bit<8> q) { apply {} }
                                  ^ error: `p` is declared twice -- declared again here
        control d(inout bit<8> p)(bit<8> p) { apply {} }
                                         ^ error: `p` is declared twice -- declared again here
    "#]]);
}

#[test]
fn errors_and_match_kinds_add_up() {
    check(expect![[r#"
        error { A, B }
        error { B, C }
                ^ error: `B` is declared twice -- declared again here
        match_kind { exact, lpm }
        match_kind { exact }
                     ^^^^^ error: `exact` is declared twice -- declared again here
        const error x = error.C;
    "#]]);
}

#[test]
fn types_are_no_values_and_values_no_types() {
    check(expect![[r#"
        struct s { bit<8> x; }
        const bit<8> n = 8;
        struct t { n f; }
                   ^ error: `n` is not a type -- this is a constant
        action a(out bit<8> x) { x = s; x = n; }
                                     ^ error: struct type `s` is not a value -- expected a value here
    "#]]);
}

#[test]
fn actions_and_functions_are_no_values() {
    check(expect![[r#"
        bit<8> f() { return 1; }
        action b() {}
        action a(out bit<8> x) { x = f; x = b; }
                                     ^ error: function `f` is not a value -- write `(...)` after it to call it
                                            ^ error: action `b` is not a value -- write `(...)` after it to call it
    "#]]);
}

#[test]
fn the_global_scope_is_reached_by_a_dot() {
    check(expect![[r#"
        const bit<8> x = 1;
        action a(out bit<16> y) {
            bit<16> x = 2;
                    ^ shadow: `x` hides another declaration -- this one
            y = x;
            y = .x;
                ^^ error: expected `bit<16>`, found `bit<8>`
        }
    "#]]);
}

#[test]
fn a_forward_extern_is_declared_later() {
    check(expect![[r#"
        extern E;
        extern void use_it(E e);
        extern E { E(); void f(); }
        control c() { E() e; apply { e.f(); use_it(e); } }
    "#]]);
}

#[test]
fn an_extern_does_not_know_itself() {
    check(expect![[r#"
        extern E { E(); void f(E other); }
                               ^ error: unknown type `E` -- not declared before this use
    "#]]);
}

#[test]
fn functions_of_one_name_differ_in_parameters() {
    check(expect![[r#"
        extern void f(in bit<8> a);
        extern void f(in bit<8> b);
        extern void f(in bit<8> a, in bit<8> b);
        extern void f(in bit<16> a);
                    ^ error: `f` is declared twice -- declared again here
        bool f() { return true; }
        control f() { apply {} }
                ^ error: `f` is declared twice -- declared again here
    "#]]);
}

#[test]
fn controls_of_one_name_differ_in_their_constructors() {
    check(expect![[r#"
        control c()(bit<8> a) { apply {} }
        control c()(bit<8> b) { apply {} }
        control c()(bit<8> a) { apply {} }
                ^ error: `c` is declared twice -- declared again here
        control d() { c(b = 1) x; apply { x.apply(); } }
    "#]]);
}

#[test]
fn actions_are_not_overloaded() {
    check(expect![[r#"
        action a(in bit<8> x) {}
        action a(in bit<8> x, in bit<8> y) {}
               ^ error: `a` is declared twice -- declared again here
    "#]]);
}

#[test]
fn a_function_does_not_know_itself() {
    check(expect![[r#"
        bit<8> f(in bit<8> x) { return f(x); }
                                       ^ error: unknown function `f` -- not declared before this use
    "#]]);
}

#[test]
fn a_variable_cannot_hide_a_parameter_of_its_control() {
    check(expect![[r#"
        control c(inout bit<8> h) { apply { bit<8> h = h; h = 1; } }
                                                   ^ error: `h` hides a parameter -- this variable
    "#]]);
}
