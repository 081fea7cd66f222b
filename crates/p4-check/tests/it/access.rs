//! Members, indices, slices, l-values (P4-16 §6.6, §8.6, §8.10, §8.16 to §8.19).

use expect_test::expect;

use crate::support::check;

#[test]
fn fields_are_found_in_records() {
    check(expect![[r#"
        header h { bit<8> src; }
        struct s { h eth; bit<8> x; }
        action a(inout s v) { v.eth.src = v.x; v.eth.scr = 1; v.x.y = 1; v.q = 2; }
                                                     ^^^ error: header h has no field `scr`
                                                                  ^ error: bit<8> has no member `y`
                                                                           ^ error: struct s has no field `q`
    "#]]);
}

#[test]
fn enums_and_errors_have_members() {
    check(expect![[r#"
        error { Oops }
        enum e { red, green }
        action a(out e x, out error y) { x = e.red; x = e.gren; y = error.Oops; y = error.Opps; }
                                                          ^^^^ error: enum e has no member `gren`
                                                                                          ^^^^ error: error has no member `Opps`
    "#]]);
}

#[test]
fn arrays_and_tuples_are_indexed() {
    check(expect![[r#"
        header h { bit<8> x; }
        action a(inout h[2] k, in bit<8> i, in int<8> j, in tuple<bit<8>, bool> t, out bit<8> y, out bool b) {
            k[0].x = 1; k[i].x = 1; k[j].x = 1; y = t[0]; b = t[1];
            k[2].x = 1;
              ^ error: index 2 is out of bounds -- the array has 2 elements
            k[-1].x = 1;
              ^^ error: index -1 is out of bounds -- the array has 2 elements
            k[true].x = 1;
              ^^^^ error: the index is not a number -- this is `bool`
            y = t[2];
                  ^ error: index 2 is out of bounds -- the tuple has 2 members
            y = t[i];
                  ^ error: the index of a tuple must be a constant
            y = i[0];
                ^ error: `bit<8>` has no elements -- only arrays and tuples do
        }
    "#]]);
}

#[test]
fn bits_are_sliced() {
    check(expect![[r#"
        action a(inout bit<8> x, inout int<8> y, in bit<3> i, in bool b) {
            x[3:0] = 1; x[7:7] = y[0:0]; x = x[3:0] ++ x[7:4]; y[3:0] = x[3:0];
            x[8:0] = 1;
            ^^^^^^ error: slice [8:0] is out of bounds -- bits are numbered from 0 to 7
            x[0:3] = 1;
            ^^^^^^ error: slice [0:3] has its bounds swapped -- the most significant bit comes first
            x[i:0] = 1;
              ^ error: the bounds of a slice must be a compile-time constant -- its value is not known here
            b[0:0] = 1;
            ^ error: `bool` cannot be sliced -- only bits can
            x[-1:0] = 1;
            ^^^^^^^ error: slice [-1:0] is out of bounds -- bits are numbered from 0 to 7
            x = 5[3:0];
                ^ error: a slice needs a value of known width -- this number has no width
        }
    "#]]);
}

#[test]
fn slices_by_start_and_width() {
    check(expect![[r#"
        action a(inout bit<16> x, in bit<4> i, out bit<4> y, in int<4> j) {
            y = x[i+:4]; x[i+:4] = 1; y = x[0+:4];
            y = x[i+:5];
                ^^^^^^^ error: expected `bit<4>`, found `bit<5>`
            y = x[14+:4];
                ^^^^^^^^ error: slice [17:14] is out of bounds -- bits are numbered from 0 to 15
            y = x[i+:0];
                ^^^^^^^ error: a slice of 0 bits -- the value has 16 bits
            y = x[j+:4];
                  ^ error: the start of a slice is not a natural number -- this is `int<4>`
            y = x[-1+:4];
                ^^^^^^^^ error: slice [2:-1] is out of bounds -- bits are numbered from 0 to 15
        }
    "#]]);
}

#[test]
fn only_variables_are_assigned() {
    check(expect![[r#"
        const bit<8> k = 1;
        struct s { bit<8> f; }
        bit<8> g() { return 1; }
        action a(in bit<8> i, inout bit<8> io, out bit<8> o, in s v, bit<8> none) {
            bit<8> l; l = 1; io = l; o = 1; o[1:0] = 1;
            i = 1;
            ^ error: this cannot be assigned to -- `i` is an `in` parameter
            none = 1;
            ^^^^ error: this cannot be assigned to -- parameter `none` has no direction
            k = 1;
            ^ error: this cannot be assigned to -- this is a constant
            v.f = 1;
            ^^^ error: this cannot be assigned to -- `v` is an `in` parameter
            i[0:0] = 1;
            ^^^^^^ error: this cannot be assigned to -- `i` is an `in` parameter
        }
    "#]]);
}

#[test]
fn stacks_have_next_and_last_in_parsers() {
    check(expect![[r#"
        #include <core.p4>
        header h { bit<8> x; }
        struct s { h[2] k; bit<8>[2] n; }
        parser p(packet_in b, out s v) {
            state start {
                b.extract(v.k.next);
                v.k.last.x = (bit<8>) v.k.lastIndex;
                transition select(v.k.size) { 2: accept; default: reject; }
            }
        }
        action a(inout s v, out bit<32> n) { n = v.k.size; v.k.next.x = 1; n = v.k.lastIndex; n = v.k.length; n = v.n.lastIndex; }
                                                           ^^^^^^^^ error: `next` outside a parser -- only parsers count how many headers they have extracted
                                                                               ^^^^^^^^^^^^^ error: `lastIndex` outside a parser -- only parsers count how many headers they have extracted
                                                                                                      ^^^^^^ error: a header stack has no member `length`
                                                                                                                      ^^^^^^^^^ error: an array has no member `lastIndex`
    "#]]);
}

#[test]
fn headers_have_built_in_methods() {
    check(expect![[r#"
        header h { bit<8> x; }
        header_union u { h a; }
        struct s { bit<8> x; }
        action a(inout h v, inout u w, inout h[2] k, in h i, inout s y, out bool b) {
            v.setValid(); v.setInvalid(); b = v.isValid(); b = w.isValid(); k.push_front(1); k.pop_front(2);
            w.setValid();
              ^^^^^^^^ error: header union u has no member `setValid`
            y.isValid();
              ^^^^^^^ error: struct s has no member `isValid`
            i.setValid();
            ^ error: `setValid` cannot change this -- `i` is an `in` parameter
            v.isvalid();
              ^^^^^^^ error: header h has no member `isvalid`
            k.push_front(v.x);
                         ^^^ error: the number of elements must be a compile-time constant -- its value is not known here
            k.push_front();
            ^^^^^^^^^^^^^^ error: wrong number of arguments for `push_front` -- expected 1, found 0
            k.pop_front(-1);
                        ^^ error: a negative number of elements
            v.setValid(1);
            ^^^^^^^^^^^^^ error: wrong number of arguments for `setValid` -- expected 0, found 1
        }
    "#]]);
}
