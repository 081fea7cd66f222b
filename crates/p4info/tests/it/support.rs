//! Programs around a few lines, and what P4Info says of them.

use base_diag::{SourceMap, Style, render};
use expect_test::Expect;
use ir::Program;
use p4_arch::Texts;
use p4_syntax::Options;
use p4runtime_proto::p4::config::v1::{P4Info, Preamble};
use p4runtime_proto::to_text;

const HEAD: &str = r#"#include <core.p4>
#include <v1model.p4>
@p4runtime_translation("p4rack.test/port", bit<32>) type bit<9> port_id_t;
@p4runtime_translation("p4rack.test/name", string) @other type bit<16> name_t;
type bit<8> plain_t;
type plain_t plainer_t;
enum color_t { RED, GREEN }
enum bit<8> speed_t { SLOW = 1, FAST = 200 }
struct inner_t { bit<8> a; int<4> b; plainer_t c; speed_t s; }
struct pair_t { bit<8> x; bool y; }
header eth_t { bit<32> dst; bit<8> kind; }
struct headers_t { eth_t e; }
struct meta_t { bit<8> class; bit<2> color; port_id_t port; name_t name; inner_t inner; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) kinds;
    @id(3) value_set<keys_t>(2) many;
    state start {
        p.extract(h.e);
        transition select(h.e.kind, h.e.dst) { (1, _): accept; many: accept; default: more; }
    }
    state more { transition select(h.e.kind) { kinds: accept; default: accept; } }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.e); } }
"#;

/// A program with these lines in its ingress, in its `apply`, and before `main`.
pub fn program(locals: &str, body: &str, annotations: &str) -> String {
    let head = HEAD.replace(
        "struct headers_t",
        "struct keys_t { bit<8> a; @match(ternary) @id(5) bit<32> b; }\nstruct headers_t",
    );
    format!(
        "{head}control I(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {{
    action drop() {{ mark_to_drop(sm); }}
    {locals}
    apply {{ {body} }}
}}
{annotations} V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

/// A program with these types.
pub fn with_types(types: &str) -> String {
    program("", "", types)
}

/// A program with these lines in its ingress and in its `apply`.
pub fn in_ingress(locals: &str, body: &str) -> String {
    program(locals, body, "")
}

fn elaborated(text: &str, map: &mut SourceMap) -> Program {
    let program = ir_elaborate::program("test.p4", &Texts(&[("test.p4", text)]), &Options::default(), map);
    program.unwrap_or_else(|found| {
        panic!("{}", found.iter().map(|d| render(d, map, Style::Plain)).collect::<String>())
    })
}

/// P4Info of a program that has one.
pub fn info(text: &str) -> P4Info {
    p4info::p4info(&elaborated(text, &mut SourceMap::new())).expect("P4Info")
}

/// P4Info but for the package, the value sets and the actions that every program here has.
pub fn check(text: &str, expect: Expect) {
    let mut info = info(text);
    info.value_sets.clear();
    info.actions.retain(|a| !["I.drop", "NoAction"].contains(&name(&a.preamble)));
    if info.pkg_info.as_ref().is_some_and(|p| p.name.is_empty()) {
        info.pkg_info = None;
    }
    expect.assert_eq(&to_text(&info).expect("shallow"));
}

/// The entries of the source.
pub fn check_entries(text: &str, expect: Expect) {
    let made = p4info::entries(&elaborated(text, &mut SourceMap::new())).expect("entries");
    expect.assert_eq(&to_text(&made).expect("shallow"));
}

/// Checks the errors of a program that has no P4Info.
pub fn check_wrong(text: &str, expect: Expect) {
    let mut map = SourceMap::new();
    let found = p4info::p4info(&elaborated(text, &mut map)).expect_err("mistakes");
    expect.assert_eq(&found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>());
}

fn name(preamble: &Option<Preamble>) -> &str {
    preamble.as_ref().map_or("", |p| p.name.as_str())
}

/// Id, name and alias of everything.
pub fn ids(info: &P4Info) -> String {
    let tables = info.tables.iter().map(|t| &t.preamble);
    let actions = info.actions.iter().map(|a| &a.preamble);
    let sets = info.value_sets.iter().map(|s| &s.preamble);
    let line = |p: &Option<Preamble>| {
        p.as_ref().map_or(String::new(), |p| format!("{:#010x} {} ({})\n", p.id, p.name, p.alias))
    };
    tables.chain(actions).chain(sets).map(line).collect()
}
