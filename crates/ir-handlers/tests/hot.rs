//! `@hot`: what its annotation says, and which programs may have it.

use base_diag::{Diagnostic, SourceMap};
use base_time::Duration;
use ir_handlers::{Hot, expand, hot};
use p4_arch::Texts;
use p4_syntax::Options;

const HOT: &str = r#"@hot(top = 4, period = "2ms", sketch = "count_min(3, 256)")"#;

const MISS: &str = "if (!t.apply().hit) { look(q, r); }";

/// The program with another annotation, other properties and keys of its table, and another body of ingress.
fn of(annotations: &str, table: &str, body: &str) -> Result<Option<Hot>, Vec<Diagnostic>> {
    // An action that ends the packet is there only where it is asked for.
    let (leave, in_table) = match body.contains("leave") || table.contains("leave") {
        true => ("action leave() { exit; }", "leave;"),
        false => ("", ""),
    };
    let source = format!(
        "#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; }}
struct headers_t {{ h_t h; }}
struct meta_t {{}}
struct request_t {{ bit<8> a; }}
struct response_t {{ bit<8> b; }}
@remote(handler = \"look\", group = \"g\", key = {{ q.a }}) extern bool look(in request_t q, out response_t r);
@remote(handler = \"other\", group = \"g\", key = {{ q.a }}) extern bool other(in request_t q, out response_t r);
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
    request_t q; response_t r; bool found;
    direct_counter(CounterType.packets) counts;
    action mark(bit<8> b) {{ hdr.h.b = b; }}
    {leave}
    {annotations} table t {{ actions = {{ mark; {in_table} NoAction; }} {table} }}
    {annotations} table unused {{ key = {{ hdr.h.b : exact; }} actions = {{ NoAction; }} }}
    apply {{ {body} }}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    );
    // A second table with the annotation is there only where it is asked for.
    let source = match body.contains("unused") {
        true => source,
        false => source.replace(&format!("{annotations} table unused"), "table unused"),
    };
    let texts = [("test.p4", source.as_str())];
    let mut map = SourceMap::new();
    let mut program = ir_elaborate::program("test.p4", &Texts(&texts), &Options::default(), &mut map)
        .unwrap_or_else(|found| panic!("{found:#?}"));
    expand(&mut program)?;
    hot(&program)
}

const TABLE: &str = "key = { hdr.h.a : exact; } default_action = NoAction();";

fn with(annotation: &str) -> Result<Option<Hot>, Vec<Diagnostic>> {
    of(&format!("@mirror(\"look\") {annotation}"), TABLE, MISS)
}

fn with_body(body: &str) -> Result<Option<Hot>, Vec<Diagnostic>> {
    of(&format!("@mirror(\"look\") {HOT}"), TABLE, body)
}

#[test]
fn the_annotation_says_how_many_entries_and_how_they_are_chosen() {
    let found = with(HOT).expect("it is right").expect("a table");
    assert_eq!((found.handler.as_str(), found.top, found.sketch), ("look", 4, (3, 256)));
    assert_eq!(found.period, Duration::from_ms(2));
    let found = with("@hot(top = 1)").expect("it is right").expect("a table");
    assert_eq!((found.top, found.period, found.sketch), (1, Duration::from_s(1), (2, 1 << 16)));
    assert_eq!(with("").expect("it is right"), None);
}

#[test]
fn each_miss_leads_to_the_handler() {
    for body in [
        MISS,
        "if (t.apply().miss) { look(q, r); }",
        "if (t.apply().hit) { hdr.h.b = 1; } else { q.a = hdr.h.a; found = look(q, r); }",
        "if (!t.apply().miss) { } else { if (look(q, r) && found) { hdr.h.b = 2; } }",
        "if (!t.apply().hit) { if (hdr.h.b == 1) { q.a = 1; look(q, r); } else { look(q, r); } }",
        "if (!t.apply().hit) { { found = look(q, r) ? hdr.h.b == 1 : false; } return; }",
    ] {
        assert!(with_body(body).is_ok_and(|hot| hot.is_some()), "{body}");
    }
    for body in [
        "t.apply(); look(q, r);",
        "look(q, r);",
        "if (t.apply().hit) { look(q, r); }",
        "if (!t.apply().hit) { other(q, r); } else { look(q, r); }",
        "if (!t.apply().hit) { if (hdr.h.b == 1) { look(q, r); } }",
        "if (!t.apply().hit) { found = hdr.h.b == 1 && look(q, r); }",
        "if (!t.apply().hit) { found = hdr.h.b == 1 || look(q, r); }",
        "if (!t.apply().hit) { found = hdr.h.b == 1 ? look(q, r) : false; }",
        "if (!t.apply().hit) { if (hdr.h.b == 1) { return; } look(q, r); }",
        "if (!t.apply().hit) { if (hdr.h.b == 1) { exit; } look(q, r); }",
        "if (!t.apply().hit) { leave(); look(q, r); }",
        "if (!t.apply().hit) { look(q, r); } t.apply();",
    ] {
        let found = with_body(body).expect_err(body);
        assert!(
            found[0].labels[0].text.contains("a miss at the switch does not always lead to `look`"),
            "{body}: {found:#?}"
        );
    }
    let ends = "key = { hdr.h.a : exact; } default_action = leave();";
    let found = of(&format!("@mirror(\"look\") {HOT}"), ends, MISS).expect_err("a miss ends the packet");
    assert!(found[0].labels[0].text.contains("a miss at the switch does not always lead"), "{found:#?}");
}

#[test]
fn what_cannot_be_hot_is_refused() {
    let refused = |found: Result<Option<Hot>, Vec<Diagnostic>>, title: &str, why: &str| {
        let found = found.expect_err(why);
        assert_eq!(found[0].title, title);
        assert!(found[0].labels[0].text.contains(why), "{why}: {found:#?}");
    };
    let alone = "`I.t` cannot be `@hot`";
    for (annotation, why) in [
        ("@hot", "`@hot` takes `top`, `period` and `sketch`"),
        ("@hot(period = \"1s\")", "`top` is missing"),
        ("@hot(top = 0)", "`0` is no number from 1 to 1048576"),
        ("@hot(top = 1048577)", "`1048577` is no number from 1 to 1048576"),
        ("@hot(top = 1, top = 2)", "`top` is given twice"),
        ("@hot(top = 1, more = 2)", "`@hot` has no `more`"),
        ("@hot(top = 1, period = \"0s\")", "`period` is zero"),
        ("@hot(top = 1, period = \"soon\")", "`period = \"soon\"` is no duration"),
        ("@hot(top = 1, sketch = \"bloom(2, 256)\")", "the sketch is no `count_min`"),
        ("@hot(top = 1, sketch = \"count_min(9, 256)\")", "`9` is no number from 1 to 8"),
        ("@hot(top = 1, sketch = \"count_min(2, 256) 3\")", "something follows the sketch"),
    ] {
        refused(with(annotation), alone, why);
    }
    let marked = format!("@mirror(\"look\") {HOT}");
    for (table, why) in [
        ("key = { hdr.h.a : lpm; }", "a key is not `exact`"),
        ("key = { hdr.h.a : exact; hdr.h.b : ternary; }", "a key is not `exact`"),
        ("key = { hdr.h.a : exact; } const entries = { 1: mark(2); }", "its entries are `const`"),
        ("key = { hdr.h.a : exact; } counters = counts;", "its entries have counters or meters"),
    ] {
        refused(of(&marked, table, MISS), alone, why);
    }
    let twice = format!("{MISS} if (!unused.apply().hit) {{ look(q, r); }}");
    refused(of(&marked, TABLE, &twice), "`I.unused` cannot be `@hot`, too", "a second table");
    refused(of(HOT, TABLE, MISS), alone, "a miss leads to one handler");
    let both = "if (!t.apply().hit) { look(q, r); other(q, r); }";
    let found = of(&format!("@mirror(\"look\") @mirror(\"other\") {HOT}"), TABLE, both);
    refused(found, alone, "a miss leads to one handler");
}
