//! Calls: arguments, overloads, inference (P4-16 §6.7, §8.20, §8.27).

use expect_test::expect;

use crate::support::check;

#[test]
fn arguments_fit_parameters() {
    check(expect![[r#"
        bit<8> f(in bit<8> a, in bit<8> b = 2) { return a + b; }
        action x(out bit<8> y) {
            y = f(1); y = f(1, 2); y = f(a = 1); y = f(b = 1, a = 2);
            y = f();
                ^ error: no argument for parameter `a` -- `f` wants 2 arguments
            y = f(1, 2, 3);
                ^ error: too many arguments for `f` -- expected 2, found 3
            y = f(c = 1);
                  ^ error: `f` has no parameter `c`
            y = f(a = 1, a = 2);
                         ^ error: parameter `a` is given twice
            y = f(1, b = 2);
                     ^^^^^ error: some arguments are named and some are not -- name all of them or none
            y = f(true);
                  ^^^^ error: expected `bit<8>`, found `bool`
        }
    "#]]);
}

#[test]
fn out_arguments_are_variables_of_the_same_type() {
    check(expect![[r#"
        extern void f(out bit<8> a, inout bit<8> b);
        action x(inout bit<8> y, in bit<8> i, inout bit<16> w) {
            f(y, y); f(_, y); f(w[7:0], y);
            f(1, y);
              ^ error: this cannot be assigned to -- this is a constant
            f(y, _);
                 ^ error: `_` for a parameter that needs a value -- only `out` parameters take `_`
            f(i, y);
              ^ error: this cannot be assigned to -- `i` is an `in` parameter
            f(w, y);
              ^ error: expected `bit<8>`, found `bit<16>`
        }
    "#]]);
}

#[test]
fn directionless_arguments_are_known() {
    check(expect![[r#"
        extern void f(bit<8> a);
        extern E { E(); }
        extern void g(E e);
        control c(in bit<8> x)(bit<8> n, E e) {
            action a(bit<8> data) { f(data); }
            apply { f(1); f(n); g(e); f(x); }
                                        ^ error: argument for `a` must be known at compile time -- its value depends on the packet
        }
    "#]]);
}

#[test]
fn the_overload_is_chosen_by_number_and_name() {
    check(expect![[r#"
        extern void f(in bit<8> a);
        extern void f(in bit<8> b, in bit<8> c);
        action x() { f(1); f(1, 2); f(b = 1, c = 2); f(); f(d = 1); f(true); }
                                                     ^ error: no `f` takes these arguments -- called with 0 arguments
                                                          ^ error: no `f` takes these arguments -- called with 1 argument
                                                                      ^^^^ error: expected `bit<8>`, found `bool`
    "#]]);
}

#[test]
fn two_overloads_may_fit() {
    check(expect![[r#"
        extern void f(in bit<8> a);
        extern void f(in bit<8> b);
        action x() { f(a = 1); f(1); }
                               ^ error: more than one `f` takes these arguments -- called with 1 argument
    "#]]);
}

#[test]
fn type_arguments_are_inferred() {
    check(expect![[r#"
        extern T f<T>(in T a, in T b);
        extern T g<T>();
        extern void h<T, U>(in T a, out U b);
        struct s { bit<8> x; }
        action x(inout bit<8> y, inout s v, inout bit<16> w) {
            y = f(y, y); y = f(1, y); y = f(y, 1); y = f<bit<8>>(1, 2); v = f(v, { 1 }); v = f({ x = 1 }, v); y = g();
            h(y, w);
            y = f(y, w);
                     ^ error: expected `bit<8>`, found `bit<16>`
            y = f(1, 2);
                  ^ error: the width of this number is not known -- the parameter's type does not determine it
                     ^ error: the width of this number is not known -- the parameter's type does not determine it
            f(y, true);
                 ^^^^ error: expected `bit<8>`, found `bool`
            g();
            ^^^ error: type argument `T` of `g` is not known -- no argument determines it
            y = f<bit<8>, bit<8>>(1, 2);
                ^^^^^^^^^^^^^^^^^^^^^^^ error: wrong number of type arguments for `f` -- expected 1, found 2
            y = f<bit<16>>(1, 2);
                ^^^^^^^^^^^^^^^^ error: expected `bit<8>`, found `bit<16>`
        }
    "#]]);
}

#[test]
fn tuples_are_inferred_from_lists() {
    check(expect![[r#"
        extern void f<T>(in T a);
        action x(in bit<8> y) { f({ y, true }); f({ y, { 8w1 } }); f({ y, 1 }); }
                                                                          ^ error: the width of this number is not known -- the parameter's type does not determine it
    "#]]);
}

#[test]
fn generic_structs_are_inferred() {
    check(expect![[r#"
        struct s<T> { T x; }
        extern T f<T>(in s<T> a);
        action x(in s<bit<8>> v, out bit<8> y, out bool z) { y = f(v); z = f(v); y = f({ 8w1 }); }
                                                                           ^^^^ error: expected `bool`, found `bit<8>`
    "#]]);
}

#[test]
fn only_values_are_given_for_type_variables() {
    check(expect![[r#"
        void f<T>(in T x) {}
        extern void g<T>(in T x);
        extern E { E(); }
        control d() { apply {} }
        control c() { E() e; d() i; apply { f(e); g(i); g("text"); } }
                                              ^ error: an argument here cannot be extern E
                                                    ^ error: an argument here cannot be control d
                                                          ^^^^^^ error: an argument here cannot be string
    "#]]);
}

#[test]
fn only_functions_are_called() {
    check(expect![[r#"
        const bit<8> k = 1;
        struct s { bit<8> x; }
        control c(inout bit<8> y) {
            action a() {}
            table t { actions = { a; } default_action = a; }
            apply { k(); y(); t(); a(); y.f(); t.run(); a<bit<8>>(); y = k(1); y = s(1); }
                    ^ error: constant `k` cannot be called
                         ^ error: variable `y` cannot be called
                              ^ error: table `t` cannot be called
                                          ^ error: bit<8> has no member `f`
                                                 ^^^ error: table `t` has no member `run`
                                                        ^^^^^^^^^^^ error: action `a` takes no type arguments
                                                                         ^ error: constant `k` cannot be called
                                                                                   ^ error: struct s cannot be instantiated -- only externs, parsers, controls and packages have constructors
        }
    "#]]);
}

#[test]
fn methods_are_found_in_their_extern() {
    check(expect![[r#"
        extern E<T> { E(); void f(in T x); T g<U>(in U x); }
        control c(inout bit<8> y) {
            E<bit<8>>() e;
            apply { e.f(1); y = e.g(true); e.h(); e.f(true); y = e.g<bool, bool>(true); e.f(); }
                                             ^ error: extern `E` has no member `h`
                                                      ^^^^ error: expected `bit<8>`, found `bool`
                                                                 ^^^^^^^^^^^^^^^^^^^^^ error: wrong number of type arguments for `g` -- expected 1, found 2
                                                                                          ^ error: no argument for parameter `x` -- `f` wants 1 argument
        }
    "#]]);
}

#[test]
fn actions_called_take_all_arguments() {
    check(expect![[r#"
        control c(inout bit<8> y) {
            action a(inout bit<8> x, bit<8> data) { x = data; }
            apply { a(y, 1); a(y, y); a(y); a(1, 1); }
                                      ^^^^ error: no argument for parameter `data` -- `a` wants 2 arguments
                                              ^ error: this cannot be assigned to -- this is a constant
        }
    "#]]);
}

#[test]
fn packets_give_and_take_headers() {
    check(expect![[r#"
        #include <core.p4>
        header h { bit<8> x; }
        header v { bit<8> n; varbit<64> x; }
        header w { varbit<8> a; varbit<8> b; }
                             ^ error: a header with two `varbit` fields cannot be extracted -- `a` is the first
        struct s { h a; h[2] b; }
        struct t { bit<8> x; }
        enum e { a }
        parser p(packet_in b, out s o, out v u, out w q, inout t y) {
            e k;
            state start {
                b.extract(o.a); b.extract(o.b.next); b.extract(u, 16); b.extract<h>(_); b.advance(8);
                h look = b.lookahead<h>(); bit<8> byte = b.lookahead<bit<8>>();
                b.extract(o);
                          ^ error: struct s cannot be extracted -- only headers can
                b.extract(y.x);
                          ^^^ error: bit<8> cannot be extracted -- only headers can
                b.extract(u);
                          ^ error: the size of this header varies -- give the bits of its varbit field as second argument
                b.extract(o.a, 8);
                          ^^^ error: the size of this header is fixed -- it has no varbit field
                b.extract(q, 8);
                k = b.lookahead<e>();
                    ^^^^^^^^^^^^^^^^ error: enum e cannot be looked ahead -- its size is not fixed
                u = b.lookahead<v>();
                    ^^^^^^^^^^^^^^^^ error: header v cannot be looked ahead -- its size is not fixed
                transition select(look.x, byte) { _: accept; }
            }
        }
        control d(packet_out b, in s o, in t y) { apply { b.emit(o); b.emit(o.b); b.emit({ o.a, o.b }); b.emit(y); b.emit(y.x); } }
                                                                                                               ^ error: struct t cannot be emitted -- only headers can
                                                                                                                          ^^^ error: bit<8> cannot be emitted -- only headers can
    "#]]);
}

#[test]
fn optional_parameters_may_stay_away() {
    check(expect![[r#"
        extern void f<T>(in bit<8> a, @optional in T b);
        action x() { f(1); f(1, 8w2); f(a = 1); }
    "#]]);
}
