//! Warnings, each with its name.

use expect_test::expect;

use crate::support::{check, ok};

#[test]
fn unused() {
    check(expect![[r#"
        extern E { E(); void f(); }
        control c(inout bit<8> x) {
            E() e1; E() e2;
                        ^^ unused: instance `e2` is unused -- never used
            bit<8> v1; bit<8> v2 = 1; bit<8> v3; bit<8> _v4;
                   ^^ unused: variable `v1` is unused -- never used
                                             ^^ unused: variable `v3` is unused -- written and never read
            action a1() {} action a2() {} action a3() {}
                                                 ^^ unused: action `a3` is unused -- neither listed in a table nor called
            table t1 { actions = { a1; } default_action = a1; }
            table t2 { actions = { a1; } default_action = a1; }
                  ^^ unused: table `t2` is unused -- never applied
            @noWarn("unused") action quiet() {}
            apply { e1.f(); v3 = 1; x = v2; a2(); t1.apply(); }
        }
    "#]]);
}

#[test]
fn uninitialized_use() {
    check(expect![[r#"
        action a(in bool b, out bit<8> y) {
            bit<8> v;
            if (b) { v = 1; }
            y = v;
                ^ uninitialized-use: `v` may be read before it is set -- read here
            bit<8> w;
            if (b) { w = 1; } else { w = 2; }
            y = w;
            bit<8> u;
            y = y + u;
                    ^ uninitialized-use: `u` may be read before it is set -- read here
        }
        struct s { bit<8> x; bit<8> y; }
        bit<8> f() { s v; v.x = 1; bit<8> r = v.x; return r + v.y; }
                                                              ^^^ uninitialized-use: `v` may be read before it is set -- read here
        bit<8> g() { bit<8> v; for (bit<8> i in 1 .. 3) { v = i; } return v; }
                                                                          ^ uninitialized-use: `v` may be read before it is set -- read here
        bit<8> h() { bit<8> v; switch (8w1) { 1: { v = 1; } default: { return 2; } } return v; }
        extern void set(out bit<8> x);
        bit<8> k() { bit<8> v; set(v); return v; }
    "#]]);
}

#[test]
fn uninitialized_use_in_parsers() {
    check(expect![[r#"
        parser p(in bit<8> x, out bit<8> y) {
            bit<8> v;
            state start { y = 1; transition select(x) { 1: one; default: two; } }
            state one { v = 1; transition two; }
            state two { y = v; transition accept; }
                            ^ uninitialized-use: `v` may be read before it is set -- read here
        }
    "#]]);
}

#[test]
fn actions_may_set_what_tables_need() {
    check(expect![[r#"
        control c(inout bit<8> x) {
            bit<8> v;
            action a() { v = 1; }
            table t { actions = { a; } default_action = a; }
            apply { t.apply(); x = v; }
        }
    "#]]);
}

#[test]
fn uninitialized_out_param() {
    check(expect![[r#"
        struct s { bit<8> x; bit<8> y; }
        action a(in bool b, out bit<8> y, out s z, out bit<8> w) { w = 1; z.x = 1; if (b) { y = 1; } }
                                       ^ uninitialized-out-param: `out` parameter `y` may stay unset -- not set on every path
                                                ^ uninitialized-out-param: `out` parameter `z` may stay unset -- not all of its fields are set on every path
        bit<8> f(in bool b, out bit<8> y) { if (b) { return 1; } y = 1; return 2; }
                                       ^ uninitialized-out-param: `out` parameter `y` may stay unset -- not set on every path
    "#]]);
}

#[test]
fn maybe_invalid_header() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { h a; h b; }
        control c(inout s v, in bool k) {
            action x() { v.a.setInvalid(); }
            table t { actions = { x; } default_action = x; }
            apply {
                if (k) { v.a.setInvalid(); }
                v.a.x = 1;
                ^^^^^ invalid-header: field of a header that may be invalid -- on some path the header is not valid here
                v.a.x = 2;
                if (v.b.isValid()) { v.b.x = 1; }
                v.b.x = v.b.x + 1;
                        ^^^^^ invalid-header: field of a header that may be invalid -- on some path the header is not valid here
                if (!v.a.isValid() || v.a.x == 1) { return; }
                v.a.x = 3;
                if (!v.a.isValid()) { v.a = v.b; }
                v.a.x = 4;
                v.a.setInvalid();
                t.apply();
                v.a.x = 5;
            }
        }
        extern packet_in { void extract<T>(out T x); }
        parser p(packet_in b, out s v) {
            state start { b.extract(v.a); transition select(v.a.x) { 1: one; default: two; } }
            state one { b.extract(v.b); transition two; }
            state two { transition select(v.b.x, v.a.x) { (1, 2): accept; default: reject; } }
                                          ^^^^^ invalid-header: field of a header that may be invalid -- on some path the header is not valid here
        }
    "#]]);
}

#[test]
fn invalid_headers_of_stacks_and_unions() {
    check(expect![[r#"
        header h { bit<8> x; }
        header_union u { h a; h b; }
        struct s { h[3] many; u one; }
        control c(inout s v, in bit<2> i, out s w) {
            apply {
                v.many[1].setInvalid();
                v.many[0].x = 1;
                v.many[1].x = 2;
                ^^^^^^^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
                v.many[2].setInvalid();
                v.many[i].setValid();
                v.many[2].x = 2;
                v.many[0].setInvalid();
                v.many.push_front(1);
                v.many[0].x = 3;
                v.one.a.setValid();
                v.one.a.x = 1;
                v.one.b.x = 2;
                ^^^^^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
                if (v.one.b.isValid()) { v.one.a.x = 1; }
                                         ^^^^^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
                w.many[i].x = 1;
                w.many[0].x = 1;
                ^^^^^^^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
            }
        }
        extern packet_in { void extract<T>(out T x); }
        parser p(packet_in b, out s v) {
            state start { b.extract(v.many.next); transition select(v.many[0].x) { 1: one; default: two; } }
            state one { b.extract(v.one.a); transition two; }
            state two { transition select(v.one.a.x, v.one.b.x) { (1, 2): accept; default: reject; } }
                                          ^^^^^^^^^ invalid-header: field of a header that may be invalid -- on some path the header is not valid here
                                                     ^^^^^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
        }
    "#]]);
}

#[test]
fn invalid_header() {
    check(expect![[r#"
        header h { bit<8> x; }
        struct s { h a; h b; }
        control c(inout s v, out s w) {
            apply {
                v.a.x = 1;
                v.a.setInvalid(); v.a.x = 2;
                                  ^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
                if (v.b.isValid()) { v.b.x = 1; } else { v.b.x = 2; }
                                                         ^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
                w.a.x = 1;
                ^^^^^ invalid-header: field of an invalid header -- the header is not valid here on any path
                w.b.setValid(); w.b.x = 1;
                h l; l = v.a; l.x = 3;
                  ^ unused: variable `l` is unused -- written and never read
                l = { 4 }; l.x = 5;
            }
        }
    "#]]);
}

#[test]
fn unreachable() {
    check(expect![[r#"
        parser p() {
            state start { transition accept; }
            state lost { transition accept; }
                  ^^^^ unreachable: state `lost` is unreachable -- no path from `start` leads here
        }
        bit<8> f(in bool b) { if (b) { return 1; } else { return 2; } return 3; }
                                                                      ^^^^^^^^^ unreachable: this statement is never run
        control c(inout bit<8> x) { apply { { exit; } x = 1; } }
                                                      ^^^^^^ unreachable: this statement is never run
        action a(inout bit<8> x) { for (bit<8> i in 1 .. 3) { break; x = i; } }
                                                                     ^^^^^^ unreachable: this statement is never run
    "#]]);
}

#[test]
fn parser_transition() {
    check(expect![[r#"
        parser p(in bit<8> x) {
            state start { transition select(x) { 1: next; _: accept; 2: next; } }
                                                                     ^^^^^^^^ parser-transition: this case is never reached
            state next { }
                  ^^^^ parser-transition: state `next` has no `transition` -- it rejects the packet
        }
    "#]]);
}

#[test]
fn keys() {
    check(expect![[r#"
        #include <core.p4>
        match_kind { range }
        control c(in bit<8> x) {
            action a() {}
            table t { key = { x: ternary; } actions = { a; } const entries = { 1 &&& 1: a; 3: a; 2: a; 5 &&& 5: a; _: a; 4: a; } }
                                                                                           ^^^^^ keys: this entry never matches
                                                                                                       ^^^^^^^^^^^ keys: this entry never matches
                                                                                                                         ^^^^^ keys: this entry never matches
            table u { key = { x: range; } actions = { a; } const entries = { 1 .. 5: a; 2 .. 3: a; 4 .. 6: a; 5: a; } }
                                                                                        ^^^^^^^^^^ keys: this entry never matches
                                                                                                              ^^^^^ keys: this entry never matches
            apply { t.apply(); u.apply(); }
        }
    "#]]);
}

#[test]
fn deprecated() {
    check(expect![[r#"
        @deprecated("use g") extern void f();
        extern E { E(); @deprecated("too slow") void m(); }
        control c() { E() e; apply { f(); e.m(); } }
                                     ^^^ deprecated: `f` is deprecated -- called here
                                          ^^^^^ deprecated: `m` is deprecated -- called here
    "#]]);
}

#[test]
fn shadow() {
    check(expect![[r#"
        const bit<8> k = 1;
        control c(inout bit<8> x) {
            bit<8> y = k;
            action a(bit<8> d) { bit<8> y = d; x = y; { bit<8> y = 2; x = y; } }
                                        ^ shadow: `y` hides another declaration -- this one
                                                               ^ shadow: `y` hides another declaration -- this one
            table t { actions = { a; } default_action = a(1); }
            apply { t.apply(); bit<8> k = y; x = k; }
                                      ^ shadow: `k` hides another declaration -- this one
        }
    "#]]);
}

#[test]
fn overflow() {
    check(expect![[r#"
        const bit<4> a = 16;
                         ^^ overflow: 16 does not fit `bit<4>` -- it becomes 0
        const int<4> b = 4s8;
                         ^^^ overflow: 8 does not fit `int<4>` -- it becomes -8
        action c(out bit<8> x) { x = 256; x = (bit<8>) 300; x = 255; }
                                     ^^^ overflow: 256 does not fit `bit<8>` -- it becomes 0
                                              ^^^^^^^^^^^^ overflow: 300 does not fit `bit<8>` -- it becomes 44
    "#]]);
}

#[test]
fn no_warn() {
    check(expect![[r#"
        action a(@noWarn("uninitialized-out-param") out bit<8> y, out bit<8> z) {
            @noWarn("uninitialized-use") bit<8> v; @noWarn bit<8> w;
            z = v;
        }
        action b(out bit<8> z) { bit<8> v; @noWarn("uninitialized-use") { z = v; } }
    "#]]);
}

#[test]
fn missing_case() {
    check(expect![[r#"
        enum e { a, b, c }
        enum bit<8> f { a = 1, b = 2 }
        action x(in e v, in f w, in bool b, in bit<8> n, inout bit<8> y) {
            switch (v) { e.a: { y = 1; } e.b: {} }
                    ^ missing-case: `switch` has no case for some values -- no case for c
            switch (v) { e.a: {} e.b: {} e.c: {} }
            switch (w) { f.a: {} default: {} }
            switch (w) { f.b: {} }
                    ^ missing-case: `switch` has no case for some values -- no case for a
            switch (b) { true: {} }
                    ^ missing-case: `switch` has no case for some values -- no case for false
            switch (n) { 1: {} }
        }
        parser p(in e v, in bool b) {
            state start { transition select(v) { e.a: accept; e.c: next; } }
                                            ^ missing-case: `select` has no case for some values -- no case for b
            state next { transition select(b) { true: accept; false: reject; } }
        }
    "#]]);
}

#[test]
fn nested_conditionals() {
    check(expect![[r#"
        #define PARENS(x) (x)
        #define LAST c ? d : a
                     ^^^^^^^^^ nested-conditional: p4c reads a nested `?:` differently -- p4rack takes this as the last part; p4c takes all before the second `?` as its condition
        action x(in bool a, in bool b, in bool c, in bool d, in bit<8> n, in bit<8> m, out bool y, out bit<8> z) {
            y = a ? b : c ? d : a;
                        ^^^^^^^^^ nested-conditional: p4c reads a nested `?:` differently -- p4rack takes this as the last part; p4c takes all before the second `?` as its condition
            y = a ? b : LAST;
            y = a ? b : c ? d : b ? c : d;
                        ^^^^^^^^^^^^^^^^^ nested-conditional: p4c reads a nested `?:` differently -- p4rack takes this as the last part; p4c takes all before the second `?` as its condition
                                ^^^^^^^^^ nested-conditional: p4c reads a nested `?:` differently -- p4rack takes this as the last part; p4c takes all before the second `?` as its condition
            y = a ? b : (c ? d : a);
            y = a ? b : PARENS(c ? d : a);
            y = (a ? b : c) ? d : a;
            y = a ? b ? c : d : a;
            y = a ? b : !(c ? d : a);
            y = a ? b : (c) ? d : (a);
                        ^^^^^^^^^^^^^ nested-conditional: p4c reads a nested `?:` differently -- p4rack takes this as the last part; p4c takes all before the second `?` as its condition
            z = a ? n : c ? m : 1;
        }
    "#]]);
}

#[test]
fn action_data_that_nothing_reads() {
    check(expect![[r#"
        action a(inout bit<8> x, bit<8> read, bit<8> unread, bit<8> _mute) { x = read; }
                                                     ^^^^^^ unused: action data `unread` is unused -- every entry has to give it, and nothing reads it
        action b(bit<8> stub) { }
        @noWarn("unused") action c(inout bit<8> x, bit<8> quiet) { x = 1; }
    "#]]);
}

#[test]
fn blocks_that_main_does_not_lead_to() {
    check(expect![[r#"
        extern packet_in { packet_in(); }
        control C(); parser P(packet_in b); package K(P p, C c);
        control inner() { apply { } }
        control used() { inner() i; apply { i.apply(); } }
        control unused() { apply { } }
                ^^^^^^ unused: control `unused` is unused -- `main` does not lead to it
        @noWarn("unused") control quiet() { apply { } }
        parser p(packet_in b) { state start { transition accept; } }
        parser q(packet_in b) { state start { transition accept; } }
               ^ unused: parser `q` is unused -- `main` does not lead to it
        K(p(), used()) main;
    "#]]);
}

#[test]
fn without_main_every_block_may_be_used() {
    ok("control c() { apply { } }");
}

#[test]
fn shifts_that_leave_nothing() {
    check(expect![[r#"
        action a(inout bit<8> x, inout int<8> y) { x = x << 7; x = x << 8; y = y >> 9; y = y << 9; }
                                                                        ^ overflow: a shift of `bit<8>` by 8 -- no bit of the value is left
                                                                                    ^ overflow: a shift of `int<8>` by 9 -- only the sign is left
                                                                                                ^ overflow: a shift of `int<8>` by 9 -- no bit of the value is left
    "#]]);
}

#[test]
fn parsers_that_never_accept() {
    check(expect![[r#"
        extern packet_in { packet_in(); }
        parser a(packet_in b) { state start { transition reject; } }
               ^ unreachable: parser `a` never accepts a packet -- no path from `start` leads to `accept`
        parser c(packet_in b, in bit<8> x) { state start { transition select(x) { 1: start; } } }
               ^ unreachable: parser `c` never accepts a packet -- no path from `start` leads to `accept`
        parser d(packet_in b, in bit<8> x) { state start { transition select(x) { 1: start; 2: accept; } } }
        @noWarn("unreachable") parser e(packet_in b) { state start { transition reject; } }
    "#]]);
}

#[test]
fn out_parameters_of_parsers_are_set_at_least_in_part() {
    check(expect![[r#"
        extern packet_in { packet_in(); }
        struct m { bit<8> x; bit<8> y; }
        parser a(packet_in b, out bit<8> never, out m partly, out m wholly, in bit<8> k) {
                                         ^^^^^ uninitialized-out-param: `out` parameter `never` may stay unset -- not set on every path
            state start { partly.x = 1; wholly = { 1, 2 }; transition select(k) { 1: accept; _: other; } }
            state other { never = 1; transition accept; }
        }
    "#]]);
}
