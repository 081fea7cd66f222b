//! Types: widths, sizes, type arguments, what may stand inside what (P4-16 §7).

use expect_test::expect;

use crate::support::check;

#[test]
fn widths_are_known_and_in_range() {
    check(expect![[r#"
        const bit<8> n = 4;
        typedef bit<(n * 2)> a;
        typedef bit<0> b;
        typedef int<0> c;
                    ^ error: `int<0>` is not a type -- a width is at least 1 here
        typedef int<1> d;
        typedef bit<(-1)> e;
                    ^^^^ error: `bit<-1>` is not a type -- a width is at least 0 here
        typedef varbit<(n - 5)> f;
        typedef bit<2000000> g;
                    ^^^^^^^ error: `bit<2000000>` is not a type -- a width is at most 1048576 bits
        action x(in bit<8> m) { bit<(m)> y; y = 1; }
                                    ^^^ error: the width must be a compile-time constant -- its value is not known here
    "#]]);
}

#[test]
fn array_sizes_are_known_and_in_range() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { h[4] a; h[0] b; bit<8>[3] c; }
        struct t { h[-1] a; }
                     ^^ error: bad array size -1 -- a size is a number from 0 to 16777216
        action x(in bit<8> m) { h[m] y; }
                                  ^ error: the size of an array must be a compile-time constant -- its value is not known here
    "#]]);
}

#[test]
fn generic_types_take_their_arguments() {
    check(expect![[r#"
        struct s<T> { T x; }
        struct p<A, B> { A a; B b; }
        struct u {
            s a;
            ^ error: `s` needs type arguments -- 1 type argument missing
            s<bit<8>, bit<8>> b;
            ^^^^^^^^^^^^^^^^^ error: wrong number of type arguments for `s` -- expected 1, found 2
            p<bit<8>> c;
            ^^^^^^^^^ error: wrong number of type arguments for `p` -- expected 2, found 1
            bit<8> d;
            p<bit<8>, s<bool>> e;
        }
        enum e { x }
        struct v { e<bit<8>> a; }
                   ^^^^^^^^^ error: `e` takes no type arguments -- it is not generic
    "#]]);
}

#[test]
fn dont_care_is_for_parameters_and_calls() {
    check(expect![[r#"
        struct s<T> { T x; }
        const s<_> a = { 1 };
                ^ error: `_` is not a type here -- write the type
        typedef tuple<_> t;
                      ^ error: `_` is not a type here -- write the type
        extern E<T> { E(); }
        control c(E<_> e) { apply {} }
    "#]]);
}

#[test]
fn a_generic_type_is_not_nested_in_itself() {
    check(expect![[r#"
        struct s<T> { T x; }
        typedef s<s<bit<8>>> t;
                ^^^^^^^^^^^^ error: `s<s<bit<8>>>` has itself as an argument -- a generic type cannot be nested in itself
    "#]]);
}

#[test]
fn objects_are_no_type_arguments() {
    check(expect![[r#"
        control c() { apply {} }
        control d();
        struct s<T> { T x; }
        struct t { s<c> a; s<d> b; }
                     ^ error: control c cannot be a type argument
                             ^ error: control d cannot be a type argument
    "#]]);
}

#[test]
fn header_fields_have_bits_in_a_packet() {
    check(expect![[r#"
        enum e { a }
        enum bit<8> f { a = 1 }
        struct plain { bit<8> x; f y; }
        struct bad { e x; }
        header inner { bit<8> x; }
        header h {
            bit<8> a; int<8> b; bool c; varbit<8> d; f g; plain i; bit<8>[2] j;
            e k;
              ^ error: header field `k` cannot be `e` -- an enum without underlying type has no bits in a packet
            bad l;
                ^ error: header field `l` cannot be `bad` -- it has fields that a header cannot have
            inner m;
                  ^ error: header field `m` cannot be `inner` -- headers do not nest
            tuple<bit<8>> n;
                          ^ error: header field `n` cannot be `tuple<bit<8>>` -- it has no bits in a packet
            int o;
                ^ error: header field `o` cannot be `int` -- it has no bits in a packet
            string p;
                   ^ error: header field `p` cannot be `string` -- it has no bits in a packet
        }
    "#]]);
}

#[test]
fn struct_fields_can_be_stored() {
    check(expect![[r#"
        extern E { E(); }
        control c() { apply {} }
        error { X }
        header h { bit<8> x; }
        header_union u { h a; }
        struct s {
            bit<8> a; varbit<8> b; bool c; error d; h e; u f; h[2] g; u[2] i; tuple<bit<8>> j;
            int k;
                ^ error: struct field `k` cannot be `int` -- it has no size
            string l;
                   ^ error: struct field `l` cannot be `string` -- it has no size
            E m;
              ^ error: struct field `m` cannot be `E` -- it cannot be stored
            c n;
              ^ error: struct field `n` cannot be `c` -- it cannot be stored
        }
    "#]]);
}

#[test]
fn header_unions_have_headers() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { bit<8> x; }
        header_union u { h a; bit<8> b; s c; h[2] d; }
                                     ^ error: header union field `b` cannot be `bit<8>` -- a header union has headers only
                                          ^ error: header union field `c` cannot be `s` -- a header union has headers only
                                                  ^ error: header union field `d` cannot be `h[2]` -- a header union has headers only
    "#]]);
}

#[test]
fn what_is_put_for_a_type_variable_must_fit_there() {
    check(expect![[r#"
        header h<T> { T x; }
        header_union u<T> { T x; }
        struct s<T> { T x; }
        struct t { h<bit<8>> a; h<string> b; u<bit<8>> c; s<bool> d; }
                                ^^^^^^^^^ error: `h<string>` would have a field `string` -- `x` cannot have this type: it has no bits in a packet
                                             ^^^^^^^^^ error: `u<bit<8>>` would have a field `bit<8>` -- `x` cannot have this type: a header union has headers only
    "#]]);
}

#[test]
fn new_types_are_made_of_values() {
    check(expect![[r#"
        struct s { bit<8> x; }
        type bit<8> a;
        type a b;
        type bool c;
        type s d;
             ^ error: `type` cannot make a new type of `s` -- only numbers and `bool` can be the base of a `type`
        type varbit<8> e;
             ^^^^^^^^^ error: `type` cannot make a new type of `varbit<8>` -- only numbers and `bool` can be the base of a `type`
        typedef s f;
        typedef struct g { bit<8> x; } i;
        struct j { g x; i y; }
    "#]]);
}

#[test]
fn enums_are_made_of_numbers() {
    check(expect![[r#"
        typedef bit<8> byte;
        type bit<8> nominal;
        enum byte a { x = 1, y = 300 }
                                 ^^^ overflow: 300 does not fit `bit<8>` -- it becomes 44
        enum int<8> b { x = -1 }
        enum nominal c { x = 1 }
             ^^^^^^^ error: the underlying type of an enum cannot be `nominal` -- only `bit<W>` and `int<W>` are allowed
        enum bool d { x = true }
             ^^^^ error: the underlying type of an enum cannot be `bool` -- only `bit<W>` and `int<W>` are allowed
        enum int e { x = 1 }
             ^^^ error: the underlying type of an enum cannot be `int` -- only `bit<W>` and `int<W>` are allowed
        enum bit<8> i { x = 1, y = x, z = (bit<8>) x }
        action act(in bit<8> v) { }
    "#]]);
}

#[test]
fn the_values_of_an_enum_are_known() {
    check(expect![[r#"
        extern bit<8> f();
        enum bit<8> e { x = f() }
                            ^^^ error: the value of `x` must be known at compile time
    "#]]);
}

#[test]
fn error_needs_a_declaration() {
    check(expect![[r#"
        struct s { error e; }
                   ^^^^^ error: `error` is not declared -- no member of it is declared before this use
    "#]]);
}

#[test]
fn members_of_tuples_and_lists_are_values() {
    check(expect![[r#"
        extern E { E(); }
        control c();
        typedef tuple<bit<8>, E> a;
                              ^ error: a tuple cannot have a member of type `E` -- this type is not a value type
        typedef list<c> b;
                     ^ error: a list cannot have elements of type `c` -- this type is not a value type
        typedef list<tuple<bit<8>>> d;
    "#]]);
}
