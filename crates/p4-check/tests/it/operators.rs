//! Operators and their operands (P4-16 §8.4 to §8.9).

use expect_test::expect;

use crate::support::check;

#[test]
fn arithmetic_joins_numbers_of_one_type() {
    check(expect![[r#"
        action a(inout bit<8> x, inout int<8> y, in bit<16> z, in bool b) {
            x = x + 1; x = 1 - x; x = x * x; x = x |+| x; x = x |-| 2; x = x & x | x ^ 0xf;
            y = y + 1; y = y |-| y; y = y & 1;
            x = x + y;
                  ^ error: `+` cannot be applied to `bit<8>` and `int<8>`
            x = x + z;
                  ^ error: `+` cannot be applied to `bit<8>` and `bit<16>`
            x = x + b;
                  ^ error: `+` cannot be applied to `bit<8>` and `bool`
            b = b + b;
            ^ error: this cannot be assigned to -- `b` is an `in` parameter
                  ^ error: `+` cannot be applied to `bool` and `bool`
        }
    "#]]);
}

#[test]
fn saturating_needs_a_width() {
    check(expect![[r#"
        const int a = 1 |+| 2;
                        ^^^ error: `|+|` cannot be applied to `int` and `int`
    "#]]);
}

#[test]
fn only_unsigned_numbers_are_divided() {
    check(expect![[r#"
        action a(inout bit<8> x, inout int<8> y) { x = x / 4; x = x % 8; y = y / 2; }
                                                                               ^ error: `/` cannot be applied to `int<8>` and `int<8>`
    "#]]);
}

#[test]
fn comparisons_give_bool() {
    check(expect![[r#"
        action a(in bit<8> x, in int<8> y, out bool b) {
            b = x < 1; b = 1 >= x; b = y > -1;
            b = x < y;
                  ^ error: `<` cannot be applied to `bit<8>` and `int<8>`
            b = true < false;
                     ^ error: `<` cannot be applied to `bool` and `bool`
        }
    "#]]);
}

#[test]
fn equality_compares_values_of_one_type() {
    check(expect![[r#"
        error { E1 }
        header h { bit<8> x; }
        struct s { bit<8> a; h b; }
        enum e { p, q }
        enum bit<8> f { p = 1 }
        enum bit<8> g { p = 1 }
        type bit<8> n;
        extern X { X(); }
        void a(in s v, in s w, in h k, in e i, in f j, in n m, in varbit<8> vb, in tuple<bit<8>> t, X ext, out bool b) {
            b = v == w; b = v == { 1, { 2 } }; b = { a = 1, b = { 2 } } == v; b = k == {#}; b = i == e.p;
            b = j == f.p; b = j == 1; b = j == 8w1; b = m == m; b = vb == vb; b = t == { 1 };
            b = error.E1 == error.E1;
            b = v == k;
                  ^^ error: `==` cannot be applied to `s` and `h`
            b = i == 1;
                  ^^ error: `==` cannot be applied to `e` and `int`
            b = m == 8w1;
                  ^^ error: `==` cannot be applied to `n` and `bit<8>`
            b = j == g.p;
            b = ext == ext;
                ^^^^^^^^^^ error: values of extern X cannot be compared
            b = v == { 1 };
                     ^^^^^ error: wrong number of values for `s` -- expected 2, found 1
        }
    "#]]);
}

#[test]
fn values_of_a_type_variable_are_not_compared() {
    check(expect![[r#"
        bool f<T>(in T x, in T y) { return x == y; }
                                           ^^^^^^ error: values of type variable T cannot be compared
    "#]]);
}

#[test]
fn logic_is_for_bool() {
    check(expect![[r#"
        action a(in bit<1> x, inout bool b) { b = b && true || !b; b = x && b; b = !x; b = b || 1; }
                                                                         ^^ error: `&&` cannot be applied to `bit<1>` and `bool`
                                                                                   ^^ error: `!` cannot be applied to `bit<1>` -- this is `bit<1>`
                                                                                             ^^ error: `||` cannot be applied to `bool` and `int`
    "#]]);
}

#[test]
fn signs_are_for_numbers() {
    check(expect![[r#"
        action a(inout bit<8> x, inout bool b) { x = -x; x = ~x; x = +x; b = ~b; b = -b; x = ~1; }
                                                                             ^^ error: `~` cannot be applied to `bool` -- this is `bool`
                                                                                     ^^ error: `-` cannot be applied to `bool` -- this is `bool`
                                                                                             ^^ error: `~` cannot be applied to `int` -- its width is not known
    "#]]);
}

#[test]
fn shifts_are_by_natural_numbers() {
    check(expect![[r#"
        action a(inout bit<8> x, inout int<8> y, in int<4> z, in bit<4> w) {
            x = x << 3; x = x >> w; y = y >> w; x = x << 8w200;
                                                         ^^^^^ overflow: a shift of `bit<8>` by 200 -- no bit of the value is left
            x = x << z;
                     ^ error: bad operand of `<<` -- this is `int<4>`
            x = x << -1;
                     ^^ error: shift by a negative number
            x = 1 << w;
                ^ error: the width of the shift is not known -- an `int` can be shifted only by a constant
            x = 8w1 << w;
            x = true << 1;
                ^^^^ error: bad operand of `<<` -- `bool` cannot be shifted
            x = x << true;
                     ^^^^ error: bad operand of `<<` -- this is `bool`
        }
    "#]]);
}

#[test]
fn concatenation_joins_numbers_of_known_width() {
    check(expect![[r#"
        action a(in bit<8> x, in int<4> y, out bit<12> z, out int<12> w) {
            z = x ++ y; w = y ++ x;
            z = x ++ 1;
                     ^ error: `++` needs operands of known width -- this number has no width
            z = x ++ true;
                  ^^ error: `++` cannot be applied to `bit<8>` and `bool`
        }
    "#]]);
}

#[test]
fn the_branches_of_a_choice_agree() {
    check(expect![[r#"
        action a(in bool b, inout bit<8> x, in bit<16> y) {
            x = b ? x : 1; x = b ? 1 : x; x = true ? 1 : 2;
            x = b ? x : y;
                        ^ error: the branches of `?:` have different types -- this is `bit<16>`
            x = b ? 1 : 2;
                    ^ error: the width of `?:` is not known -- neither branch has a width
            x = x ? x : x;
                ^ error: the condition of `?:` is not `bool` -- this is `bit<8>`
        }
    "#]]);
}

#[test]
fn compound_assignments_are_operations() {
    check(expect![[r#"
        action a(inout bit<8> x, inout bool b, in bit<16> y, inout bit<16> z) {
            x += 1; x -= x; x *= 2; x <<= 1; x >>= x; x &= 1; x |= 1; x ^= 1; x |+|= 1; x |-|= 1; x /= 2; x %= 4;
            x += y;
              ^^ error: `+` cannot be applied to `bit<8>` and `bit<16>`
            b += 1;
              ^^ error: `+` cannot be applied to `bool` and `int`
        }
    "#]]);
}
