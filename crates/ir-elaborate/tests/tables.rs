//! Tables: keys, action lists, entries, properties.

use crate::support;

use expect_test::expect;
use support::{excerpt, ingress, lines, refusal};

#[test]
fn a_table_with_everything() {
    let locals = "direct_counter(CounterType.packets) hits;
        action set(in bit<8> from, bit<16> to) { hdr.h.b = from; hdr.h.c = to; }
        table t {
            key = { hdr.h.a: exact; hdr.h.d: lpm @name(\"prefix\"); hdr.h.isValid(): ternary; meta.x[3:0]: range; }
            actions = { @tableonly set(hdr.h.a); @defaultonly NoAction; }
            const default_action = NoAction;
            const entries = {
                (1, 0x0a000000 &&& 0xff000000, true, 2 .. 3): set(hdr.h.a, 5);
                (2, _, _, _): set(hdr.h.a, 6);
            }
            size = 64;
            counters = hits;
            support_timeout = true;
        }";
    expect![[r#"
        instance hits: direct_counter(CounterType::packets) "In.hits" in control In;
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                in bit<8> from;
                param bit<16> to;
            }
            instances hits;
            action set(from, to) "In.set" {
                hdr.h.b = from;
                hdr.h.c = to;
            }
            @noWarn("unused") action NoAction() "NoAction" top_level { }
            table t "In.t" {
                key {
                    hdr.h.a: exact "hdr.h.a";
                    @name("prefix") hdr.h.d: lpm "prefix";
                    hdr.h.$isValid: ternary "hdr.h.$valid$";
                    meta.x[3:0]: range "meta.x[3:0]";
                }
                actions {
                    @tableonly set(hdr.h.a);
                    @defaultonly NoAction();
                }
                default const NoAction();
                const entries {
                    const (8w0x1, 32w0xa000000 &&& 32w0xff000000, true, 4w0x2 .. 4w0x3) priority 2 -> set(16w0x5);
                    const (8w0x2, _, _, _) priority 1 -> set(16w0x6);
                }
                size 64;
                counters hits;
                property support_timeout = true;
            }
            apply {
                apply t;
            }
        }
    "#]].assert_eq(&excerpt(&ingress("", locals, "t.apply();"), &["control In"]));
}

#[test]
fn without_a_default_action_it_is_no_action() {
    let locals = "action a() { } table t { actions = { a; } }";
    expect![[r#"
        @noWarn("unused") action NoAction() "NoAction" top_level { }
        a();
        @defaultonly NoAction();
        default NoAction();
    "#]]
    .assert_eq(&lines(&ingress("", locals, "t.apply();"), &["default", "NoAction", "a();"]));
}

#[test]
fn actions_of_the_program_are_copied_behind_the_controls_own() {
    let actions = "action leaf(inout bit<8> x) { x = x + 1; } action top(inout bit<8> x) { leaf(x); }";
    let locals = "action own() { top(hdr.h.a); } table t { actions = { own; top(hdr.h.b); } }";
    expect![[r#"
        control In(hdr, meta, std) "In" {
            vars {
                inout headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                inout bit<8> x;
                inout bit<8> x;
            }
            action own() "In.own" {
                action top(hdr.h.a);
            }
            action top(x#3) "top" top_level {
                action leaf(x#3);
            }
            @noWarn("unused") action NoAction() "NoAction" top_level { }
            action leaf(x#4) "leaf" top_level {
                x#4 = x#4 + 8w0x1;
            }
            table t "In.t" {
                actions {
                    own();
                    top(hdr.h.b);
                    @defaultonly NoAction();
                }
                default NoAction();
            }
            apply {
                apply t;
            }
        }
    "#]]
    .assert_eq(&excerpt(&ingress(actions, locals, "t.apply();"), &["control In"]));
}

#[test]
fn priorities_are_counted_down_in_the_order_of_the_source() {
    let locals = "action a() { }
        table t { key = { hdr.h.a: ternary; } actions = { a; } priority_delta = 10;
            entries = { 1 &&& 1: a(); 2 &&& 2: a(); _: a(); } }
        table u { key = { hdr.h.a: ternary; } actions = { a; } largest_priority_wins = false;
            entries = { priority = 5: 1 &&& 1: a(); 2 &&& 2: a(); } }
        table v { key = { hdr.h.a: lpm; } actions = { a; } entries = { 1 &&& 0xff: a(); } }";
    expect![[r#"
        (8w0x1 &&& 8w0x1) priority 21 -> a();
        (8w0x2 &&& 8w0x2) priority 11 -> a();
        (_) priority 1 -> a();
        (8w0x1 &&& 8w0x1) priority 5 -> a();
        (8w0x2 &&& 8w0x2) priority 6 -> a();
        smallest_priority_wins;
        (8w0x1 &&& 8w0xff) -> a();
    "#]]
    .assert_eq(&lines(&ingress("", locals, ""), &["-> a()", "largest", "smallest"]));
}

#[test]
fn the_first_entry_needs_a_priority_if_another_has_one() {
    let locals = "action a() { }
        table t { key = { hdr.h.a: ternary; } actions = { a; }
            entries = { 1 &&& 1: a(); priority = 7: 2 &&& 2: a(); } }";
    expect![[r#"
        P4R0241: the first entry needs a priority
          `1 &&& 1: a();`: 
          `priority = 7: 2 &&& 2: a();`: since this one has a priority
    "#]]
    .assert_eq(&refusal(&ingress("", locals, "t.apply();")));
}

#[test]
fn properties_want_objects_of_their_kind() {
    let locals = "direct_counter(CounterType.packets) hits; register<bit<8>>(4) cells;
        table t { actions = { NoAction; } implementation = hits; }
        table u { actions = { NoAction; } counters = cells; }
        table v { actions = { NoAction; } counters = hits; }
        table w { actions = { NoAction; } counters = hits; }";
    expect![[r#"
        P4R0309: table property `implementation` wants action_profile or action_selector
          `hits`: this is something else
        P4R0309: table property `counters` wants direct_counter
          `cells`: this is something else
        P4R0309: `hits` belongs to another table already
          `hits`: `In.v` has it
    "#]]
    .assert_eq(&refusal(&ingress("", locals, "")));
}

#[test]
fn an_implementation_made_in_place_has_a_name() {
    let locals = "action a(bit<8> x) { hdr.h.a = x; }
        table t { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { a; NoAction; }
            @name(\"members\") implementation = action_selector(HashAlgorithm.crc16, 32, 8); }
        table u { key = { hdr.h.a: exact; } actions = { a; NoAction; } implementation = action_profile(32); }";
    expect![[r#"
        bit<32> instance_type;
        extern action_selector {
        @name("members") instance implementation: action_selector(HashAlgorithm::crc16, 32w0x20, 32w0x8) "members" in control In;
        instance implementation: action_profile(32w0x20) "In.u.implementation" in control In;
        instances implementation#0, implementation#1;
        hdr.h.b: selector "hdr.h.b";
        implementation implementation#0;
        implementation implementation#1;
    "#]].assert_eq(&lines(&ingress("", locals, ""), &["instance", "implementation", "selector"]));
}

#[test]
fn entries_of_enums_keep_their_type() {
    let declarations = "enum bit<8> kind_t { A = 1, B = 2 }
        type bit<16> port_t;
        const port_t FIRST = (port_t)5;
        header k_t { kind_t kind; port_t port; }";
    let locals = "k_t k; action a(port_t p) { k.port = p; }
        table t { key = { k.kind: ternary; k.port: exact; } actions = { a; }
            const entries = { (kind_t.A &&& 0xf0, FIRST): a((port_t)7); (kind_t.B, (port_t)2): a(FIRST); } }";
    expect![[r#"
        const (kind_t::A &&& (8w0xf0 : kind_t), (16w0x5 : port_t)) priority 2 -> a((16w0x7 : port_t));
        const (kind_t::B, (16w0x2 : port_t)) priority 1 -> a((16w0x5 : port_t));
    "#]]
    .assert_eq(&lines(&ingress(declarations, locals, "k.setValid(); t.apply();"), &["-> a("]));
}

#[test]
fn keys_are_named_by_the_names_of_their_fields() {
    let declarations = "header k_t { @name(\"kind\") bit<8> a; @name(\".top.level\") bit<8> b; }
        struct ks_t { @name(\"renamed\") k_t k; }";
    let locals = "ks_t s;
        table t { key = { s.k.a: exact; s.k.b: exact; s.k.a[3:0]: exact; s.k.isValid(): exact; hdr.s[1].a: exact; }
            actions = { NoAction; } }";
    expect![[r#"
        s.k.a: exact "s.renamed.kind";
        s.k.b: exact "top.level";
        s.k.a[3:0]: exact "s.renamed.kind[3:0]";
        s.k.$isValid: exact "s.renamed.$valid$";
        hdr.s[32w0x1].a: exact "hdr.s[1].a";
    "#]]
    .assert_eq(&lines(&ingress(declarations, locals, "t.apply();"), &["exact"]));
}

/// Masks of constructor parameters are known here only; such a program made the verifier panic.
#[test]
fn masks_of_lpm_keys_are_prefixes() {
    for (mask, argument) in [("0x90", ""), ("mask", "(bit<8> mask)")] {
        let given = if argument.is_empty() { "" } else { "8w0x90" };
        let inner = format!(
            "control Inner(in bit<8> x){argument} {{
                 table t {{ key = {{ x: lpm; }} actions = {{ NoAction; }} const entries = {{ 0x10 &&& {mask}: NoAction(); }} }}
                 apply {{ t.apply(); }}
             }}"
        );
        let source = ingress(&inner, &format!("Inner({given}) inner;"), "inner.apply(8w1);");
        let expected = format!(
            "P4R0402: the entry does not fit its table\n  `{mask}`: the mask of `x` is not a prefix: 0x90\n"
        );
        assert_eq!(refusal(&source), expected);
    }
}

#[test]
fn range_keys_match_no_masks() {
    let table = "table t { key = { std.ingress_port: range; } actions = { NoAction; } const entries = { 1 &&& 3: NoAction(); } }";
    let expected = "P4R0402: the entry does not fit its table\n  `3`: `std.ingress_port` matches ranges\n";
    assert_eq!(refusal(&ingress("", table, "t.apply();")), expected);
}

#[test]
fn exact_and_optional_keys_match_no_masks() {
    for kind in ["exact", "optional"] {
        let table = format!(
            "table t {{ key = {{ std.ingress_port: {kind}; }} actions = {{ NoAction; }} const entries = {{ 1 &&& 3: NoAction(); }} }}"
        );
        let expected =
            "P4R0402: the entry does not fit its table\n  `3`: `std.ingress_port` matches single values\n";
        assert_eq!(refusal(&ingress("", &table, "t.apply();")), expected);
    }
}
