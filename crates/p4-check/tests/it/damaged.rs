//! Programs with syntax errors: declarations without errors are checked, and possible consequences are not reported.

use expect_test::expect;

use crate::support::check_damaged;

#[test]
fn declarations_without_syntax_errors_are_checked() {
    check_damaged(expect![[r#"
        const bit<8> a = true;
                         ^^^^ error: expected `bit<8>`, found `bool`
        action b() { x = ; }
                         ^ error: expected an expression, found `;` -- unexpected
        const bit<8> c = missing;
                         ^^^^^^^ error: unknown name `missing` -- not declared before this use
    "#]]);
}

#[test]
fn a_damaged_declaration_is_not_judged_and_its_uses_are_silent() {
    check_damaged(expect![[r#"
        struct s { bit<8> a; bit<8 b; bool c }
                                   ^ error: expected `>`, found `b` -- unexpected
                                             ^ error: expected `;`, found `}` -- unexpected
        enum e { x, y z }
                      ^ error: expected `}`, found `z` -- unexpected
        control c(inout bit<8> v { apply { v = true; } }
                                 ^ error: expected `)`, found `{` -- unexpected
        bit<8> f(in bit<8> v { return v; }
                             ^ error: expected `)`, found `{` -- unexpected
        extern E { E(); void m(; }
                               ^ error: expected a type, found `;` -- unexpected
        const bit<8> n = ;
                         ^ error: expected an expression, found `;` -- unexpected
        typedef bit<n t;
                      ^ error: expected `>`, found `t` -- unexpected
        action uses(inout s v, in e w) {
            v.b = 1; v.d = w; bit<8> q = e.z; q = f(1, 2) + n; t r = e.x; q = v;
            bool wrong = 8w1;
                         ^^^ error: expected `bool`, found `bit<8>`
        }
        control d(inout s v) { c() i; E(1) j; apply { i.apply(v); j.m(1); j.k(); } }
    "#]]);
}

#[test]
fn what_could_not_be_read_may_declare_anything_it_names() {
    check_damaged(expect![[r#"
        strct s { bit<8> a; }
        ^^^^^ error: expected a declaration -- unexpected
        const bit<8> x = y;
                         ^ error: unknown name `y` -- not declared before this use
        action uses(inout s v) { v.a = true; v = missing; }
                                                 ^^^^^^^ error: unknown name `missing` -- not declared before this use
        strct t { bit<8> a; }
        ^^^^^ error: expected a declaration -- unexpected
        struct t { bool a; }
        action more(inout t v) { v.a = 8w1; }
                                       ^^^ error: expected `bool`, found `bit<8>`
    "#]]);
}

#[test]
fn members_of_a_damaged_error_declaration_are_unknown() {
    check_damaged(expect![[r#"
        error { A, B C }
                     ^ error: expected `}`, found `C` -- unexpected
        const error x = error.C;
        const error y = error.D;
                              ^ error: error has no member `D`
    "#]]);
}

#[test]
fn whole_bodies_are_not_judged_beside_syntax_errors() {
    check_damaged(expect![[r#"
        bit<8> f() { }
        action a() { bit<8> unused; }
        const bit<8> x = ;
                         ^ error: expected an expression, found `;` -- unexpected
    "#]]);
}
