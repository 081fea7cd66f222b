//! Parameters, variables, functions, annotations (P4-16 §6.7, §11.2, §10, §20).

use expect_test::expect;

use crate::support::check;

#[test]
fn variables_hold_values() {
    check(expect![[r#"
        extern E { E(); }
        control d() { apply {} }
        control c() { E e; d i; int n; string s; E[2] es; apply {} }
                        ^ error: variable `e` cannot be extern E -- write `(...)` after the type to create an instance
                             ^ error: variable `i` cannot be control d -- write `(...)` after the type to create an instance
                                    ^ error: variable `n` cannot be int -- `int` values exist at compile time only: use `const`, or give it a width
                                              ^ error: variable `s` cannot be string -- strings exist at compile time only: use `const`
                                                      ^^ error: variable `es` cannot be E[2] -- objects cannot be stored in variables
    "#]]);
}

#[test]
fn parameters_have_the_directions_their_type_allows() {
    check(expect![[r#"
        extern E { E(); }
        extern void f(in E a, inout int b, in string c, E d, int e, string g);
                           ^ error: a parameter of type `E` cannot have a direction -- objects are passed by reference
                                        ^ error: a parameter of type `int` cannot have a direction -- its values are known at compile time
                                                     ^ error: a parameter of type `string` cannot have a direction -- its values are known at compile time
        action a(E x) {}
                   ^ error: parameter `x` cannot be extern E -- an action's data are values
        action b(int x) {}
                     ^ error: parameter `x` cannot be int -- an action's data have a size
        action d(bit<8> x, in bit<8> y) {}
                        ^ error: parameters without direction come last -- `x` is set by the control plane
        bit<8> g(out bit<8> x = 1, in bit<8> y = 2) { x = y; return x; }
                            ^ error: `x` cannot have a default value -- `out` parameters bring values back
        control c(in bit<8> x)(in bit<8> y) { apply {} }
                               ^^^^^^^^^^^ error: constructor parameter `y` has a direction -- constructors run at compile time
        control h(bit<8> x)(@optional bit<8> y) { apply {} }
                                             ^ error: `y` cannot be optional -- only parameters of what the architecture declares can
        action i(@optional in bit<8> x) {}
                                     ^ error: `x` cannot be optional -- only parameters of what the architecture declares can
    "#]]);
}

#[test]
fn objects_are_parameters_of_constructors() {
    check(expect![[r#"
        control D();
        parser P();
        package K(D d);
        control d() { apply {} }
        control c1(D x) { apply {} }
                     ^ error: parameter `x` cannot be control D -- parsers and controls are arguments of parsers, controls and packages only
        control c2()(D x) { apply {} }
        control c3()(d x) { apply {} }
                       ^ error: parameter `x` cannot be control d -- declare a parser or control type and use it
        control c4()(P x) { apply {} }
                       ^ error: constructor parameter `x` is a parser -- a control cannot apply a parser
        control c5()(K x) { apply {} }
                       ^ error: parameter `x` cannot be package K -- packages are arguments of packages only
        void f(D x) {}
                 ^ error: parameter `x` cannot be control D -- parsers and controls are arguments of parsers, controls and packages only
        extern E { E(D x); }
                       ^ error: parameter `x` cannot be control D -- parsers and controls are arguments of parsers, controls and packages only
        package L(K k, D d);
    "#]]);
}

#[test]
fn default_values_are_known() {
    check(expect![[r#"
        extern bit<8> f();
        bit<8> g(in bit<8> x = f()) { return x; }
                               ^^^ error: the default value of `x` is not constant -- not known at compile time
        bit<8> h(in bit<8> x = true) { return x; }
                               ^^^^ error: expected `bit<8>`, found `bool`
    "#]]);
}

#[test]
fn functions_return_values() {
    check(expect![[r#"
        int f() { return 1; }
        ^^^ error: a function cannot return `int` -- its value would not be known at compile time
        string g() { return "a"; }
        ^^^^^^ error: a function cannot return `string` -- its value would not be known at compile time
        control d() { apply {} }
        extern d h();
               ^ error: a function cannot return control d
    "#]]);
}

#[test]
fn methods_and_constructors_are_reported_apart_by_their_name() {
    check(expect![[r#"
        extern E { E(); void E(); bit<8> f(); bit<8> f(); E(); }
                             ^ error: constructor `E` has a return type -- it is named like its extern
                                                     ^ error: `f` is declared twice -- declared again here
                                                          ^ error: `E` is declared twice -- declared again here
    "#]]);
}

#[test]
fn structured_annotations_have_values() {
    check(expect![[r#"
        const bit<8> n = 4;
        @a[1, "x", true, n + 1] @b[x = 1, y = "z"] @c[] const bit<8> x = 1;
        @a[x = 1, x = 2] const bit<8> y = 1;
                  ^ error: `x` is given twice
        @a[{ 1 }] const bit<8> z = 1;
           ^^^^^ error: an annotation's value is a constant number, string or `bool`
        @a[1] @a[2] const bit<8> w = 1;
               ^ error: `@a` occurs twice -- a structured annotation may occur only once
        @pkginfo const bit<8> t = 1;
        ^^^^^^^^ error: `@pkginfo` takes pairs `name = value`
        @name(1) const bit<8> v = 1;
        ^^^^^^^^ error: `@name` takes one string
        @name("a", "b") const bit<8> u = 1;
        ^^^^^^^^^^^^^^^ error: `@name` takes one string
    "#]]);
}

#[test]
fn known_annotations_have_their_form() {
    check(expect![[r#"
        match_kind { lpm }
        @deprecated("no") extern void f();
        @deprecated(1) extern void g();
        ^^^^^^^^^^^^^^ error: `@deprecated` takes one string
        struct s { @match(lpm) bit<8> x; @match(1) bit<8> y; @match(nothing) bit<8> z; }
                                         ^^^^^^^^^ error: `@match` takes a match kind
                                                             ^^^^^^^^^^^^^^^ error: `@match` takes a match kind
        @p4runtime_translation("a/b", bit<8>) type bit<8> t;
        @p4runtime_translation("a/b", string) type bit<8> u;
        @p4runtime_translation("a/b", 32) type bit<8> v;
        @p4runtime_translation("a/b", bool) type bit<8> w;
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error: `@p4runtime_translation` takes a URI and `string`, `bit<W>` or a width
    "#]]);
}
