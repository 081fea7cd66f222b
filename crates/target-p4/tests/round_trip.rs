//! Printed programs elaborate to the programs they were printed from, and look as if written by a person.

use crate::support::{compile, compile_from};
use expect_test::expect_file;
use std::path::Path;

/// The source that `source` is printed as; it gives the same program again.
#[track_caller]
fn printed(source: &str) -> String {
    reread(&compile(source).unwrap_or_else(|e| panic!("{e}")))
}

#[track_caller]
fn reread(program: &ir::Program) -> String {
    assert_eq!(target_p4::check(program), []);
    let printed = target_p4::print(program);
    let again = compile(&printed).unwrap_or_else(|e| panic!("{printed}\n{e}"));
    let (before, after) = (ir::text::write(program), ir::text::write(&again));
    for (number, (b, a)) in before.lines().zip(after.lines()).enumerate() {
        assert_eq!(a, b, "line {} of the IR of\n{printed}", number + 1);
    }
    assert_eq!(before, after);
    printed
}

#[test]
fn the_slice() {
    expect_file!["programs/slice.printed.p4"]
        .assert_eq(&printed(include_str!("../../../examples/slice/slice.p4")));
}

#[test]
fn types() {
    expect_file!["programs/types.printed.p4"].assert_eq(&printed(include_str!("programs/types.p4")));
}

#[test]
fn tables() {
    expect_file!["programs/tables.printed.p4"].assert_eq(&printed(include_str!("programs/tables.p4")));
}

#[test]
fn code() {
    expect_file!["programs/code.printed.p4"].assert_eq(&printed(include_str!("programs/code.p4")));
}

#[test]
fn objects() {
    expect_file!["programs/objects.printed.p4"].assert_eq(&printed(include_str!("programs/objects.p4")));
}

#[test]
fn methods_that_read_their_block() {
    expect_file!["programs/closures.printed.p4"].assert_eq(&printed(include_str!("programs/closures.p4")));
}

/// Every program for TNA and T2NA that other tests run packets through, and one of the examples.
#[test]
fn programs_for_tofino() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
    let read =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let folder = crates.join("ir-interp/testdata");
    let names = std::fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let mut files: Vec<(String, String)> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| (name.starts_with("tna_") || name.starts_with("t2na_")) && name.ends_with(".p4"))
        .map(|name| (name.clone(), read(&folder.join(&name))))
        .collect();
    files.sort();
    for other in
        ["target-native/tests/tna.p4", "device-control/tests/p4runtime/tofino.p4", "../examples/fit/flows.p4"]
    {
        files.push((other.replace('/', "_"), read(&crates.join(other))));
    }
    let texts: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut count = 0;
    for (name, _) in texts.iter().filter(|(name, _)| *name != "tna_common.p4") {
        let program = compile_from(name, &texts).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(matches!(program.arch, ir::Arch::Tna(_) | ir::Arch::T2na), "{name}");
        reread(&program);
        count += 1;
    }
    assert!(count >= 15, "{count}");
}

#[test]
fn names() {
    expect_file!["programs/names.printed.p4"].assert_eq(&printed(include_str!("programs/names.p4")));
}

/// Passes and the splitter may name things as they like: what is printed still compiles, and what the control plane
/// sees is the same.
#[test]
fn names_that_are_no_identifiers_or_meet() {
    let mut program = compile(include_str!("programs/names.p4")).unwrap_or_else(|e| panic!("{e}"));
    for control in &mut program.controls {
        control.name = "hash".into();
        control.vars.iter_mut().for_each(|var| var.name = "table".into());
        control.tables.iter_mut().for_each(|table| table.name = "a table".into());
        control.actions.iter_mut().filter(|a| !a.top_level).for_each(|a| a.name = "8 bit".into());
    }
    for decl in &mut program.types {
        if decl.name != "standard_metadata_t" {
            decl.name = "register".into();
        }
    }
    program.parsers[0].name = "hash".into();
    program.parsers[0].states[1].name = "start".into();
    let printed = target_p4::print(&program);
    let again = compile(&printed).unwrap_or_else(|e| panic!("{printed}\n{e}"));
    let names = |p: &ir::Program| {
        let tables = p.controls.iter().flat_map(|c| &c.tables);
        let tables =
            tables.map(|t| (t.control_plane_name.clone(), t.keys.iter().map(|k| k.name.clone()).collect()));
        let actions =
            p.controls.iter().flat_map(|c| &c.actions).map(|a| (a.control_plane_name.clone(), vec![]));
        let instances = p.instances.iter().map(|i| (i.control_plane_name.clone(), vec![]));
        tables.chain(actions).chain(instances).collect::<Vec<(ir::Name, Vec<ir::Name>)>>()
    };
    assert_eq!(names(&again), names(&program), "{printed}");
}

#[test]
fn what_cannot_be_printed_is_said() {
    let titles = |program: &ir::Program| -> Vec<String> {
        target_p4::check(program).into_iter().map(|d| format!("{}: {}", d.title, d.labels[0].text)).collect()
    };
    let mut program = compile(include_str!("programs/names.p4")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(titles(&program), Vec::<String>::new());
    let removed = program.stages.remove(1);
    assert_eq!(
        titles(&program),
        ["not all stages of v1model are there: stage `verify_checksum` is missing, or of another kind"]
    );
    program.stages.insert(1, removed);
    let call =
        |c: &ir::Control| c.body.stmts.iter().find(|s| matches!(s.kind, ir::StmtKind::Call(_))).cloned();
    let applies = program.controls.iter().find(|c| c.name == "I").and_then(call).unwrap();
    let egress = program.controls.iter_mut().find(|c| c.name == "E").unwrap();
    egress.body.stmts.push(applies);
    assert_eq!(titles(&program), ["two blocks share an instance of a third: `E` applies it too"]);
}
