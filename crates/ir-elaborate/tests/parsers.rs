//! Parsers: states, selects, value sets, sub-parsers.

use crate::support;

use expect_test::expect;
use support::{excerpt, parser};

const HEAD: &str =
    "parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std)";

#[test]
fn states_and_selects() {
    let states = format!(
        "{HEAD} {{
            bit<8> n = 1;
            state last {{ transition accept; }}
            state start {{
                packet.extract(hdr.h);
                n = packet.lookahead<bit<8>>();
                packet.advance(8 * (bit<32>)n);
                verify(hdr.h.a != 0, error.NoMatch);
                transition select(hdr.h.a, hdr.h.b) {{
                    (1, _): last;
                    (2 .. 5, 6 &&& 0xfe): stack;
                    default: reject;
                }}
            }}
            state stack {{
                packet.extract(hdr.s.next);
                n = hdr.s.last.a + (bit<8>)hdr.s.lastIndex;
                transition select(n) {{ 0: stack; default: last; }}
            }}
        }}"
    );
    expect![[r#"
        parser P(packet, hdr, meta, std) "P" {
            vars {
                param extern packet_in packet;
                out headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local bit<8> n;
            }
            locals {
                var n = 8w0x1;
            }
            state start {
                $extract(packet, hdr.h);
                n = $lookahead<bit<8>>(packet);
                $advance(packet, 32w0x8 * $cast<bit<32>>(n));
                $verify(hdr.h.a != 8w0x0, error::NoMatch);
                select (hdr.h.a, hdr.h.b) {
                    (8w0x1, _): last;
                    (8w0x2 .. 8w0x5, 8w0x6 &&& 8w0xfe): stack;
                    (_, _): reject;
                }
            }
            state last {
                goto accept;
            }
            state stack {
                $extract(packet, hdr.s.$next);
                n = hdr.s.$last.a + $cast<bit<8>>(hdr.s.$lastIndex);
                select (n) {
                    (8w0x0): stack;
                    (_): last;
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&parser("", &states), &["parser P"]));
}

#[test]
fn value_sets_have_a_match_kind_for_each_position() {
    let declarations = "struct pair_t { @match(ternary) bit<8> x; bit<8> y; }";
    let states = format!(
        "{HEAD} {{
            value_set<pair_t>(4) pairs;
            @name(\"one\") value_set<bit<8>>(8) singles;
            state start {{
                packet.extract(hdr.h);
                transition select(hdr.h.a, hdr.h.b) {{ pairs: more; default: accept; }}
            }}
            state more {{ transition select(hdr.h.a) {{ singles: accept; 7: reject; }} }}
        }}"
    );
    expect![[r#"
        parser P(packet, hdr, meta, std) "P" {
            vars {
                param extern packet_in packet;
                out headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
            }
            value_set pairs: pair_t "P.pairs" match(ternary, exact) size 4;
            @name("one") value_set singles: bit<8> "P.one" match(exact) size 8;
            state start {
                $extract(packet, hdr.h);
                select (hdr.h.a, hdr.h.b) {
                    (set pairs): more;
                    (_, _): accept;
                }
            }
            state more {
                select (hdr.h.a) {
                    (set singles): accept;
                    (8w0x7): reject;
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&parser(declarations, &states), &["parser P"]));
}

#[test]
fn sub_parsers_are_instances_too() {
    let declarations = "parser Inner(packet_in p, out h_t h)(bit<8> want) {
        state start { p.extract(h); transition select(h.a) { want: accept; default: reject; } }
    }";
    let states = format!(
        "{HEAD} {{
            Inner(3) three; Inner(4) four;
            state start {{ three.apply(packet, hdr.h); four.apply(packet, hdr.s[0]); transition accept; }}
        }}"
    );
    expect![[r#"
        parser Inner(p, h) "P.three" {
            vars {
                param extern packet_in p;
                out h_t h;
            }
            state start {
                $extract(p, h);
                select (h.a) {
                    (8w0x3): accept;
                    (_): reject;
                }
            }
        }
        parser Inner_four(p, h) "P.four" {
            vars {
                param extern packet_in p;
                out h_t h;
            }
            state start {
                $extract(p, h);
                select (h.a) {
                    (8w0x4): accept;
                    (_): reject;
                }
            }
        }
        parser P(packet, hdr, meta, std) "P" {
            vars {
                param extern packet_in packet;
                out headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
            }
            state start {
                parser Inner(packet, hdr.h);
                parser Inner_four(packet, hdr.s[32w0x0]);
                goto accept;
            }
        }
    "#]]
    .assert_eq(&excerpt(&parser(declarations, &states), &["parser "]));
}

#[test]
fn a_key_of_several_parts_is_a_key_for_each() {
    let declarations = "struct two_t { bit<8> x; bit<8> y; }";
    let states = format!(
        "{HEAD} {{
            two_t two;
            state start {{
                packet.extract(hdr.h);
                two = {{ hdr.h.a, hdr.h.b }};
                transition select(two.x, hdr.h.c, meta.flag) {{
                    (1, 2, true): accept;
                    (_, 3, _): reject;
                }}
            }}
        }}"
    );
    expect![[r#"
        parser P(packet, hdr, meta, std) "P" {
            vars {
                param extern packet_in packet;
                out headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local two_t two;
            }
            locals {
                var two;
            }
            state start {
                $extract(packet, hdr.h);
                two = ({hdr.h.a, hdr.h.b} : two_t);
                select (two.x, hdr.h.c, meta.flag) {
                    (8w0x1, 16w0x2, true): accept;
                    (_, 16w0x3, _): reject;
                }
            }
        }
    "#]]
    .assert_eq(&excerpt(&parser(declarations, &states), &["parser P"]));
}

#[test]
fn a_skipped_header_goes_to_a_variable_nobody_reads() {
    let states = format!("{HEAD} {{ state start {{ packet.extract<h_t>(_); transition accept; }} }}");
    expect![[r#"
        parser P(packet, hdr, meta, std) "P" {
            vars {
                param extern packet_in packet;
                out headers_t hdr;
                inout meta_t meta;
                inout standard_metadata_t std;
                local h_t skipped;
            }
            state start {
                var skipped;
                $extract(packet, skipped);
                goto accept;
            }
        }
    "#]]
    .assert_eq(&excerpt(&parser("", &states), &["parser P"]));
}

#[test]
fn errors_of_the_program_come_behind_those_of_core() {
    let states = format!(
        "error {{ Mine }} {HEAD} {{ state start {{ verify(meta.flag, error.Mine); transition accept; }} }}"
    );
    let source = parser("", &states);
    let source = format!("error {{ First }}\n{source}");
    let text = ir::text::write(&support::elaborate(&source));
    let errors = text.lines().find(|l| l.starts_with("errors")).unwrap_or("");
    expect!["errors { NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout, ParserInvalidArgument, First, Mine }"].assert_eq(errors);
}
