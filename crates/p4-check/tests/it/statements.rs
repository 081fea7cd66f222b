//! Statements: conditions, `switch` on values, loops, returns (P4-16 §12).

use expect_test::expect;

use crate::support::check;

#[test]
fn conditions_are_bool() {
    check(expect![[r#"
        action a(in bit<1> x, in bool b) { if (b) {} else if (x) {} if (1) {} }
                                                              ^ error: the condition of `if` is not `bool` -- this is `bit<1>`
                                                                        ^ error: the condition of `if` is not `bool` -- this is `int`
    "#]]);
}

#[test]
fn switch_on_values() {
    check(expect![[r#"
        enum e { a, b }
        enum bit<8> f { a = 1 }
        header h { bit<8> x; }
        action x(in bit<8> v, in e w, in f u, in h k, in bool b, inout bit<8> y) {
            switch (v) { 1: { y = 1; } 2: 3: { y = 2; } default: { y = 3; } }
            switch (w) { e.a: {} e.b: {} }
            switch (u) { f.a: {} }
            switch (b) { true: {} false: {} }
            switch (v) { 1: {} 1: {} }
                               ^ error: the same label twice
            switch (v) { v: {} true: {} default: {} 4: {} }
                    ^ error: `bool` cannot label a `bit<8>` -- this is `bit<8>`
                         ^ error: a `switch` label must be known at compile time
                                                    ^ error: a label after `default`
            switch (v) { default: {} default: {} }
                                     ^^^^^^^ error: `default` twice in a `switch`
            switch (k) { _x: {} }
                    ^ error: `switch` cannot test a `h`
            switch ("text") { 1: {} }
                    ^^^^^^ error: `switch` cannot test a `string`
        }
    "#]]);
}

#[test]
fn loops_run_over_ranges_and_lists() {
    check(expect![[r#"
        header h { bit<8> x; }
        action a(inout bit<8> y, in h[2] k, in bool b) {
            for (bit<8> i = 0; i < 3; i = i + 1) { y = y + i; }
            for (bit<8> i in 1 .. 3) { y = y + i; }
            for (bit<8> i in (list<bit<8>>) { 1, 2 }) { y = y + i; }
            for (h i in k) { y = i.x; }
            for (bit<8> i in k) { y = i; }
                             ^ error: expected elements of `bit<8>`, found `h`
            for (bit<8> i in y) { y = i; }
                             ^ error: a loop runs over a list, an array or a range -- this is `bit<8>`
            for (bit<8> i in true .. 3) { y = i; }
                             ^^^^ error: expected `bit<8>`, found `bool`
            for (; y; ) {}
                   ^ error: the condition of `for` is not `bool` -- this is `bit<8>`
            y = i;
                ^ error: unknown name `i` -- not declared before this use
        }
    "#]]);
}

#[test]
fn results_have_their_type() {
    check(expect![[r#"
        bit<8> f(in bit<16> x) { return x; }
                                        ^ error: expected `bit<8>`, found `bit<16>`
        void g() { return; }
        bool h(in bit<8> x) { if (x == 1) { return true; } else { return 1; } }
                                                                         ^ error: expected `bool`, found `int`
    "#]]);
}

#[test]
fn calls_are_statements() {
    check(expect![[r#"
        bit<8> f() { return 1; }
        extern E { E(); bit<8> g(); }
        control c(inout bit<8> x) { E() e; apply { f(); e.g(); x.minSizeInBits(); } }
    "#]]);
}
