//! Lists, structure-valued expressions, default values (P4-16 §8.13, §8.14, §8.26, §7.3).

use expect_test::expect;

use crate::support::check;

#[test]
fn lists_become_what_is_wanted() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { bit<8> a; h b; }
        action a(out s v, out h w, out tuple<bit<8>, bool> t, out h[2] k, out bit<8>[2] m) {
            v = { 1, { 2 } }; w = { 1 }; t = { 1, true }; k = { { 1 }, { 2 } }; m = { 1, 2 };
            v = { 1 };
                ^^^^^ error: wrong number of values for `s` -- expected 2, found 1
            v = { 1, 2 };
                     ^ error: expected `h`, found `int`
            w = { true };
                  ^^^^ error: expected `bit<8>`, found `bool`
            k = { { 1 } };
                ^^^^^^^^^ error: expected `h[2]`, found `tuple<tuple<int>>`
            t = { true, 1 };
                  ^^^^ error: expected `bit<8>`, found `bool`
                        ^ error: expected `bool`, found `int`
        }
    "#]]);
}

#[test]
fn fields_are_named_once_and_all() {
    check(expect![[r#"
        struct s { bit<8> a; bit<8> b; }
        action x(out s v) {
            v = { a = 1, b = 2 }; v = { b = 2, a = 1 };
            v = { a = 1 };
                ^^^^^^^^^ error: no value for field `b` of `s`
            v = { a = 1, c = 2 };
                         ^ error: struct s has no field `c`
            v = { a = 1, a = 2, b = 3 };
                         ^ error: field `a` is given twice
            v = { a = true, b = 1 };
                      ^^^^ error: expected `bit<8>`, found `bool`
        }
    "#]]);
}

#[test]
fn dots_stand_for_default_values() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { bit<8> a; h b; bool c; }
        extern E { E(); }
        action x(out s v, out h w, out bit<8> y, out h[2] k) {
            v = { 1, ... }; v = { c = true, ... }; v = ...; w = ...; y = ...; k = { { 1 }, ... }; v = { ... };
            v = { ..., true };
                  ^^^ error: `...` must be the last element
            v = { 1, {}, true, ... };
                     ^^ error: wrong number of values for `h` -- expected 1, found 0
            var = ...;
            ^^^ error: unknown name `var` -- not declared before this use
        }
    "#]]);
}

#[test]
fn invalid_headers() {
    check(expect![[r#"
        header h { bit<8> x; }
        header_union u { h a; }
        struct s { bit<8> x; }
        action x(out h v, out u w, out s y, out h[2] k) { v = {#}; w = {#}; k = { {#}, { 1 } }; y = {#}; }
                                                                                                    ^^^ error: expected `s`, found `{#}` -- an invalid header
    "#]]);
}

#[test]
fn unions_have_one_member() {
    check(expect![[r#"
        header h { bit<8> x; }
        header_union u { h a; h b; }
        action x(out u v) { v = { a = { 1 } }; v = { a = { 1 }, b = { 2 } }; }
                                                   ^^^^^^^^^^^^^^^^^^^^^^^^ error: a header union has one valid member at most
    "#]]);
}

#[test]
fn the_type_of_braces_must_be_known() {
    check(expect![[r#"
        struct s { bit<8> x; }
        extern void f<T>(in T x);
        action a() { f({ x = 1 }); f((s) { x = 1 }); f({ 8w1, true }); f({ 1 }); f({#}); f(...); }
                       ^^^^^^^^^ error: the type of `{...}` is not known -- these fields could be of any struct
                                                                           ^ error: the width of this number is not known -- the parameter's type does not determine it
                                                                                   ^^^ error: the type of `{#}` is not known -- it could be any header
                                                                                           ^^^ error: the type of `...` is not known
    "#]]);
}

#[test]
fn objects_do_not_stand_in_lists() {
    check(expect![[r#"
        extern E { E(); }
        extern void f<T>(in T x);
        control c() { E() e; apply { f({ e }); } }
                                         ^ error: extern E cannot be in a list
    "#]]);
}
