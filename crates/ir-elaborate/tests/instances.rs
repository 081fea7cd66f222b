//! Instances, names, constructor parameters, generics.

use crate::support;

use expect_test::expect;
use support::{excerpt, ingress, lines, refusal};

#[test]
fn one_control_for_each_instance_named_by_its_path() {
    let inner = "control Acl(inout headers_t hdr)(bit<8> limit) {
        action deny() { hdr.h.a = limit; }
        table t { key = { hdr.h.b: exact; } actions = { deny; NoAction; } size = (int)limit * 2; }
        apply { if (hdr.h.a > limit + 1) { t.apply(); } }
    }";
    let source = ingress(
        inner,
        "Acl(3) first; @name(\"other\") Acl(4) second;",
        "first.apply(hdr); second.apply(hdr);",
    );
    expect![[r#"
        control Acl(hdr) "In.first" {
            vars {
                inout headers_t hdr;
            }
            action deny() "In.first.deny" {
                hdr.h.a = 8w0x3;
            }
            @noWarn("unused") action NoAction() "NoAction" top_level { }
            table t "In.first.t" {
                key {
                    hdr.h.b: exact "hdr.h.b";
                }
                actions {
                    deny();
                    NoAction();
                }
                default NoAction();
                size 6;
            }
            apply {
                if (hdr.h.a > 8w0x4) {
                    apply t;
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&source, &["control Acl("]));
    expect![[r#"
        action deny() "In.other.deny" {
        hdr.h.a = 8w0x4;
        table t "In.other.t" {
        size 8;
    "#]]
    .assert_eq(&lines(&source, &["In.other.", "hdr.h.a = 8w0x4", "size 8"]));
}

#[test]
fn a_direct_invocation_is_named_after_its_type() {
    let inner =
        "control Inner(inout headers_t hdr) { table t { actions = { NoAction; } } apply { t.apply(); } }";
    let source = ingress(inner, "", "Inner.apply(hdr);");
    expect![[r#"
        control Inner(hdr) "In.Inner" {
        table t "In.Inner.t" {
        control Inner(hdr);
    "#]]
    .assert_eq(&lines(&source, &["Inner"]));
}

#[test]
fn a_leading_dot_makes_a_name_absolute() {
    let source = ingress(
        "@name(\".top.act\") action a() { }",
        "@name(\".tab\") table t { actions = { a; } } @name(\"reg\") register<bit<8>>(4) r;",
        "t.apply();",
    );
    expect![[r#"
        bit<32> instance_type;
        @name("reg") instance r: register<bit<8>>(32w0x4) "In.reg" in control In;
        instances r;
        @name(".top.act") action a() "top.act" top_level { }
        @name(".tab") table t "tab" {
    "#]]
    .assert_eq(&lines(&source, &["table t", "action a", "instance"]));
}

#[test]
fn generics_are_made_for_each_set_of_arguments() {
    let generic = "struct pair<T, U> { T first; U second; }
        T either<T>(in bool which, in T a, in T b) { return which ? a : b; }
        control Swap<T>(inout T x, inout T y) { apply { T old = x; x = y; y = old; } }";
    let apply = "pair<bit<8>, bool> p = { hdr.h.a, true };
        swap8.apply(hdr.h.a, hdr.h.b);
        swap32.apply(hdr.h.d, hdr.h.d);
        hdr.h.a = either(p.second, p.first, hdr.h.b);
        hdr.h.d = either(true, hdr.h.d, 5);";
    let source = ingress(generic, "Swap<bit<8>>() swap8; Swap<bit<32>>() swap32;", apply);
    expect![[r#"
        struct pair_bit8_bool {
            bit<8> first;
            bool second;
        }
        function either_bit8(which, a, b) -> bit<8> {
            vars {
                in bool which;
                in bit<8> a;
                in bit<8> b;
            }
            body {
                return which ? a : b;
            }
        }
        function either_bit32(which, a, b) -> bit<32> {
            vars {
                in bool which;
                in bit<32> a;
                in bit<32> b;
            }
            body {
                return which ? a : b;
            }
        }
        control Swap(x, y) "In.swap8" {
            vars {
                inout bit<8> x;
                inout bit<8> y;
                local bit<8> old;
            }
            apply {
                var old = x;
                x = y;
                y = old;
            }
        }
        control Swap_swap32(x, y) "In.swap32" {
            vars {
                inout bit<32> x;
                inout bit<32> y;
                local bit<32> old;
            }
            apply {
                var old = x;
                x = y;
                y = old;
            }
        }
    "#]]
    .assert_eq(&excerpt(&source, &["struct pair", "function either", "control Swap"]));
    expect![[r#"
        function either_bit8(which, a, b) -> bit<8> {
        function either_bit32(which, a, b) -> bit<32> {
        var p = ({hdr.h.a, true} : pair_bit8_bool);
        hdr.h.a = function either_bit8(p.second, p.first, hdr.h.b);
        hdr.h.d = function either_bit32(true, hdr.h.d, 32w0x5);
    "#]]
    .assert_eq(&lines(&source, &["p = ", "either_"]));
}

#[test]
fn extern_objects_of_the_top_level_and_of_blocks() {
    let locals = "register<bit<16>>(SIZE * 2) local;
        direct_meter<bit<2>>(MeterType.bytes) colour;
        table t { key = { hdr.h.a: exact; } actions = { NoAction; } meters = colour; }";
    let declarations = "const bit<32> SIZE = 8; counter(SIZE, CounterType.packets) shared;";
    let apply = "shared.count(1); local.write(0, hdr.h.c); t.apply();";
    let source = ingress(declarations, locals, apply);
    expect![[r#"
        bit<32> instance_type;
        instance shared: counter(32w0x8, CounterType::packets) "shared";
        instance local: register<bit<16>>(32w0x10) "In.local" in control In;
        instance colour: direct_meter<bit<2>>(MeterType::bytes) "In.colour" in control In;
        instances local, colour;
        meters colour;
        method shared.count(32w0x1);
        method local.write(32w0x0, hdr.h.c);
    "#]]
    .assert_eq(&lines(&source, &["instance", "method shared", "method local", "meters"]));
}

#[test]
fn abstract_methods_are_implemented_by_functions() {
    let declarations =
        "extern Doubler { Doubler(); abstract bit<8> twice(in bit<8> x); bit<8> run(in bit<8> x); }
        Doubler() doubler = { bit<8> twice(in bit<8> x) { return x * FACTOR; } };";
    let source =
        ingress(&format!("const bit<8> FACTOR = 2; {declarations}"), "", "hdr.h.a = doubler.run(3);");
    expect![[r#"
        instance doubler: Doubler() "doubler" {
            twice = doubler_twice;
        }
        function doubler_twice(x) -> bit<8> {
            vars {
                in bit<8> x;
            }
            body {
                return x * 8w0x2;
            }
        }
    "#]]
    .assert_eq(&excerpt(&source, &["instance", "function"]));
}

#[test]
fn a_frame_extern_is_an_object_with_its_annotation() {
    let declarations = "@frame_extern(\"beacon\") extern Beacon { Beacon(bit<32> every); void process(); }";
    let source = ingress(declarations, "Beacon(4) beacon;", "@region(\"B\") { beacon.process(); }");
    expect![[r#"
        bit<32> instance_type;
        @frame_extern("beacon") user extern Beacon {
        instance beacon: Beacon(32w0x4) "In.beacon" in control In;
        instances beacon;
        @region("B") {
        method beacon.process();
    "#]]
    .assert_eq(&lines(&source, &["frame_extern", "instance", "beacon.process", "region"]));
}

#[test]
fn two_things_of_one_name_are_refused() {
    let source = ingress(
        "",
        "@name(\".t\") table a { actions = { NoAction; } } @name(\".t\") table b { actions = { NoAction; } }",
        "a.apply(); b.apply();",
    );
    expect![[r#"
        P4R0249: two tables have the control-plane name `t`
          `b`: 
          `a`: and this one
    "#]]
    .assert_eq(&refusal(&source));
}

/// Programs that p4c made of P4-14 declare the counter that a table makes in its property once more.
#[test]
fn a_direct_object_without_a_table_gives_its_name_to_one_with() {
    let source = ingress(
        "",
        "@name(\".hits\") direct_counter(CounterType.packets) hits;
         action count() { hits.count(); }
         @name(\".hits\") table t {
             actions = { count; }
             @name(\".hits\") counters = direct_counter(CounterType.packets);
         }
         @name(\".hits\") direct_counter(CounterType.packets) more;",
        "t.apply();",
    );
    expect![[r#"
        @name(".hits") instance hits: direct_counter(CounterType::packets) "hits_2" in control In;
        @name(".hits") instance more: direct_counter(CounterType::packets) "hits_3" in control In;
        @name(".hits") instance counters: direct_counter(CounterType::packets) "hits" in control In;
        instances hits, more, counters;
        counters counters;
    "#]]
    .assert_eq(&lines(&source, &["instance ", "counters"]));
}

/// One that a table has keeps its name, and two others clash.
#[test]
fn two_direct_objects_with_tables_clash() {
    let source = ingress(
        "",
        "@name(\".hits\") direct_counter(CounterType.packets) a;
         @name(\".hits\") direct_counter(CounterType.packets) b;
         @name(\".hits\") direct_counter(CounterType.packets) idle;
         table t { actions = { NoAction; } counters = a; }
         table u { actions = { NoAction; } counters = b; }",
        "t.apply(); u.apply();",
    );
    expect![[r#"
        P4R0307: two extern instances have the control-plane name `hits`
          `@name(".hits") direct_counter(CounterType.packets) b;`: this one too
          `@name(".hits") direct_counter(CounterType.packets) a;`: the first one
        P4R0307: two extern instances have the control-plane name `hits`
          `@name(".hits") direct_counter(CounterType.packets) idle;`: this one belongs to no table
    "#]]
    .assert_eq(&refusal(&source));
}

#[test]
fn a_block_is_given_the_object_of_another() {
    let inner =
        "control Inner(inout headers_t hdr)(register<bit<8>> cells) { apply { cells.write(0, hdr.h.a); } }";
    let source = ingress(inner, "register<bit<8>>(4) cells; Inner(cells) inner;", "inner.apply(hdr);");
    expect![[r#"
        bit<32> instance_type;
        instance cells: register<bit<8>>(32w0x4) "In.cells" in control In;
        method cells.write(32w0x0, hdr.h.a);
        instances cells;
    "#]]
    .assert_eq(&lines(&source, &["instance", "cells.write"]));
}

#[test]
fn an_array_of_objects_is_its_objects() {
    let source = ingress("", "register<bit<8>>(4)[2] cells;", "cells[1].write(0, hdr.h.a);");
    let source = source.replace("register<bit<8>>(4)[2] cells;", "register<bit<8>>(4) cells[2];");
    expect![[r#"
        bit<32> instance_type;
        instance `cells[0]`: register<bit<8>>(32w0x4) "In.cells[0]" in control In;
        instance `cells[1]`: register<bit<8>>(32w0x4) "In.cells[1]" in control In;
        instances `cells[0]`, `cells[1]`;
        method `cells[1]`.write(32w0x0, hdr.h.a);
    "#]]
    .assert_eq(&lines(&source, &["instance", "cells[1]"]));
}

#[test]
fn objects_are_made_of_lists_structs_and_objects() {
    let declarations = "struct Pair { bit<8> a; bit<4> b; }
        extern Poly { Poly(bit<16> c); }
        extern E { E(list<Pair> ps, tuple<bit<2>, bool> t, Poly poly); void run(); }";
    let source = ingress(
        declarations,
        "E((list<Pair>){ { 1, 2 }, { 3, 4 } }, { 1, true }, Poly(7)) e; E((list<Pair>){}, { 1, true }, Poly(8)) f;",
        "e.run(); f.run();",
    );
    expect![[r#"
        bit<32> instance_type;
        instance poly: Poly(16w0x7) "In.poly" in control In;
        instance e: E(({({8w0x1, 4w0x2} : Pair), ({8w0x3, 4w0x4} : Pair)} : list<Pair>), {2w0x1, true}, ($instance(poly#0) : extern Poly)) "In.e" in control In;
        instance poly: Poly(16w0x8) "In.poly_2" in control In;
        instance f: E(({} : list<Pair>), {2w0x1, true}, ($instance(poly#2) : extern Poly)) "In.f" in control In;
        instances poly#0, e, poly#2, f;
    "#]]
    .assert_eq(&lines(&source, &["instance"]));
}

#[test]
fn a_signature_has_no_generic_struct_of_its_own_parameters() {
    let declarations = "struct Pair<T> { T a; } extern E<T> { E(Pair<T> p); void run(); }";
    expect![[r#"
        P4R0301: a generic type with a type parameter of an extern as its argument: not supported yet
          `struct Pair<T> { T a; }`: used here
    "#]]
    .assert_eq(&refusal(&ingress(declarations, "E<bit<8>>({ 1 }) e;", "e.run();")));
}

#[test]
fn a_constructor_argument_must_be_known() {
    let source = ingress("", "register<bit<8>>(1 << 4) cells; register<bit<8>>((bit<32>)hdr.h.a) more;", "");
    expect![[r#"
        P4R0208: argument for `size` must be known at compile time
          `(bit<32>)hdr.h.a`: its value depends on the packet
    "#]]
    .assert_eq(&refusal(&source));
}

#[test]
fn a_static_assertion_is_looked_at_for_each_instance() {
    let inner = "control Inner()(bit<8> n) { const bool ok = static_assert(n > 1, \"too few\"); apply { if (ok) { } } }";
    let source = ingress(inner, "Inner(2) good; Inner(1) bad;", "good.apply(); bad.apply();");
    expect![[r#"
        P4R0310: static assertion failed
          `static_assert(n > 1, "too few")`: false for this instance
    "#]]
    .assert_eq(&refusal(&source));
}

#[test]
fn instances_in_instances_are_counted() {
    let mut blocks = String::from("control C0(inout bit<8> x) { apply { x = 1; } }\n");
    for n in 1..60 {
        let inner = n - 1;
        blocks.push_str(&format!(
            "control C{n}(inout bit<8> x) {{ C{inner}() a; C{inner}() b; apply {{ a.apply(x); b.apply(x); }} }}\n"
        ));
    }
    let refused = refusal(&ingress(&blocks, "C59() c;", "c.apply(meta.x);"));
    assert!(refused.starts_with("P4R0306: too many functions and instances"), "{refused}");
}
