//! The typed tree: what checking adds is written out.

use expect_test::expect;

use crate::support::tree;

#[test]
fn implicit_casts_and_widths_are_written_out() {
    tree(
        "enum bit<8> e { a = 1 }
         struct s { bit<8> x; bool y; }
         const int k = 3;
         action f(in e v, inout bit<8> w, out s u, out tuple<bit<8>, bit<8>> t) {
             w = v; w = w + k; w = 1 + v; w = (bit<8>) v; u = { 1, true }; u = { y = false, ... }; t = { w, 2 };
             if (w == 4 && u == { x = 1, y = true }) { w += 2; w <<= k; }
         }",
        &["f"],
        expect![[r#"
            action f(in e v, inout bit<8> w, out s u, out tuple<bit<8>, bit<8>> t) {
                w = v as bit<8>;
                w = (w + 8w3);
                w = (8w1 + v as bit<8>);
                w = (bit<8>) v;
                u = (s) {x = 8w1, y = true};
                u = (s) {x = (bit<8>) ..., y = false};
                t = (tuple<bit<8>, bit<8>>) {w, 8w2};
                if ((w == 8w4) && (u == (s) {x = 8w1, y = true})) {
                    w += 8w2;
                    w <<= 3;
                }
            }
        "#]],
    );
}

#[test]
fn calls_have_all_their_arguments() {
    tree(
        "extern T g<T>(in T a, in bit<8> b = 7, @optional in bool c);
         extern void h(out bit<8> x, inout bit<8> y);
         action f(inout bit<8> w) { w = g(w); w = g(b = 1, a = w); h(_, w); w = g(8w1, 2, true); }",
        &["f"],
        expect![[r#"
            action f(inout bit<8> w) {
                w = g<bit<8>>(in w, in default 8w7, in absent);
                w = g<bit<8>>(in w, in 8w1, in absent);
                h(out _, inout w);
                w = g<bit<8>>(in 8w1, in 8w2, in true);
            }
        "#]],
    );
}

#[test]
fn direct_invocations_have_instances() {
    tree(
        "control d(inout bit<8> x)(bit<8> n = 4) { apply { x = n; } }
         control c(inout bit<8> x) { d(1) i; apply { i.apply(x); d.apply(x); } }",
        &["d", "c"],
        expect![[r#"
            control d(inout bit<8> x)(bit<8> n = 8w4) {
                apply {
                    x = n;
                }
            }
            control c(inout bit<8> x) {
                d(default 8w4) d; // direct
                d(8w1) i;
                apply {
                    i.apply(inout x);
                    d.apply(inout x);
                }
            }
        "#]],
    );
}

#[test]
fn tables_are_complete() {
    tree(
        "#include <core.p4>
         extern profile { profile(bit<32> n); }
         control c(inout bit<8> x, in bool b)(bit<32> n) {
             action a(bit<8> d) { x = d; }
             action e(inout bit<8> y, bit<8> d) { y = d; }
             table t {
                 key = { x: exact; b: ternary; x[3:0]: lpm @name(\"low\"); }
                 actions = { a; e(x); }
                 const entries = { (1, true, 8 &&& 8): a(2); (_, _, _): e(x, 3); }
                 size = n + 1;
                 implementation = profile(n);
             }
             table u {
                 key = { x: ternary; } actions = { a; NoAction; } const default_action = a(9);
                 entries = { priority = 9: 1: a(1); 2: a(2); const priority = 3: 3: a(3); }
             }
             apply {
                 switch (t.apply().action_run) { a: { x = 1; } e: default: { exit; } }
                 if (u.apply().hit || !u.apply().miss) { return; }
             }
         }",
        &["c"],
        expect![[r#"
            control c(inout bit<8> x, in bool b)(bit<32> n) {
                action a(bit<8> d) {
                    x = d;
                }
                action e(inout bit<8> y, bit<8> d) {
                    y = d;
                }
                table t {
                    key x: exact; // x
                    key b: ternary; // b
                    key x[3:0]: lpm; // x[3:0]
                    action a();
                    action e(inout x);
                    action NoAction(); // added
                    default_action NoAction();
                    const entry (8w1, true, 4w8 &&& 4w8): a(8w2);
                    const entry (_, _, _): e(8w3);
                    size = (n + 32w1);
                    implementation = profile(n);
                }
                table u {
                    key x: ternary; // x
                    action a();
                    action NoAction();
                    const default_action a(8w9);
                    entry priority=9: 8w1: a(8w1);
                    entry priority=8: 8w2: a(8w2);
                    const entry priority=3: 8w3: a(8w3);
                }
                apply {
                    switch t.apply().action_run {
                        a {
                            x = 8w1;
                        }
                        e, default {
                            exit;
                        }
                    }
                    if (u.apply().hit || !u.apply().miss) {
                        return;
                    }
                }
            }
        "#]],
    );
}

#[test]
fn parsers_are_complete() {
    tree(
        "#include <core.p4>
         header h { bit<8> n; }
         header v { varbit<64> b; }
         struct s { h[2] k; v o; }
         parser p(packet_in pkt, out s hdr, in bit<16> y) {
             value_set<tuple<bit<8>, bit<16>>>(4) pvs;
             bit<8> x = 1;
             state start {
                 pkt.extract(hdr.k.next);
                 transition select(hdr.k.last.n, y) { (1, 2): more; (3 &&& 3, 1 .. 9): start; pvs: accept; _: reject; }
             }
             state more {
                 pkt.extract(hdr.o, (bit<32>) (bit<8>) hdr.k[x].n);
                 x = pkt.lookahead<h>().n;
                 verify(x != 0, error.NoMatch);
                 transition accept;
             }
         }",
        &["p"],
        expect![[r#"
            parser p(packet_in pkt, out s hdr, in bit<16> y) {
                value_set<tuple<bit<8>, bit<16>>>(4) pvs;
                bit<8> x = 8w1;
                state start {
                    pkt.extract<h>(out hdr.k.next);
                    transition select(hdr.k.last.n, y) {
                        (8w1, 16w2): more;
                        (8w3 &&& 8w3, 16w1 .. 16w9): start;
                        pvs: accept;
                        (_, _): reject;
                    }
                }
                state more {
                    pkt.extract<v>(out hdr.o, in (bit<32>) hdr.k[x].n);
                    x = pkt.lookahead<h>().n;
                    verify(in (x != 8w0), in error.NoMatch);
                    transition accept;
                }
            }
        "#]],
    );
}

#[test]
fn generic_bodies_stay_generic() {
    tree(
        "struct s<T> { T a; T b; }
         T f<T>(in s<T> x, in bool c) { return c ? x.a : x.b; }
         control c<T>(inout s<T> x)(T init) { apply { x.a = f(x, true); x.b = init; x = ...; } }
         control d(inout s<bit<8>> x) { c<bit<8>>(5) i; apply { i.apply(x); x.a = f<bit<8>>({ 1, 2 }, false); } }",
        &["f", "c", "d"],
        expect![[r#"
            T f<T>(in s<T> x, in bool c) {
                return (c ? x.a : x.b);
            }
            control c<T>(inout s<T> x)(T init) {
                apply {
                    x.a = f<T>(in x, in true);
                    x.b = init;
                    x = (s<T>) ...;
                }
            }
            control d(inout s<bit<8>> x) {
                c<bit<8>>(8w5) i;
                apply {
                    i.apply(inout x);
                    x.a = f<bit<8>>(in (s<bit<8>>) {a = 8w1, b = 8w2}, in false);
                }
            }
        "#]],
    );
}

#[test]
fn loops_and_blocks_keep_their_form() {
    tree(
        "action f(inout bit<8> x) {
             for (bit<8> i = 0, bit<8> j = 1; i < 4; i += 1, j = j + 1) { x = x + j; continue; }
             for (bit<8> i in 1 .. 3) { if (x == i) break; }
             @atomic { x[3:0] = x[7:4]; x = x[x[2:0]+:8]; }
         }",
        &["f"],
        expect![[r#"
            action f(inout bit<8> x) {
                for (
                    bit<8> i = 8w0;
                    bit<8> j = 8w1;
                    (i < 8w4);
                    i += 8w1;
                    j = (j + 8w1);
                ) {
                    x = (x + j);
                    continue;
                }
                for (bit<8> i in 8w1 .. 8w3) {
                    if (x == i) {
                        break;
                    }
                }
                @atomic {
                    x[3:0] = x[7:4];
                    x = x[x[2:0]+:8];
                }
            }
        "#]],
    );
}

#[test]
fn instances_know_their_constructor_and_methods() {
    tree(
        "extern E<T> { E(T init, bit<8> n = 2); T get(); abstract T next(in T x); }
         control C(inout bit<8> x);
         package K(C c, @optional C d);
         control c(inout bit<8> x)(bit<8> k) {
             E(8w1) e = { bit<8> next(in bit<8> y) { return this.get() + y + k; } };
             apply { x = e.next(x); }
         }
         K(c(3)) main;",
        &["c", "main"],
        expect![[r#"
            control c(inout bit<8> x)(bit<8> k) {
                E<bit<8>>(8w1, default 8w2) e = {
                    bit<8> next(in bit<8> y) {
                        return ((this.get() + y) + k);
                    }
                }
                apply {
                    x = e.next(in x);
                }
            }
            K(c(8w3), absent) main;
        "#]],
    );
}
