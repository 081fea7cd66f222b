//! Instances, constructors, abstract methods (P4-16 §11.3, §10.3.1, §15.1).

use expect_test::expect;

use crate::support::{check, ok};

#[test]
fn constructors_are_chosen_by_their_arguments() {
    check(expect![[r#"
        extern E { E(); E(bit<8> size); }
        extern F {}
        control c()(bit<8> n) {
            E() a; E(1) b; E(n) d; E(size = 2) e;
            E(1, 2) f;
            ^ error: no `E` takes these arguments -- called with 2 arguments
            E(true) g;
              ^^^^ error: expected `bit<8>`, found `bool`
            F() h;
            ^ error: extern `F` has no constructor
            apply {}
        }
    "#]]);
}

#[test]
fn constructor_arguments_are_known() {
    check(expect![[r#"
        extern E { E(bit<8> size); }
        control c(in bit<8> x) { E(x) e; apply {} }
                                   ^ error: argument for `size` must be known at compile time -- its value depends on the packet
    "#]]);
}

#[test]
fn each_kind_lives_in_its_place() {
    check(expect![[r#"
        extern E { E(); }
        control d() { apply {} }
        parser q() { state start { transition accept; } }
        control D();
        package K(D d);
        E() e;
        d() i;
            ^ error: control d instantiated here -- controls are instantiated in controls, or as arguments
        q() j;
            ^ error: parser q instantiated here -- parsers are instantiated in parsers, or as arguments
        K(d()) k;
        control c() { d() i; q() j; E() e; K(d()) k; apply { i.apply(); } }
                                 ^ error: parser q instantiated here -- parsers are instantiated in parsers, or as arguments
                                        ^ shadow: `e` hides another declaration -- this one
                                                  ^ error: package K instantiated here -- packages are instantiated at the top level
        parser p() { d() i; q() j; E() e; state start { j.apply(); transition accept; } }
                         ^ error: control d instantiated here -- controls are instantiated in controls, or as arguments
                                       ^ shadow: `e` hides another declaration -- this one
    "#]]);
}

#[test]
fn types_without_body_are_not_instantiated() {
    check(expect![[r#"
        control D();
        struct s { bit<8> x; }
        D() a;
        ^ error: control D cannot be instantiated -- it has no body
        s() b;
        ^ error: struct s cannot be instantiated -- only externs, parsers, controls and packages have constructors
        bit<8>() c;
        ^^^^^^ error: bit<8> cannot be instantiated -- only externs, parsers, controls and packages have constructors
    "#]]);
}

#[test]
fn extern_type_arguments_are_inferred() {
    check(expect![[r#"
        extern E<T> { E(T init); T get(); }
        extern F<T> { F(); T get(); }
        control c(out bit<8> x) { E(8w1) e; E<bit<8>>(1) f; F() g; E(1) h; apply { x = e.get(); x = f.get(); } }
                                                            ^^^^^^ error: type argument `T` of `F` is not known -- no argument determines it
                                                                     ^ error: the width of this number is not known -- the parameter's type does not determine it
    "#]]);
}

#[test]
fn packages_take_matching_blocks() {
    check(expect![[r#"
        parser P<H>(out H h);
        control C<H, M>(inout H h, inout M m);
        package K<H, M>(P<H> p, C<H, M> c);
        struct hs { bit<8> x; }
        struct ms { bit<8> y; }
        parser p(out hs h) { state start { h.x = 1; transition accept; } }
        control c(inout hs h, inout ms m) { apply {} }
        control d(inout ms h, inout ms m) { apply {} }
        control e(in hs h, inout ms m) { apply {} }
        control f(inout hs h) { apply {} }
        K(p(), c()) a;
        K<hs, ms>(p(), c()) b;
        K(p(), d()) g;
               ^^^ error: expected `C<hs, _>`, found `d`
        K(p(), e()) h;
               ^^^ error: expected `C<hs, _>`, found `e`
        K(p(), f()) i;
               ^^^ error: expected `C<hs, _>`, found `f`
        K(c(), p()) j;
          ^^^ error: expected `P<_>`, found `c`
               ^^^ error: expected `C<_, _>`, found `p`
        K(p()) k;
        ^^^^^^^^^ error: no argument for parameter `c` -- `K` wants 2 arguments
        K<hs>(p(), c()) l;
        ^^^^^ error: wrong number of type arguments for `K` -- expected 2, found 1
    "#]]);
}

#[test]
fn written_type_arguments_may_stay_open() {
    ok("
        extern R<T, I> { R(bit<32> n); T read(in I i); }
        extern A<T, H, U> {
            A(R<_, _> r);
            U execute(@optional in H index);
            abstract void apply(inout T value, out U result);
        }
        control c(inout bit<32> i, out bit<32> o) {
            R<bit<32>, _>(8) r;
            A<bit<32>, _, bit<32>>(r) a = {
                void apply(inout bit<32> value, out bit<32> result) { result = value; }
            };
            action x() { o = a.execute(i[31:16]) + a.execute(32w0) + a.execute(); }
            apply { x(); o = o + r.read(8w3); }
        }
        control C(inout bit<32> i, out bit<32> o);
        package P(C c);
        P(c()) main;");
}

#[test]
fn an_open_type_argument_gives_numbers_no_width() {
    check(expect![[r#"
        extern E<T> { E(); void f(in T x); }
        control c(in bit<8> x) { E<_>() e; apply { e.f(x); e.f(4w1); e.f(0); } }
                                                                         ^ error: the width of this number is not known -- the parameter's type does not determine it
    "#]]);
}

#[test]
fn package_parameters_may_ignore_types() {
    check(expect![[r#"
        control C<T>(inout T x);
        package K<T>(C<T> c);
        package S(K<_> a, K<_> b);
        control c(inout bit<8> x) { apply {} }
        control d(inout bit<16> x) { apply {} }
        K(c()) k1;
        K(d()) k2;
        S(k1, k2) main;
    "#]]);
}

#[test]
fn optional_blocks_may_stay_away() {
    check(expect![[r#"
        control C<T>(inout T x);
        package K<A, B>(C<A> a, @optional C<B> b);
        control c(inout bit<8> x) { apply {} }
        K(c()) main;
    "#]]);
}

#[test]
fn default_blocks_are_taken() {
    check(expect![[r#"
        control C<T>(inout T x);
        control c(inout bit<8> x) { apply {} }
        package K<T>(C<T> a = c());
        K() k;
    "#]]);
}

#[test]
fn abstract_methods_are_implemented() {
    check(expect![[r#"
        extern E<T> { E(); bit<8> g(); abstract T f(in T x); abstract void h(); }
        control c(inout bit<8> y) {
            E<bit<8>>() a = { bit<8> f(in bit<8> x) { return x + y; } void h() {} };
            E<bit<8>>() b = { bit<8> f(in bit<8> x) { return x; } };
                        ^ error: abstract method `h` is not implemented
            E<bit<8>>() d = { bit<16> f(in bit<8> x) { return 1; } void h() {} };
                                      ^ error: `f` differs from the method it implements
            E<bit<8>>() e = { bit<8> f(inout bit<8> x) { return x; } void h() {} };
                                     ^ error: `f` differs from the method it implements
            E<bit<8>>() i = { bit<8> f(in bit<8> x) { return x; } void h() {} void k() {} };
                                                                                   ^ error: `E` has no abstract method `k` -- with these parameters
            E<bit<8>>() j;
                        ^ error: abstract method `f` is not implemented
            apply { y = a.f(1); a.h(); }
        }
    "#]]);
}

#[test]
fn an_initializer_needs_abstract_methods() {
    check(expect![[r#"
        extern E { E(); void f(); }
        control d() { apply {} }
        control c() { E() e = { void f() {} }; d() i = { void f() {} }; apply { i.apply(); } }
                          ^ error: the extern has no abstract methods to implement -- leave out the initializer block
                                                   ^ error: only externs have an initializer block
    "#]]);
}

#[test]
fn abstract_externs_are_not_anonymous() {
    check(expect![[r#"
        extern E { E(); abstract void f(); }
        control d()(E e) { apply {} }
        control c() { d(E()) i; apply { i.apply(); } }
                        ^^^ error: an extern with abstract methods needs a declaration -- `f` has no implementation here
    "#]]);
}

#[test]
fn an_initializer_holds_instances_too() {
    check(expect![[r#"
        extern E { E(); bit<8> g(); }
        extern F { F(); abstract bit<8> f(); }
        control c(out bit<8> y) {
            F() a = { E() inner; bit<8> f() { return inner.g(); } };
            apply { y = a.f(); }
        }
    "#]]);
}

#[test]
fn optional_methods_may_stay_away() {
    check(expect![[r#"
        extern F { F(); @optional abstract void f(); abstract void g(in bit<8> x, @optional in bit<8> y); }
        control c() { F() a = { void g(in bit<8> x) {} }; apply { a.g(1); } }
    "#]]);
}

#[test]
fn direct_invocation_needs_no_arguments() {
    check(expect![[r#"
        control d()(bit<8> n) { apply {} }
        control e()(bit<8> n = 1) { apply {} }
        control c() { apply { d.apply(); e.apply(); e.apply(); } }
                              ^ error: `d` has constructor parameters -- make an instance that gives `n`
    "#]]);
}

#[test]
fn arrays_of_externs() {
    check(expect![[r#"
        extern E { E(bit<8> n); void f(); }
        control d() { apply {} }
        control c(in bit<8> i) { E(1) es[4]; d() ds[2]; apply { es[0].f(); es[i].f(); es[4].f(); } }
                                             ^^^^^^^^^^ error: only externs can be instantiated as an array
                                                                                         ^ error: index 4 is out of bounds -- the array has 4 elements
    "#]]);
}
