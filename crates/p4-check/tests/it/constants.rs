//! Constants and what is known at compile time (P4-16 §11.1, §18.1).

use expect_test::expect;

use crate::support::check;

#[test]
fn constants_are_folded() {
    check(expect![[r#"
        const int a = 7;
        const bit<8> b = a * 2 + 1;
        const bit<4> c = (bit<4>) b;
        const bool d = b == 15 && c != 0;
        const bit<8> e = d ? b : 0;
        const bit<12> f = b ++ c;
        const bit<4> g = b[7:4];
        const int<8> h = -1;
        const int<8> i = h >> 3;
        const bit<8> j = 255 |+| b;
    "#]]);
}

#[test]
fn the_size_of_what_is_folded_is_checked() {
    check(expect![[r#"
        const bit<4> a = 16;
                         ^^ overflow: 16 does not fit `bit<4>` -- it becomes 0
        const bit<4> b = -1;
                         ^^ overflow: -1 does not fit `bit<4>` -- it becomes 15
        const int<4> c = 8;
                         ^ overflow: 8 does not fit `int<4>` -- it becomes -8
        const int<4> d = -8;
        const bit<4> e = 4w255;
                         ^^^^^ overflow: 255 does not fit `bit<4>` -- it becomes 15
        const bit<4> f = (bit<4>) 255;
                         ^^^^^^^^^^^^ overflow: 255 does not fit `bit<4>` -- it becomes 15
    "#]]);
}

#[test]
fn a_constant_is_known() {
    check(expect![[r#"
        extern bit<8> f();
        const bit<8> a = f();
                         ^^^ error: `a` is not constant -- its value is not known at compile time
        action b(in bit<8> x, bit<8> y) { const bit<8> z = x; bit<8> w = z; const bit<8> v = y; w = v; }
                                                           ^ error: `z` is not constant -- its value is not known at compile time
                                                                                             ^ error: `v` is not constant -- its value is not known at compile time
        control c()(bit<8> n) { const bit<8> m = n + 1; apply {} }
    "#]]);
}

#[test]
fn a_constant_is_no_object() {
    check(expect![[r#"
        extern E { E(); }
        const E e = E();
                ^ error: a constant cannot be extern E
    "#]]);
}

#[test]
fn parts_of_constants_are_known() {
    check(expect![[r#"
        struct s { bit<8> a; tuple<bit<8>, bool> b; }
        const s x = { 1, { 2, true } };
        const bit<8> y = x.a + x.b[0];
        typedef bit<(y)> t;
        const tuple<bit<8>> z = { 9 };
        typedef bit<(z[0])> u;
        const bit<3> p = (t) 1;
    "#]]);
}

#[test]
fn arithmetic_has_no_value_everywhere() {
    check(expect![[r#"
        const int zero = 0;
        const int a = 1 / zero;
                          ^^^^ error: division by zero
        const int b = 1 % zero;
                          ^^^^ error: division by zero
        const int c = -4 / 2;
                      ^^^^^^ error: division of negative numbers -- only natural numbers can be divided
        const int d = 1 << -1;
                           ^^ error: shift by a negative number
        const int e = 1 << 100000;
                        ^^ error: the number is too large
        const bit<8> f = 8w1 >> 400;
                                ^^^ overflow: a shift of `bit<8>` by 400 -- no bit of the value is left
        action x(inout bit<8> v) { v = v / 0; v = v << -1; v = v / -2; }
                                           ^ error: division by zero
                                                       ^^ error: shift by a negative number
                                                               ^^^^^^ error: division of negative numbers -- only natural numbers can be divided
    "#]]);
}

#[test]
fn static_assertions_are_checked() {
    check(expect![[r##"
        #include <core.p4>
        const bool a = static_assert(1 + 1 == 2);
        const bool b = static_assert(1 > 2, "one is not larger");
                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error: static assertion failed -- one is not larger
        action c(in bit<8> x) { static_assert(x == 1, "unknown"); }
                                              ^^^^^^ error: argument for `check` must be known at compile time -- its value depends on the packet
    "##]]);
}

#[test]
fn sizes_of_types_are_known() {
    check(expect![[r#"
        header h { bit<8> a; varbit<32> b; }
        header g { bit<9> a; }
        header_union u { h x; g y; }
        const int a = h.minSizeInBits();
        typedef bit<(h.maxSizeInBits())> b;
        const b c = 0;
        const bit<40> d = c;
        typedef bit<(g.minSizeInBytes())> e;
        const bit<2> f = (e) 1;
        const int i = u.minSizeInBits() + u.maxSizeInBits();
        typedef bit<(i)> j;
        const bit<48> k = (j) 1;
        enum l { x }
        const int m = l.minSizeInBits();
                      ^^^^^^^^^^^^^^^^^ error: enum l has no size
    "#]]);
}

#[test]
fn strings_are_joined() {
    check(expect![[r#"
        @name("a" ++ "b") const string x = "one" ++ "two";
        const string y = "a" + "b";
                             ^ error: `+` cannot be applied to `string` and `string`
        const string z = "a" ++ 1;
                                ^ error: `++` needs operands of known width -- this number has no width
    "#]]);
}
