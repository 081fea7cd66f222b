//! The form of a file of entries: from extension and content, or given; and errors about it.

use crate::support;

use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use ir_fill::{Placed, Resolver};
use p4_syntax::Options as Preprocessor;
use p4rack::run::entries::{self, Form, KnownBy, form};
use p4runtime_proto::p4::v1::{Entity, WriteRequest, entity::Entity as Kind};
use std::path::Path;
use std::sync::Arc;
use support::compile_text;

fn l2() -> Arc<Program> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/run/l2.p4");
    let program =
        p4rack::rack::compile_program(path, &Preprocessor::default(), &mut SourceMap::new(), &mut vec![]);
    program.expect("the program is right")
}

fn updates() -> (String, String) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/run/l2.txtpb");
    let text = std::fs::read_to_string(path).expect("it is there");
    let request: WriteRequest = p4runtime_proto::from_text(&text).expect("it is one");
    let json = p4runtime_proto::to_json(&request).expect("it has a form");
    (text, json)
}

fn says(problem: &Diagnostic) -> String {
    [std::slice::from_ref(&problem.title), problem.notes.as_slice(), problem.help.as_slice()]
        .concat()
        .join("\n")
}

#[test]
fn forms_are_known() {
    let (text, json) = updates();
    for (path, content, wanted, by) in [
        ("e.toml", "", Form::Toml, KnownBy::Extension),
        ("e.STF", "", Form::Stf, KnownBy::Extension),
        ("e.json", json.as_str(), Form::P4RuntimeJson, KnownBy::Extension),
        ("e.txt", json.as_str(), Form::P4RuntimeJson, KnownBy::Content),
        ("e.txt", text.as_str(), Form::P4RuntimeText, KnownBy::Content),
        ("e.txt", "\u{feff}[[table.t]]\r\n", Form::Toml, KnownBy::Content),
        ("entries", "# a\nadd t a:1 b()\n", Form::Stf, KnownBy::Content),
        ("s1-commands.txt", "table_add t a 1 =>\n", Form::Commands, KnownBy::Content),
        ("s1-runtime.json", "{ \"table_entries\": [] }", Form::Runtime, KnownBy::Extension),
        ("s1-runtime", "{ \"target\": \"bmv2\", \"p4info\": \"x\" }", Form::Runtime, KnownBy::Content),
    ] {
        assert_eq!(form(Path::new(path), content).expect("it is one"), (wanted, by), "{path}");
    }
    for (path, content, words) in [
        ("costs.csv", "name,props\n", "a table of rules"),
        ("costs.rules", "rule \"r\" x then ;\n", "rules for `p4rack plan`"),
        ("nic.flows", "in_port=1,actions=output:2\n", "flow rules"),
        ("l2.p4", "", "a program"),
        ("l2.json", "{ \"parsers\": [], \"pipelines\": [] }", "as p4c compiles it"),
    ] {
        let problem = form(Path::new(path), content).expect_err("it is no file of entries");
        assert!(says(&problem).contains(words), "{path}: {}", says(&problem));
    }
}

#[test]
fn json_says_what_text_says() {
    let (text, json) = updates();
    let program = l2();
    let fill = |path: &str, text: &str| {
        let filling = entries::read(&program, Path::new(path), text, 1).unwrap_or_else(|e| panic!("{e:?}"));
        let mut writes = vec![];
        let mut resolver = Resolver::new(&program).expect("it runs");
        let note = &mut |placed: &Placed| {
            writes.push(placed.write.clone());
            Ok(())
        };
        filling.resolve(&mut resolver, note).unwrap_or_else(|e| panic!("{e:?}"));
        writes
    };
    let writes = fill("l2.txtpb", &text);
    assert!(!writes.is_empty());
    assert_eq!(fill("l2.json", &json), writes);
}

const OWN: &str = "
    header e_t { bit<48> dst; bit<48> src; bit<16> ty; }
    struct h_t { e_t e; }
    struct m_t {}
    parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) {
        state start { p.extract(h.e); transition accept; }
    }
    control V(inout h_t h, inout m_t m) { apply {} }
    control I(inout h_t h, inout m_t m, inout standard_metadata_t s) {
        action fwd(bit<9> port) { s.egress_spec = port; }
        action drop() { mark_to_drop(s); }
        table t {
            key = { h.e.ty: exact; }
            actions = { fwd; drop; }
            entries = { 16w1 : fwd(3); 16w2 : drop(); }
        }
        table u {
            key = { h.e.src: ternary; }
            actions = { fwd; }
            const entries = { (48w1 &&& 48w1) : fwd(4); }
        }
        apply { t.apply(); u.apply(); }
    }
    control E(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply {} }
    control C(inout h_t h, inout m_t m) { apply {} }
    control D(packet_out p, in h_t h) { apply { p.emit(h.e); } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// `p4info --entries` writes the source's own entries; a program that was filled with them had each "already".
#[test]
fn entries_that_the_source_has_are_taken() {
    let text = "#include <core.p4>\n#include <v1model.p4>\n".to_string() + OWN;
    let program = compile_text(&text, &mut SourceMap::new());
    let updates = device_control::offered(&program).unwrap().initial;
    let own = WriteRequest { updates, ..WriteRequest::default() };
    assert_eq!(own.updates.len(), 3);
    let fill = |request: &WriteRequest| {
        let text = p4runtime_proto::to_json(request).unwrap();
        let filling = entries::read(&program, Path::new("own.json"), &text, 1)?;
        let mut resolver = Resolver::new(&program)?;
        let mut writes = 0;
        filling.resolve(&mut resolver, &mut |_| {
            writes += 1;
            Ok(())
        })?;
        Ok::<_, Vec<Diagnostic>>(writes)
    };
    assert_eq!(fill(&own).unwrap(), 0);
    // With another action it is another entry.
    let mut other = own.clone();
    let action = |n: usize, of: &WriteRequest| match &of.updates[n].entity {
        Some(Entity { entity: Some(Kind::TableEntry(entry)) }) => entry.action.clone(),
        _ => panic!("{:?}", of.updates[n]),
    };
    let drops = action(1, &own);
    let Some(Entity { entity: Some(Kind::TableEntry(entry)) }) = &mut other.updates[0].entity else {
        panic!()
    };
    entry.action = drops;
    let refused = fill(&other).unwrap_err();
    assert!(format!("{refused:?}").contains("has this entry already"), "{refused:?}");
}

#[test]
fn messages_say_what_a_file_was_taken_for() {
    let (text, json) = updates();
    let program = l2();
    let said =
        |path: &str, text: &str| says(&entries::read(&program, Path::new(path), text, 1).err().unwrap()[0]);
    let broken = json.replace("\"updates\"", "\"update\"");
    assert!(
        said("l2.json", &broken)
            .contains("`l2.json` was read as P4Runtime updates in JSON, by its extension")
    );
    assert!(
        said("l2.txt", "12\n").contains("`l2.txt` was read as commands of simple_switch_CLI, by its content")
    );
    let named = entries::read_as(&program, Path::new("l2.txtpb"), &text, 1, Form::Commands);
    assert!(says(&named.err().unwrap()[0]).contains("commands of simple_switch_CLI, as asked"));
    // A mistake in JSON has its place, as one in text has.
    let wrong = json.replacen("\"tableId\": ", "\"tableId\": 1", 1);
    let problem = &entries::read(&program, Path::new("l2.json"), &wrong, 1).err().expect("a mistake")[0];
    let at = problem.labels[0].span;
    let place = wrong.get(at.lo as usize - 1..at.hi as usize - 1);
    assert!(place.is_some_and(|place| place.starts_with("\"tableId\": 1")), "{place:?}");
}

/// Writes of a runtime file of `examples/lab`, as commands.
fn runtime(program: &str, file: &str) -> String {
    let example = |name: &str| format!("{}/../../examples/lab/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut map = SourceMap::new();
    let program =
        p4rack::rack::compile_program(&example(program), &Preprocessor::default(), &mut map, &mut vec![]);
    let program = program.expect("the program is right");
    let read = p4rack::entries::read(Path::new(&example(file)), &program, &mut map);
    p4rack::bmv2::fill_commands(&program, read.unwrap_or_else(|e| panic!("{e:?}")).writes())
}

#[test]
fn two_numbers_mean_what_the_kind_of_the_key_says() {
    let routes = runtime("router.p4", "s1-runtime.json");
    assert!(routes.contains("0xa000101/32 => 0x80000000101 0x1"), "{routes}");
    assert!(routes.contains("0xa000300/24 => "), "{routes}");
    let refused = runtime("wall.p4", "s3-runtime.json");
    assert!(refused.contains("0xa000202&&&0xffffffff 0x11&&&0xff"), "{refused}");
}
